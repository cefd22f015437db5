"""The processes that a process has started, directly or not: listing, measuring and ending them.

On Linux the kernel lists the children of a process (``/proc/PID/task/*/children``), and a process that
adopts orphans (:func:`localcdap.processes.limits.adopt_orphans`) loses none of them. Elsewhere the
list is made of all processes of the machine, and a process whose parent has ended is not in it.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from localcdap.processes.limits import IS_LINUX

_PAUSE_S: Final = 0.002
_MOST_READS: Final = 50
"""Reads of a tree that changes each time; then it is taken to have a running process."""
_ENDED_STATES: Final = ("Z", "X")


def list_descendants(pid: int) -> list[int]:
    """Return the ids of the running processes that a process has started, directly or not.

    A process that has ended and waits for its parent to notice it does not count. On Linux this takes
    20 µs for a process without children.
    """
    if not IS_LINUX:
        return _scan_descendants(pid)
    before: set[int] = set()
    for _ in range(_MOST_READS):
        seen, running = _read_descendants(pid)
        if running or seen == before:
            return running
        before = seen
    return list(before)


def _read_descendants(pid: int) -> tuple[set[int], list[int]]:
    """Return the ids of all descendants, those that wait for their parent to notice their end too, and of
    those that run.

    A process that forks and ends while its parent's children are read hides its child, which ``pid`` has
    adopted after the read: only two equal reads without a running process show that none runs.
    """
    seen, running, waiting = set[int](), list[int](), list(_read_children(pid))
    while waiting:
        child = waiting.pop()
        seen.add(child)
        if is_running(child):
            running.append(child)
            waiting += _read_children(child)
    return seen, running


def is_running(pid: int) -> bool:
    """Return whether a process exists and has not ended yet."""
    if not IS_LINUX:
        import psutil

        try:
            return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
        except psutil.Error:
            return False
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - ten times a second for each call
            state = file.read().rpartition(b") ")[2][:1].decode("ascii")
    except OSError:
        return False
    return state not in _ENDED_STATES


def measure_memory(pids: Iterable[int], enough: int) -> int:
    """Return the resident memory of processes in bytes.

    Forked processes share memory. Only when their sum exceeds ``enough``, shared memory is counted once,
    which takes some milliseconds for each process.
    """
    pids = list(pids)
    resident = sum(map(_measure_resident, pids))
    return resident if resident <= enough or len(pids) < 2 else sum(map(_measure_share, pids))


def measure_delay(pid: int) -> float:
    """Return for how many seconds the main thread of a process could have run while others had the processor.

    It is 0 where the system does not tell it.
    """
    if not IS_LINUX:
        return 0.0
    try:
        with open(f"/proc/{pid}/schedstat", "rb") as file:  # noqa: PTH123 - for each call of a plugin
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


def end_group(pid: int) -> None:
    """Kill a process and the processes of its process group, all of them in one step.

    The group of the calling process is never killed, only the process.
    """
    with suppress(ProcessLookupError, PermissionError):
        group = os.getpgid(pid)
        if group != os.getpgrp():
            os.killpg(group, signal.SIGKILL)
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def end_adopted(keep: Iterable[int], limit_s: float) -> bool:
    """Kill all descendants of the calling process but some of its children and their descendants.

    The calling process must adopt orphans. Descendants that start processes meanwhile are found again.

    :param keep: the ids of the children that stay.
    :returns: False when some still run after ``limit_s`` seconds.
    """
    kept, end = frozenset(keep), time.monotonic() + limit_s
    while strays := [child for child in _read_children(os.getpid()) if child not in kept]:
        for stray in strays:
            for each in (*list_descendants(stray), stray):
                end_group(each)
            with suppress(ChildProcessError):
                os.waitpid(stray, os.WNOHANG)
        if time.monotonic() > end:
            return False
        time.sleep(_PAUSE_S)
    return True


def _read_children(pid: int) -> Iterator[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - after each call of a plugin
    except OSError:
        return
    for thread in threads:
        with (
            suppress(OSError),
            open(f"/proc/{pid}/task/{thread}/children", "rb") as file,  # noqa: PTH123
        ):
            yield from map(int, file.read().split())


def _scan_descendants(pid: int) -> list[int]:
    import psutil

    try:
        found = psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []
    return [each.pid for each in found if is_running(each.pid)]


def _measure_resident(pid: int) -> int:
    import psutil

    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:  # it has ended
        return 0


def _measure_share(pid: int) -> int:
    """Return the memory of a process in bytes; of memory that several share, its part."""
    import psutil

    try:
        memory = psutil.Process(pid).memory_full_info()
    except psutil.Error:
        return 0
    return int(getattr(memory, "pss", memory.uss))
