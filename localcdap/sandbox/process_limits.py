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


def end_with_parent(supervisor: int) -> None:
    """Make the kernel kill this process when its supervisor ends, even while user code is running.

    :param supervisor: the supervisor's process id; its thread that started this process must stay alive.
    """
    if not IS_LINUX:
        return
    _call_prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
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
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _call_prctl(option: int, value: int) -> None:
    _load_c_library().prctl(option, value)


@lru_cache(maxsize=1)
def _load_c_library() -> Any:
    """Return the C library; a forked process has what the process that it was forked from has loaded."""
    import ctypes

    return ctypes.CDLL(None)
