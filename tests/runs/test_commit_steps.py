"""What the sinks of a run write becomes visible together, whatever fails or is killed between two steps: two
directories, a table, and a partitioned file set that gets a partition and loses another one.

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
from localcdap.api.dataset.definition import DatasetDeclaration, PartitionChange
from localcdap.api.schema import Schema
from localcdap.datasets.partitions import describe_files
from localcdap.datasets.planner import PipelineDatasets
from localcdap.datasets.storage import recover_folders
from localcdap.engine import commit
from localcdap.engine.commit import CommitStep, Staging, create_committed, create_load_messages
from localcdap.engine.driver.progress_report import create_status
from localcdap.engine.driver.recovery import recover_run
from localcdap.engine.messages.host import TableLoad
from localcdap.engine.messages.orders import SPOOL, WorkOrder, write_order
from localcdap.engine.messages.spool import Accessed, DatasetAccess, Message, RunStatus
from localcdap.messaging.consumer import SpoolConsumer, SpoolWriter
from localcdap.messaging.topics import Topics
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.validation.datasets import StageDataset
from localcdap.runs.effects import RunEffects, merge_messages
from localcdap.runs.records import RunRecords
from localcdap.store.store import Store
from localcdap.testing.instance import open_new_store
from tests.runs.stored_runs import DOCUMENT, GONE, make_run

ROW = Schema.record("row", [("id", Schema.INT)])
FILE_SETS = "filesets"
DAYS = f"{FILE_SETS}/default/days"
PLACES = {"one": "out/one", "two": "out/two", "new": f"{DAYS}/new"}
"""The directories that a run writes: two of File sinks, and a new partition."""
PARTITIONED = {
    "partitioning.fields.": "day",
    "partitioning.field.day": "STRING",
    "format": "text",
}
HOST_STEPS = [
    CommitStep.LOAD_ROWS,
    CommitStep.CHANGE_PARTITIONS,
    *[CommitStep.MOVE] * len(PLACES),
    CommitStep.RECORD_COMMIT,
]
RUN_STEPS = [
    *[CommitStep.RECORD_STAGING, CommitStep.MAKE_STAGING] * len(PLACES),
    CommitStep.CHECK,
    CommitStep.DECIDE,
]


class Seen(NamedTuple):
    """What a run has made visible."""

    status: RunStatus
    directories: list[str]
    rows: int
    partitions: list[str]
    """Those that the file set lists."""
    files: list[str]
    """The partitions whose files are there."""
    writes: int
    hidden: list[Path]
    last_line: str


NOTHING = (RunStatus.FAILED, [], 0, ["old"], ["old"], 0, [])
ALL = (RunStatus.COMPLETED, ["one", "two"], 1, ["new"], ["new"], 2, [])


class Host:
    """The part of a host that applies what a run reports. A new folder gets a file set with a partition."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = open_new_store(folder / "host" / "x.duckdb")
        recover_folders(self.store, folder / FILE_SETS)
        topics = Topics(self.store)
        records = RunRecords(self.store, topics, NamespaceService(self.store, topics))
        planner = PipelineDatasets(self.store, folder / FILE_SETS)
        known = self.store.read("SELECT run FROM runs")
        if not known:
            run = make_run(status=RunStatus.RUNNING)
            records.add(run, GONE, DOCUMENT)
            create_partition(self.store, planner, folder / DAYS / "old")
        self.run = known[0][0] if known else run.run
        self.records = records
        effects = RunEffects(self.store, records, self.run, datasets=planner)
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
        with self.store.snapshot() as tx:
            files = describe_files(tx, self.folder / FILE_SETS, "default", "days")
        assert files is not None
        roots = [self.folder / each for each in ("out", DAYS, FILE_SETS, f"{FILE_SETS}/.changes")]
        hidden = [path for root in roots for path in root.glob(".*") if any(path.iterdir())]
        lines = self.store.read("SELECT text FROM run_logs ORDER BY number")
        return Seen(
            self.records.get(self.run).status,
            list_written(self.folder / "out"),
            rows,
            [each.path for each in files.partitions],
            list_written(self.folder / DAYS),
            writes,
            hidden,
            lines[-1][0] if lines else "",
        )


