"""Plugins used outside of a pipeline: methods and records, in the worker."""

from __future__ import annotations

import datetime
import decimal
import itertools
import os
import time
from pathlib import Path
from typing import Any

import pytest

from localcdap.api import Schema
from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import InvalidStageError, PluginError
from localcdap.api.failures import ArtifactId
from localcdap.api.serialization.value_types import unpack
from localcdap.artifacts.directories.contents import compute_digest
from localcdap.artifacts.model import PluginRef
from localcdap.processes.limits import IS_LINUX
from localcdap.processes.tree import measure_delay
from localcdap.sandbox.plugin_calls import (
    CallRequest,
    TransformRequest,
    read_arrow_stream,
    to_arrow_stream,
)
from localcdap.sandbox.pool import PluginWorker
from tests.artifacts.authoring import write

SOURCE = """
import os, time
from localcdap.api import *

@plugin(type="transform", name="P", description="A plugin.")
class P(Transform):
    class Config(PluginConfig):
        low: int = field("Lowest number.", default=0)

    def configure(self, stage):
        stage.output_schema = stage.input_schema
        if stage.input_schema.field("number") is None:
            stage.failures.add("no number", "Give it one.")

    def initialize(self, context):
        self.namespace = context.namespace

    def transform(self, record, emit):
        if record["number"] < self.config.low:
            emit.error(record, 7, f"{self.namespace}: too low")
        else:
            emit(record)

    def add(self, first, second=1):
        return {"sum": first + second, "low": self.config.low}

    def hang(self):
        while True:
            pass

    def die(self):
        os._exit(3)

    def fail(self):
        raise ValueError("no")

    def thing(self):
        return object()

    def _hidden(self):
        return 1
"""
NUMBERS = Schema.record(
    "numbers",
    [
        ("number", Schema.LONG),
        ("day", Schema.DATE),
        ("price", Schema.decimal(10, 2)),
    ],
)


@pytest.fixture(scope="module")
def ref(tmp_path_factory) -> PluginRef:
    path = write(tmp_path_factory.mktemp("using") / "thing-1.0.0.py", SOURCE)
    artifact = ArtifactId("thing", "1.0.0", "USER")
    return PluginRef(artifact, str(path), compute_digest(Path(path)), "transform", "P", "thing.P")


@pytest.fixture(scope="module")
def worker():
    made = PluginWorker(100, 256)
    yield made
    made.close()


def call(worker: PluginWorker, ref: PluginRef, method: str, *arguments: object, **properties: str):
    return unpack(worker.call(CallRequest(ref, properties, method, list(arguments))), Any)


def record(number: int) -> dict[str, object]:
    day = datetime.date(2026, 1, number + 1)
    return {
        "number": number,
        "day": day,
        "price": decimal.Decimal(number).quantize(decimal.Decimal("0.01")),
    }


def test_methods(worker, ref):
    assert call(worker, ref, "add", 2) == {"sum": 3, "low": 0}
    assert call(worker, ref, "add", 2, 5, low="9") == {"sum": 7, "low": 9}
    with pytest.raises(InvalidStageError, match="low"):
        call(worker, ref, "add", 2, low="many")


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("fail", "Plugin 'P': ValueError: no"),
        ("_hidden", "has no method '_hidden'"),
        ("config", "has no method 'config'"),
        ("nothing", "has no method 'nothing'"),
        ("thing", "cannot be encoded"),
        ("die", "Method 'die' of plugin 'P' ended its process with exit code 3."),
        ("hang", "Method 'hang' of plugin 'P' did not finish within 0.5 s."),
    ],
)
def test_methods_that_fail_are_reported_and_the_next_one_works(
    worker, ref, monkeypatch, method, message
):
    with monkeypatch.context() as patch:
        if method == "hang":
            patch.setattr(worker, "_time_limit_s", 0.5)
        with pytest.raises(PluginError) as caught:
            call(worker, ref, method)

    assert message in caught.value.message
    assert call(worker, ref, "add", 1) == {"sum": 2, "low": 0}


def test_time_in_which_others_had_the_processor_does_not_count(worker, ref, monkeypatch):
    assert call(worker, ref, "add", 1)
    delays = itertools.count(step=60)
    monkeypatch.setattr(worker, "_time_limit_s", 0.2)
    monkeypatch.setattr("localcdap.sandbox.process.measure_delay", lambda _: next(delays))
    start = time.monotonic()

    with pytest.raises(PluginError, match=r"did not finish within 0\.2 s"):
        call(worker, ref, "hang")

    assert time.monotonic() - start >= 1.2, "five more limits, and not more"


def test_the_delay_of_a_process_is_measured():
    assert (measure_delay(os.getpid()) > 0) is IS_LINUX
    assert measure_delay(2**22 + 1) == 0


def test_records_keep_their_types(worker, ref):
    codec = RecordCodec(NUMBERS)
    batch = to_arrow_stream(codec.encode([record(1), record(5), record(2)]))

    done = worker.transform(TransformRequest(ref, "sales", {"low": "2"}, NUMBERS, batch))

    assert done.output_schema == NUMBERS
    assert codec.decode(read_arrow_stream(done.records)) == [record(5), record(2)]
    assert codec.decode(read_arrow_stream(done.error_records)) == [record(1)]
    assert done.errors == [(7, "sales: too low")]


REPEATING = """
from localcdap.api import Transform, plugin


@plugin(name="P", description="d")
class P(Transform):
    def configure(self, stage):
        stage.output_schema = stage.error_schema = stage.input_schema

    def transform(self, record, emit):
        for letter in "xyz":
            record["text"] = letter
            emit(record)
            emit.error(record, 1, letter)
"""


def test_a_record_that_is_changed_and_emitted_again_is_another_one(worker, tmp_path):
    path = write(tmp_path / "thing-1.0.0.py", REPEATING)
    artifact = ArtifactId("thing", "1.0.0", "USER")
    digest = compute_digest(Path(path))
    ref = PluginRef(artifact, str(path), digest, "transform", "P", "thing.P")
    codec = RecordCodec(Schema.record("r", [("text", Schema.STRING)]))
    batch = to_arrow_stream(codec.encode([{"text": "a"}]))

    done = worker.transform(TransformRequest(ref, "sales", {}, codec.schema, batch))

    for found in (done.records, done.error_records):
        assert [each["text"] for each in codec.decode(read_arrow_stream(found))] == list("xyz")


def test_a_plugin_that_does_not_fit_the_records_is_refused(worker, ref):
    other = Schema.record("other", [("text", Schema.STRING)])
    batch = to_arrow_stream(RecordCodec(other).encode([{"text": "x"}]))

    with pytest.raises(InvalidStageError, match=r"no number Give it one\."):
        worker.transform(TransformRequest(ref, "sales", {}, other, batch))
