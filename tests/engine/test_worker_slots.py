"""Runs take turns with Spark's Python workers; none gets a process that another run has used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from localcdap.engine.driver.run_driver import RunWorkers
from localcdap.engine.endpoint import Endpoint
from localcdap.engine.local.worker_slots import FOLDER, end_workers, list_daemons, take_slot
from localcdap.engine.session import open_session
from tests.sandbox.test_hostile import assert_ends

# Like the daemon of Spark: it forks workers, and each forks another process.
DAEMON = """
import os, sys, time
os.environ["PYTHON_TRACEBACK_DUMP_INTERVAL_SECONDS"] = sys.argv[1]
from localcdap.engine.local.worker_slots import register_daemon
register_daemon()
for _ in range(2):
    if os.fork() == 0:
        os.fork()
        os.write(1, b"x")
        time.sleep(60)
sys.stdin.read()
"""


def test_a_slot_is_taken_by_one_at_a_time_and_keeps_its_number(tmp_path: Path):
    one, two = take_slot(tmp_path), take_slot(tmp_path)
    assert one.number != two.number

    one.release(has_ended=True)
    again = take_slot(tmp_path)
    assert again.number == one.number
    again.release(has_ended=True)
    two.release(has_ended=True)


def test_a_number_that_may_still_be_in_use_is_not_used_again(tmp_path: Path):
    slot = take_slot(tmp_path)
    slot.release(has_ended=False)
    again = take_slot(tmp_path)
    assert again.number != slot.number, "Spark may still work for the run"
    again.release(has_ended=True)

    code = "import sys; from pathlib import Path; from localcdap.engine.local.worker_slots import take_slot"
    killed = subprocess.run(
        [sys.executable, "-c", f"{code}; print(take_slot(Path(sys.argv[1])).number)", tmp_path],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(killed.stdout) == again.number
    after = take_slot(tmp_path)
    assert after.number != again.number, "the process has not released it"
    after.release(has_ended=True)


def test_workers_and_their_forks_end_with_the_slot_and_the_daemon_stays(tmp_path: Path):
    slot = take_slot(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", DAEMON, str(slot.number)],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as daemon:
        assert daemon.stdout is not None
        for _ in range(4):
            assert daemon.stdout.read(1) == b"x"
        assert list_daemons(tmp_path) == {daemon.pid}

        slot.release(has_ended=True)

        assert daemon.stdout.fileno() >= 0
        assert daemon.poll() is None
        assert list_daemons(tmp_path) == {daemon.pid}
        assert end_workers(tmp_path / FOLDER, slot.number), "there are none"
        daemon.kill()
    assert take_slot(tmp_path).number == slot.number


def find_worker(spark) -> tuple[int, int]:
    """Return the process ids of a worker and of its daemon."""

    def tell(batches):
        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"pid": [os.getpid()], "of": [os.getppid()]})

    row = spark.range(0, 1, 1, 1).mapInArrow(tell, "pid long, of long").collect()[0]
    return row.pid, row.of


@pytest.mark.spark
def test_runs_share_a_daemon_and_no_worker(engine: Endpoint, engine_directory: Path):
    seen = []
    for _ in range(3):
        workers = RunWorkers(engine_directory)
        with open_session(engine) as spark:
            workers.start(spark)
            seen.append(find_worker(spark))
            workers.end(spark.session_id, has_ended=True)

    pids, daemons = zip(*seen, strict=True)
    assert len(set(pids)) == 3
    assert len(set(daemons)) == 1
    assert list_daemons(engine_directory) >= set(daemons)


@pytest.mark.spark
def test_workers_without_a_slot_end_with_the_run(engine: Endpoint, engine_directory: Path):
    with open_session(engine) as spark:
        pid, daemon = find_worker(spark)
        RunWorkers(engine_directory).end(spark.session_id, has_ended=True)

        assert_ends(pid)  # it gives its lease back a bit earlier
        assert daemon not in list_daemons(engine_directory)