def create_partition(store: Store, planner: PipelineDatasets, place: Path) -> None:
    declared = DatasetDeclaration(place.parent.name, "partitionedFileSet", PARTITIONED)
    added = PartitionChange("default", declared.name, {"day": place.name}, place.name)
    with store.transaction() as tx:
        planner.apply(tx, "default", [StageDataset("Days", declared)], None)
        planner.change_partitions(tx, [added])
    place.mkdir()
    (place / "part-0").write_text(place.name)


def list_written(folder: Path) -> list[str]:
    return sorted(each.parent.name for each in folder.glob("[a-z]*/part-0"))


def write(folder: Path) -> None:
    """Do what a run does: write into directories, a table and a file set, commit, and report it."""
    run = folder / "run"
    rows = run / "rows"
    rows.mkdir(parents=True)
    write_order(run, WorkOrder("r1", "default", "p", "{}", {}, {}, 0, "sc://x", str(folder)))
    batch = RecordCodec(ROW).encode([{"id": 1}])
    pq.write_table(pa.Table.from_batches([batch]), rows / "a.parquet")
    staging = Staging(run, "r1")
    for name, place in PLACES.items():
        directory = Path(staging.create_directory(str(folder / place)))
        (directory / "part-0").write_text(name)
    load = TableLoad("default", "t", ROW, None, str(rows))
    changes = [
        PartitionChange("default", "days", {"day": "new"}, "new"),
        PartitionChange("default", "days", {"day": "old"}),
    ]
    journal = staging.commit([load], partitions=changes, by_host=True)
    with SpoolWriter(run / SPOOL) as spool:
        accesses = [DatasetAccess(name, name, is_write=True) for name in ("t", "days")]
        loads = create_load_messages("r1", journal)
        end = create_status(RunStatus.COMPLETED)
        spool.append(Accessed(accesses), *loads, create_committed(journal), end)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    """A host that is about to apply what a run has reported."""
    host = Host(tmp_path)
    write(tmp_path)
    yield host
    host.store.close()


Observe = Callable[[Callable[[CommitStep, str], None]], None]


@pytest.fixture
def observe() -> Iterator[Observe]:
    """Has a function called at each step of commits."""
    yield commit.observers.append
    commit.observers.clear()


def test_all_of_it_becomes_visible_together(host, observe):
    steps = []
    observe(lambda step, _: steps.append((step, list_written(host.folder / "out"))))

    host.consumer.consume()

    assert host.look() == (*ALL, "Pipeline 'sales' succeeded")
    assert [step for step, _ in steps] == HOST_STEPS
    assert steps[HOST_STEPS.index(CommitStep.MOVE)][1] == []


FAULTS = [
    (CommitStep.LOAD_ROWS, "t"),
    (CommitStep.CHANGE_PARTITIONS, ""),
    *((CommitStep.MOVE, name) for name in PLACES),
]


@pytest.mark.parametrize(("step", "name"), FAULTS)
def test_a_step_that_fails_in_the_host_leaves_nothing(host, observe, step, name):
    observe(make_fault((step, name)))

    host.consumer.consume()

    seen = host.look()
    assert seen[:-1] == NOTHING
    assert seen.last_line.startswith("The rows for days, t could not be written")


@pytest.mark.parametrize(("step", "name"), FAULTS)
def test_a_step_that_fails_once_is_repeated_with_all_others(host, observe, step, name):
    observe(make_fault((step, name), times=1))

    host.consumer.consume()

    assert host.look()[:-1] == ALL


