"""One fork server of plugin workers for all instances that a test process opens.

Each instance starts one of its own, which loads its libraries for 0.2 s of the processor.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from localcdap.processes.fork_server import OwnedForkServer

_PRIVATE: Final = frozenset({"PYTEST_CURRENT_TEST", "XDG_CONFIG_HOME", "XDG_STATE_HOME"})
"""Variables that tests set and no plugin worker reads."""
_servers: Final[dict[tuple[str, ...], _LockedServer]] = {}


class _LockedServer:
    """A fork server that one thread calls at a time."""

    def __init__(self, command: Sequence[str]) -> None:
        self.server: Final = OwnedForkServer(command)
        self.turn: Final = threading.RLock()


class SharedForkServer:
    """What a launcher of plugin workers knows of a fork server: its own forks, which end when it is closed.

    :param command: as for :class:`OwnedForkServer`.
    """

    has_forked = True  # a launcher kills a server that did not fork yet

    def __init__(self, command: Sequence[str]) -> None:
        self.pids: Final[set[int]] = set()
        self._command: Final = tuple(command)
        shared = _servers.get(self._command)
        if shared is None:
            shared = _servers[self._command] = _LockedServer(command)
        self._shared: Final = shared

    def fork(self, argument: bytes, streams: Sequence[int], limit_s: float) -> int:
        with self._shared.turn:
            try:
                pid = self._shared.server.fork(argument, streams, limit_s)
            except OSError:
                self._forget()
                raise
            self.pids.add(pid)
            return pid

    def list_orphans(self) -> list[int]:
        with self._shared.turn:
            return self._shared.server.list_orphans()

    def end(self, pid: int) -> int:
        self.pids.discard(pid)
        with self._shared.turn:
            return self._shared.server.end(pid)

    def close(self) -> None:
        for pid in list(self.pids):
            with contextlib.suppress(OSError):
                self.end(pid)

    def _forget(self) -> None:
        """Have the next launcher start another server."""
        if _servers.get(self._command) is self._shared:
            del _servers[self._command]
        self._shared.server.close()


def build_factory() -> type[OwnedForkServer]:
    """Return what takes the place of :class:`OwnedForkServer` for launchers of plugin workers.

    A server that would get another environment or working directory than this process has now is not shared.
    """
    state = _read_process_state()

    def open_fork_server(command: Sequence[str]) -> OwnedForkServer | SharedForkServer:
        is_shared = _read_process_state() == state
        return SharedForkServer(command) if is_shared else OwnedForkServer(command)

    return open_fork_server  # type: ignore[return-value]


def close_shared_servers() -> None:
    """End all servers and their forks."""
    for shared in _servers.values():
        shared.server.close()
    _servers.clear()


def _read_process_state() -> tuple[Path, dict[str, str]]:
    environment = {name: value for name, value in os.environ.items() if name not in _PRIVATE}
    return Path.cwd(), environment
