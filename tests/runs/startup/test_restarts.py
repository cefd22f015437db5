"""A run that had no order when its host was killed is started by the next host."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcdap.engine.messages.orders import WorkOrder, write_order
from localcdap.engine.messages.spool import RunStatus
from localcdap.processes.identity import is_alive
from localcdap.runs.model import Run
from localcdap.runs.startup.processes import RunProcess
from localcdap.testing.instance import TemporaryInstance
from tests.e2e.pipelines import csv_source, json_sink, pipeline, schema
from tests.runs.stored_runs import write_run


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[TemporaryInstance]:
    with TemporaryInstance(tmp_path / "home") as made:
        yield made


def build_document(folder: Path) -> str:
    (folder / "in.csv").write_text("1\n2\n")
    stages = [
        csv_source("In", "${in}", schema(id="int")),
        json_sink("Out", folder / "out"),
    ]
    return json.dumps(pipeline(stages, ("In", "Out")))


def wait_for_end(instance: TemporaryInstance, run: str) -> Run:
    found = instance.cdap.runs.get("default", run)
    while not found.status.is_end:
        found = instance.cdap.runs.wait(run, found.version, 1.0)
    return found


@pytest.mark.spark
def test_a_run_without_an_order_is_started_by_the_next_host(
    instance: TemporaryInstance, tmp_path: Path
):
    arguments = {"in": str(tmp_path / "in.csv")}
    document = build_document(tmp_path)
    given = write_run(instance.cdap, "p", RunStatus.PENDING, arguments=arguments, document=document)
    waiting = RunProcess(instance.home.runs, tmp_path / "no-fork-server", given.run)
    instance.cdap.runs._records.set_process(given.run, waiting.identity)
    instance.close()

    run = wait_for_end(instance, given.run)
    instance.close()
    runs = instance.cdap.runs.list_runs("default")

    assert run.status is RunStatus.COMPLETED
    assert (run.starting, run.arguments) == (given.starting, arguments)
    assert [each.run for each in runs] == [given.run]
    rows = [json.loads(line) for f in (tmp_path / "out").glob("part*") for line in f.open()]
    assert sorted(row["id"] for row in rows) == [1, 2]
    assert not is_alive(waiting.identity)


@pytest.mark.slow
def test_a_run_with_an_order_is_not_started_again(instance: TemporaryInstance, tmp_path: Path):
    given = write_run(instance.cdap, "p", RunStatus.PENDING, document=build_document(tmp_path))
    directory = instance.home.runs / given.run
    directory.mkdir(parents=True)
    write_order(
        directory,
        WorkOrder(given.run, "default", "p", "{}", {}, {}, 0, "sc://127.0.0.1:1", str(tmp_path)),
    )
    instance.close()

    run = wait_for_end(instance, given.run)

    assert run.status is RunStatus.FAILED
    assert run.error
    assert run.error.message.startswith("The process of the run ended before the run did.")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_run_that_is_invalid_by_now_fails_with_the_reasons(
    instance: TemporaryInstance, tmp_path: Path
):
    document = build_document(tmp_path).replace('"File"', '"Fil"')
    given = write_run(instance.cdap, "p", RunStatus.PENDING, document=document)
    instance.close()

    run = wait_for_end(instance, given.run)

    assert run.status is RunStatus.FAILED
    assert run.error
    assert "failures; nothing was" in run.error.message
