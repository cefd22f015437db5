"""Firestore: documents of a collection, which is a key-value table of the instance."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google_cloud.firestore import Filter, FirestoreSink, FirestoreSource, parse_filters

from localcdap.api import Schema
from localcdap.testing import StageTester, TemporaryInstance
from tests.plugins.core.test_key_values import csv, json_lines, json_sink, run, stage

CITIES = Schema.record(
    "city",
    [
        ("name", Schema.STRING),
        ("state", Schema.STRING.as_nullable),
        ("people", Schema.LONG.as_nullable),
    ],
)
READ = Schema.record(
    "city",
    [
        ("__id__", Schema.STRING),
        ("state", Schema.STRING.as_nullable),
        ("people", Schema.DOUBLE.as_nullable),
    ],
)
COMMON = {"referenceName": "r", "collection": "usa/cities", "project": "p"}
BY_NAME = {"documentIdType": "Custom name", "idAlias": "name"}
NOT_A_NUMBER = (
    "customQuery: Invalid value 'x' for operator 'LessThan'. "
    "A numeric value expected for the operator used."
)
SOURCE = COMMON | {"schema": str(READ), "includeDocumentId": "true"}


def documents(instance: TemporaryInstance) -> dict[str, Any]:
    rows = instance.cdap.tables.read_rows("default", "firestore.usa.cities", 100)
    return {key: json.loads(value) for key, value in rows.rows}


@pytest.mark.slow
@pytest.mark.spark
def test_documents_are_written_replaced_and_read(cdap_instance: TemporaryInstance, engine: object):
    sink = stage("batchsink", "Firestore", **COMMON, **BY_NAME)
    lines = "SF,CA,800000\nLA,CA,3900000\nNY,NY,\n"
    assert run(cdap_instance, csv(cdap_instance, lines, CITIES), sink).error is None
    assert run(cdap_instance, csv(cdap_instance, "LA,CA,4000000\n", CITIES), sink).error is None
    assert documents(cdap_instance) == {
        "SF": {"state": "CA", "people": 800_000},
        "LA": {"state": "CA", "people": 4_000_000},
        "NY": {"state": "NY", "people": None},
    }
    sources = {
        "all": {},
        "chosen": {"pullDocumentList": "SF, NY", "skipDocumentList": "NY"},
        "filtered": {
            "queryMode": "Advanced",
            "customQuery": "CA:EqualTo(state),900000:GreaterThan(people)",
        },
    }
    for name, properties in sources.items():
        source = stage("batchsource", "Firestore", **(SOURCE | properties))
        assert run(cdap_instance, source, json_sink(name)).error is None
    found = {
        name: sorted(row["__id__"] for row in json_lines(cdap_instance.home.path / name))
        for name in sources
    }
    assert found == {"all": ["LA", "NY", "SF"], "chosen": ["SF"], "filtered": ["LA"]}

    new = stage("batchsink", "Firestore", **COMMON)
    assert run(cdap_instance, csv(cdap_instance, lines, CITIES), new).error is None
    made = documents(cdap_instance)
    assert len(made) == 6
    assert {len(key) for key in made} == {2, 20}

    empty = run(cdap_instance, csv(cdap_instance, ",CA,1\n", CITIES), sink)
    assert "The id of a document is empty" in empty.error.message
    narrow = str(Schema.record("r", [("people", Schema.LONG)]))
    wrong = stage("batchsource", "Firestore", **(COMMON | {"schema": narrow}))
    failed = run(cdap_instance, wrong, json_sink("wrong"))
    assert failed.error.stage == "s0-0"
    assert (
        "Document 'NY' of collection 'usa/cities' does not fit the schema" in failed.error.message
    )


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, []),
        (BY_NAME, []),
        ({"batchSize": "501"}, ["batchSize: Invalid Firestore batch size '501'."]),
        (
            {"documentIdType": "Custom name"},
            ["idAlias: Id field '__id__' does not exist in the schema"],
        ),
        (
            BY_NAME | {"idAlias": "people"},
            ["idAlias: Id field 'people' is of unsupported type 'long'"],
        ),
        (
            {"databaseName": "A_", "collection": "a b"},
            [
                "databaseName: Database name can only include letters, numbers and hyphen characters.",
                "databaseName: Database name must be in lowercase.",
                "databaseName: Database name's last character can only be a letter or a number.",
                "databaseName: Database name should be at least 4 letters.",
                "collection: The collection 'a b' cannot be a table here.",
            ],
        ),
    ],
)
def test_the_sink_reports_what_is_wrong(properties: dict[str, str], expected: list[str]):
    assert StageTester(FirestoreSink, COMMON | properties, CITIES).problems == expected


def test_types_that_documents_do_not_have_are_reported():
    given = Schema.record("r", [("day", Schema.DATE), ("at", Schema.TIMESTAMP)])
    (problem,) = StageTester(FirestoreSink, COMMON, given).failures
    assert problem.message == "Field 'day' is of unsupported type 'date'"
    narrow = SOURCE | {
        "schema": str(Schema.record("r", [("n", Schema.INT), ("__id__", Schema.STRING)]))
    }
    (problem,) = StageTester(FirestoreSource, narrow).failures
    assert problem.message == "Field 'n' is of unsupported type 'int'"


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, []),
        ({"idAlias": "name"}, ["idAlias: The field 'name' of the id is not a text of the schema."]),
        (
            {"customQuery": "1:LessThan(people)"},
            ["customQuery: In case of Mode=Basic, Filters must be empty"],
        ),
        (
            {"queryMode": "Advanced"},
            ["customQuery: In case of Mode=Advanced, Filters must contain at least one filter"],
        ),
        (
            {"queryMode": "Advanced", "customQuery": "x:LessThan(people)"},
            [
                NOT_A_NUMBER,
            ],
        ),
    ],
)
def test_the_source_reports_what_is_wrong(properties: dict[str, str], expected: list[str]):
    assert StageTester(FirestoreSource, SOURCE | properties).problems == expected


def test_filters():
    assert parse_filters("CA:EqualTo(state), 1.5:lessthan( n )") == [
        Filter("state", "EqualTo", "CA"),
        Filter("n", "LessThan", 1.5),
    ]
    ten = Filter("n", "GreaterThanOrEqualTo", 10)
    accepted = [n for n in (10, 9, 10.5, True, "11", None) if ten.accepts({"n": n})]
    assert accepted == [10, 10.5]
    assert not ten.accepts({})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("CA", "Could not find ':' separating filter value from its operation in 'CA'."),
        ("CA:EqualTo", "Could not find '(' in operation 'EqualTo'."),
        ("CA:Like(a)", "Invalid operator 'Like'."),
        ("CA:EqualTo(a", "Could not find closing ')' in operation 'EqualTo(a'."),
        ("CA:EqualTo()", "Invalid operation format 'EqualTo()'."),
    ],
)
def test_wrong_filters(text: str, problem: str):
    with pytest.raises(ValueError) as error:
        parse_filters(text)
    assert str(error.value).startswith(problem)
