"""Limits that a process sets for itself before it runs user code."""

from __future__ import annotations

import os
import resource
import signal
import sys
from functools import lru_cache
from typing import Any, Final

IS_LINUX: Final = sys.platform.startswith("linux")
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36


def end_with_parent(supervisor: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Make the kernel kill this process when its supervisor ends, even while user code is running.

    :param supervisor: the supervisor's process id; its thread that started this process must stay alive.
    :param number: the signal that it gets; by default one that it cannot handle.
    """
    if not IS_LINUX:
        return
    _call_prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != supervisor:
        os._exit(0)


def adopt_orphans() -> None:
    """Make the kernel give this process every descendant whose own parent ends (Linux: child subreaper).

    Without it a process that forks twice escapes from the tree of the process that started it. A forked
    process does not inherit this.
    """
    if IS_LINUX:
        _call_prctl(_PR_SET_CHILD_SUBREAPER, 1)


def limit_memory(memory_mb: int) -> None:
    """Limit private memory. The address space is not limited: V8 and Arrow reserve more than they use."""
    limit = memory_mb * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    disable_core_dumps()


def disable_core_dumps() -> None:
    """Let this process write no memory image to the disk when a signal ends it."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _call_prctl(option: int, value: int) -> None:
    _load_c_library().prctl(option, value)


@lru_cache(maxsize=1)
def _load_c_library() -> Any:
    """Return the C library; a forked process has what the process that it was forked from has loaded."""
    import ctypes

    return ctypes.CDLL(None)
