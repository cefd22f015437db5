"""What a process that runs user code does to itself before it runs any."""

from __future__ import annotations

import os
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def end_with_parent(supervisor: int) -> None:
    """End this process when its supervisor ends, even while user code keeps it from noticing.

    :param supervisor: its process id; the thread of it that started this process must live as long.
    """
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(0)


def limit_memory(memory_mb: int) -> None:
    """Limit private memory. Not the address space: V8 and Arrow reserve much that they never use."""
    import resource

    limit = memory_mb * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
