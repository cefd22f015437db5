"""Waits for changes of the files of a folder."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from localcdap.artifacts.directories.pending_changes import PendingChanges
from localcdap.sync.file_names import SUFFIX

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver

_LOG: Final = logging.getLogger(__name__)
_PATIENCE_S: Final = 5.0
"""Seconds since the last write after which a file that was not closed counts as complete."""


class FolderWatch:
    """The watch on a folder; use it in a ``with`` block.

    Where the system provides no watches, :meth:`wait` only waits: a caller looks at the folder then.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pending = PendingChanges()
        self._observer: BaseObserver | None = None

    def __enter__(self) -> Self:
        from watchdog.observers import Observer

        observer: Any = Observer()
        try:
            observer.schedule(self, str(self._folder), recursive=True)
            observer.start()
            self._observer = observer
        except OSError as error:
            _LOG.warning("%s is looked at now and then: %s", self._folder, error)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._observer is not None:
            self._observer.stop()
            self._observer.join()

    def dispatch(self, event: Any) -> None:
        """Note an event; watchdog calls this."""
        for name in (event.src_path, event.dest_path):
            path = Path(os.fsdecode(name)) if name else None
            if path is None or path.suffix != SUFFIX or self._is_hidden(path):
                continue
            if event.event_type in ("closed", "deleted", "moved"):
                self._pending.finish(path)
            elif event.event_type == "modified":
                self._pending.begin(path, [path], _PATIENCE_S)
            if event.event_type not in ("opened", "closed_no_write"):
                self._pending.note([path])

    def _is_hidden(self, path: Path) -> bool:
        inner = path.relative_to(self._folder) if path.is_relative_to(self._folder) else path
        return any(part.startswith(".") for part in inner.parts)

    def wait(self, timeout_s: float) -> bool:
        """Wait until files have changed, and are written completely; return whether they have in time."""
        end = time.monotonic() + timeout_s
        while (left := end - time.monotonic()) > 0:
            if self._pending.take() is not None:
                return True
            self._pending.wait(min(left, 0.1))
        return False
