"""Directories and tables of a run become visible together, whatever fails or is killed between two steps.

The steps are those that :func:`localcdap.engine.commit.take_step` reports: a new one is tried here, too.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from localcdap.api.arrow import RecordCodec
from localcdap.api.schema import Schema
from localcdap.engine import commit
from localcdap.engine.commit import CommitStep, Staging, create_committed, create_load_messages
from localcdap.engine.driver.progress_report import create_status
from localcdap.engine.messages.host import TableLoad
from localcdap.engine.messages.orders import SPOOL
from localcdap.engine.messages.spool import Accessed, DatasetAccess, Message, RunStatus
from localcdap.messaging.consumer import SpoolConsumer, SpoolWriter
from localcdap.messaging.topics import Topics
from localcdap.namespaces.service import NamespaceService
from localcdap.runs.effects import RunEffects, merge_messages
from localcdap.runs.records import RunRecords
from localcdap.store.store import Store
from tests.runs.stored_runs import DOCUMENT, GONE, make_run

ROW = Schema.record("row", [("id", Schema.INT)])
SINKS = ("one", "two")


class Seen(NamedTuple):
    """What a run has made visible."""

    status: RunStatus
    directories: list[str]
    rows: int
    writes: int
    hidden: list[Path]
    last_line: str


ALL = (RunStatus.COMPLETED, list(SINKS), 1, 1, [], "Pipeline 'sales' succeeded")


class Host:
    """The part of a host that applies what a run reports."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = Store(folder / "host" / "x.duckdb")
        topics = Topics(self.store)
        records = RunRecords(self.store, topics, NamespaceService(self.store, topics))
        known = self.store.read("SELECT run FROM runs")
        if not known:
            run = make_run(status=RunStatus.RUNNING)
            records.add(run, GONE, DOCUMENT)
        self.run = known[0][0] if known else run.run
        self.records = records
        effects = RunEffects(self.store, records, self.run)
        self.consumer: SpoolConsumer[Message] = SpoolConsumer(
            *(self.store, folder / "run" / SPOOL, self.run, Message),
            effects.apply,
            effects.fail_on_poison,
            merge=merge_messages,
        )

    def look(self) -> Seen:
        tables = self.store.read("SELECT 1 FROM duckdb_tables() WHERE table_name = 't'")
        rows = self.store.read('SELECT count(*) FROM "default".t')[0][0] if tables else 0
        (writes,) = self.store.read(
            "SELECT count(*) FROM run_accesses WHERE is_write AND is_committed"
        )[0]
        found = [name for name in SINKS if (self.folder / "out" / name / "part-0").exists()]
        hidden = list((self.folder / "out").glob(".*"))
        lines = self.store.read("SELECT text FROM run_logs ORDER BY number")
        status = self.records.get(self.run).status
        return Seen(status, found, rows, writes, hidden, lines[-1][0] if lines else "")


def write(folder: Path) -> None:
    """Do what a run does: write into two directories and a table, commit, and report it."""
    run = folder / "run"
    rows = run / "rows"
    rows.mkdir(parents=True)
    batch = RecordCodec(ROW).encode([{"id": 1}])
    pq.write_table(pa.Table.from_batches([batch]), rows / "a.parquet")
    staging = Staging(run, "r1")
    for name in SINKS:
        place = Path(staging.create_directory(str(folder / "out" / name)))
        (place / "part-0").write_text(name)
    load = TableLoad("default", "t", ROW, None, str(rows))
    journal = staging.commit([load], by_host=True)
    with SpoolWriter(run / SPOOL) as spool:
        access = DatasetAccess("t", "t", is_write=True)
        loads = create_load_messages("r1", journal)
        end = create_status(RunStatus.COMPLETED)
        spool.append(Accessed([access]), *loads, create_committed(journal), end)


@pytest.fixture
def observe() -> Iterator[Callable[[Callable[[CommitStep, str], None]], None]]:
    """Has a function called at each step of commits."""
    yield commit.observers.append
    commit.observers.clear()


