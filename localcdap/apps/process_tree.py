"""The parent of an application's code, which ends everything that the code has started.

Only on Linux: the parent adopts orphans, so that a process which the application forked twice, or gave a
session of its own, stays below it. Elsewhere the application runs without such a parent, and its host ends
the process group.
"""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import Final, NoReturn

from localcdap.processes.limits import (
    IS_LINUX,
    adopt_orphans,
    disable_core_dumps,
    end_with_parent,
)
from localcdap.processes.tree import end_adopted

_END_LIMIT_S: Final = 5.0


class _EndRequested(BaseException):
    """The host asked for the end, or has ended itself."""


def fork_below_parent(host: int) -> int:
    """Fork this process: the new one returns, this one stays as its parent and never returns.

    The parent exits as the new process does, after it has ended all processes that are left. SIGTERM, which
    it also gets when the host ends, makes it end them at once. Call this before threads are started.

    :param host: the process id of the host, whose thread that started this process must stay alive.
    :returns: the process id of the parent of the calling process: that of the host where nothing is forked.
    """
    if not IS_LINUX:
        return host
    signal.signal(signal.SIGTERM, _request_end)
    try:
        end_with_parent(host, signal.SIGTERM)
        adopt_orphans()
        parent = os.getpid()
        child = os.fork()
        if not child:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            end_with_parent(parent)
            return parent
        status = _wait_for(child)
    except _EndRequested:
        status = 0
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    end_adopted((), _END_LIMIT_S)
    return _exit_like(status)


def _wait_for(child: int) -> int:
    """Wait until the child has ended, and let the kernel forget the others that end; return its status."""
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == child:
            return status


def _exit_like(status: int) -> NoReturn:
    """End this process with the exit code, or by the signal, of a process with this status."""
    if os.WIFSIGNALED(status):
        disable_core_dumps()
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _request_end(_number: int, _frame: FrameType | None) -> None:
    raise _EndRequested
