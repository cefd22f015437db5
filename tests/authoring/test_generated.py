"""New artifacts at work: their own tests pass, they appear in an instance, and a pipeline of them runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from localcdap.authoring.artifact import DATASET, derive_names, list_plugin_types, write_artifact
from localcdap.engine.messages.spool import RunStatus
from localcdap.testing import TemporaryInstance
from tests.e2e.pipelines import pipeline

pytestmark = pytest.mark.spark


def plugin_name(type: str) -> str:
    return f"New{type.capitalize()}"


def write_all(folder: Path) -> list[Path]:
    return [
        write_artifact(derive_names(plugin_name(each)), each, folder)
        for each in list_plugin_types()
    ]


def stage(name: str, type: str, **properties: str) -> dict[str, Any]:
    plugin = {"name": plugin_name(type), "type": type, "properties": properties}
    return {"name": name, "plugin": plugin}


@pytest.mark.slow
def test_their_own_tests_pass(tmp_path: Path, engine, engine_directory: Path):
    folders = write_all(tmp_path / "plugins")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-markers"]
    settings = ["--import-mode=importlib", "-o", f"pythonpath={' '.join(map(str, folders))}"]

    done = subprocess.run(
        [*command, *settings, f"--basetemp={tmp_path / 'pt'}", *map(str, folders)],
        cwd=tmp_path,
        env=os.environ | {"LOCALCDAP_ENGINE_DIRECTORY": str(engine_directory)},
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout
    assert not any(word in done.stdout for word in ("skipped", "warning", "failed"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("type", "expected"), [("transform", "4 passed, 1 deselected"), (DATASET, "3 passed")]
)
def test_the_tests_of_one_are_run_by_its_folder_alone(tmp_path: Path, type: str, expected: str):
    folder = write_artifact(derive_names("CleanText"), type, tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not spark"]

    done = subprocess.run([*command, str(folder)], cwd="/", capture_output=True, text=True)

    assert done.returncode == 0, done.stdout
    assert expected in done.stdout


@pytest.mark.slow
def test_a_pipeline_of_them_runs(cdap_instance: TemporaryInstance, engine):
    write_all(cdap_instance.home.path / "plugins")
    (cdap_instance.home.path / "in").mkdir()
    (cdap_instance.home.path / "in" / "a.txt").write_text(" a\nb\na\n \n")
    document = pipeline(
        [
            stage("find", "action", folder="${input}", argument="newest"),
            stage("lines", "batchsource", path="${newest}"),
            stage("clean", "transform", textField="line"),
            stage("empty", "errortransform", messageField="why"),
            stage("count", "batchaggregator", keyField="line"),
            stage("join", "batchjoiner", keyField="line"),
            stage("enough", "condition", stage="clean", least="3"),
            stage("split", "splittertransform", numberField="count", limit="2"),
            stage("once", "batchsink", path="once", textField="line"),
            stage("often", "batchsink", path="often", textField="line"),
            stage("refused", "batchsink", path="refused", textField="why"),
            stage("tell", "alertpublisher", path="alerts.txt"),
            stage("number", "sparkprogram", path="once", result="number.txt"),
        ],
        ("find", "lines"),
        ("lines", "clean"),
        ("clean", "empty"),
        ("clean", "tell"),
        ("once", "number"),
        ("empty", "refused"),
        ("clean", "count"),
        ("clean", "join"),
        ("count", "join"),
        ("join", "enough"),
        ("split", "once", "small"),
        ("split", "often", "large"),
    )
    taken = {"from": "enough", "to": "split", "condition": "true"}
    document["config"]["connections"].append(taken)

    listed = {(p.type, p.name) for p in cdap_instance.cdap.artifacts.list_plugins("default")}
    run = cdap_instance.run(document, {"input": "in"})

    assert listed >= {(each, plugin_name(each)) for each in list_plugin_types()}
    assert (run.status, run.error) == (RunStatus.COMPLETED, None)
    assert written(cdap_instance, "once") == ["b"]
    assert (cdap_instance.home.path / "number.txt").read_text() == "1\n"
    assert written(cdap_instance, "often") == ["a", "a"]
    assert written(cdap_instance, "refused") == ["clean: Field 'line' holds no text. (1)"]
    assert run.stages["clean"].errors == 1


def written(instance: TemporaryInstance, folder: str) -> list[str]:
    files = (instance.home.path / folder).glob("*.txt")
    return sorted(line for file in files for line in file.read_text().splitlines())
