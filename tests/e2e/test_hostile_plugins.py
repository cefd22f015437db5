"""What a plugin folder may hold: nothing of it stops localcdap, each costs one clear failure."""

from __future__ import annotations

import contextlib
from pathlib import Path

import psutil
import pytest

from tests.e2e.pipelines import csv_source, json_sink, pipeline, schema, stage, write
from tests.e2e.program import Program, wait_until

pytestmark = pytest.mark.usefixtures("hosted")

ROW = schema(id="int")
PLUGIN = """
import os, time
from localcdap.api import PluginConfig, StageConfigurer, Transform, field, plugin
{at_import}

@plugin(type="transform", name="{name}", description="Does harm.")
class Hostile(Transform):
    class Config(PluginConfig):
        pass

    def configure(self, stage):
        {in_configure}

    def transform(self, record, emit):
        emit(record)
"""
IN_CONFIGURE = {
    "Raises": "raise RuntimeError('boom')",
    "Exits": "os._exit(3)",
    "Hangs": "time.sleep(3600)",
    "Eats": "self.block = bytearray(8 * 1024**3); time.sleep(5)",
}


def drop(program: Program, name: str, *, at_import: str = "", in_configure: str = "pass") -> None:
    """Put an artifact into the plugin folder."""
    folder = program.home / "plugins"
    folder.mkdir(parents=True, exist_ok=True)
    text = PLUGIN.format(name=name, at_import=at_import, in_configure=in_configure)
    (folder / f"{name.lower()}-1.0.0.py").write_text(text)


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_CONFIGURE)
def test_harm_in_configure_is_one_failure_on_its_stage(program: Program, tmp_path: Path, name: str):
    limit = "plugin.time_limit_s = 4\n" if name == "Hangs" else ""
    program.settings(f"{limit}plugin.memory_mb = 600\n")
    drop(program, name, in_configure=IN_CONFIGURE[name])
    hostile = stage("Bad", "transform", name)
    del hostile["plugin"]["artifact"]
    wrong = stage("Wrong", "transform", "Projection", keep="nothing")
    document = pipeline(
        [csv_source("In", tmp_path / "x", ROW), hostile, wrong, json_sink("Out", tmp_path / "o")],
        ("In", "Bad"),
        ("In", "Wrong"),
        ("Wrong", "Out"),
        ("Bad", "Out"),
    )

    answer = program("validate", write(document, tmp_path / "p.json"), "--json")

    by_stage = {
        s: [f for f in answer.json["errors"] if f.get("stage") == s] for s in ("Bad", "Wrong")
    }
    assert answer.code == 1
    assert len(by_stage["Bad"]) == 1
    assert by_stage["Wrong"], "the stages beside it are checked all the same"


@pytest.mark.slow
@pytest.mark.parametrize(
    "at_import",
    ["raise ValueError('no')", "os._exit(3)", "time.sleep(3600)", "import not_a_package", "def ("],
)
def test_harm_at_import_is_a_listed_error(program: Program, at_import: str):
    if "sleep" in at_import:
        program.settings("plugin.time_limit_s = 4\n")
    drop(program, "Broken", at_import=at_import)
    drop(program, "Fine")

    listed = program("artifacts", "--errors", "--json").json
    plugins = program("plugins", "--type", "transform", "--json").json

    assert [artifact["name"] for artifact in listed] == ["broken"]
    assert listed[0]["error"]
    assert {"Fine", "JavaScript"} <= {plugin["name"] for plugin in plugins}
    assert "Broken" not in {plugin["name"] for plugin in plugins}


def test_a_dropped_plugin_is_used_and_vanishes_with_its_file(program: Program):
    drop(program, "Mine")
    assert program("plugin", "transform", "Mine").code == 0

    (program.home / "plugins" / "mine-1.0.0.py").unlink()

    gone = program("plugin", "transform", "Mine")
    assert gone.code == 1
    assert "Plugin named 'Mine' of type 'transform' not found." in gone.err


FORKS = """
import os, pathlib, sys, time
from localcdap.api import PluginConfig, StageConfigurer, Transform, field, plugin

if "localcdap.engine.driver.run_driver" in sys.modules:
    child = os.fork()
    if not child:
        time.sleep(600)
        os._exit(0)
    pathlib.Path({file!r}).write_text(str(child))

@plugin(type="transform", name="Forks", description="Leaves a process behind.")
class Forks(Transform):
    class Config(PluginConfig):
        pass

    def configure(self, stage):
        stage.output_schema = stage.input_schema

    def transform(self, record, emit):
        emit(record)
"""


@pytest.mark.slow
@pytest.mark.spark
def test_a_process_that_a_plugin_leaves_behind_ends_with_the_run(program: Program, tmp_path: Path):
    folder = program.home / "plugins"
    folder.mkdir(parents=True)
    file = tmp_path / "child"
    (folder / "forks-1.0.0.py").write_text(FORKS.format(file=str(file)))
    (tmp_path / "in.csv").write_text("1\n")
    forks = stage("Forks", "transform", "Forks")
    del forks["plugin"]["artifact"]
    document = pipeline(
        [csv_source("In", tmp_path / "in.csv", ROW), forks, json_sink("Out", tmp_path / "o")],
        ("In", "Forks"),
        ("Forks", "Out"),
    )

    answer = program("run", write(document, tmp_path / "p.json"), "--json")

    assert answer.json["status"] == "COMPLETED"
    child = int(file.read_text())
    wait_until(lambda: not _runs(child), "the end of the process that was left behind", 10)


def _runs(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False
