"""What BigQuery refuses of its sinks: properties, names, labels, nesting, null elements."""

from __future__ import annotations

from functools import reduce

import pytest

from localcdap.api.schema import Schema
from localcdap.artifacts.loading import load_plugin
from localcdap.testing import StageTester, artifact_ref
from tests.plugins.cloud.test_actions import PLUGINS

TABLE = {"dataset": "shop", "table": "items"}
NULLABLE = Schema.STRING.as_nullable
NESTED = Schema.record("n", [("text", NULLABLE), ("number", Schema.INT)])
ROW = Schema.record(
    "r",
    [("text", NULLABLE), ("at", Schema.DATETIME), ("one", NESTED), ("many", Schema.array(NESTED))],
)


def check(given: Schema, sink: str = "BigQueryTable", **properties: str) -> list[str]:
    plugin = load_plugin(artifact_ref(PLUGINS, "batchsink", sink))
    return StageTester(plugin, TABLE | properties, given).problems


@pytest.mark.parametrize("sink", ["BigQueryTable", "BigQueryMultiTable"])
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("bucket", "a.b-c_1", None),
        ("bucket", "${bucket}", None),
        (
            "bucket",
            "Mine",
            "Bucket name can only contain lowercase letters, numbers, '.', '_', and '-'.",
        ),
        ("gcsChunkSize", "8388608", None),
        ("gcsChunkSize", "1000", "Value must be a multiple of 262144."),
        ("gcsChunkSize", "8 MB", 'For input string: "8 MB".'),
        ("jobLabels", "team:sales, cost-centre:12,urgent,größe:a", None),
        ("jobLabels", "a:b:c", "Invalid job label key value pair 'a:b:c'."),
        ("jobLabels", "type:x", "Invalid job label key 'type'."),
        ("jobLabels", ":x", "Invalid job label key ''."),
        ("jobLabels", "1a:x", "Invalid job label key '1a'."),
        ("jobLabels", "x:y", "Invalid job label key 'x'."),  # a key has two characters
        ("jobLabels", "Team:x", "Invalid job label key 'Team'."),
        ("jobLabels", "team:X", "Invalid job label value 'X'."),
        ("jobLabels", f"{'k' * 64}:x", f"Invalid job label key '{'k' * 64}'."),
        ("jobLabels", f"team:{'v' * 64}", f"Invalid job label value '{'v' * 64}'."),
        ("jobLabels", "team:x,team:y", "Duplicate job label key 'team'."),
        (
            "jobLabels",
            ",".join(f"key{number}" for number in range(63)),
            "Number of job labels exceeds the limit.",
        ),
    ],
)
def test_properties_of_the_upload(sink, name, value, message):
    given = Schema.record("r", [("tablename", Schema.STRING)])
    expected = [] if message is None else [f"{name}: {message}"]
    assert check(given, sink, **{name: value}) == expected


@pytest.mark.parametrize(
    ("name", "messages"),
    [
        ("Größe in %", []),
        (
            "a.b",
            [
                "Output field 'a.b' contains invalid characters. Check column names docs for more details."
            ],
        ),
        ("n" * 301, [f"Output field '{'n' * 301}' exceeds the maximum length of 300 characters."]),
    ],
)
def test_names_of_columns(name, messages):
    assert check(Schema.record("r", [(name, Schema.INT)])) == messages


def test_arrays_of_arrays_and_deep_records_are_refused():
    pairs = Schema.array(Schema.array(Schema.INT))
    deep = reduce(lambda inner, _: Schema.record("d", [("x", inner)]), range(16), Schema.INT)
    assert check(Schema.record("r", [("pairs", pairs), ("deep", deep)])) == [
        "Field 'pairs' is an array of unsupported type 'array'.",
        f"Field 'deep{'.x' * 15}' exceeds BigQuery maximum allowed depth of 15.",
    ]


@pytest.mark.parametrize(
    ("fields", "messages"),
    [
        ("text,one.text,many.text", []),
        (
            "at,one.number,many",
            [
                f"jsonStringFields: Field '{name}' is of type '{type}' which is not supported for conversion "
                "to JSON string."
                for name, type in (("at", "datetime"), ("one.number", "int"), ("many", "array"))
            ],
        ),
        (
            "nil,one.nil,text.nil",
            [
                "jsonStringFields: Field(s) 'nil, one.nil, text.nil' are not present in the Output Schema.",
            ],
        ),
    ],
)
def test_fields_with_json(fields, messages):
    assert check(ROW, jsonStringFields=fields) == messages
