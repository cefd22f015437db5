"""Limits that a process sets for itself before it runs user code, and the umask of its user.

A host gives the files of an instance to its user only. The processes that it starts run code of users, whose
files outside the instance keep the umask of the user. The module imports nothing of localcdap.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

IS_LINUX: Final = sys.platform.startswith("linux")
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_PR_GET_CHILD_SUBREAPER: Final = 37
_PRIVATE: Final = 0o077
_user_umasks: Final[list[int]] = []
"""The umask that :func:`protect_new_files` found; empty when it was not called."""


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


def does_adopt_orphans() -> bool:
    """Return whether :func:`adopt_orphans` was called and its effect was not undone; True if it has none."""
    if not IS_LINUX:
        return True
    import ctypes

    found = ctypes.c_int()
    _call_prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(found))
    return bool(found.value)


def limit_memory(memory_mb: int) -> None:
    """Limit private memory. The address space is not limited: V8 and Arrow reserve more than they use."""
    limit = memory_mb * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    disable_core_dumps()


def disable_core_dumps() -> None:
    """Let this process write no memory image to the disk when a signal ends it."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _call_prctl(option: int, value: Any) -> None:
    _load_c_library().prctl(option, value)


@lru_cache(maxsize=1)
def _load_c_library() -> Any:
    """Return the C library; a forked process has what the process that it was forked from has loaded."""
    import ctypes

    return ctypes.CDLL(None)


def protect_new_files() -> None:
    """Let only the user read what this process creates from now on. Call it before threads are started."""
    _user_umasks.append(os.umask(_PRIVATE))


def read_user_umask() -> int:
    """Return the umask that processes with code of users get: that of this process before it was changed.

    It is read from the kernel's status file, because the system call returns it only by setting it. Without
    such a file (macOS) the result is the usual umask, 022.
    """
    if _user_umasks:
        return _user_umasks[0]
    try:
        text = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0o022
    found = next((line for line in text.splitlines() if line.startswith("Umask:")), "Umask: 0022")
    return int(found.split()[1], 8)
