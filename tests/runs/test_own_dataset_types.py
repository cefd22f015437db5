"""Datasets of own types in runs: their classes, also of embedded datasets, and a missing file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.errors import NotFoundError
from localcdap.datasets.model import DatasetRequest, DatasetUpdate
from localcdap.engine.messages.spool import RunStatus
from localcdap.runs.model import Run, RunRequest
from localcdap.testing.instance import TemporaryInstance
from tests.e2e.pipelines import pipeline, stage

pytestmark = pytest.mark.spark

TYPE = """
import os
import time

from localcdap.api.dataset.access import read_only, read_write
from localcdap.api.dataset.dataset import Dataset
from localcdap.api.dataset.definition import CompositeDefinition, dataset_type


class Rates(Dataset):
    @read_write
    def set_rate(self, day, rate):
        self.embedded["days"].write(day.encode(), str(rate * SCALE).encode())
        self.embedded["count"].increment(b"changes", 1)

    @read_only
    def get_rate(self, day):
        return self.embedded["days"].read(day.encode())

    @read_only
    def lie(self):
        self.embedded["days"].delete(b"mon")

    @read_write
    def exit(self):
        self.set_rate("mon", 1000)
        os._exit(3)

    @read_write
    def hang(self, folder):
        self.set_rate("mon", 2000)
        (folder / "hangs").touch()
        time.sleep(600)


SCALE = 1


@dataset_type("rates", description="Rates by day, and how often they have changed.")
class RatesDefinition(CompositeDefinition):
    embedded = {"days": "keyValueTable", "count": "keyValueTable"}
    dataset_class = Rates
"""
ACTION = """
import time
from pathlib import Path

from localcdap.api import Action, plugin


@plugin(type="action", name="Rate", description="Changes a rate.")
class Rate(Action):
    def run(self, context):
        way = context.arguments.get("way", "set_rate")
        folder = Path(context.arguments.get("folder", ""))

        def change(tx):
            rates = tx.dataset("rates")
            match way:
                case "lie" | "exit":
                    getattr(rates, way)()
                case "hang":
                    rates.hang(folder)
                case _:
                    rates.set_rate("mon", 2)
            if way == "wait":
                (folder / "waits").touch()
                while (folder / "waits").exists():
                    time.sleep(0.02)
            return rates.get_rate("mon").decode()

        context.set_argument("rate", context.transactions.run(change))
