"""The worker processes of an instance: one for each set of artifacts whose code runs together."""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

from localcdap.artifacts.model import PluginRef
from localcdap.sandbox.process import WorkerLauncher, WorkerProcess, make_launcher

ArtifactDigests = tuple[str, ...]
"""The digests of the artifacts whose code runs in a process, sorted; for a session, its name follows."""
_MOST_IDLE: Final = 8
"""The most processes that wait for a call; each takes about 10 MB of its own."""
_MOST_SESSIONS: Final = 16
"""The most processes of sessions. The one that was used least recently ends when there are more."""
_SESSION: Final = "session:"


class ProcessPool:
    """Idle worker processes, by the artifacts whose code they run. Threads may share it.

    Code of an artifact never runs in a process in which another one's did, unless a stage uses both.

    :param memory_mb: memory of each process, in MiB.
    :param launcher: starts the processes; the default is the one for this system.
    """

    def __init__(self, memory_mb: int, launcher: WorkerLauncher | None = None) -> None:
        self.memory_mb: Final = memory_mb
        self._launcher = launcher if launcher is not None else make_launcher()
        self._lock = threading.Lock()
        self._idle: OrderedDict[ArtifactDigests, WorkerProcess] = OrderedDict()
        self._closed = False
        self._ending = ThreadPoolExecutor(1, "localcdap-worker-end")

    def start(self) -> None:
        """Do ahead what the first :meth:`take` would have to do.

        :raises OSError: when no process can be started.
        """
        self._launcher.start()

    def take(self, artifacts: ArtifactDigests) -> WorkerProcess:
        """Return a process in which only code of these artifacts ran so far, an idle one or a new one.

        :raises WorkerLostError: when no process can be started.
        """
        with self._lock:
            process = self._idle.pop(artifacts, None)
        if process is not None:
            if process.is_usable:
                return process
            process.kill()
        return WorkerProcess(self._launcher, self.memory_mb)

    def give_back(self, artifacts: ArtifactDigests, process: WorkerProcess) -> None:
        """Keep a process for the next call. The one that was used least recently ends when there are many."""
        spare = []
        is_session = _is_session(artifacts)
        with self._lock:
            if self._closed or artifacts in self._idle:
                spare.append(process)
            else:
                self._idle[artifacts] = process
            alike = [each for each in self._idle if _is_session(each) is is_session]
            most = _MOST_SESSIONS if is_session else _MOST_IDLE
            spare += [self._idle.pop(each) for each in alike[: max(0, len(alike) - most)]]
        for each in spare:
            self.end_soon(each)

    def end_session(self, session: str) -> None:
        """End the idle processes of a session."""
        name = _SESSION + session
        with self._lock:
            found = [each for each in self._idle if name in each]
            ended = [self._idle.pop(each) for each in found]
        for process in ended:
            self.end_soon(process)

    def end_soon(self, process: WorkerProcess) -> None:
        """End a process that is not needed any more, without waiting for it."""
        with suppress(RuntimeError):  # closed, which ends all processes
            self._ending.submit(process.kill)

    def close(self) -> None:
        """End all processes, even those in a call."""
        with self._lock:
            self._closed = True
            idle = list(self._idle.values())
            self._idle.clear()
        for process in idle:
            process.kill()
        self._ending.shutdown()
        self._launcher.close()


def _is_session(artifacts: ArtifactDigests) -> bool:
    return any(each.startswith(_SESSION) for each in artifacts)


def get_digests(plugin: PluginRef, session: str = "") -> ArtifactDigests:
    """Return the digests of the artifacts whose code a stage runs: of its plugin and of those it uses.

    :param session: the name of the session whose process it is; "" for none.
    """
    found, waiting = {plugin.digest}, [*plugin.uses]
    while waiting:
        used = waiting.pop()
        found.add(used.digest)
        waiting += used.uses
    return (*sorted(found), *([_SESSION + session] if session else []))
