"""The processes that a process has started, directly or not: listing, measuring and ending them.

Ending has two steps where a process may do something about it: it is asked to end (SIGTERM), and killed when
it has not ended some seconds later.

On Linux the kernel lists the children of a process (``/proc/PID/task/*/children``), and a process that
adopts orphans (:func:`localcdap.processes.limits.adopt_orphans`) loses none of them. Elsewhere the
list is made of all processes of the machine, and a process whose parent has ended is not in it.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Final, NoReturn

from localcdap.processes.identity import ProcessIdentity, is_alive, is_running, read_command
from localcdap.processes.limits import (
    IS_LINUX,
    adopt_orphans,
    disable_core_dumps,
    end_with_parent,
)

if TYPE_CHECKING:
    import subprocess

_PAUSE_S: Final = 0.002
_ADOPTED_END_S: Final = 5.0
"""Seconds within which adopted processes are ended; only one that forks all the time takes long."""
_MOST_NAMED: Final = 5
_EVERY_CHILD: Final = 0x40000000 if IS_LINUX else 0
"""``__WALL``: children that were started without a signal for their end, too."""
_MOST_READS: Final = 50
"""Reads of a tree that changes each time; then it is taken to have a running process."""


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


def list_children(pid: int) -> list[ProcessIdentity]:
    """Return the children of a process, those that have ended and wait for it to notice it too."""
    import psutil

    children = []
    with suppress(psutil.Error):
        for child in psutil.Process(pid).children():
            with suppress(psutil.Error):
                children.append(ProcessIdentity(child.pid, child.create_time()))
    return children


def kill(pid: int) -> None:
    """Kill a process; do nothing when it has ended."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def end_group(pid: int) -> None:
    """Kill a process and the processes of its process group, all of them in one step.

    The group of the calling process is never killed, only the process.
    """
    with suppress(ProcessLookupError, PermissionError):
        group = os.getpgid(pid)
        if group != os.getpgrp():
            os.killpg(group, signal.SIGKILL)
    kill(pid)


def interrupt(process: ProcessIdentity, *, group: bool = True) -> None:
    """Ask a process to end (SIGTERM); do nothing when it has ended.

    :param group: whether its process group, which it leads, is asked too.
    """
    if is_alive(process):
        with suppress(ProcessLookupError, PermissionError):
            (os.killpg if group else os.kill)(process.pid, signal.SIGTERM)


def interrupt_child(child: subprocess.Popen[bytes]) -> None:
    """Ask a child of this process to end (SIGTERM); do nothing when it has ended."""
    child.terminate()


def interrupt_this_process() -> None:
    """Ask this process to end (SIGTERM), as another process would. Any thread may call this: the system
    interrupts the main thread, in which Python handles signals.
    """
    os.kill(os.getpid(), signal.SIGTERM)


def end_child(child: subprocess.Popen[bytes], patience_s: float = 0.0) -> int:
    """End a child, wait for it and return its exit code, a signal's number negative.

    It is killed when it has not ended after ``patience_s`` seconds, and when an exception, as of a signal
    handler, ends the wait.
    """
    try:
        _ask_to_end(child, patience_s)
    finally:
        child.kill()
        child.wait()
    return child.returncode


def end_tree(
    child: subprocess.Popen[bytes], patience_s: float = 0.0, seen: Iterable[int] = ()
) -> int:
    """End a child with all that it has started, and return its exit code, a signal's number negative.

    :param patience_s: seconds that it gets to end what it started by itself.
    :param seen: processes that it was seen to start, whose parents may have ended.
    """
    if not _ask_to_end(child, patience_s):
        for pid in (child.pid, *{*seen, *list_descendants(child.pid)}):
            end_group(pid)
    return child.wait()


def _ask_to_end(child: subprocess.Popen[bytes], patience_s: float) -> bool:
    """Ask a child to end unless it gets no time for it; return whether it has ended in time."""
    if patience_s:
        import subprocess

        child.terminate()
        with suppress(subprocess.TimeoutExpired):
            child.wait(patience_s)
            return True
    return False


