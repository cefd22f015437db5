"""Leases keep a server alive as long as their holders live."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

from localcdap.processes.single_instance import (
    are_leases_held,
    find_oldest_lease,
    hold_lease,
    is_locked,
)

HOLDER = """
import sys, time
from pathlib import Path
from localcdap.processes.single_instance import hold_lease
with hold_lease(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_lease_is_held_for_the_time_of_the_block(tmp_path: Path):
    folder = tmp_path / "leases"
    assert not are_leases_held(folder)

    with hold_lease(folder), hold_lease(folder):
        assert are_leases_held(folder)

    assert not are_leases_held(folder)
    assert list(folder.iterdir()) == []


def test_lease_of_a_killed_process_does_not_count(tmp_path: Path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    assert are_leases_held(tmp_path)
    assert are_leases_held(tmp_path, by_others=True)

    holder.kill()
    holder.wait()
    holder.stdout.close()

    assert not are_leases_held(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_own_leases_can_be_left_out(tmp_path: Path):
    with hold_lease(tmp_path):
        assert not are_leases_held(tmp_path, by_others=True)


def test_oldest_is_the_time_of_the_first_lease(tmp_path: Path):
    assert find_oldest_lease(tmp_path) is None
    before = time.time()
    with hold_lease(tmp_path):
        first = find_oldest_lease(tmp_path)
        assert first is not None
        assert abs(first - before) < 2
        with hold_lease(tmp_path):
            assert find_oldest_lease(tmp_path) == first


def test_lease_survives_those_who_clear_dead_ones_away(tmp_path: Path):
    """A process that looks between the creation of the file and its lock removes it."""
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            are_leases_held(tmp_path)

    lookers = [threading.Thread(target=look) for _ in range(3)]
    for looker in lookers:
        looker.start()
    try:
        for _ in range(300):
            with hold_lease(tmp_path):
                assert len(list(tmp_path.iterdir())) == 1
    finally:
        done.set()
        for looker in lookers:
            looker.join()


def test_two_who_ask_do_not_take_each_other_for_the_holder(tmp_path: Path):
    file = tmp_path / "lock"
    file.touch()
    answers: set[bool] = set()

    def ask() -> None:
        answers.update(is_locked(file) for _ in range(2000))

    askers = [threading.Thread(target=ask) for _ in range(4)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()

    assert answers == {False}
