"""What the File source refuses, and the schemas it announces."""

from __future__ import annotations

import json

import pytest

from tests.plugins.core.support import configure, messages, record, schema_text

TEXT = record(offset="long", body="string")


def source(**properties: str):
    given = {"referenceName": "r", "path": "/in"} | properties
    return configure("batchsource", "File", given)


def test_text_is_the_default_and_needs_no_schema():
    result = source()

    assert result.failures == []
    assert result.output_schema.same_shape(TEXT)


def test_blob_and_path_field_have_fixed_schemas():
    assert source(format="blob").output_schema.same_shape(record(body="bytes"))
    assert source(pathField="file").output_schema.same_shape(
        record(offset="long", body="string", file="string")
    )


@pytest.mark.parametrize(
    "format", ["csv", "CSV", "tsv", "delimited", "json", "avro", "parquet", "orc"]
)
def test_other_formats_announce_the_schema_property(format: str):
    assert source(format=format, schema=schema_text(a="int")).output_schema == record(a="int")
    without = source(format=format)
    assert (without.failures, without.output_schema) == ([], None)


def test_wrong_properties_are_all_reported_at_once():
    result = source(
        referenceName="a b",
        format="docx",
        fileRegex="(",
        fileEncoding="klingon",
        fileSystemProperties="[]",
        maxSplitSize="0",
        enableMultilineSupport="true",
    )

    formats = "avro, blob, csv, delimited, json, orc, parquet, text, tsv, xls"
    assert messages(result)[:2] == [
        "Invalid reference name 'a b'.",
        f"Invalid format 'docx'. The value must be one of {formats}",
    ]
    assert result.failures[0].corrective_action == (
        "Supported characters are: letters, numbers, and '_', '-', '.', or '$'."
    )
    assert [failure.field for failure in result.failures] == [
        "referenceName",
        "format",
        "fileRegex",
        "fileEncoding",
        "maxSplitSize",
        "enableMultilineSupport",
        "fileSystemProperties",
    ]


def test_an_unknown_encoding_is_refused_with_the_list():
    (failure,) = source(fileEncoding="klingon").failures

    assert failure.field == "fileEncoding"
    for name in ("UTF-8", "ISO-8859-15", "Windows-1258", "IBM01149", "IBM918"):
        assert name in failure.corrective_action
    assert source(fileEncoding="ISO-8859-1 (Latin-1 Western European)").failures == []


def test_a_delimiter_contains_no_quote_where_quotes_enclose_values():
    given = {"format": "delimited", "delimiter": '"', "schema": schema_text(a="string")}
    assert source(**given).failures == []
    (failure,) = source(**given, enableQuotedValues="true").failures
    assert failure.field == "delimiter"


def test_required_properties():
    result = configure("batchsource", "File", {})

    assert {failure.field for failure in result.failures} == {"referenceName", "path"}


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"schema": schema_text(offset="long")}, "must have a field named 'body'."),
        ({"schema": schema_text(body="int")}, "'body' field is of unexpected type 'int'."),
        (
            {"schema": schema_text(offset="int", body="string")},
            "'offset' field is of unexpected type 'int'.",
        ),
        (
            {"schema": schema_text(offset="long", body="string", more="string")},
            "must only contain the 'offset' and 'body' fields.",
        ),
        ({"format": "blob", "schema": schema_text(body="string")}, "of unexpected type 'string'."),
        (
            {"format": "csv", "schema": schema_text(a={"type": "array", "items": "int"})},
            "Field 'a' is of type 'array', which the 'csv' format cannot hold.",
        ),
        (
            {"format": "csv", "schema": schema_text(a="int"), "pathField": "p"},
            "Path field 'p' must exist in input schema.",
        ),
        (
            {"format": "csv", "schema": schema_text(a="int"), "pathField": "a"},
            "Path field 'a' is of unsupported type 'int'.",
        ),
    ],
)
def test_schemas_that_do_not_fit_the_format(properties: dict[str, str], message: str):
    (found,) = messages(source(**properties))

    assert message in found


def test_all_properties_may_be_macros():
    names = [
        "path",
        "format",
        "schema",
        "delimiter",
        "skipHeader",
        "pathField",
        "fileRegex",
        "recursive",
    ]
    properties = dict.fromkeys(names, "${m}") | {"referenceName": "r"}

    result = configure("batchsource", "File", properties, macros=names)
    with_schema = configure(
        "batchsource",
        "File",
        properties | {"schema": schema_text(a="int")},
        macros=[name for name in names if name != "schema"],
    )

    assert (result.failures, result.output_schema) == ([], None)
    assert with_schema.failures == []
    assert with_schema.output_schema == record(a="int")


def test_properties_of_real_pipelines_are_accepted(corpus):
    """Sources as exported from CDAP 4 to 6, with macros where they had them."""
    seen = 0
    for path in sorted((corpus / "pipelines").glob("*.json")):
        for plugin in _plugins(json.loads(path.read_text(encoding="utf-8"))):
            properties = plugin.get("properties") or {}
            if (plugin.get("type"), plugin.get("name")) != ("batchsource", "File"):
                continue
            if "path" not in properties:
                continue
            texts = {key: str(value) for key, value in properties.items()}
            macros = [key for key, value in texts.items() if "${" in value]
            result = configure("batchsource", "File", texts, macros=macros)
            assert messages(result) == [], path.name
            assert result.output_schema is not None or texts["format"] == "csv", path.name
            seen += 1
    assert seen > 20


def _plugins(document):
    if isinstance(document, dict):
        if isinstance(document.get("plugin"), dict):
            yield document["plugin"]
        for value in document.values():
            yield from _plugins(value)
    elif isinstance(document, list):
        for value in document:
            yield from _plugins(value)
