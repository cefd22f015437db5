"""``on_run_finish``: after the commit, after a failure, with errors of its own, and never in a preview."""

from __future__ import annotations

from typing import Any

import pytest

from localcdap.runs.preview.model import PreviewRequest
from localcdap.testing import TemporaryInstance

pytestmark = pytest.mark.spark
PLUGIN = """
from pathlib import Path

from localcdap.api import BatchSource, PluginConfig, Schema, Transform, field, plugin

SCHEMA = Schema.record("r", [("n", Schema.INT)])


def read(count):
    import pyarrow as pa

    yield pa.record_batch([pa.array(range(count), pa.int32())], ["n"])


def note(folder, line):
    with (Path(folder) / "notes.txt").open("a") as file:
        file.write(line + "\\n")


@plugin(name="Numbers", description="Numbers.")
class Numbers(BatchSource):
    class Config(PluginConfig):
        folder: str = field("Where notes are.")
        error: str = field("Raised at the end.", default="")

    def configure(self, stage):
        stage.output_schema = SCHEMA

    def read(self, context):
        self.count = 3
        return context.generate(SCHEMA, [3], read)

    def on_run_finish(self, succeeded, context):
        there = (Path(context.resolve_path("out"))).exists()
        note(self.config.folder, f"{context.stage_name} {context.pipeline} {succeeded} {self.count} {there}")
        if self.config.error:
            raise ValueError(self.config.error)


@plugin(name="Fail", description="Fails.")
class Fail(Transform):
    class Config(PluginConfig):
        folder: str = field("Where notes are.")

    def transform(self, record, emit):
        raise ValueError("no")

    def on_run_finish(self, succeeded, context):
        note(self.config.folder, f"{context.stage_name} {succeeded}")
"""


@pytest.fixture
def instance(cdap_instance: TemporaryInstance, engine: object) -> TemporaryInstance:
    folder = cdap_instance.home.path / "plugins"
    folder.mkdir(exist_ok=True)
    (folder / "numbers-1.0.0.py").write_text(PLUGIN)
    return cdap_instance


def pipeline(instance: TemporaryInstance, *middle: str, **properties: str) -> dict[str, Any]:
    given = {"folder": str(instance.home.path)} | properties
    out = {"referenceName": "f", "path": "out", "format": "json"}
    stages = [("read", "batchsource", "Numbers", given)]
    stages += [(name.lower(), "transform", name, given) for name in middle]
    stages += [("write", "batchsink", "File", out)]
    names = [each[0] for each in stages]
    links = [{"from": a, "to": b} for a, b in zip(names, names[1:], strict=False)]
    uses = [{"name": n, "plugin": {"type": t, "name": p, "properties": x}} for n, t, p, x in stages]
    return {"name": "Ends", "config": {"stages": uses, "connections": links}}


def test_stages_finish_after_the_commit_and_after_a_failure(instance: TemporaryInstance):
    notes = instance.home.path / "notes.txt"
    run = instance.run(pipeline(instance, error="disk full"))
    assert (run.status, run.error) == ("COMPLETED", None)
    assert notes.read_text() == "read Ends True 3 True\n"
    log = [line.text for line in instance.cdap.runs.read_log(run.run)]
    assert "A stage could not finish the run: Stage 'read': ValueError: disk full" in log

    notes.unlink()
    previews = instance.cdap.previews
    preview = previews.start(PreviewRequest(pipeline(instance)))
    while not preview.status.is_end:
        preview = previews.wait("default", preview.preview, preview.version, 5.0)
    assert preview.status == "COMPLETED"
    assert not notes.exists()

    (instance.home.path / "out").rename(instance.home.path / "old")
    failed = instance.run(pipeline(instance, "Fail"))
    assert (failed.status, failed.error.stage) == ("FAILED", "fail")
    assert sorted(notes.read_text().splitlines()) == ["fail False", "read Ends False 3 False"]
