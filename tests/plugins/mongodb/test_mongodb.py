"""MongoDB: documents of a collection, which is a key-value table of the instance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mongodb_plugins.mongodb import MongoSink, MongoSource, QueryError, meets_query, parse_query

from localcdap.api import FailureCollector, Schema
from localcdap.testing import StageTester, TemporaryInstance
from tests.plugins.core.test_key_values import csv, json_lines, json_sink, run, stage

COMMON = {"referenceName": "r", "host": "localhost", "database": "shop", "collection": "people"}
PEOPLE = Schema.record(
    "person", [("id", Schema.STRING), ("name", Schema.STRING), ("age", Schema.INT.as_nullable)]
)
READ = Schema.record("person", [("_id", Schema.STRING), ("age", Schema.INT)])
ONE, TWO = "0123456789abcdef01234567", "ffffffffffffffffffffffff"
DOCUMENT: dict[str, Any] = {
    "_id": ONE,
    "age": 7,
    "name": "ada",
    "tags": ["a", "b"],
    "at": {"city": "x"},
    "none": None,
    "sold": [{"n": 1}, {"n": 5}],
}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, True),
        ({"name": "ada", "age": 7}, True),
        ({"name": "bob"}, False),
        ({"age": {"$gt": 6, "$lt": 8}}, True),
        ({"age": {"$gte": 8}}, False),
        ({"age": {"$lte": {"$numberLong": "7"}}}, True),
        ({"age": {"$gt": "6"}}, False),
        ({"tags": "b"}, True),
        ({"tags": {"$nin": ["b"]}}, False),
        ({"at.city": {"$in": ["x", "y"]}}, True),
        ({"sold.n": 5}, True),
        ({"sold.n": {"$gt": 5}}, False),
        ({"none": None, "gone": None}, True),
        ({"gone": {"$exists": False}, "none": {"$exists": True}}, True),
        ({"_id": {"$oid": ONE.upper()}}, True),
        ({"$or": [{"age": 1}, {"name": {"$ne": "bob"}}]}, True),
        ({"$nor": [{"age": 7}]}, False),
        ({"$and": [{"age": {"$not": {"$gt": 7}}}, {"age": {"$eq": 7}}]}, True),
        ({"age": True}, False),
    ],
)
def test_queries_are_those_of_mongodb(query, expected):
    assert meets_query(DOCUMENT, parse_query(json.dumps(query))) is expected


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"$where": 1}', '{"a": {"$regex": "x"}}', '{"$or": 1}', '{"a": {"$in": 1}}'],
)
def test_other_queries_are_errors(text):
    with pytest.raises(QueryError):
        parse_query(text)


def test_properties_are_checked():
    lists = Schema.record("r", [("m", Schema.map(Schema.INT, Schema.INT)), ("x", Schema.DATE)])
    wrong = {"referenceName": "r", "port": "0", "inputQuery": "{", "schema": str(lists)}
    assert StageTester(MongoSource, wrong).problems == [
        "host: Host must be specified",
        "database: Database name must be specified",
        "collection: Collection name must be specified",
        "port: Port number must be greater than 0",
        ("inputQuery: The query is not JSON: Expecting property name enclosed in double quotes: line 1 "
        "column 2 (char 1)."),
        ("schema: Map keys must be a non-nullable string. Please change field 'm' to be a non-nullable "
        "string."),
    ]  # fmt: skip
    assert StageTester(MongoSink, COMMON | {"idField": "age"}, PEOPLE).problems == [
        "idField: Identified field 'age' is of type 'int'."
    ]
    assert StageTester(MongoSink, COMMON | {"idField": "no"}, PEOPLE).problems == [
        "idField: Schema does not contain identifier field 'no'."
    ]


def test_a_connection_string_names_what_the_properties_do_not():
    common = {"referenceName": "r", "schema": str(PEOPLE)}
    text = "mongodb://ann:secret@h:27017,g:27017/shop.people.old?ssl=true"

    def name(**properties: str) -> str:
        tester = StageTester(MongoSource, common | properties)
        assert tester.problems == []
        return MongoSource.Config.build(
            common | properties, FailureCollector("s")
        ).find_table_name()

    assert name(connectionString=text) == "mongodb.shop.people.old"
    assert name(connectionString=text, collection="new") == "mongodb.shop.new"
    for wrong in ("h:27017/shop.people", "mongodb://h/shop", "mongodb://h"):
        assert StageTester(MongoSink, common | {"connectionString": wrong}, PEOPLE).problems == [
            f"connectionString: '{wrong}' does not name a collection of MongoDB."
        ]
    assert StageTester(MongoSource, common | COMMON | {"inputFields": '{"age": 1}'}).problems == [
        "inputFields: Property 'inputFields' must be empty."
    ]


@pytest.mark.slow
@pytest.mark.spark
def test_documents_are_written_and_read(tmp_path: Path, cdap_engine_directory):
    with TemporaryInstance(tmp_path) as instance:
        sink = stage("batchsink", "MongoDB", **COMMON, idField="id")
        lines = f"{ONE},ada,36\n{TWO.upper()},bob,\n"
        assert run(instance, csv(instance, lines, PEOPLE), sink).error is None
        rows = instance.cdap.tables.read_rows("default", "mongodb.shop.people", 9).rows
        assert {key: json.loads(value) for key, value in rows} == {
            ONE: {"_id": ONE, "name": "ada", "age": 36},
            TWO: {"_id": TWO, "name": "bob", "age": None},
        }

        def read(out: str, **properties: str) -> Any:
            source = stage(
                "batchsource", "MongoDB", **(COMMON | {"schema": str(READ)} | properties)
            )
            return run(instance, source, json_sink(out))

        adults = read("adults", inputQuery='{"age": {"$gt": 30}}')
        assert adults.error is None
        assert json_lines(tmp_path / "adults") == [{"_id": ONE, "age": 36}]
        failed = read("failed")
        assert f"Document '{TWO}' does not fit the schema" in failed.error.message
        assert read("skipped", **{"on-error": "skip-error"}).error is None
        assert json_lines(tmp_path / "skipped") == [{"_id": ONE, "age": 36}]
        sent = read("sent", onError="send-to-error")
        assert (sent.error, sent.stages["s0-0"].errors) == (None, 1)
        assert json_lines(tmp_path / "sent") == [{"_id": ONE, "age": 36}]
        wrong = run(instance, csv(instance, "x,eve,1\n", PEOPLE), sink)
        assert "24 hexadecimal digits" in f"{wrong.error.message} {wrong.error.corrective_action}"