"""
SCHEMA = '{"type":"record","name":"r","fields":[{"name":"id","type":"string"}]}'


@pytest.fixture(scope="module")
def instance(
    cdap_engine_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TemporaryInstance]:
    assert cdap_engine_directory
    with TemporaryInstance(tmp_path_factory.mktemp("own")) as instance:
        plugins = instance.home.path / "plugins"
        plugins.mkdir()
        (plugins / "rates-1.0.0.py").write_text(TYPE, encoding="utf-8")
        (plugins / "rate-action-1.0.0.py").write_text(ACTION, encoding="utf-8")
        (instance.home.path / "in.csv").write_text("1\n", encoding="utf-8")
        instance.cdap.artifacts.sync()
        instance.cdap.datasets.create(DatasetRequest("rates", "rates"))
        yield instance


def run(instance: TemporaryInstance, **arguments: str) -> Any:
    return instance.run(make_document(), arguments)


def make_document() -> dict[str, Any]:
    source = stage(
        "in", "batchsource", "File", referenceName="in", path="in.csv", format="csv", schema=SCHEMA
    )
    stages = [
        {"name": "rate", "plugin": {"type": "action", "name": "Rate", "properties": {}}},
        source,
        stage("out", "batchsink", "Trash", "trash-plugin", referenceName="out"),
    ]
    return pipeline(stages, ("rate", "in"), ("in", "out")) | {"name": "rates"}


def read(instance: TemporaryInstance) -> list[list[Any]]:
    rows: list[list[Any]] = instance.cdap.tables.read_rows("default", "rates.days", 9).rows
    return rows


def test_a_run_calls_the_methods_of_an_own_type(instance: TemporaryInstance) -> None:
    assert run(instance).status is RunStatus.COMPLETED
    assert read(instance) == [["bW9u", "Mg=="]]  # mon, 2
    usage = instance.cdap.datasets.list_usage("default", "rates")
    assert sorted(each.access.name for each in usage) == ["READ", "WRITE"]

    # A new version is used by the next run.
    newer = TYPE.replace("SCALE = 1", "SCALE = 10")
    instance.drop(write(instance, "rates-1.1.0.py", newer))
    assert run(instance).status is RunStatus.COMPLETED
    assert read(instance) == [["bW9u", "MjA="]]  # mon, 20


def write(instance: TemporaryInstance, name: str, text: str) -> Path:
    place = instance.home.path / name
    place.write_text(text, encoding="utf-8")
    return place


def test_a_method_that_reads_cannot_have_an_embedded_dataset_write(
    instance: TemporaryInstance,
) -> None:
    failed = run(instance, way="lie")
    assert failed.status is RunStatus.FAILED
    assert (
        "Method 'delete' (write only) cannot be called from 'lie' (read only)"
        in failed.error.message
    )


def test_a_class_that_exits_costs_one_run(instance: TemporaryInstance) -> None:
    before = read(instance)
    failed = run(instance, way="exit")
    assert failed.status is RunStatus.FAILED
    assert "exited with code 3" in failed.error.message
    assert read(instance) == before, "nothing of its transaction is kept"
    assert run(instance).status is RunStatus.COMPLETED


def test_a_class_that_hangs_can_be_stopped(instance: TemporaryInstance, tmp_path: Path) -> None:
    before = read(instance)
    started = start(instance, tmp_path, "hang")
    wait_for(tmp_path / "hangs")
    # Its transaction is open; others read and write meanwhile.
    assert read(instance) == before
    instance.cdap.datasets.update(DatasetUpdate("rates", {"note": "new"}))
    instance.cdap.runs.stop(started.run)
    assert wait_for_end(instance, started).status is RunStatus.KILLED
    assert read(instance) == before
    assert run(instance).status is RunStatus.COMPLETED


def test_a_module_is_replaced_while_a_run_has_its_dataset_open(
    instance: TemporaryInstance, tmp_path: Path
) -> None:
    """The run goes on with the code that it has loaded; the next run has the new code."""
    started = start(instance, tmp_path, "wait")
    wait_for(tmp_path / "waits")
    for number, scale in enumerate((100, 1000), 2):
        text = TYPE.replace("SCALE = 1", f"SCALE = {scale}")
        instance.drop(write(instance, f"rates-{number}.0.0.py", text))
    instance.cdap.datasets.upgrade("default", "rates")
    (tmp_path / "waits").unlink()
    assert wait_for_end(instance, started).status is RunStatus.COMPLETED
    assert read(instance) == [["bW9u", "MjA="]]  # mon, 20
    assert run(instance).status is RunStatus.COMPLETED
    assert read(instance) == [["bW9u", "MjAwMA=="]]  # mon, 2000


def start(instance: TemporaryInstance, folder: Path, way: str) -> Run:
    arguments = {"way": way, "folder": str(folder)}
    return instance.cdap.runs.start(RunRequest(make_document(), arguments=arguments))


def wait_for(file: Path) -> None:
    deadline = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def wait_for_end(instance: TemporaryInstance, run: Run) -> Run:
    deadline = time.monotonic() + 60
    while not run.status.is_end:
        assert time.monotonic() < deadline
        run = instance.cdap.runs.wait(run.run, run.version, timeout_s=5)
    return run


def test_front_ends_run_no_code_of_own_types(instance: TemporaryInstance) -> None:
    with pytest.raises(
        NotFoundError, match="only runs and system applications run the code of own"
    ):
        instance.cdap.transactions.run(lambda tx: tx.dataset("rates"))


def test_a_missing_file_is_named(instance: TemporaryInstance) -> None:
    kept = {each: each.read_text() for each in (instance.home.path / "plugins").glob("rates*")}
    for each in kept:
        each.unlink()
    instance.cdap.artifacts.sync()
    failed = run(instance)
    assert failed.status is RunStatus.FAILED
    assert "Dataset 'rates' cannot be opened: its type 'rates' is missing" in failed.error.message
    assert "rates-3." in failed.error.message
    for each, text in kept.items():
        each.write_text(text, encoding="utf-8")
    instance.cdap.artifacts.sync()
    assert run(instance).status is RunStatus.COMPLETED
