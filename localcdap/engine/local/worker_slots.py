"""Slots of Spark's Python workers: which workers a run has.

Spark's local server shares Python workers among sessions whose workers have the same environment variables;
a number in one of these separates them, see :data:`localcdap.engine.session.NUMBER_PROPERTY`. For each number
that Spark ever got it keeps a daemon, which forks the workers, and three threads until it stops
(``SparkEnv.pythonWorkers``). So runs take turns with the numbers. A slot is a number that one run has at a
time. Its workers, which have loaded plugins, are ended with the run; its daemon, which has not, serves the
next run at once.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from pathlib import Path
from typing import Final

from localcdap.processes.identity import read_command
from localcdap.processes.limits import adopt_orphans
from localcdap.processes.single_instance import list_holders, open_locked, take_lease
from localcdap.processes.tree import kill, list_descendants, list_strays

FOLDER: Final = "workers"
"""In the engine's directory: the slots, and for each number a folder with the leases of its workers."""
_NUMBER_VARIABLE: Final = "PYTHON_TRACEBACK_DUMP_INTERVAL_SECONDS"
_SLOTS_FROM: Final = 200_000_000
"""The smallest number of a slot; the numbers of sessions without a slot are smaller."""
_FREE: Final = "free"
_USED: Final = "used"
_END_S: Final = 2.0
"""Seconds that killed workers may take to end; they take some milliseconds."""
_POLL_S: Final = 0.002


class WorkerSlot:
    """A slot that this process has taken, see :func:`take_slot`."""

    def __init__(self, folder: Path, descriptor: int) -> None:
        self._folder: Final = folder
        self._descriptor: Final = descriptor
        number, _, state = os.pread(descriptor, 64, 0).decode().partition(" ")
        # Tasks of a run whose process was killed may still start workers.
        self.number: Final = int(number) if state == _FREE else self._replace(number)
        """What Spark's workers are to have in their environment."""
        self._write(self.number, _USED)

    def release(self, *, has_ended: bool) -> None:
        """End the workers and give the slot to others.

        :param has_ended: whether Spark does nothing more for the run. Otherwise, or when a worker does not
            end, the number is not used any more.
        """
        is_clean = end_workers(self._folder, self.number) and has_ended
        self._write(self.number if is_clean else self._replace(str(self.number)), _FREE)
        os.close(self._descriptor)

    def _replace(self, number: str) -> int:
        """Return another number than one that is not to be used any more."""
        _get_daemon_file(self._folder, number).unlink(missing_ok=True)
        return _SLOTS_FROM + secrets.randbelow(_SLOTS_FROM)

    def _write(self, number: int, state: str) -> None:
        # The length is always the same, so that one write replaces all.
        os.pwrite(self._descriptor, f"{number} {state}".encode(), 0)


def take_slot(engine: Path) -> WorkerSlot:
    """Take a slot that no other process has. It is free again when it is released, or the process ends.

    :param engine: the directory of the local engine.
    """
    folder = engine / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    index = 0
    while True:
        descriptor = open_locked(folder / f"slot-{index}")
        if descriptor is not None:
            return WorkerSlot(folder, descriptor)
        index += 1


def register_daemon() -> None:
    """Let others find this process, a daemon in the engine's directory, and the workers that it forks."""
    adopt_orphans()
    number = os.environ.get(_NUMBER_VARIABLE, "")
    if number.isdecimal():
        workers = Path(FOLDER, number)
        if int(number) >= _SLOTS_FROM:
            _get_daemon_file(workers.parent, number).write_text(str(os.getpid()))
        os.register_at_fork(after_in_child=lambda: _begin_worker(workers))


def _begin_worker(workers: Path) -> None:
    take_lease(workers)
    adopt_orphans()  # of what plugins start


def list_left_behind(folder: Path, number: int) -> list[int]:
    """Return the running processes that plugins have started in the workers with a number.

    :param folder: of the slots.
    """
    workers = list_holders(folder / str(number))
    found = {pid for worker in workers for pid in list_descendants(worker)}
    with contextlib.suppress(OSError, ValueError):  # there is no daemon
        daemon = int(_get_daemon_file(folder, str(number)).read_text())
        # A worker that has just been forked has no lease yet, and the command of the daemon.
        strays = list_strays(daemon, workers)
        found.update(each for each in strays if read_command(each) != read_command(daemon))
    return sorted(found)


def list_daemons(engine: Path) -> set[int]:
    """Return the process ids of the daemons that serve the slots of an engine, or have served them."""
    folder = engine / FOLDER
    found = set()
    for slot in folder.glob("slot-*"):
        number, _, _ = slot.read_text().partition(" ")
        with contextlib.suppress(FileNotFoundError, ValueError):  # it has not been needed
            found.add(int(_get_daemon_file(folder, number).read_text()))
    return found


def end_workers(folder: Path, number: int) -> bool:
    """End the workers with a number and what they have started; say whether all workers have ended.

    :param folder: of the slots.
    """
    leases = folder / str(number)
    for pid in list_left_behind(folder, number):
        kill(pid)  # not its group, which may be that of the daemon
    deadline = time.monotonic() + _END_S
    while holders := list_holders(leases):
        for pid in holders:
            kill(pid)
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    with contextlib.suppress(OSError):  # it is not there, or has a new lease
        leases.rmdir()
    return True


def _get_daemon_file(folder: Path, number: str) -> Path:
    return folder / f"daemon-{number}"
