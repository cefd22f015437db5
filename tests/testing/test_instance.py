"""A temporary instance: the real host in this process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localcdap.engine.messages.spool import RunStatus
from localcdap.testing import TemporaryInstance
from tests.artifacts.authoring import write
from tests.e2e.pipelines import csv_source, json_records, json_sink, pipeline, schema, stage

SHOUT = """
from localcdap.api import *

@plugin(type="transform", name="Shout", description="{description}")
class Shout(Transform):
    def transform(self, record, emit):
        emit(record | {{"name": record["name"].upper()}})
"""


@pytest.fixture
def shout(tmp_path: Path) -> Path:
    return write(tmp_path / "shout-1.0.0.py", SHOUT.format(description="Loud."))


def described(instance: TemporaryInstance, namespace: str = "default") -> str | None:
    plugins = instance.cdap.artifacts.list_plugins(namespace, type="transform")
    return next((p.description for p in plugins if p.name == "Shout"), None)


def test_artifacts_are_dropped_in_before_and_after_it_is_opened(
    cdap_instance: TemporaryInstance, shout: Path
):
    place = cdap_instance.drop(shout)
    assert described(cdap_instance) == "Loud."

    shout.write_text(SHOUT.format(description="Louder."))
    assert cdap_instance.drop(shout) == place
    assert described(cdap_instance) == "Louder."

    place.unlink()
    cdap_instance.cdap.artifacts.sync()
    assert described(cdap_instance) is None


@pytest.mark.slow
def test_folders_are_dropped_without_what_python_left_behind(
    cdap_instance: TemporaryInstance, tmp_path: Path
):
    folder = tmp_path / "loud"
    write(folder / "pyproject.toml", '[project]\nname = "loud"\nversion = "1.0.0"\n')
    write(folder / "shout.py", SHOUT.format(description="Loud."))
    write(folder / "__pycache__" / "x.pyc", "x")

    place = cdap_instance.drop(folder)

    assert sorted(each.name for each in place.iterdir()) == ["pyproject.toml", "shout.py"]
    assert described(cdap_instance) == "Loud."


@pytest.mark.slow
def test_settings_are_in_force_when_it_is_opened(cdap_instance: TemporaryInstance, shout: Path):
    cdap_instance.drop(shout)
    cdap_instance.settings('plugin.directories = ["elsewhere"]\n')
    assert described(cdap_instance) is None

    cdap_instance.close()
    cdap_instance.settings("")
    assert described(cdap_instance) == "Loud."


@pytest.mark.slow
@pytest.mark.spark
def test_pipelines_run_in_it(cdap_instance: TemporaryInstance, cdap_engine, shout: Path):
    cdap_instance.drop(shout)
    (cdap_instance.home.path / "in.csv").write_text("ada\nbob\n")
    loud = stage("shout", "transform", "Shout")
    del loud["plugin"]["artifact"]
    document = pipeline(
        [
            csv_source("in", Path("${input}"), schema(name="string")),
            loud,
            json_sink("out", Path("out")),
        ],
        ("in", "shout"),
        ("shout", "out"),
    )

    run = cdap_instance.run(document, {"input": "in.csv"})

    assert (run.status, run.error) == (RunStatus.COMPLETED, None)
    assert run.stages["shout"].records_out == 2
    assert json_records(cdap_instance.home.path / "out") == [{"name": "ADA"}, {"name": "BOB"}]
    failed = cdap_instance.run(json.dumps(document), {"input": "nothing.csv"})
    assert failed.status is RunStatus.FAILED
