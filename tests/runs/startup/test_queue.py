"""The queue of runs: its order and its limit, and runs that wait, are stopped or outlive the host."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from localcdap.api.errors import ConflictError, InvalidPipelineError, StoreError
from localcdap.engine.messages.orders import WorkOrder
from localcdap.engine.messages.spool import RunStatus
from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.processes.identity import ProcessIdentity, is_alive
from localcdap.runs import records
from localcdap.runs.history import RunFilter
from localcdap.runs.model import Run, RunRequest
from localcdap.runs.startup.processes import RunProcess, fit_runs
from localcdap.runs.startup.starter import RunQueue
from localcdap.testing.instance import TemporaryInstance
from tests.e2e.pipelines import csv_source, json_sink, pipeline, schema, stage
from tests.e2e.program import wait_until
from tests.runs.stored_runs import make_run

GIB = 2**30


class Turns:
    """What a queue starts, and lets end when the test says so."""

    def __init__(self, limit: int) -> None:
        self.started: list[str] = []
        self.most = 0
        self.failures: list[Exception] = []
        self.queue = RunQueue(limit, self._start, lambda: None)
        self._lock = threading.Lock()

    def _start(self, run: str) -> None:
        if self.failures:
            raise self.failures.pop()
        with self._lock:
            self.started.append(run)
            self.most = max(self.most, len(self.queue._working))

    def wait_for(self, *runs: str) -> None:
        wait_until(lambda: self.started == list(runs), f"{runs} are started")


@pytest.fixture
def turns() -> Iterator[Turns]:
    made = Turns(2)
    yield made
    made.queue.close()


def test_the_first_that_came_is_the_first_that_gets_a_process(turns):
    queue = turns.queue
    assert queue.enter("a")
    assert queue.enter("b")
    assert not queue.enter("c")
    for place, run in ((9, "e"), (7, "c"), (8, "d")):
        queue.wait_turn(run, place)

    assert queue.list_positions() == {"c": 1, "d": 2, "e": 3}
    queue.leave("a")
    turns.wait_for("c")
    assert queue.get_position("d") == 1
    assert queue.get_position("c") == 0
    queue.leave("c")
    queue.leave("b")
    turns.wait_for("c", "d", "e")
    assert turns.most == 2


def test_nobody_overtakes_those_who_wait(turns):
    queue = turns.queue
    queue.note_process("a")
    queue.note_process("b")
    queue.wait_turn("c", 1)
    queue.note_process("x")  # an earlier host had a higher limit
    queue.leave("a")

    assert not queue.enter("d")
    assert queue.get_position("c") == 1
    queue.leave("x")
    turns.wait_for("c")


def test_who_is_removed_does_not_begin(turns):
    queue = turns.queue
    queue.note_process("a")
    queue.note_process("b")
    for place, run in enumerate("cde"):
        queue.wait_turn(run, place)
    queue.remove("d")
    queue.remove("never there")

    assert queue.list_positions() == {"c": 1, "e": 2}
    for run in "abc":
        queue.leave(run)
    turns.wait_for("c", "e")


def test_a_run_that_cannot_be_started_now_keeps_its_place(turns):
    queue = turns.queue
    turns.failures.append(StoreError("The disk is full."))
    queue.wait_turn("a", 1)
    queue.wait_turn("b", 2)

    turns.wait_for("a", "b")


def test_a_closed_queue_starts_nothing(turns):
    turns.queue.note_process("a")
    turns.queue.note_process("b")
    turns.queue.wait_turn("c", 1)
    turns.queue.close()
    turns.queue.leave("a")

    assert not turns.queue.enter("d")
    assert turns.started == []


@pytest.mark.parametrize(
    ("cores", "memory", "engine", "runs"),
    [
        (2, 24 * GIB, "2g", 2),
        (64, 16 * GIB, "2g", 53),
        (64, 16 * GIB, "8192M", 29),
        (8, 3 * GIB, "2g", 1),
        (8, GIB, "2147483648", 1),
    ],
)
def test_each_core_gets_a_run_as_far_as_the_memory_does(cores, memory, engine, runs):
    assert fit_runs(cores, memory, engine) == runs


# -- runs of an instance that may have one process, which another run has -------------------------


class Blocker:
    """A run whose process does nothing, so that others wait, also in the next host."""

    def __init__(self, instance: TemporaryInstance) -> None:
        self._process = subprocess.Popen(["sleep", "600"], start_new_session=True)
        run = make_run("blocker", RunStatus.RUNNING)
        (instance.home.runs / run.run).mkdir(parents=True)
        created = psutil.Process(self._process.pid).create_time()
        process = ProcessIdentity(self._process.pid, created)
        runs = instance.cdap.runs
        runs._records.add(run, process, "{}")
        runs._starter.queue.note_process(run.run)
        runs._watch_run(run, process)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture
def instance(tmp_path: Path, fresh_home, engine_directory: Path) -> Iterator[TemporaryInstance]:
    with TemporaryInstance(fresh_home(tmp_path / "home")) as made:
        made.settings(f'runs.parallel = 1\nengine.directory = "{engine_directory}"\n')
        yield made


@pytest.fixture
def blocker(instance: TemporaryInstance) -> Iterator[Blocker]:
    made = Blocker(instance)
    yield made
    for each in instance.cdap.runs.list_runs("default"):
        if each.pipeline != "blocker":
            instance.cdap.runs.stop(each.run)
    made.end()


def build_document(folder: Path) -> str:
    (folder / "in.csv").write_text("1\n2\n")
    stages = [
        csv_source("In", "${in}", schema(id="int")),
        json_sink("Out", "${out}"),
    ]
    return json.dumps(pipeline(stages, ("In", "Out")))


def start(instance: TemporaryInstance, folder: Path, out: str = "out") -> Run:
    arguments = {"in": str(folder / "in.csv"), "out": str(folder / out)}
    return instance.cdap.runs.start(RunRequest(build_document(folder), arguments=arguments))


def get(instance: TemporaryInstance, run: Run) -> Run:
    return instance.cdap.runs.get("default", run.run)


def wait_for_end(instance: TemporaryInstance, run: Run) -> Run:
    while not run.status.is_end:
        run = instance.cdap.runs.wait(run.run, run.version, 1.0)
    return run


def test_a_run_that_waits_has_a_record_and_a_position_but_no_process(instance, blocker, tmp_path):
    first, second = start(instance, tmp_path), start(instance, tmp_path)
    runs = instance.cdap.runs

    assert (first.status, first.position) == (RunStatus.PENDING, 1)
    assert (second.status, second.position) == (RunStatus.PENDING, 2)
    assert get(instance, second).position == 2
    assert [each.position for each in runs.list_runs("default")] == [2, 1, 0]
    assert [each.position for each in runs.list_page("default", RunFilter()).runs] == [2, 1, 0]
    assert [each.process for each in runs._records.list_active()][:2] == [None, None]
    assert runs.list_active("default", "test_pipeline") == [first.run, second.run]
    assert not (instance.home.runs / first.run).exists()


def test_waiting_for_a_change_tells_a_new_position(instance, blocker, tmp_path):
    first, second = start(instance, tmp_path), start(instance, tmp_path)
    seen: list[int] = []

    def follow() -> None:
        seen.append(instance.cdap.runs.wait(second.run, second.version, 60).position)

    thread = threading.Thread(target=follow)
    thread.start()
    instance.cdap.runs.stop(first.run)
    thread.join(60)

    assert seen == [1]


def test_waiting_for_the_end_is_not_disturbed_by_changes(instance, blocker, tmp_path):
    first, second = start(instance, tmp_path), start(instance, tmp_path)
    runs = instance.cdap.runs
    assert runs.wait_for_end(second.run, 0.01).position == 2
    seen: list[Run] = []
    thread = threading.Thread(target=lambda: seen.append(runs.wait_for_end(second.run, 60)))
    thread.start()
    runs.stop(first.run)
    thread.join(0.2)
    assert not seen  # it has moved up only
    runs.stop(second.run)
    thread.join(60)
    assert [each.status for each in seen] == [RunStatus.KILLED]
    assert runs.wait_for_end(second.run, 60).status is RunStatus.KILLED


def test_a_run_is_stopped_in_the_queue(instance, blocker, tmp_path):
    first, second = start(instance, tmp_path), start(instance, tmp_path)
    stopped = instance.cdap.runs.stop(first.run)

    assert stopped.status is RunStatus.KILLED
    assert stopped.end is not None
    assert stopped.error is None
    lines = instance.cdap.runs.read_log(first.run)
    assert [each.text for each in lines] == ["The run was stopped while it was in the queue."]
    assert get(instance, second).position == 1
    assert instance.cdap.runs.stop(first.run).version == stopped.version

    instance.close()
    assert get(instance, first).status is RunStatus.KILLED
    assert get(instance, second).position == 1


def test_a_pipeline_with_failures_or_without_capabilities_does_not_wait(
    instance, blocker, tmp_path
):
    wrong = build_document(tmp_path).replace('"File"', '"Fil"')
    with pytest.raises(InvalidPipelineError):
        instance.cdap.runs.start(RunRequest(wrong))

    assert [each.pipeline for each in instance.cdap.runs.list_runs("default")] == ["blocker"]
    assert len(list(instance.home.runs.glob("*"))) == 1


def test_the_namespace_of_a_run_that_waits_is_deleted_only_with_force(instance, blocker, tmp_path):
    namespaces = instance.cdap.namespaces
    namespaces.create("team")
    arguments = {"in": str(tmp_path / "in.csv"), "out": str(tmp_path / "out")}
    request = RunRequest(build_document(tmp_path), "team", arguments=arguments)
    runs = [instance.cdap.runs.start(request).run for _ in range(2)]

    with pytest.raises(ConflictError, match=runs[0]):
        namespaces.delete("team")
    namespaces.delete("team", force=True)

    assert instance.cdap.runs._starter.queue.list_positions() == {}
    with instance.cdap.runs._store.snapshot() as tx:
        assert tx.execute("SELECT * FROM run_queue") == []


PLUGIN = """
from localcdap.api import Record, Transform, plugin


