"""Keeps a template of run processes at hand beside the local Spark server."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_AGAIN_S: Final = 30.0
"""Seconds between two starts, lest one that cannot live be started all the time."""


class TemplateKeeper:
    """Starts the template, and starts it again when it has left because its code was not current.

    :param directory: of the local engine.
    """

    def __init__(self, directory: Path) -> None:
        self._directory: Final = directory
        self._template: subprocess.Popen[bytes] | None = None
        self._started = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the template; run processes go on."""
        if self._template is not None:
            self._template.kill()
            self._template.wait()

    def keep(self) -> None:
        """Start the template unless there is one."""
        now = time.monotonic()
        if self._template is not None and (
            self._template.poll() is None or now - self._started < _AGAIN_S
        ):
            return
        self._started = now
        self._template = subprocess.Popen(
            [sys.executable, "-m", "localcdap.engine.local.template"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd=self._directory,
        )