def test_all_of_it_becomes_visible_together(tmp_path, observe):
    steps = []
    write(tmp_path)
    observe(lambda step, _: steps.append((step, list((tmp_path / "out").glob("[a-z]*")))))
    host = Host(tmp_path)

    host.consumer.consume()

    assert host.look() == ALL
    assert [step for step, _ in steps] == [
        CommitStep.LOAD_ROWS,
        CommitStep.MOVE,
        CommitStep.MOVE,
        CommitStep.RECORD_COMMIT,
    ]
    assert steps[0][1] == []
    host.store.close()


FAULTS = [(CommitStep.LOAD_ROWS, "t"), *((CommitStep.MOVE, name) for name in SINKS)]


@pytest.mark.parametrize(("step", "name"), FAULTS)
def test_a_step_that_fails_in_the_host_leaves_nothing(tmp_path, observe, step, name):
    write(tmp_path)
    observe(make_fault((step, name)))
    host = Host(tmp_path)

    host.consumer.consume()

    seen = host.look()
    assert seen[:5] == (RunStatus.FAILED, [], 0, 0, [])
    assert seen.last_line.startswith("The rows for t could not be written")
    host.store.close()


@pytest.mark.parametrize(("step", "name"), FAULTS)
def test_a_step_that_fails_once_is_repeated_with_all_others(tmp_path, observe, step, name):
    write(tmp_path)
    observe(make_fault((step, name), times=1))
    host = Host(tmp_path)

    host.consumer.consume()

    assert host.look() == ALL
    host.store.close()


def test_what_cannot_be_taken_back_is_named(tmp_path, observe):
    write(tmp_path)
    observe(make_fault((CommitStep.MOVE, "two"), (CommitStep.MOVE_BACK, "one")))
    host = Host(tmp_path)

    host.consumer.consume()

    seen = host.look()
    assert seen[:5] == (RunStatus.FAILED, ["one"], 0, 0, [])
    assert f"'{tmp_path}/out/one' could not be taken back" in seen.last_line
    host.store.close()


def make_fault(
    *faults: tuple[CommitStep, str], times: int = 100
) -> Callable[[CommitStep, str], None]:
    """Return an observer that fails at steps, by the name of what they are about, so many times."""
    left = iter(range(times))

    def fail(step: CommitStep, subject: str) -> None:
        if (step, Path(subject).name) in faults and next(left, None) is not None:
            raise OSError("it does not work")

    return fail


@pytest.mark.parametrize("name", SINKS)
def test_a_place_that_is_taken_meanwhile_leaves_nothing_but_what_took_it(tmp_path, observe, name):
    write(tmp_path)
    taken = tmp_path / "out" / name
    observe(lambda step, _: taken.touch() if step is CommitStep.LOAD_ROWS else None)
    host = Host(tmp_path)

    host.consumer.consume()

    assert host.look()[:5] == (RunStatus.FAILED, [], 0, 0, [])
    assert taken.is_file()
    host.store.close()


def test_files_that_are_removed_meanwhile_are_no_success(tmp_path):
    write(tmp_path)
    shutil.rmtree(next((tmp_path / "out").glob(".two*")))
    host = Host(tmp_path)

    host.consumer.consume()

    assert host.look()[:5] == (RunStatus.FAILED, [], 0, 0, [])
    host.store.close()


@pytest.mark.parametrize(
    "number",
    [pytest.param(0, marks=pytest.mark.slow), 2, pytest.param(1, marks=pytest.mark.slow), 3],
)
def test_a_host_that_is_killed_between_two_steps_is_followed_by_one_that_ends_it(tmp_path, number):
    write(tmp_path)
    command = [sys.executable, "-m", __spec__.name, str(tmp_path), str(number)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL

    host = Host(tmp_path)
    host.consumer.consume()

    assert host.look() == ALL
    host.store.close()


def main(folder: Path, last: int) -> None:
    """Be a host that is killed at a step."""
    count = iter(range(100))

    def kill(step: CommitStep, _: str) -> None:
        if next(count) == last:
            os.kill(os.getpid(), signal.SIGKILL)

    commit.observers.append(kill)
    Host(folder).consumer.consume()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
