"""Key-value tables, and the ValueMapper transform that looks values up in them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from localcdap.testing.instance import TemporaryInstance
from tests.plugins.core.support import configure, messages, record

PAIRS = record(k="string", v=["string", "null"], n="int")


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory, cdap_engine_directory):
    assert cdap_engine_directory
    with TemporaryInstance(tmp_path_factory.mktemp("instance")) as made:
        yield made


def stage(type: str, name: str, /, **properties: str) -> dict[str, Any]:
    return {"type": type, "name": name, "properties": properties}


def run(instance: TemporaryInstance, *stages: dict[str, Any]) -> Any:
    """Run stages one behind the other."""
    return run_side_by_side(instance, stages)


def run_side_by_side(instance: TemporaryInstance, *branches: Sequence[dict[str, Any]]) -> Any:
    """Run branches, each of stages one behind the other, behind an action that makes them one pipeline."""
    nothing = stage("action", "FileDelete", path="nothing", continueOnError="true")
    named, links = [{"name": "begin", "plugin": nothing}], []
    for branch, stages in enumerate(branches):
        before = "begin"
        for number, plugin in enumerate(stages):
            name = f"s{branch}-{number}"
            named.append({"name": name, "plugin": plugin})
            links.append({"from": before, "to": name})
            before = name
    artifact = {"name": "cdap-data-pipeline", "version": "6.10.0", "scope": "SYSTEM"}
    config = {"stages": named, "connections": links}
    return instance.run({"name": "p", "artifact": artifact, "config": config})


def csv(instance: TemporaryInstance, text: str, schema: Any) -> dict[str, Any]:
    (instance.home.path / "in.csv").write_text(text)
    return stage(
        "batchsource", "File", referenceName="r", path="in.csv", format="csv", schema=str(schema)
    )


def json_lines(folder: Path) -> list[dict[str, Any]]:
    lines = (line for f in sorted(folder.iterdir()) for line in f.read_text().splitlines())
    return sorted((json.loads(line) for line in lines), key=str)


def json_sink(path: str) -> dict[str, Any]:
    return stage("batchsink", "File", referenceName=path, path=path, format="json")


def test_the_sink_wants_bytes_or_text():
    sink = {"name": "t", "key.field": "k", "value.field": "n"}
    assert messages(configure("batchsink", "KVTable", sink, given=PAIRS)) == [
        "Field 'n' is of unexpected type 'int'."
    ]
    assert messages(configure("batchsink", "KVTable", {"name": "a/b"}, given=PAIRS)) == [
        "Invalid table name 'a/b'.",
        "Field 'key' must exist in the input schema.",
        "Field 'value' must exist in the input schema.",
    ]
    late = configure(
        "batchsink", "KVTable", sink | {"value.field": "${v}"}, given=PAIRS, macros=["value.field"]
    )
    assert late.failures == []


@pytest.mark.slow
@pytest.mark.spark
def test_what_is_written_can_be_read_and_looked_up(instance):
    pairs = record(code="string", title="string")
    sink = stage(
        "batchsink", "KVTable", name="jobs", **{"key.field": "code"}, **{"value.field": "title"}
    )
    assert run(instance, csv(instance, "1,SE\n2,old\n3,\n", pairs), sink).error is None
    assert run(instance, csv(instance, "2,SSE\n", pairs), sink).error is None

    # the data of CDAP's own test of the transform
    people = record(id="int", name="string", designation=["string", "null"])
    source = csv(instance, '100,John,\n101,Kerry,2\n102,Mathew,""\n103,Eve,9\n104,Ada,3\n', people)
    decoded = stage(
        "transform",
        "JavaScript",
        script="function transform(r, e) { e.emit({key: String.fromCharCode(...r.key), "
        "value: String.fromCharCode(...r.value)}); }",
        schema=str(record(key="string", value="string")),
    )
    with_default, without = (
        stage("transform", "ValueMapper", mapping="designation:jobs:title", defaults=defaults)
        for defaults in ("designation:DEFAULTID", "")
    )
    branches = (
        [source, with_default, json_sink("with")],
        [source, without, json_sink("without")],
        [stage("batchsource", "KVTable", name="jobs"), decoded, json_sink("all")],
    )
    assert run_side_by_side(instance, *branches).error is None

    found = {each["name"]: each["title"] for each in json_lines(instance.home.path / "with")}
    assert found == {
        "John": "DEFAULTID",
        "Kerry": "SSE",
        "Mathew": "DEFAULTID",
        "Eve": "DEFAULTID",
        "Ada": "DEFAULTID",
    }
    found = {each["name"]: each["title"] for each in json_lines(instance.home.path / "without")}
    assert (found["Kerry"], found["Eve"], found["Ada"]) == ("SSE", None, None)
    assert not found["John"]
    assert {e["key"]: e["value"] for e in json_lines(instance.home.path / "all")} == {
        "1": "SE",
        "2": "SSE",
        "3": "",
    }


@pytest.mark.spark
def test_a_key_whose_value_is_null_counts_as_missing(instance):
    """As with the original, whose table deletes what is written as null."""
    sink = stage("batchsink", "KVTable", name="optional", **{"key.field": "k", "value.field": "v"})
    pairs = record(k="string", v=["string", "null"])
    assert run(instance, csv(instance, "a,1\nb,2\n", pairs), sink).error is None

    file = instance.home.path / "optional.json"
    file.write_text('{"k": "b", "v": null}\n{"k": "c", "v": "3"}\n')
    source = stage(
        "batchsource",
        "File",
        referenceName="optional",
        path=str(file),
        format="json",
        schema=str(pairs),
    )
    written = run(instance, source, sink)
    assert (written.error, [(a.count, a.first) for a in written.altered]) == (None, [(1, "key b")])
    assert written.altered[0].change == (
        "a value is null, so that its key has none any more, as in CDAP"
    )

    stored = stage("batchsource", "KVTable", name="optional")
    as_text = stage("transform", "Projection", convert="key:string,value:string")
    read = run(instance, stored, as_text, json_sink("optional"))
    assert read.error is None
    assert [(a.change, a.count, a.first) for a in read.altered] == [
        ("a row without a key or a value was left out", 1, "key b")
    ]
    rows = json_lines(instance.home.path / "optional")
    assert {each["key"]: each["value"] for each in rows} == {"a": "1", "c": "3"}


@pytest.mark.spark
def test_a_table_that_has_no_keys_and_values_is_refused(instance):
    wide = record(a="string", b="string", c="string")
    sink = stage("batchsink", "Table", name="wide", **{"schema.row.field": "a"})
    source = csv(instance, "1,2,3\n", wide)
    assert run(instance, source, sink).error is None

    mapper = stage("transform", "ValueMapper", mapping="a:wide:x")
    assert "has no keys and values" in str(run(instance, source, mapper, json_sink("x")).error)
    lacking = stage("transform", "ValueMapper", mapping="a:lacking:x")
    assert "There is no table 'lacking'" in str(
        run(instance, source, lacking, json_sink("x")).error
    )
