"""The number of run processes that a machine can have at the same time."""

from __future__ import annotations

import os
from typing import Final

_UNITS: Final = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_MIB: Final = 2**20
_BASE_MB: Final = 768
"""MiB for the host, the Spark server besides its heap, and the warm process from which run processes are
forked, which takes 130. What they share with it counts there, once."""
_RUN_MB: Final = 256
"""MiB for a run: its process has 40 to 100 of its own, and each of its Python workers 40."""


def count_parallel_runs(engine_memory: str) -> int:
    """Return how many runs this machine can have at once: one for each core, fewer when memory is short.

    :param engine_memory: the heap of the local Spark server, in the form of the JVM.
    """
    import psutil

    return fit_runs(os.cpu_count() or 1, psutil.virtual_memory().total, engine_memory)


def fit_runs(cores: int, memory: int, engine_memory: str) -> int:
    """Return how many runs fit, at least one.

    :param memory: the bytes that the machine has.
    """
    number = engine_memory.rstrip("kKmMgGtT")
    heap = int(number) * _UNITS[engine_memory[len(number) :].lower()]
    free = (memory - heap) // _MIB - _BASE_MB
    return max(1, min(cores, free // _RUN_MB))
