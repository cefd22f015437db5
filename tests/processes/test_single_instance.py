"""Locks of files, who holds them, and processes that are started in the background."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from localcdap.processes.single_instance import (
    BackgroundStart,
    StartReport,
    end_holder,
    hold_lock,
    is_locked,
    read_holder,
    take_lock,
)
from tests.small_disks import fill_disk, mount_small_disk

HOLDER = """
import signal, sys, time
from pathlib import Path
from localcdap.processes.single_instance import take_lock

if "stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
lock = take_lock(Path(sys.argv[1]))
print(lock is not None, flush=True)
time.sleep(600)
"""


def start_holder(path: Path, *options: str) -> subprocess.Popen[str]:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path), *options], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "True\n"
    return holder


def test_one_process_has_the_lock_and_its_id_is_known(tmp_path: Path):
    path = tmp_path / "lock"
    assert not is_locked(path)
    assert read_holder(path) is None

    holder = start_holder(path)

    assert is_locked(path)
    assert read_holder(path) == holder.pid
    assert take_lock(path) is None
    assert path.stat().st_mode & 0o777 == 0o600
    holder.kill()
    holder.wait()
    assert read_holder(path) is None, "the id of a process that has ended does not count"
    lock = take_lock(path)
    assert lock is not None
    assert read_holder(path) == os.getpid()
    os.close(lock)


def test_a_shorter_id_leaves_nothing_of_a_longer_one(tmp_path: Path):
    path = tmp_path / "lock"
    path.write_text("99999999")

    lock = take_lock(path)

    assert lock is not None
    assert path.read_text().split() == [str(os.getpid())]
    os.close(lock)


def test_a_process_that_only_asks_is_waited_for(tmp_path: Path):
    path = tmp_path / "lock"
    path.touch()
    with hold_lock(path) as is_held:
        assert is_held
        assert take_lock(path) is None
        assert take_lock(path, 0.01) is None
        taken: list[int | None] = []
        thread = threading.Thread(target=lambda: taken.append(take_lock(path, 60)))
        thread.start()
    thread.join()

    assert taken[0] is not None
    os.close(taken[0])


def test_a_folder_can_be_held(tmp_path: Path):
    with hold_lock(tmp_path) as is_held, hold_lock(tmp_path) as is_held_twice:
        assert (is_held, is_held_twice) == (True, False)
    with hold_lock(tmp_path) as is_held:
        assert is_held


@pytest.mark.parametrize(
    ("options", "code"), [((), -signal.SIGTERM), (("stubborn",), -signal.SIGKILL)]
)
def test_the_holder_is_ended_step_by_step(tmp_path: Path, options, code):
    path = tmp_path / "lock"
    holder = start_holder(path, *options)
    patience_s = 0.01 if options else 60.0

    if options:
        assert not end_holder(path, (signal.SIGTERM, patience_s))
    assert end_holder(path, (signal.SIGTERM, patience_s), (signal.SIGKILL, 60.0))

    assert holder.wait() == code


def test_without_a_holder_nobody_is_ended(tmp_path: Path):
    path = tmp_path / "lock"
    path.write_text(str(os.getpid()))

    assert end_holder(path, (signal.SIGKILL, 0.0))


def test_a_full_disk_prevents_no_lock_and_leaves_no_wrong_id(tmp_path: Path):
    with mount_small_disk(tmp_path / "disk", 64) as disk:
        path = disk / "lock"
        path.touch()
        fill_disk(disk)
        lock = take_lock(path)
        assert lock is not None
        assert read_holder(path) is None
        os.close(lock)


def start(script: str, **options: object) -> BackgroundStart:
    return BackgroundStart([sys.executable, "-c", script], **options)


def test_a_background_process_reports_once_and_goes_on():
    script = (
        "import os, sys, time; from localcdap.processes.single_instance import StartReport\n"
        "report = StartReport(int(sys.argv[2]))\n"
        "report.send(sys.argv[1].encode() + sys.stdin.buffer.read()); report.send(b'twice')\n"
        "time.sleep(600)"
    )
    background = start(script, input=b" input")

    assert background.read_report() == b"--report input"

    assert os.getsid(background.pid) == background.pid
    os.kill(background.pid, signal.SIGKILL)
    assert background.wait() == -signal.SIGKILL


def test_one_that_ends_without_a_report_reports_nothing(tmp_path: Path):
    with (tmp_path / "log").open("wb") as log:
        background = start("raise SystemExit('why')", output=log)

    assert background.read_report() == b""
    assert background.wait() == 1
    assert (tmp_path / "log").read_text() == "why\n"


def test_a_report_that_nobody_waits_for_is_no_error():
    reads, writes = os.pipe()
    os.close(reads)

    StartReport(writes).send(b"listens")
    StartReport(None).send(b"listens")


def test_a_program_that_does_not_exist_is_an_error():
    with pytest.raises(FileNotFoundError):
        BackgroundStart(["/no/such/program"])