def test_what_cannot_be_taken_back_is_named(host, observe):
    observe(make_fault((CommitStep.MOVE, "two"), (CommitStep.MOVE_BACK, "one")))

    host.consumer.consume()

    seen = host.look()
    assert seen[:-1] == (RunStatus.FAILED, ["one"], *NOTHING[2:])
    assert f"'{host.folder}/out/one' could not be taken back" in seen.last_line


def make_fault(
    *faults: tuple[CommitStep, str], times: int = 100
) -> Callable[[CommitStep, str], None]:
    """Return an observer that fails at steps, so many times.

    :param faults: the steps, each with the name of what it is about; "" for any.
    """
    left = iter(range(times))

    def fail(step: CommitStep, subject: str) -> None:
        is_wanted = (step, Path(subject).name) in faults or (step, "") in faults
        if is_wanted and next(left, None) is not None:
            raise OSError("it does not work")

    return fail


@pytest.mark.parametrize("name", PLACES)
def test_a_place_that_is_taken_meanwhile_leaves_nothing_but_what_took_it(host, observe, name):
    taken = host.folder / PLACES[name]
    observe(lambda step, _: taken.touch() if step is CommitStep.LOAD_ROWS else None)

    host.consumer.consume()

    assert host.look()[:-1] == NOTHING
    assert taken.is_file()


@pytest.mark.parametrize("name", PLACES)
def test_files_that_are_removed_meanwhile_are_no_success(host, name):
    place = host.folder / PLACES[name]
    shutil.rmtree(next(place.parent.glob(f".{name}*")))

    host.consumer.consume()

    assert host.look()[:-1] == NOTHING


class Killed(BaseException):
    """The process of a run ends at once."""


@pytest.mark.parametrize("number", range(len(RUN_STEPS) + 1))
def test_a_run_that_is_killed_between_two_steps_is_recovered(tmp_path, observe, number):
    """The last number is that of a kill after all steps, before they are reported."""
    host, steps = Host(tmp_path), []

    def kill(step: CommitStep, _: str) -> None:
        if len(steps) == number:
            raise Killed
        steps.append(step)

    observe(kill)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{__name__}.SpoolWriter", lambda _: kill(CommitStep.DECIDE, ""))
        pytest.raises(Killed, write, tmp_path)
    commit.observers.clear()
    is_decided = number == len(RUN_STEPS)

    for _ in range(2):
        ended = recover_run(tmp_path / "run")
        assert ended is (RunStatus.COMPLETED if is_decided else RunStatus.FAILED)
    host.consumer.consume()

    seen = host.look()
    assert steps == RUN_STEPS[:number]
    # The run had not reported yet what it writes.
    assert seen[:-1] == ((*ALL[:5], 0, []) if is_decided else NOTHING)
    host.store.close()


def test_a_run_whose_writing_is_blocked_leaves_nothing(tmp_path):
    """Spark may still work for a run that has ended: what it writes then fails, and is gone with the run."""
    host, run = Host(tmp_path), tmp_path / "run"
    run.mkdir()
    staging = Staging(run, "r1")
    places = [Path(staging.create_directory(str(tmp_path / each))) for each in PLACES.values()]

    staging.block(run / "rows")

    for place in places:
        with pytest.raises(NotADirectoryError):
            (place / "part-0").write_text("late")
    assert recover_run(run) is RunStatus.FAILED
    host.consumer.consume()
    assert host.look()[:-1] == NOTHING
    host.store.close()


@pytest.mark.parametrize(
    "number",
    [2, 5, *(pytest.param(number, marks=pytest.mark.slow) for number in (0, 1, 3, 4))],
)
def test_a_host_that_is_killed_between_two_steps_is_followed_by_one_that_ends_it(tmp_path, number):
    Host(tmp_path).store.close()
    write(tmp_path)
    command = [sys.executable, "-m", __spec__.name, str(tmp_path), str(number)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL

    host = Host(tmp_path)
    host.consumer.consume()

    assert host.look()[:-1] == ALL
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
