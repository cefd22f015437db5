"""parse-as-avro, parse-as-avro-file and parse-as-protobuf."""

from __future__ import annotations

import datetime
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localcdap.plugin_lib.wrangler.catalogs.folder import ARGUMENT
from localcdap.plugin_lib.wrangler.directives.messages import AvroError, AvroSchema, read_avro_rows
from localcdap.plugin_lib.wrangler.recipe.batch import RecipeExecutor, RowFailure
from tests.plugin_lib.wrangler.directives.recipes import (
    build_valid_directives,
    list_problems,
    run,
    run_failing,
)

PERSON = {
    "type": "record", "name": "Person", "namespace": "org.example",
    "fields": [
        {"name": "name", "type": "string"},
        {"name": "born", "type": {"type": "int", "logicalType": "date"}},
        {"name": "paid", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 9,
                                           "scale": 2}]},
        {"name": "home", "type": ["null", {"type": "record", "name": "Place", "fields": [
            {"name": "city", "type": "string"}, {"name": "zip", "type": ["null", "int"]}]}]},
        {"name": "work", "type": ["null", "Place"]},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "more", "type": {"type": "map", "values": "long"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
    ],
}  # fmt: skip
ANN = {
    "name": "Ann", "born": datetime.date(1970, 1, 11), "paid": Decimal("1.28"),
    "home": {"city": "Rome", "zip": 5}, "work": {"city": "Oslo", "zip": None}, "tags": ["x", "y"],
    "more": {"k": 1}, "kind": "B",
}  # fmt: skip
BOB = {**ANN, "name": "Bob", "paid": None, "home": None}


def file_of(*records: dict, codec: str = "deflate") -> bytes:
    stream = io.BytesIO()
    fastavro.writer(stream, fastavro.parse_schema(PERSON), records, codec=codec)
    return stream.getvalue()


def binary_of(*records: dict) -> bytes:
    stream = io.BytesIO()
    for record in records:
        fastavro.schemaless_writer(stream, fastavro.parse_schema(PERSON), record)
    return stream.getvalue()


def with_files(folder: Path, recipe: str, row: dict) -> Any:
    executor = RecipeExecutor(build_valid_directives(recipe), {ARGUMENT: str(folder)})
    executor.start()
    return executor.run(row)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "person.avsc").write_text(json.dumps(PERSON))
    (tmp_path / "person-2.avsc").write_text(json.dumps(PERSON))
    (tmp_path / "broken.avsc").write_text('{"type": "recor"}')
    (tmp_path / "person.desc").write_bytes(DESCRIPTORS)
    return tmp_path


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy"])
def test_a_file_becomes_rows_of_flat_columns(codec):
    made = run("parse-as-avro-file body", {"body": file_of(ANN, BOB, codec=codec), "k": 1})

    assert made == [
        {
            "name": "Ann", "born": 10, "paid": b"\x00\x80", "home_city": "Rome", "home_zip": 5,
            "work_city": "Oslo", "work_zip": None, "tags": '["x","y"]', "more": '{"k":1}', "kind": "B",
        },
        {
            "name": "Bob", "born": 10, "paid": None, "home": None, "work_city": "Oslo",
            "work_zip": None, "tags": '["x","y"]', "more": '{"k":1}', "kind": "B",
        },
    ]  # fmt: skip


@pytest.mark.parametrize("value", [b"", b"Obj\x01", b"no avro", None, "text", 5])
def test_what_is_no_file_fails_on_the_row(value):
    assert run_failing("parse-as-avro-file b", {"b": value}).kind == 1


def test_a_file_that_is_cut_off_fails_on_the_row():
    assert (
        "not an Avro data file"
        in run_failing("parse-as-avro-file b", {"b": file_of(ANN)[:-20]}).message
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0, 400), st.binary(min_size=1, max_size=4))
def test_damaged_files_are_read_or_refused(at, damage):
    content = bytearray(file_of(ANN, BOB, codec="null"))
    content[at : at + len(damage)] = damage
    try:
        list(read_avro_rows(bytes(content)))
    except AvroError:
        return


def test_rows_without_the_column_are_dropped(folder):
    assert run("parse-as-avro-file b", {"a": 1}) == []
    assert with_files(folder, "parse-as-avro b person json", {"a": 1}) == []


@pytest.mark.parametrize("version", ["", "2"])
def test_binary_records_take_the_place_of_the_row(folder, version):
    rows = with_files(
        folder, f"parse-as-avro b person binary {version}", {"b": binary_of(ANN, BOB), "k": 1}
    )

    assert [row["name"] for row in rows] == ["Ann", "Bob"]
    assert rows[0]["home"] == '{"city":"Rome","zip":5}'
    assert rows[0]["born"] == 10
    assert "k" not in rows[0]


