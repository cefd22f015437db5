"""Which events runs and deployments have, from stored runs without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.app.events import RunStatusChanged
from localcdap.cli.main import run as run_command
from localcdap.engine.driver.progress_report import create_status
from localcdap.engine.messages.dataset_names import DatasetName
from localcdap.engine.messages.spool import (
    Accessed,
    Committed,
    Counted,
    DatasetAccess,
    Failed,
    Message,
    RecordCounts,
    RunStatus,
)
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.runs.effects import RunEffects
from localcdap.runs.model import Run
from localcdap.runs.retention import RunRetention
from localcdap.testing.instance import TemporaryInstance
from tests.e2e.pipelines import pipeline, stage
from tests.openlineage.test_destinations import Receiver
from tests.openlineage.validation import read_events, wait_until
from tests.runs.stored_runs import write_run

SCHEMA = '{"type":"record","name":"r","fields":[{"name":"id","type":"string"}]}'
NESTED = (
    '{"type":"record","name":"r","fields":[{"name":"at","type":{"type":"long","logicalType":'
    '"timestamp-micros"}},{"name":"lines","type":{"type":"array","items":{"type":"record","name":"l",'
    '"fields":[{"name":"sku","type":["string","null"]}]}}}]}'
)
RAW = DatasetName("file", "/data/in.csv")


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[TemporaryInstance]:
    with TemporaryInstance(tmp_path / "shop") as instance:
        instance.settings('[openlineage]\nfile = "events.jsonl"\ninstance = "prod"\n')
        yield instance


def read(instance: TemporaryInstance) -> list[dict[str, Any]]:
    return read_events(instance.home.path / "events.jsonl")


def list_types(instance: TemporaryInstance) -> list[tuple[str, str]]:
    return [(each["run"]["runId"], each["eventType"]) for each in read(instance)]


def apply(instance: TemporaryInstance, run: Run, *messages: Message) -> None:
    service = instance.cdap.runs
    effects = RunEffects(service._store, service._records, run.run)
    for message in messages:
        with service._store.transaction() as tx:
            effects.apply(tx, message)


def list_starts() -> list[Message]:
    return [create_status(RunStatus.STARTING), create_status(RunStatus.RUNNING)]


def start_run(instance: TemporaryInstance, pipeline: str = "sales") -> Run:
    return write_run(instance.cdap, pipeline, RunStatus.PENDING)


def test_each_run_has_a_start_and_an_end(instance: TemporaryInstance) -> None:
    run = start_run(instance)
    statuses = (RunStatus.STARTING, RunStatus.RUNNING, RunStatus.STOPPING, RunStatus.KILLED)
    apply(instance, run, *map(create_status, statuses))
    wait_until(lambda: len(read(instance)) == 2)
    assert list_types(instance) == [(run.run, "START"), (run.run, "ABORT")]
    assert {each["job"]["namespace"] for each in read(instance)} == {"localcdap://prod/default"}


@pytest.mark.slow
def test_a_run_that_ends_before_it_runs_has_a_start_too(instance: TemporaryInstance) -> None:
    instance.cdap.namespaces.create("team")
    run = write_run(instance.cdap, status=RunStatus.PENDING, namespace="team")
    with instance.cdap.runs._store.transaction() as tx:
        record = instance.cdap.runs._records.get_in(tx, run.run)
        record.start = None
        instance.cdap.runs._records.change(tx, record)
    failed = Failed("In", "No such file.", None, ["frame 1", "frame 2"])
    apply(instance, run, failed, create_status(RunStatus.FAILED))
    wait_until(lambda: len(read(instance)) == 2)
    start, end = read(instance)
    assert list_types(instance) == [(run.run, "START"), (run.run, "FAIL")]
    assert end["run"]["facets"]["errorMessage"]["message"] == "Stage 'In': No such file."
    assert end["run"]["facets"]["errorMessage"]["stackTrace"] == "frame 1\nframe 2"
    assert start["job"]["namespace"] == "localcdap://prod/team"


@pytest.mark.slow
def test_datasets_of_several_stages(instance: TemporaryInstance) -> None:
    run = start_run(instance)
    accesses = [
        DatasetAccess("a", "raw", False, NESTED, (RAW,), is_whole=True),
        DatasetAccess("b", "again", False, NESTED, (RAW,), is_whole=True),
        DatasetAccess("lookup", "codes", False, SCHEMA, tables=("codes",)),
        DatasetAccess("web", "page", False, None, is_whole=True),
        DatasetAccess(
            "out", "d.t", True, SCHEMA, (DatasetName("bigquery", "p.d.t"),), ("d.t",), True
        ),
        DatasetAccess("lost", "never", True, SCHEMA, is_whole=True),
    ]
    counts = {name: RecordCounts(5, 3, 0) for name in ("a", "b", "lookup", "out")}
    messages = (Accessed(accesses[:5]), Counted(counts), Committed([]), Accessed(accesses[5:]))
    apply(instance, run, *list_starts(), *messages, create_status(RunStatus.FAILED))
    wait_until(lambda: len(read(instance)) == 2)
    end = read(instance)[1]
    inputs = {each["name"]: each for each in end["inputs"]}
    assert set(inputs) == {"/data/in.csv", "default.codes", "page"}

    def list_links(dataset: dict[str, Any]) -> list[str]:
        return [each["name"] for each in dataset["facets"]["symlinks"]["identifiers"]]

    file = inputs["/data/in.csv"]
    assert sorted(list_links(file)) == ["again", "raw"]
    assert file["inputFacets"]["inputStatistics"]["rowCount"] == 6
    at, lines = file["facets"]["schema"]["fields"]
    assert (at["type"], lines["type"]) == ("timestamp-micros", "array")
    assert [(each["name"], each["type"]) for each in lines["fields"]] == [("sku", "string")]
    # The records of a stage that looks something up are not those of the table.
    codes = inputs["default.codes"]
    assert "inputFacets" not in codes
    assert "schema" not in codes["facets"]
    # Nothing is known of the place of the page.
    assert inputs["page"]["namespace"] == "localcdap://prod/default"
    assert "facets" not in inputs["page"]
    (written,) = end["outputs"]  # only what was committed
    assert (written["namespace"], written["name"]) == ("bigquery", "p.d.t")
    assert list_links(written) == ["default.d.t", "d.t"]
    assert written["outputFacets"]["outputStatistics"]["rowCount"] == 5


@pytest.mark.slow
def test_a_run_that_was_removed_has_what_its_status_says(instance: TemporaryInstance) -> None:
    run, newer = start_run(instance), start_run(instance)
    access = DatasetAccess("in", "raw", False, SCHEMA, (RAW,), is_whole=True)
    messages = (*list_starts(), Accessed([access]), create_status(RunStatus.COMPLETED))
    apply(instance, run, *messages)
    apply(instance, newer, *messages)
    wait_until(lambda: len(read(instance)) == 4)
    store = instance.cdap.runs._store
    assert instance.cdap.runs.prune("default", RunRetention(newest=1)) == [run.run]
    assert store.read("SELECT DISTINCT run FROM run_accesses") == [(newer.run,)]
    gone = RunStatusChanged("default", "sales", run.run, "FAILED", 5)
    with store.snapshot() as tx:
        (event,) = instance.cdap.openlineage._builder.build_status_events(tx, gone)
    assert (event.event_type, event.run.run_id) == ("FAIL", run.run)
    assert event.event_time == "1970-01-01T00:00:00.005Z"
    assert (event.inputs, event.outputs) == ([], [])


def build_document(path: str) -> str:
    source = stage(
        "in", "batchsource", "File", referenceName="raw", path=path, format="text", schema=""
    )
    sink = stage("out", "batchsink", "File", referenceName="copy", path="out", format="json")
    return json.dumps(pipeline([source, sink], ("in", "out")) | {"name": "copies"})


@pytest.mark.slow
def test_each_version_of_a_pipeline_has_an_event(instance: TemporaryInstance) -> None:
    cdap = instance.cdap
    for path in ("one.txt", "${second}"):
        assert cdap.applications.deploy(DeployRequest(build_document(path))).application
    wait_until(lambda: len(read(instance)) == 2)
    first, second = read(instance)
    (copy,) = first["outputs"]
    assert [each["name"] for each in first["inputs"]] == [str(instance.home.path / "one.txt")]
    assert [each["name"] for each in copy["facets"]["schema"]["fields"]] == ["offset", "body"]
    assert second["inputs"] == []  # a run will know the name
    facets = copy["facets"].pop("columnLineage")
    assert set(facets["fields"]) == {"offset", "body"}
    (same,) = second["outputs"]
    known = same["facets"].pop("columnLineage")["fields"]["body"]["inputFields"]
    assert [each["name"] for each in known] == ["raw"]  # by its reference name alone
    assert same == copy
    assert "run" not in first


@pytest.mark.slow
def test_planned_stages_name_datasets_as_lineage_does(instance: TemporaryInstance) -> None:
    """A table has the name of its place, and another dataset its own, also without a reference name."""
    source = stage("in", "batchsource", "Stream", duration="1d", format="text")
    source["plugin"]["properties"]["name"] = "clicks"
    written = (
        '{"type":"record","name":"r","fields":[{"name":"body","type":"string"},'
        '{"name":"ts","type":"long"}]}'
    )
    sink = stage("out", "batchsink", "Table", schema=written, schema__row__field="body")
    sink["plugin"]["properties"]["name"] = "texts"
    document = json.dumps(pipeline([source, sink], ("in", "out")) | {"name": "clicks"})
    answer = instance.cdap.applications.deploy(DeployRequest(document))
    assert answer.application, answer.errors
    wait_until(lambda: len(read(instance)) == 1)
    (event,) = read(instance)
    named = {
        kind: [(e["namespace"], e["name"]) for e in event[kind]] for kind in ("inputs", "outputs")
    }
    place = f"duckdb://{instance.home.database}"
    assert named == {
        "inputs": [("localcdap://prod/default", "clicks")],
        "outputs": [(place, "default.texts")],
    }


@pytest.mark.slow
def test_a_start_event_holds_no_argument_that_is_a_secret(instance: TemporaryInstance) -> None:
    document = build_document("/data/${day}/${api.token}.txt")
    arguments = {"day": "monday", "api.token": "hush"}
    kinds = {"status": RunStatus.PENDING, "arguments": arguments}
    run = write_run(instance.cdap, document=document, **kinds)
    other = write_run(instance.cdap, document=build_document("/data/${day}/a.txt"), **kinds)
    for each in (run, other):
        apply(instance, each, *list_starts())
    wait_until(lambda: len(read(instance)) == 2)
    first, second = read(instance)
    assert "hush" not in json.dumps(first)
    assert first["inputs"] == []
    assert [each["name"] for each in first["outputs"]] == [str(instance.home.path / "out")]
    assert [each["name"] for each in second["inputs"]] == ["/data/monday/a.txt"]


@pytest.mark.slow
def test_events_are_delivered_by_a_later_host_and_earlier_ones_are_not_made(tmp_path: Path) -> None:
    file = tmp_path / "shop" / "events.jsonl"
    with TemporaryInstance(tmp_path / "shop") as instance:
        before = start_run(instance)
        apply(instance, before, *list_starts(), create_status(RunStatus.COMPLETED))
        assert instance.cdap.openlineage.list_destinations() == []
        store = instance.cdap.runs._store
        assert store.read("SELECT count(*) FROM listeners WHERE name = 'openlineage'") == [(0,)]
        instance.close()

        with Receiver() as gone:
            url = gone.url
        instance.settings(f'[openlineage]\nurl = "{url}"\n')
        run = start_run(instance)
        apply(instance, run, *list_starts(), create_status(RunStatus.COMPLETED))
        (status,) = instance.cdap.openlineage.list_destinations()
        assert status.target == f"{url}/api/v1/lineage"
        # What the listener has not made yet, a later host would make, also for new destinations.
        wait_until(lambda: instance.cdap.openlineage.list_destinations()[0].waiting == 2)
        instance.close()

        with Receiver() as receiver:
            instance.settings(f'[openlineage]\nurl = "{receiver.url}"\nfile = "events.jsonl"\n')
            wait_until(lambda: bool(instance.cdap.is_host) and len(receiver.bodies) == 2)
            sent = [json.loads(body) for body in receiver.bodies]
        assert [(each["run"]["runId"], each["eventType"]) for each in sent] == [
            (run.run, "START"),
            (run.run, "COMPLETE"),
        ]
        # The file is a new destination: it gets what happens from now on.
        later = start_run(instance)
        apply(instance, later, *list_starts())
        wait_until(lambda: len(read_events(file)) > 0)
        assert {each["run"]["runId"] for each in read_events(file)} == {later.run}


@pytest.mark.slow
def test_the_doctor_finds_an_endpoint_that_is_dead(
    instance: TemporaryInstance,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Receiver() as gone:
        url = gone.url
    instance.settings(f'[openlineage]\nurl = "{url}"\napi_key = "hush"\n')
    apply(instance, start_run(instance), *list_starts())
    wait_until(lambda: instance.cdap.openlineage.list_destinations()[0].tries > 0)
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "kafka")
    assert run_command(["doctor", "--json", "--home", str(instance.home.path)]) == 1
    out = capsys.readouterr().out
    found = [each for each in json.loads(out)["findings"] if each["what"] == "openlineage"]
    assert [each["good"] for each in found] == [False, False]
    assert "kafka" in found[0]["found"]
    assert f"1 events wait for {url}/api/v1/lineage" in found[1]["found"]
    assert "cannot be reached" in found[1]["found"]
    assert "hush" not in out