@plugin(type="transform", name="Marker", description="{word}")
class Marker(Transform):
    def transform(self, record: Record, emit) -> None:
        emit(record)
"""


def write_plugin(folder: Path, word: str) -> Path:
    file = folder / "marker-1.0.0.py"
    file.write_text(PLUGIN.format(word=word))
    return file


def read_order(instance: TemporaryInstance, run: Run) -> WorkOrder:
    with instance.cdap.runs._store.snapshot() as tx:
        order = records.read(tx, run.run)
    assert order is not None
    return order


def test_a_run_takes_the_arguments_and_preferences_of_the_time_when_it_was_asked_for(
    instance, blocker, tmp_path
):
    preferences, level = instance.cdap.preferences, PreferenceLevel("default")
    preferences.replace(level, {"in": "/old", "out": "/out"})
    run = instance.cdap.runs.start(
        RunRequest(build_document(tmp_path), arguments={"out": "/given"})
    )
    preferences.replace(level, {"in": "/new", "out": "/new"})
    instance.close()

    order = read_order(instance, run)
    started = {"logical.start.time": str(order.logical_start_ms)}
    assert order.arguments == get(instance, run).arguments | started
    assert (order.arguments["in"], order.arguments["out"]) == ("/old", "/given")
    assert order.logical_start_ms == run.starting
    assert (order.engine_url, order.engine_token) == ("", None)


def test_a_run_takes_the_plugins_of_the_time_when_it_was_asked_for(instance, blocker, tmp_path):
    plugin = write_plugin(tmp_path, "old")
    instance.drop(plugin)
    stages = [
        csv_source("In", tmp_path / "in.csv", schema(id="int")),
        stage("Mark", "transform", "Marker", "marker"),
        json_sink("Out", tmp_path / "out"),
    ]
    (tmp_path / "in.csv").write_text("1\n")
    document = json.dumps(pipeline(stages, ("In", "Mark"), ("Mark", "Out"))).replace(
        '"scope": "SYSTEM"}, "properties": {}', '"scope": "USER"}, "properties": {}'
    )
    run = instance.cdap.runs.start(RunRequest(document))
    instance.drop(write_plugin(tmp_path, "new"))

    assert "old" in Path(read_order(instance, run).plugins["Mark"].path).read_text()


def test_the_queue_outlives_the_host(instance, blocker, tmp_path):
    runs = [start(instance, tmp_path, f"out{n}") for n in range(3)]
    instance.cdap.runs.stop(runs[1].run)

    instance.close()

    assert [get(instance, each).position for each in runs] == [1, 0, 2]
    assert [get(instance, each).status for each in runs] == ["PENDING", "KILLED", "PENDING"]


def test_a_run_whose_process_had_no_order_waits_again_at_its_place(instance, blocker, tmp_path):
    first, second = start(instance, tmp_path, "out0"), start(instance, tmp_path, "out1")
    process = RunProcess(instance.home.runs, tmp_path / "no-fork-server", first.run)
    instance.cdap.runs._records.set_process(first.run, process.identity)
    instance.close()

    assert [get(instance, each).position for each in (first, second)] == [1, 2]
    assert not is_alive(process.identity)


def test_an_order_that_cannot_be_read_fails_its_run_alone(instance, blocker, tmp_path):
    first, second = start(instance, tmp_path), start(instance, tmp_path)
    with instance.cdap.runs._store.transaction() as tx:
        tx.execute("UPDATE run_queue SET work_order = '{' WHERE run = ?", (first.run,))
    blocker.end()

    failed = wait_for_end(instance, first)
    assert failed.status is RunStatus.FAILED
    assert failed.error.corrective_action.endswith("Start the run again.")
    wait_until(lambda: get(instance, second).position == 0, "the next run begins")


@pytest.mark.spark
def test_runs_that_waited_run_one_after_the_other(instance, blocker, tmp_path):
    runs = [start(instance, tmp_path, f"out{n}") for n in range(3)]
    (tmp_path / "in.csv").write_text("1\n2\n3\n")
    instance.close()
    assert get(instance, runs[0]).position == 1
    blocker.end()

    ended = [wait_for_end(instance, each) for each in runs]

    assert [each.status for each in ended] == [RunStatus.COMPLETED] * 3
    assert [each.stages["Out"].records_in for each in ended] == [3] * 3
    for before, after in zip(ended, ended[1:], strict=False):
        assert before.end <= after.start
    assert [each.starting for each in ended] == [each.starting for each in runs]


def test_a_deployed_pipeline_has_its_version_also_when_another_is_deployed_meanwhile(
    instance, blocker, tmp_path
):
    deployed = instance.cdap.applications.deploy(
        DeployRequest(build_document(tmp_path), name="sales")
    ).application
    arguments = {"in": str(tmp_path / "in.csv"), "out": str(tmp_path / "out")}
    request = RunRequest(
        instance.cdap.applications.export("default", "sales"),
        arguments=arguments,
        application="sales",
        application_version=deployed.version,
    )
    run = instance.cdap.runs.start(request)
    other = build_document(tmp_path).replace('"Out"', '"Other"')
    instance.cdap.applications.deploy(DeployRequest(other, name="sales"))

    assert '"Out"' in read_order(instance, run).document
    assert get(instance, run).application_version == deployed.version


def test_the_next_run_begins_when_spark_does_not_start_for_one(tmp_path, fresh_home, monkeypatch):
    monkeypatch.setenv("LOCALCDAP_ENGINE_DIRECTORY", str(tmp_path / "engine"))
    with TemporaryInstance(fresh_home(tmp_path / "home")) as instance:
        instance.settings('runs.parallel = 1\nengine.memory = "1k"\n')
        runs = [start(instance, tmp_path, f"out{n}") for n in range(2)]
        ended = [wait_for_end(instance, each) for each in runs]

    assert [each.status for each in ended] == [RunStatus.FAILED] * 2
    assert all("did not start" in each.error.message for each in ended)
