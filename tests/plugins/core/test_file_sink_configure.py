"""What the File sink refuses."""

from __future__ import annotations

import json

import pytest

from tests.plugins.core.support import configure, messages, record, schema_text

GIVEN = record(a="int", b=["string", "null"])


def sink(given=GIVEN, **properties: str):
    return configure(
        "batchsink", "File", {"path": "/out", "format": "json"} | properties, given=given
    )


@pytest.mark.parametrize(
    "format", ["avro", "csv", "delimited", "json", "orc", "parquet", "tsv", "JSON"]
)
def test_formats(format: str):
    result = sink(format=format, suffix="yyyy-MM-dd-HH-mm", referenceName="out")

    assert result.failures == []
    assert result.output_schema is None


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        (
            {"format": "text"},
            "Invalid format 'text'. The value must be one of avro, csv, delimited",
        ),
        ({"suffix": "yyyy-bb"}, "Invalid suffix: Illegal pattern character 'b'."),
        ({"suffix": "'open"}, "Invalid suffix: Unterminated quote."),
        ({"referenceName": "a/b"}, "Invalid reference name 'a/b'."),
        ({"fileSystemProperties": "{"}, "File system properties must be a valid json."),
        (
            {"format": "parquet", "compressionCodec": "zip"},
            "Format 'parquet' has no compression 'zip'.",
        ),
        (
            {"format": "avro", "schema": schema_text(x="int")},
            "Field 'x' is present in output schema but not present in input schema.",
        ),
        (
            {"format": "orc", "schema": schema_text(b="int")},
            "Field 'b' has type mismatch with input schema type 'string'.",
        ),
    ],
)
def test_wrong_properties(properties: dict[str, str], message: str):
    (found,) = messages(sink(**properties))

    assert found.startswith(message)


def test_a_schema_that_does_not_fit_matters_to_typed_formats_only():
    """Exported pipelines have stale schemas in sinks of text, which CDAP never looked at."""
    assert sink(format="json", schema=schema_text(offset="long", body="string")).failures == []
    assert sink(format="parquet", schema=schema_text(a=["int", "null"])).failures == []


@pytest.mark.parametrize(
    ("format", "type", "reason"),
    [
        ("csv", {"type": "map", "keys": "string", "values": "int"}, "is of type 'map'"),
        ("tsv", ["int", "string"], "is of type 'union'"),
        ("parquet", "null", "is of type 'null'"),
        (
            "avro",
            {"type": "map", "keys": "int", "values": "int"},
            "is a map with keys of type 'int'",
        ),
        ("orc", {"type": "array", "items": "null"}, "is of type 'null' inside"),
    ],
)
def test_types_that_a_format_cannot_hold(format: str, type, reason: str):
    (failure,) = sink(record(v=type), format=format).failures

    assert failure.message == f"Field 'v' {reason}, which the '{format}' format cannot hold."
    assert failure.causes[0].attributes == {"inputField": "v", "inputStage": "in"}


@pytest.mark.parametrize(
    ("type", "delimiter", "warned"),
    [
        ("double", ".", True),
        ({"type": "int", "logicalType": "date"}, "-", True),
        ({"type": "long", "logicalType": "time-micros"}, ":", True),
        ({"type": "long", "logicalType": "timestamp-micros"}, "T", True),
        ({"type": "string", "logicalType": "datetime"}, "-", True),
        ({"type": "string", "logicalType": "datetime"}, ",", False),
        ("string", "-", False),
        ("int", ".", False),
    ],
)
def test_delimiters_that_each_value_contains(type, delimiter: str, warned: bool):
    properties = {"format": "delimited", "delimiter": delimiter}

    found = [each.message for each in sink(given=record(v=type), **properties).warnings]
    quoted = sink(given=record(v=type), enableQuotedValues="true", **properties)

    message = f"Each value of field 'v' contains the delimiter '{delimiter}'"
    assert any(text.startswith(message) for text in found) is warned
    assert not any(each.message.startswith(message) for each in quoted.warnings)


def test_unknown_input_and_macros_pass():
    names = ["path", "suffix", "format", "schema", "delimiter", "writeHeader", "compressionCodec"]
    properties = dict.fromkeys(names, "${m}")

    assert configure("batchsink", "File", properties, given=GIVEN, macros=names).failures == []
    assert sink(None, format="csv").failures == []


def test_properties_of_real_pipelines_are_accepted(corpus):
    seen = 0
    for path in sorted((corpus / "pipelines").glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        config = document.get("config") if isinstance(document, dict) else None
        for stage in (config or {}).get("stages") or []:
            plugin = stage.get("plugin") or {}
            if (plugin.get("type"), plugin.get("name")) != ("batchsink", "File"):
                continue
            texts = {key: str(value) for key, value in plugin["properties"].items()}
            macros = [key for key, value in texts.items() if "${" in value]
            assert messages(configure("batchsink", "File", texts, macros=macros)) == [], path.name
            seen += 1
    assert seen > 10
