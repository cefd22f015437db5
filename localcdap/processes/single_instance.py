"""Processes of which there is one at a time, and leases of what several processes use.

The lock is on a file, which contains the id of the process that holds it. The kernel releases the lock when
the process ends in any way, so a lock is never stale. A process that holds it must never fork without exec:
the child would hold it too.

A lease is a lock on a file of its own: something such as the Spark server is ended only when no process has a
lease of it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from localcdap.processes.spawn import DISCARDED, PIPE, start_process

if TYPE_CHECKING:
    import subprocess


REPORT: Final = "--report"
"""The option of a process that is started in the background: the descriptor for its report."""
_PAUSE_S: Final = 0.02
_PID_BYTES: Final = 20
"""The size of the id in the file, which is the same for all, so that one write replaces another one."""
_NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock of a file; False for a file that cannot be opened."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        # Shared, so that two processes that ask at the same time do not take each other for the holder.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextlib.contextmanager
def hold_lock(path: Path) -> Iterator[bool]:
    """Hold the lock of a file or a folder during a block; yield False when another process holds it.

    Nothing is written to it.

    :raises OSError: when the path cannot be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(descriptor)


def open_locked(path: Path, patience_s: float = 0.0) -> int | None:
    """Open a file, which is created for the user only, and hold its lock.

    :param patience_s: seconds to wait. A process that calls :func:`is_locked` holds the lock for an instant.
    :returns: the descriptor, which releases the lock when it is closed; None when another process holds it.
    :raises OSError: when the file cannot be opened.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(descriptor)
                return None
            time.sleep(_PAUSE_S)
        except BaseException:
            os.close(descriptor)
            raise
        else:
            return descriptor


def is_open_file(descriptor: int, path: Path) -> bool:
    """Return whether a path leads to the file that a descriptor has open: it does not when the file, or a
    folder around it, was removed, moved or replaced.
    """
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except (FileNotFoundError, NotADirectoryError):
        return False


def take_lock(path: Path, patience_s: float = 0.0) -> int | None:
    """Hold the lock of a file and write the id of this process to it; see :func:`open_locked`.

    :raises OSError: when the file cannot be opened or written. A full disk does not prevent the lock, which
        then has no id.
    """
    lock = open_locked(path, patience_s)
    if lock is not None:
        try:
            _write_pid(lock)
        except BaseException:
            os.close(lock)
            raise
    return lock


def _write_pid(lock: int) -> None:
    """Write the id of this process over that of the last holder, whose space is there on a full disk too."""
    try:
        os.pwrite(lock, str(os.getpid()).encode().ljust(_PID_BYTES), 0)
    except OSError as error:
        if error.errno not in _NO_SPACE:
            raise
        os.ftruncate(lock, 0)  # nobody must take the last holder for this one


def read_holder(path: Path) -> int | None:
    """Return the id of the process that holds the lock of a file; None when it is free, or has no id."""
    try:
        return int(path.read_bytes()) if is_locked(path) else None
    except (OSError, ValueError):
        return None


def end_holder(path: Path, *steps: tuple[signal.Signals, float]) -> bool:
    """End the process that holds the lock of a file, and return whether the lock is free.

    :param steps: signals that it gets, and for each the seconds in which the lock must become free.
    """
    for number, patience_s in steps:
        deadline = time.monotonic() + patience_s
        holder = read_holder(path)
        if holder is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(holder, number)
        while is_locked(path) and time.monotonic() < deadline:
            time.sleep(_PAUSE_S)
    return not is_locked(path)


background_pids: Final[set[int]] = set()
"""The processes that this one has started in the background, which outlive it."""


class BackgroundStart:
    """A process that was started in the background. It reports once, see :class:`StartReport`.

    It has a session of its own and outlives this process.

    :param command: its program and arguments, to which :data:`REPORT` and the descriptor are added.
    :param output: its standard output, see :func:`localcdap.processes.spawn.start_process`.
    :param errors: its standard error; None for that of ``output``.
    :param input: what it reads from standard input.
    :param directory: its working directory; None for that of this process.
    :raises OSError: when it cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        output: int | IO[bytes] = DISCARDED,
        errors: int | IO[bytes] | None = None,
        input: bytes = b"",
        directory: Path | None = None,
    ) -> None:
        self._report, theirs = os.pipe()
        try:
            self._process = start_process(
                [*command, REPORT, str(theirs)],
                input=PIPE if input else DISCARDED,
                output=output,
                errors=errors,
                descriptors=[theirs],
                directory=directory,
            )
        except BaseException:
            os.close(self._report)
            raise
        finally:
            os.close(theirs)
        background_pids.add(self._process.pid)
        _write_input(self._process, input)

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def read_report(self) -> bytes:
        """Wait for the report and return it; b"" when the process has ended without one. Call this once."""
        with os.fdopen(self._report, "rb") as report:
            return report.read()

    def wait(self) -> int:
        """Wait for the end of the process and return its exit code."""
        return self._process.wait()