def test_a_last_record_that_is_cut_off_does_not_count(folder):
    rows = with_files(folder, "parse-as-avro b person binary", {"b": binary_of(ANN, BOB)[:-3]})
    assert [row["name"] for row in rows] == ["Ann"]


def test_records_in_json(folder):
    text = json.dumps(
        {"name": "Ann", "born": 10, "paid": None, "home": {"org.example.Place": {"city": "R", "zip": None}},
         "work": None, "tags": [], "more": {}, "kind": "A"}
    )  # fmt: skip
    rows = with_files(folder, "parse-as-avro b person json", {"b": text})
    assert rows[0]["home"] == '{"city":"R"}'
    made = with_files(folder, "parse-as-avro b person json", {"b": '{"name": 5}'})
    assert isinstance(made, RowFailure)
    assert (made.kind, made.code) == (2, 2)
    assert "Check schema version 'latest'" in made.message


def test_values_of_other_types_go_to_the_error_port(folder):
    for recipe in ("parse-as-avro b person json", "parse-as-protobuf b person 'Person'"):
        made = with_files(folder, recipe, {"b": None})
        assert isinstance(made, RowFailure)
        assert (made.kind, made.code) == (2, 1)


@pytest.mark.parametrize(
    ("schema", "problem"),
    [("none", "no 'none.avsc' in the folder"), ("broken", "the schema is not one of Avro")],
)
def test_a_missing_or_broken_schema_fails_on_the_row(folder, schema, problem):
    made = with_files(folder, f"parse-as-avro b {schema} json", {"b": "{}"})
    assert isinstance(made, RowFailure)
    assert problem in made.message
    assert ARGUMENT in run_failing("parse-as-avro b person json", {"b": "{}"}).message


def test_arguments_are_checked():
    assert list_problems("parse-as-avro b person xml")
    assert list_problems("parse-as-avro b ../x json")
    assert "whole" in list_problems("parse-as-avro b x json 1.5")[0]


def test_records_without_bytes_end():
    empty = AvroSchema('{"type": "record", "name": "e", "fields": []}')
    assert len(list(empty.read_binary(b"abc"))) == 1


def descriptors() -> bytes:
    file = descriptor_pb2.FileDescriptorProto(name="person.proto", package="org", syntax="proto3")
    kind = file.enum_type.add(name="Kind")
    kind.value.add(name="NONE", number=0)
    kind.value.add(name="GOOD", number=1)
    phone = file.message_type.add(name="Phone")
    phone.field.add(name="number", number=1, type=9, label=1)
    person = file.message_type.add(name="Person")
    person.field.add(name="name", number=1, type=9, label=1)
    person.field.add(name="id", number=2, type=5, label=1)
    person.field.add(name="kind", number=3, type=14, label=1, type_name=".org.Kind")
    person.field.add(name="phones", number=4, type=11, label=3, type_name=".org.Phone")
    person.field.add(name="main", number=5, type=11, label=1, type_name=".org.Phone")
    person.field.add(name="scores", number=6, type=3, label=3)
    person.field.add(name="data", number=7, type=12, label=1)
    return descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()


DESCRIPTORS = descriptors()


def person(**values: object) -> bytes:
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(DESCRIPTORS).file:
        pool.Add(file)
    cls = message_factory.GetMessageClass(pool.FindMessageTypeByName("org.Person"))
    return cls(**values).SerializeToString()


@pytest.mark.parametrize("name", ["Person", "org.Person"])
def test_a_message_becomes_a_row(folder, name):
    content = person(
        name="Ann", id=5, kind=1, phones=[{"number": "1"}, {"number": "2"}], main={"number": "3"},
        scores=[1, 2], data=b"\xff",
    )  # fmt: skip

    assert with_files(folder, f"parse-as-protobuf b person '{name}'", {"b": content, "k": 1}) == [
        {"name": "Ann", "id": 5, "kind": "GOOD", "phones_number": "1", "main_number": "3",
         "scores": [1, 2], "data": b"\xff"}
    ]  # fmt: skip


def test_bytes_that_are_no_message_go_to_the_error_port(folder):
    made = with_files(folder, "parse-as-protobuf b person 'Person'", {"b": b"\xff\xff"})
    assert isinstance(made, RowFailure)
    assert (made.kind, made.code) == (2, 2)
    made = with_files(folder, "parse-as-protobuf b person 'None'", {"b": b""})
    assert isinstance(made, RowFailure)
    assert "there are org.Phone, org.Person" in made.message
