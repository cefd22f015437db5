"""Limits that a process sets for itself before it runs user code."""

from __future__ import annotations

import os
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def end_with_parent(supervisor: int) -> None:
    """Make the kernel kill this process when its supervisor ends, even while user code is running.

    :param supervisor: the supervisor's process id; its thread that started this process must stay alive.
    """
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(0)


def limit_memory(memory_mb: int) -> None:
    """Limit private memory. The address space is not limited: V8 and Arrow reserve more than they use."""
    import resource

    limit = memory_mb * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
