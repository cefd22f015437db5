"""Transactions of programs: actions, conditions, post actions and the preparation of stages use datasets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.metadata import MetadataEntity
from localcdap.datasets.model import DatasetRequest
from localcdap.engine.messages.spool import RunStatus
from localcdap.metadata.audit import AuditQuery, AuditType
from localcdap.runs.preview.model import PreviewRequest
from localcdap.testing.instance import TemporaryInstance
from tests.e2e.pipelines import pipeline, stage

pytestmark = pytest.mark.spark

PLUGINS = """
import time

from localcdap.api import Action, Condition, PostAction, Transform, plugin
from localcdap.api.app import TransactionKind


@plugin(type="action", name="Count", description="Counts its runs, in several ways.")
class Count(Action):
    def run(self, context):
        run = context.transactions.run
        run(lambda tx: tx.dataset("state").increment(b"runs", 1))
        context.transactions.submit(lambda tx: tx.dataset("state").write(b"later", b"1")).result()
        run(lambda tx: tx.dataset("state").write(b"long", b"1"), kind=TransactionKind.LONG)
        context.set_argument("runs", str(run(count, kind=TransactionKind.READ_ONLY)))
        way = context.arguments.get("way")
        if way == "nested":
            run(lambda tx: run(lambda inner: None))
        elif way == "slow":
            run(lambda tx: (time.sleep(1.2), tx.dataset("state").read(b"runs")))
        elif way == "outside":
            context.transactions.dataset("state").read(b"runs")
        elif way == "fails":
            run(lambda tx: (tx.dataset("state").write(b"half", b"1"), 1 / 0))


def count(tx):
    return int.from_bytes(tx.dataset("state").read(b"runs") or b"")


@plugin(type="condition", name="Early", description="Whether this is one of the first runs.")
class Early(Condition):
    def decide(self, context):
        return context.transactions.run(count) < 100


@plugin(type="postaction", name="Tell", description="Remembers how the last run has ended.")
class Tell(PostAction):
    def run(self, context):
        text = b"succeeded" if context.succeeded else b"failed"
        context.transactions.run(lambda tx: tx.dataset("state").write(b"end", text))


@plugin(type="transform", name="Stamp", description="Writes the number of the run into each record.")
class Stamp(Transform):
    def prepare_run(self, context):
        context.transactions.run(lambda tx: tx.dataset("state").write(b"prepared", b"1"))

    def transform(self, record, emit):
        emit(record)
"""
SCHEMA = '{"type":"record","name":"r","fields":[{"name":"id","type":"string"}]}'
STATE = MetadataEntity.of_dataset("state", "default")


@pytest.fixture(scope="module")
def instance(
    cdap_engine_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TemporaryInstance]:
    assert cdap_engine_directory
    with TemporaryInstance(tmp_path_factory.mktemp("transactions")) as instance:
        instance.settings("data.tx.max.timeout = 20")
        (instance.home.path / "plugins").mkdir()
        place = instance.home.path / "plugins" / "transactions-1.0.0.py"
        place.write_text(PLUGINS, encoding="utf-8")
        (instance.home.path / "in.csv").write_text("id\n1\n", encoding="utf-8")
        instance.cdap.datasets.create(DatasetRequest("state", "keyValueTable"))
        yield instance


def own(name: str, type: str, plugin: str) -> dict[str, Any]:
    return {"name": name, "plugin": {"type": type, "name": plugin, "properties": {}}}


def build() -> dict[str, Any]:
    source = stage(
        "in",
        "batchsource",
        "File",
        referenceName="in",
        path="in.csv",
        format="csv",
        skipHeader="true",
        schema=SCHEMA,
    )
    stages = [
        own("count", "action", "Count"),
        own("early", "condition", "Early"),
        source,
        own("stamp", "transform", "Stamp"),
        stage("out", "batchsink", "Trash", "trash-plugin", referenceName="out"),
    ]
    document = pipeline(stages, ("count", "early"), ("in", "stamp"), ("stamp", "out"))
    document["config"]["connections"].append({"from": "early", "to": "in", "condition": "true"})
    document["config"]["postActions"] = [own("tell", "postaction", "Tell")]
    return document | {"name": "counting"}


def read_state(instance: TemporaryInstance) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = instance.cdap.transactions.run(
        lambda tx: dict(tx.dataset("state").scan())
    )
    return found


def run(instance: TemporaryInstance, **arguments: str) -> Any:
    instance.cdap.datasets.truncate("default", "state")
    return instance.run(build(), arguments)


def test_every_kind_of_program_uses_datasets(instance: TemporaryInstance) -> None:
    result = run(instance)
    assert result.status is RunStatus.COMPLETED
    assert read_state(instance) == {
        b"runs": (1).to_bytes(8),
        b"later": b"1",
        b"long": b"1",
        b"prepared": b"1",
        b"end": b"succeeded",
    }
    usage = instance.cdap.datasets.list_usage("default", "state")
    assert sorted((each.program.application, each.access.name, each.runs) for each in usage) == [
        ("counting", "READ", 1),
        ("counting", "WRITE", 1),
    ]
    audited = instance.cdap.audit.list_messages(AuditQuery(entity=STATE, types=[AuditType.ACCESS]))
    of_run = [each.payload for each in audited if each.payload["accessor"].get("run") == result.run]
    assert sorted(each["accessType"] for each in of_run) == ["READ", "WRITE"]
    assert of_run[0]["accessor"]["program"] == "DataPipelineWorkflow"


@pytest.mark.parametrize(
    ("way", "arguments", "message"),
    [
        ("nested", {}, "Attempted to start a transaction within active transaction"),
        ("slow", {"system.data.tx.timeout": "1"}, "took longer than 1 seconds"),
        ("slow", {"action.count.system.data.tx.timeout": "1"}, "took longer than 1 seconds"),
        ("outside", {}, "Attempt to perform a data operation without a transaction: Read on"),
        ("fails", {}, "division by zero"),
    ],
)
def test_a_transaction_that_fails_leaves_nothing(
    instance: TemporaryInstance, way: str, arguments: dict[str, str], message: str
) -> None:
    result = run(instance, way=way, **arguments)
    assert result.status is RunStatus.FAILED
    assert message in result.error.message
    state = read_state(instance)
    assert b"half" not in state
    assert state[b"end"] == b"failed"


@pytest.mark.parametrize("name", ["system.data.tx.timeout", "action.count.system.data.tx.timeout"])
def test_a_timeout_above_the_limit_fails_before_anything_has_happened(
    instance: TemporaryInstance, name: str
) -> None:
    result = run(instance, **{name: "21"})
    assert result.status is RunStatus.FAILED
    assert result.error.message == (
        f"Transaction timeout ({name}) of 21 seconds must not exceed the transaction timeout limit "
        "(data.tx.max.timeout) of 20"
    )
    assert read_state(instance) == {}


def test_a_preview_leaves_nothing(instance: TemporaryInstance) -> None:
    instance.cdap.datasets.truncate("default", "state")
    before = instance.cdap.audit.list_messages(AuditQuery(entity=STATE))
    previews = instance.cdap.previews
    preview = previews.start(PreviewRequest(build()))
    while not preview.status.is_end:
        preview = previews.wait("default", preview.preview, preview.version, 5.0)
    assert preview.status == "COMPLETED"
    assert read_state(instance) == {}
    after = instance.cdap.audit.list_messages(AuditQuery(entity=STATE, user=before[0].user))
    assert [each for each in after if each.payload.get("accessor", {}).get("run")] == [
        each for each in before if each.payload.get("accessor", {}).get("run")
    ]
