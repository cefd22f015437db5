"""Starting the host of an instance as a process of its own, and what that process reports.

This module imports nothing large: a command starts a host before it imports what it needs itself.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from localcdap.api.errors import HostError
from localcdap.processes.single_instance import BackgroundStart, StartReport, is_locked
from localcdap.processes.spawn import DISCARDED, open_log

if TYPE_CHECKING:
    from localcdap.rpc.frames import Answer

LOCK_FILE: Final = "host.lock"
"""In the instance's folder: the file that the host has locked."""
LOG_FILE: Final = "host.log"
"""In the instance's folder: what its background hosts print."""
EXPECTS_RUN: Final = "--expects-run"
"""The option of a host whose first client starts a run: its process can load its libraries already."""
_MOST_LOG_BYTES: Final = 1024 * 1024
_MODULE: Final = "localcdap.host"
"""Started by name: no package below the host imports it."""


class HostStart:
    """A background host that was started. It reports once: that a host listens, or why none does.

    :param options: options of ``python -m localcdap.host``.
    """

    def __init__(self, home: Path, options: Sequence[str] = ()) -> None:
        self._home = home
        with _open_log(home / LOG_FILE) as log:
            # -P: no module is imported from the working directory, which is any folder of the user.
            command = [sys.executable, "-P", "-m", _MODULE, str(home), *options]
            self._start = BackgroundStart(command, log)

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._start.pid

    def wait(self) -> None:
        """Wait until a host listens: this process, or another one that was there before.

        :raises LocalcdapError: why the instance cannot be opened, as the host process raised it.
        :raises HostError: when the process ended without a report.
        """
        import msgspec

        from localcdap.api.serialization.value_types import unpack
        from localcdap.rpc.frames import Answer, Fault, to_error

        try:
            answer: Answer = unpack(self._start.read_report(), Answer)
        except msgspec.DecodeError:
            code = self._start.wait()
            raise HostError(
                f"The host process of the instance at {self._home} ended while it started, with exit code "
                f"{code}.",
                f"See {self._home / LOG_FILE}.",
            ) from None
        if isinstance(answer, Fault):
            self._start.wait()
            raise to_error(answer)


class HostReport:
    """The report of a host process to the process that started it, see :class:`HostStart`.

    :param descriptor: of a pipe; None when nobody waits for a report.
    """

    def __init__(self, descriptor: int | None) -> None:
        self._report = StartReport(descriptor)

    def succeed(self) -> None:
        """Report that a host listens."""
        import msgspec

        from localcdap.api.serialization.value_types import pack
        from localcdap.rpc.frames import Result

        self._send(Result(msgspec.Raw(pack(None))))

    def fail(self, error: BaseException) -> None:
        """Report why none does."""
        from localcdap.rpc.frames import to_fault

        self._send(to_fault(error))

    def _send(self, answer: Answer) -> None:
        from localcdap.api.serialization.value_types import pack

        self._report.send(pack(answer))


_started: Final[dict[Path, HostStart]] = {}
"""By instance, the hosts that this process started and does not wait for yet."""


def start_host_ahead(home: Path, options: Sequence[str] = ()) -> None:
    """Start a host if there is none, and do not wait for it: it loads while this process loads.

    A host that nobody connects to ends soon.

    :raises OSError: when no process can be started.
    """
    if not is_hosted(home):
        _started[home] = HostStart(home, options)


def take_start(home: Path) -> HostStart | None:
    """Return the host that :func:`start_host_ahead` started, once; None when there is none."""
    return _started.pop(home, None)


def is_hosted(home: Path) -> bool:
    """Return whether a process is the host of an instance, or about to be, or about to end."""
    return is_locked(home / LOCK_FILE)


@contextlib.contextmanager
def _open_log(path: Path) -> Iterator[IO[bytes] | int]:
    """Open the log for the output of a host.

    Without a log, as in a folder that cannot be written to, the output is discarded: the host reports why.
    """
    try:
        log = open_log(path, _MOST_LOG_BYTES)
    except OSError:
        yield DISCARDED
        return
    with log:
        yield log
