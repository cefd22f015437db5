"""The history of runs in pages, filtered, per pipeline; their documents and arguments."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from localcdap.api.errors import NotFoundError
from localcdap.engine.messages.spool import RunStatus
from localcdap.home import Home
from localcdap.host import Cdap, open_in_process
from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.runs.arguments import ArgumentSource
from localcdap.runs.history import RunFilter
from localcdap.runs.model import RunError, StageCounts
from tests.e2e.pipelines import csv_source, json_sink, pipeline, schema
from tests.runs.stored_runs import DOCUMENT, write_run


@pytest.fixture(scope="module")
def cdap(
    tmp_path_factory: pytest.TempPathFactory, fresh_home: Callable[[Path], Path]
) -> Iterator[Cdap]:
    with open_in_process(Home(fresh_home(tmp_path_factory.mktemp("history")))) as cdap:
        yield cdap


@pytest.fixture
def namespace(cdap: Cdap, request: pytest.FixtureRequest) -> str:
    name = request.node.name.replace("[", "_").replace("]", "")[:60]
    cdap.namespaces.create(name)
    return name


def test_pages_show_every_run_once_newest_first(cdap: Cdap, namespace: str) -> None:
    # Three at a time have the same moment, which must neither hide nor repeat one.
    written = [write_run(cdap, starting=1000 + n // 3, namespace=namespace) for n in range(25)]
    seen, after = [], None
    while page := cdap.runs.list_page(namespace, RunFilter(), after, limit=7).runs:
        seen += page
        after = page[-1].run
        # What starts meanwhile belongs before the first page.
        write_run(cdap, starting=5000, namespace=namespace)
    assert {run.run for run in seen} == {run.run for run in written}
    assert [run.starting for run in seen] == sorted((r.starting for r in seen), reverse=True)
    assert len(seen) == 25


def test_filters(cdap: Cdap, namespace: str) -> None:
    bad = RunError("no such file", stage="In")
    failed = write_run(cdap, "orders", RunStatus.FAILED, error=bad, namespace=namespace)
    # An argument called status must not pass for the status of the run.
    done = write_run(cdap, "orders", arguments={"status": "FAILED"}, namespace=namespace)
    other = write_run(cdap, "Customers", namespace=namespace)

    def found(**wanted: object) -> set[str]:
        page = cdap.runs.list_page(namespace, RunFilter(**wanted))
        assert page.total == len(page.runs)
        return {run.run for run in page.runs}

    assert found() == {failed.run, done.run, other.run}
    assert found(pipeline="orders") == {failed.run, done.run}
    assert found(statuses=[RunStatus.FAILED]) == {failed.run}
    assert found(text="customer") == {other.run}
    assert found(text="NO SUCH") == {failed.run}
    assert found(text=done.run[:12]) >= {done.run}
    assert found(text="100%") == set()


def test_the_pipelines_with_their_last_runs(cdap: Cdap, namespace: str) -> None:
    for n in range(5):
        write_run(cdap, "old", starting=n, took_ms=n, namespace=namespace)
    write_run(cdap, "new", RunStatus.RUNNING, starting=100, namespace=namespace)
    new, old = cdap.runs.list_by_pipeline(namespace, recent=3)
    assert (new.pipeline, new.count, new.active, len(new.recent)) == ("new", 1, 1, 1)
    assert new.recent[0].took_ms is None
    assert (old.pipeline, old.count, old.active) == ("old", 5, 0)
    assert [point.took_ms for point in old.recent] == [2, 3, 4]
    assert old.recent[0].records == 10


def test_records_that_were_not_counted_are_not_reported(cdap: Cdap, namespace: str) -> None:
    write_run(cdap, stages={"In": StageCounts()}, namespace=namespace)
    assert cdap.runs.list_by_pipeline(namespace)[0].recent[0].records is None


def test_the_document_of_a_run_is_kept(cdap: Cdap, namespace: str) -> None:
    run = write_run(cdap, namespace=namespace)
    assert cdap.runs.get_document(run.run) == DOCUMENT
    cdap.namespaces.delete(namespace)
    with pytest.raises(NotFoundError):
        cdap.runs.get_document(run.run)
    left = cdap.runs._store.read("SELECT 1 FROM run_documents WHERE namespace = ?", (namespace,))
    assert left == []


def test_arguments_and_where_they_come_from(cdap: Cdap, namespace: str, tmp_path: Path) -> None:
    source = csv_source("In", tmp_path, schema(a="string"), delimiter="${separator}")
    source["plugin"]["properties"]["path"] = (
        "${folder}/${day}/${secure(key)}/${logical.start.time}"  # which each run has
    )
    document = json.dumps(
        pipeline([source, json_sink("Out", Path("${folder}/out"))], ("In", "Out"))
    )
    cdap.preferences.replace(PreferenceLevel(namespace), {"folder": "${root}/data", "unused": "1"})
    cdap.preferences.replace(PreferenceLevel(namespace, "test_pipeline"), {"unused": "2"})
    answer = cdap.runs.get_arguments(namespace, document, given={"day": "monday"})
    listed = {each.name: (each.value, each.origin) for each in answer.arguments}
    assert listed == {
        "folder": ("${root}/data", "namespace"),
        "day": ("monday", "given"),
        "separator": (None, None),
        "root": (None, None),
        "unused": ("2", "pipeline"),
    }
    by_name = {each.name: each for each in answer.arguments}
    assert by_name["folder"].places == [ArgumentSource("In", "path"), ArgumentSource("Out", "path")]
    assert answer.functions == ["secure(key)"]