def list_strays(pid: int, keep: Iterable[int]) -> list[int]:
    """Return the running descendants of a process but some of its children and their descendants.

    :param keep: the ids of the children that are meant to run.
    """
    children = _read_children(pid) if IS_LINUX else (child.pid for child in list_children(pid))
    strays = {*children} - {*keep}
    return [
        each for stray in strays for each in (stray, *list_descendants(stray)) if is_running(each)
    ]


def _list_all() -> list[int]:
    if IS_LINUX:  # where a run process needs psutil for nothing else
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208
    import psutil

    return list(map(int, psutil.pids()))


def find_session(pid: int) -> int | None:
    """Return the id of the session of a process; None when it has ended."""
    try:
        return os.getsid(pid)
    except OSError:
        return None


def list_own_strays(keep: Iterable[int]) -> list[int]:
    """Return the running processes that this one has started, and all of its session if it leads one.

    A process that was forked twice stays in the session unless it begins one of its own.

    :param keep: the ids of the children that are meant to run.
    """
    found, own = {*list_strays(os.getpid(), keep)}, os.getpid()
    for pid in _list_all() if find_session(own) == own else ():
        if pid != own and find_session(pid) == own and is_running(pid):
            found.add(pid)
    return sorted(found)


def describe_processes(pids: Sequence[int]) -> str:
    """Return the number of processes, and the programs of the first ones without their arguments."""
    count = "a process" if len(pids) == 1 else f"{len(pids):,} processes"
    programs = [os.path.basename((read_command(pid) or ["?"])[0]) for pid in pids[:_MOST_NAMED]]  # noqa: PTH119
    return f"{count} ({', '.join(programs)}{', …' if len(pids) > _MOST_NAMED else ''})"


def end_adopted(keep: Iterable[int], limit_s: float = _ADOPTED_END_S) -> bool:
    """Kill all descendants of the calling process but some of its children and their descendants.

    The calling process must adopt orphans. Descendants that start processes meanwhile are found again.

    :param keep: the ids of the children that stay.
    :returns: False when some still run after ``limit_s`` seconds.
    """
    kept, end = frozenset(keep), time.monotonic() + limit_s
    while strays := [child for child in _read_children(os.getpid()) if child not in kept]:
        for stray in strays:
            for pid in (*list_descendants(stray), stray):
                end_group(pid)
            with suppress(ChildProcessError):
                os.waitpid(stray, os.WNOHANG)
        if time.monotonic() > end:
            return False
        time.sleep(_PAUSE_S)
    return True


def reap_children() -> Iterator[tuple[int, int]]:
    """Let the kernel forget the children that have ended; yield the id and the exit code of each, a signal's
    number negative.

    :raises ChildProcessError: when no child is left, running or not.
    """
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG | _EVERY_CHILD)
        if not pid:
            return
        yield pid, os.waitstatus_to_exitcode(status)


class _EndRequested(BaseException):
    """The process that started this one asked for the end, or has ended itself."""


def fork_below_parent(starter: int) -> int:
    """Fork this process: the new one returns, this one stays as its parent and never returns.

    The parent exits as the new process does, after it has ended all processes that are left: it adopts
    orphans, so that a process that was forked twice, or has a session of its own, stays below it. SIGTERM,
    which it also gets when the starter ends, makes it end them at once. Call this before threads are started.

    Only Linux lets a process adopt orphans. Elsewhere nothing is forked, and the starter has to end the
    process group.

    :param starter: the id of the process that started this one; its thread that did so must stay alive.
    :returns: the process id of the parent of the calling process: the starter where nothing is forked.
    """
    if not IS_LINUX:
        return starter
    signal.signal(signal.SIGTERM, _request_end)
    try:
        end_with_parent(starter, signal.SIGTERM)
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
    end_adopted(())
    return _exit_like(status)


def _wait_for(child: int) -> int:
    """Wait until the child has ended, and let the kernel forget the others that end; return its status."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
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
        children = psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []
    return [child.pid for child in children if is_running(child.pid)]


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
