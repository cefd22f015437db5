"""Directives that read and write formats, in Spark between native ones."""

from __future__ import annotations

import json

import pytest

from localcdap.api import Schema
from tests.plugins.wrangler.test_runs import TEXT, Ran, recipe

pytestmark = pytest.mark.spark
GIVEN = Schema.record(
    "given", [("id", TEXT), ("body", TEXT), ("doc", TEXT), ("file", Schema.BYTES.as_nullable)]
)
OUT = Schema.record(
    "out",
    [
        ("id", TEXT),
        ("body_name", TEXT),
        ("first", Schema.LONG.as_nullable),
        ("parts", Schema.array(Schema.LONG.as_nullable).as_nullable),
        ("title", TEXT),
        ("json", TEXT),
        ("line", TEXT),
    ],
)
BOOK = "<book id='1'><title>XML</title></book>"


def test_values_of_json_and_xml_pass_through_batches_and_native_directives(spark, tmp_path):
    records = [
        {
            "id": "a",
            "body": json.dumps({"name": "Ann", "parts": [1, 2]}),
            "doc": BOOK,
            "file": b"1",
        },
        {"id": "b", "body": "{name: Bob", "doc": BOOK, "file": None},
        {"id": "c", "body": "{}", "doc": "<book>", "file": None},
        {"id": "d", "body": None, "doc": BOOK, "file": None},
    ]
    ran = Ran(
        spark,
        tmp_path,
        recipe(
            "uppercase :id",
            "parse-as-json :body",
            "rename :body_parts :parts",
            "json-path :parts :first '$[0]'",
            "parse-as-xml :doc",
            "xpath :doc :title '/book/title'",
            "lowercase :title",
            "write-as-json-object :json :id,:first,:title",
            "drop :doc,:file",
            "write-as-csv :line",
            schema=OUT,
            **{"on-error": "send-to-error-port"},
        ),
        schema=GIVEN,
        records=records,
    )

    assert ran.records == [
        {
            "id": "A",
            "body_name": "Ann",
            "first": 1,
            "parts": [1, 2],
            "title": "xml",
            "json": '{"id":"A","first":1,"title":"xml"}',
            "line": 'A,Ann,"[1,2]",1,xml,"{""id"":""A"",""first"":1,""title"":""xml""}"',
        }
    ]
    reported = {each["record"]["id"]: each["message"] for each in ran.errors}
    assert "it is not valid JSON" in reported["b"]
    assert set(reported) == {"b"}
    assert ran.counts.in_ == 4
