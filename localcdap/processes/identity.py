"""Which process is meant, whether it lives, and waiting for its end."""

from __future__ import annotations

import contextlib
import os
import select
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from localcdap.processes.limits import IS_LINUX

if TYPE_CHECKING:
    import subprocess

_SAME_S: Final = 1.0
"""Seconds; the creation time of a process is computed from the clock, which may have been set since."""
_POLL_S: Final = 0.5
_ENDED: Final = ("", "Z", "X")
"""The states of a process: it does not exist, waits for its parent to notice its end, or is being removed."""
_SUSPENDED: Final = "T"


class ProcessIdentity(NamedTuple):
    """A process, distinguished from a later process with the same id."""

    pid: int
    created: float
    """Seconds since 1970 at which the process started, as the system says."""


def identify(pid: int) -> ProcessIdentity:
    """Return the identity of a process; its creation time is 0 when it has ended."""
    import psutil

    try:
        return ProcessIdentity(pid, psutil.Process(pid).create_time())
    except psutil.NoSuchProcess:
        return ProcessIdentity(pid, 0.0)


def is_running(pid: int) -> bool:
    """Return whether a process exists and has not ended yet."""
    if IS_LINUX:
        return _read_state(pid) not in _ENDED
    import psutil

    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def is_suspended(pid: int) -> bool:
    """Return whether a signal has suspended a process; False on systems without ``/proc``."""
    return _read_state(pid) == _SUSPENDED


def is_alive(process: ProcessIdentity) -> bool:
    """Return whether a process still runs, and not a later one with its id.

    One that has ended and waits to be reaped does not run; a child of this process is reaped.
    """
    import psutil

    with contextlib.suppress(psutil.NoSuchProcess):
        same = psutil.Process(process.pid)
        if abs(same.create_time() - process.created) >= _SAME_S:
            return False
        if same.status() != psutil.STATUS_ZOMBIE:
            return True
        _reap(process.pid)
    return False


_children: Final[dict[int, subprocess.Popen[bytes]]] = {}
"""The children of this process whose exit codes are asked for by their ids."""


def keep_exit_code(child: subprocess.Popen[bytes]) -> None:
    """Keep the exit code of a child of this process until :func:`take_child_exit_code`."""
    _children[child.pid] = child


def take_child_exit_code(pid: int) -> int | None:
    """Return the exit code of a child, a signal's number negative, and forget it.

    :returns: None when the child has not ended, or :func:`keep_exit_code` was not called.
    """
    child = _children.pop(pid, None)
    return None if child is None else child.poll()


def _reap(pid: int) -> None:
    child = _children.get(pid)
    if child is not None:
        child.poll()
        return
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def can_wait_for_others() -> bool:
    """Return whether the kernel tells the end of a process that is not a child: on Linux, unless that is
    forbidden.
    """
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


def wait_for_end(pid: int, limit_s: float | None = None) -> bool:
    """Wait until a process has ended, which need not be a child of this one; return whether it has.

    It is noticed at once when :func:`can_wait_for_others`, otherwise within half a second.

    :param limit_s: seconds after which this returns False; None for no limit.
    """
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    except (AttributeError, OSError):
        return _poll_for_end(pid, limit_s)
    try:
        end = select.poll()
        end.register(descriptor, select.POLLIN)
        return bool(end.poll(None if limit_s is None else limit_s * 1000))
    finally:
        os.close(descriptor)


def _poll_for_end(pid: int, limit_s: float | None) -> bool:
    limit = None if limit_s is None else time.monotonic() + limit_s
    while is_running(pid):
        if limit is not None and time.monotonic() > limit:
            return False
        time.sleep(_POLL_S)
    return True


def listens_on(pid: int, port: int) -> bool:
    """Return whether it is this process that listens on a TCP port."""
    import psutil

    with contextlib.suppress(psutil.Error):
        sockets = psutil.Process(pid).net_connections("tcp")
        return any(s.laddr.port == port and s.status == psutil.CONN_LISTEN for s in sockets)
    return False


def read_command(pid: int) -> list[str]:
    """Return the program of a process and its arguments; an empty list when it has ended."""
    import psutil

    try:
        command: list[str] = psutil.Process(pid).cmdline()
    except psutil.Error:
        return []
    return command


def _read_state(pid: int) -> str:
    """Return the letter of a process's state in ``/proc``; "" when it does not exist."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - ten times a second for each call
            return file.read().rpartition(b") ")[2][:1].decode("ascii")
    except OSError:
        return ""