def _write_input(process: subprocess.Popen[bytes], input: bytes) -> None:
    if process.stdin is not None:
        with contextlib.suppress(BrokenPipeError), process.stdin as stdin:
            stdin.write(input)


class StartReport:
    """The report of a process to the one that started it in the background, see :class:`BackgroundStart`.

    :param descriptor: what follows :data:`REPORT` in the arguments; None when nobody waits for a report.
    """

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        if descriptor is not None:
            os.set_inheritable(descriptor, False)

    def send(self, data: bytes) -> None:
        """Send the report; only the first one counts. A reader that has ended is ignored."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with contextlib.suppress(BrokenPipeError), os.fdopen(descriptor, "wb") as pipe:
                pipe.write(data)


@contextlib.contextmanager
def hold_lease(folder: Path) -> Iterator[None]:
    """Hold a lease for the duration of a block."""
    path, descriptor = take_lease(folder)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def take_lease(folder: Path) -> tuple[Path, int]:
    """Hold a lease until this process and all forks of it end; return its file, and its descriptor."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{os.getpid()}-{uuid.uuid4().hex}"
    return path, _open_locked(path)


def _open_locked(path: Path) -> int:
    """Open a file, lock it and return its descriptor.

    Another process that removes abandoned leases may remove the file between its creation and its lock.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if _is_file_at(descriptor, path):
            return descriptor
        os.close(descriptor)


def _is_file_at(descriptor: int, path: Path) -> bool:
    """Whether an open file is still the file of this path."""
    try:
        return path.stat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False


def are_leases_held(folder: Path, *, by_others: bool = False) -> bool:
    """Whether any process holds a lease.

    :param by_others: ignore the leases of this process.
    """
    own = f"{os.getpid()}-"
    return any(not (by_others and path.name.startswith(own)) for path in _list_held(folder))


def list_holders(folder: Path) -> list[int]:
    """Return the ids of the processes that took the leases that are held."""
    return [int(path.name.partition("-")[0]) for path in _list_held(folder)]


def find_oldest_lease(folder: Path) -> float | None:
    """Return when the oldest held lease was taken, in seconds since 1970; None when no lease is held."""
    times = []
    for path in _list_held(folder):
        with contextlib.suppress(FileNotFoundError):
            times.append(path.stat().st_mtime)
    return min(times, default=None)


def _list_held(folder: Path) -> list[Path]:
    """Return the files of held leases; remove those of processes that have ended."""
    return [
        path for path in (folder.iterdir() if folder.is_dir() else ()) if not _remove_if_free(path)
    ]


def _remove_if_free(path: Path) -> bool:
    """Remove a lease that no process holds; say whether it is gone.

    It is removed under its lock, so that no process can take it meanwhile.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_file_at(descriptor, path):
            path.unlink()
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True
