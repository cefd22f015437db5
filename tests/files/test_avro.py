"""Avro data files: each type with its value, under the schema of the file and others; what is written."""

from __future__ import annotations

import datetime
import decimal
import io
import uuid

import fastavro
import pytest

from localcdap.api import LogicalType, Schema, StageError
from localcdap.api.arrow import RecordCodec
from localcdap.files.avro import read_avro_batches, to_avro_schema, write_avro_records
from localcdap.files.schemas import read_avro_schema

UTC = datetime.UTC
NOON = datetime.datetime(2020, 1, 5, 12, 0, 0, 1000, UTC)
LOCAL = NOON.replace(tzinfo=None)
ID = uuid.UUID(int=5)
MILLIS, MICROS = (
    Schema.of(kind) for kind in (LogicalType.TIMESTAMP_MILLIS, LogicalType.TIMESTAMP_MICROS)
)
TIME_MILLIS = Schema.of(LogicalType.TIME_MILLIS)
DAY = datetime.date(2020, 1, 5)
TIME = datetime.time(1, 2, 3, 4000)


def logical(base: str, kind: str, **more):
    return {"type": base, "logicalType": kind, **more}


def fixed(size: int, kind: str | None = None, **more):
    return {
        "type": "fixed",
        "name": "F",
        "size": size,
        **({"logicalType": kind} if kind else {}),
        **more,
    }


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "a.avro")


def write(path: str, type, *values) -> None:
    document = {"type": "record", "name": "x.y.R", "fields": [{"name": "v", "type": type}]}
    with open(path, "wb") as stream:  # noqa: PTH123
        fastavro.writer(stream, document, [{"v": value} for value in values])


def read(path: str, schema: Schema):
    batches = read_avro_batches(path, schema, {})
    return [record["v"] for batch in batches for record in RecordCodec(schema).decode(batch)]


def field(type: Schema) -> Schema:
    return Schema.record("r", [("v", type)])


@pytest.mark.parametrize(
    ("type", "value", "schema", "expected"),
    [
        ("boolean", True, Schema.BOOLEAN, True),
        ("int", -(2**31), Schema.INT, -(2**31)),
        ("long", 2**63 - 1, Schema.LONG, 2**63 - 1),
        ("float", 0.5, Schema.FLOAT, 0.5),
        ("double", 0.1, Schema.DOUBLE, 0.1),
        ("string", "é", Schema.STRING, "é"),
        ("bytes", b"\xff", Schema.BYTES, b"\xff"),
        (fixed(2), b"ab", Schema.BYTES, b"ab"),
        (fixed(12, "duration"), b"0" * 12, Schema.BYTES, b"0" * 12),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B", Schema.enum(["A", "B"]), "B"),
        (logical("string", "uuid"), ID, Schema.STRING, str(ID)),
        (fixed(16, "uuid"), ID.bytes, Schema.STRING, str(ID)),
        (logical("int", "date"), DAY, Schema.DATE, DAY),
        (logical("int", "time-millis"), TIME, TIME_MILLIS, TIME),
        (logical("long", "time-micros"), TIME, Schema.TIME, TIME),
        (logical("long", "timestamp-millis"), NOON, MILLIS, NOON),
        (logical("long", "timestamp-micros"), NOON, MICROS, NOON),
        (logical("long", "timestamp-nanos"), 1001, Schema.LONG, 1001),
        (logical("long", "local-timestamp-millis"), LOCAL, Schema.DATETIME, LOCAL),
        (logical("long", "local-timestamp-micros"), LOCAL, Schema.DATETIME, LOCAL),
        (logical("string", "datetime"), "2020-01-05T12:00:00.001", Schema.DATETIME, LOCAL),
        (
            logical("bytes", "decimal", precision=5, scale=2),
            decimal.Decimal("-1.50"),
            Schema.decimal(5, 2),
            decimal.Decimal("-1.50"),
        ),
        (
            fixed(8, "decimal", precision=10, scale=3),
            decimal.Decimal("2.125"),
            Schema.decimal(10, 3),
            decimal.Decimal("2.125"),
        ),
        (logical("bytes", "decimal"), b"\x01", Schema.BYTES, b"\x01"),
        (logical("string", "unknown"), "x", Schema.STRING, "x"),
        (["null", "string"], None, Schema.union([Schema.NULL, Schema.STRING]), None),
        (
            ["null", logical("string", "uuid")],
            ID,
            Schema.union([Schema.NULL, Schema.STRING]),
            str(ID),
        ),
        (
            {"type": "array", "items": logical("int", "date")},
            [DAY],
            Schema.array(Schema.DATE),
            [DAY],
        ),
        (
            {"type": "map", "values": ["null", logical("string", "uuid")]},
            {"k": ID, "n": None},
            Schema.map(Schema.STRING, Schema.union([Schema.NULL, Schema.STRING])),
            {"k": str(ID), "n": None},
        ),
    ],
    ids=str,
)
def test_each_type(path, type, value, schema, expected):
    is_raw = isinstance(type, dict) and type.get("logicalType") == "decimal" and "scale" not in type
    write(path, "bytes" if is_raw else type, value, value)

    found = read_avro_schema(path)

    assert found == Schema.record("R", [("v", schema)])
    assert read(path, found) == [expected, expected]


def test_types_that_are_named_once(path):
    inner = {
        "type": "record",
        "name": "Q",
        "namespace": "other",
        "fields": [
            {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A"]}},
            {"name": "f", "type": "E"},
            {"name": "u", "type": "x.y.U"},
        ],
    }
    outer = {
        "type": "record",
        "name": "x.y.V",
        "fields": [
            {
                "name": "u",
                "type": {"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"},
            },
            {"name": "q", "type": inner},
            {"name": "r", "type": ["null", "other.Q"]},
        ],
    }
    part = {"e": "A", "f": "A", "u": ID.bytes}
    write(path, outer, {"u": ID.bytes, "q": part, "r": part})

    read_part = {"e": "A", "f": "A", "u": str(ID)}
    assert read(path, read_avro_schema(path)) == [{"u": str(ID), "q": read_part, "r": read_part}]


@pytest.mark.parametrize(
    ("type", "value", "schema", "expected"),
    [
        ("int", 5, Schema.LONG, 5),
        ("int", 5, Schema.FLOAT, 5.0),
        ("int", 5, Schema.DOUBLE, 5.0),
        ("long", 5, Schema.INT, 5),
        ("long", 2**53 + 1, Schema.DOUBLE, 2.0**53),
        ("float", 0.5, Schema.DOUBLE, 0.5),
        ("string", "é", Schema.BYTES, "é".encode()),
        ("bytes", "é".encode(), Schema.STRING, "é"),
        (logical("string", "uuid"), ID, Schema.BYTES, str(ID).encode()),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "A", Schema.STRING, "A"),
        ("int", 1, Schema.DATE, datetime.date(1970, 1, 2)),
        (logical("int", "date"), DAY, Schema.INT, 18266),
        ("long", 1, MILLIS, datetime.datetime(1970, 1, 1, 0, 0, 0, 1000, UTC)),
        ("long", 1, MICROS, datetime.datetime(1970, 1, 1, 0, 0, 0, 1, UTC)),
        (logical("long", "timestamp-millis"), NOON, MICROS, NOON),
        (logical("long", "timestamp-micros"), NOON, MILLIS, NOON),
        (
            logical("long", "timestamp-nanos"),
            1000,
            MICROS,
            datetime.datetime(1970, 1, 1, 0, 0, 0, 1, UTC),
        ),
        (logical("long", "timestamp-millis"), NOON, Schema.LONG, 1578225600001),
        (logical("int", "time-millis"), TIME, Schema.TIME, TIME),
        ("string", "2020-01-05T12:00", Schema.DATETIME, datetime.datetime(2020, 1, 5, 12)),
        (
            logical("bytes", "decimal", precision=5, scale=2),
            decimal.Decimal("1.50"),
            Schema.decimal(9, 4),
            decimal.Decimal("1.5"),
        ),
        (
            logical("bytes", "decimal", precision=5, scale=2),
            decimal.Decimal("1.50"),
            Schema.BYTES,
            b"\x00\x96",
        ),
        ("bytes", b"\x00\x96", Schema.decimal(5, 2), decimal.Decimal("1.5")),
        (["string", "null"], "x", Schema.STRING, "x"),
        (["null", "string", "long"], 5, Schema.DOUBLE, 5.0),
        (["null", "string", "long"], 5, Schema.union([Schema.INT, Schema.STRING]), 5),
        (
            ["string", logical("long", "timestamp-millis")],
            NOON,
            Schema.union([Schema.STRING, Schema.LONG, MILLIS]),
            NOON,
        ),
    ],
    ids=str,
)
def test_a_type_under_another_one(path, type, value, schema, expected):
    write(path, type, value)
    assert read(path, field(schema)) == [expected]


@pytest.mark.parametrize(
    ("type", "value", "schema", "message"),
    [
        (
            "int",
            5,
            Schema.STRING,
            "Field 'v' is of type int in the data, but its schema says string.",
        ),
        (
            "string",
            "5",
            Schema.INT,
            "Field 'v' is of type string in the data, but its schema says int.",
        ),
        ("double", 0.5, Schema.FLOAT, "Field 'v' is of type double in the data"),
        (
            logical("int", "date"),
            DAY,
            MICROS,
            "Field 'v' is of type date in the data, but its schema",
        ),
        (
            logical("int", "time-millis"),
            TIME,
            MICROS,
            "Field 'v' is of type time-millis in the data",
        ),
        (
            logical("long", "timestamp-millis"),
            NOON,
            Schema.TIME,
            "Field 'v' is of type timestamp-millis",
        ),
        ("long", 2**31, Schema.INT, "Field 'v' must be of type int, but"),
        ("bytes", b"\xff", Schema.STRING, "Field 'v' must be of type string, but it is b'\\xff'"),
        (
            "long",
            2**62,
            MILLIS,
            "Field 'v' must be of type timestamp-millis, but it is 46116860184",
        ),
        (
            logical("long", "timestamp-nanos"),
            1001,
            MICROS,
            "Field 'v' must be of type timestamp-micros, but it is 1001: it has parts of microseconds.",
        ),
        (
            "string",
            "5 May",
            Schema.DATETIME,
            "Field 'v' must be of type datetime, but it is '5 May'",
        ),
        (
            logical("bytes", "decimal", precision=5, scale=2),
            decimal.Decimal("1.55"),
            Schema.decimal(5, 1),
            "Field 'v' must be of type decimal",
        ),
        (
            ["null", "string", "long"],
            5,
            Schema.STRING,
            "Field 'v' must be of type string, but it is 5",
        ),
        (["null", "string"], None, Schema.STRING, "Field 'v' is null in a record"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_named_with_its_file(path, type, value, schema, message):
    write(path, type, value)

    with pytest.raises(StageError) as error:
        read(path, field(schema))

    assert error.value.message.startswith(message)
    assert f"File: {path}; records 1 to" in error.value.message


def test_fields_by_name(path):
    write(path, "int", 1)
    nullable = Schema.record("r", [("n", Schema.INT.as_nullable), ("v", Schema.LONG)])
    (batch,) = read_avro_batches(path, nullable, {})
    assert RecordCodec(nullable).decode(batch) == [{"n": None, "v": 1}]
    with pytest.raises(
        StageError, match=r"Field 'V' does not exist in the data; fields are: v\..*a\.avro"
    ):
        list(read_avro_batches(path, Schema.record("r", [("V", Schema.INT)]), {}))


SCHEMA = Schema.parse(
    {
        "type": "record",
        "name": "etl",
        "fields": [
            {"name": "dt", "type": [logical("string", "datetime"), "null"]},
            {"name": "n", "type": ["null", "long"]},
            {"name": "at", "type": logical("long", "timestamp-millis")},
            {"name": "clock", "type": logical("int", "time-millis")},
            {"name": "price", "type": logical("bytes", "decimal", precision=5, scale=2)},
            {"name": "map", "type": {"type": "map", "keys": "string", "values": "int"}},
            {
                "name": "p",
                "type": {"type": "record", "name": "p", "fields": [{"name": "x", "type": "int"}]},
            },
            {"name": "p2", "type": "p"},
            {
                "name": "p3",
                "type": {"type": "record", "name": "p", "fields": [{"name": "y", "type": "int"}]},
            },
            {"name": "e", "type": {"type": "enum", "symbols": ["A"]}},
        ],
    }
)


def test_the_schema_of_a_written_file_is_that_of_the_sink():
    document = SCHEMA.to_json()
    fields = {part["name"]: part for part in document["fields"]}
    fields["p3"]["type"]["name"] = "p_"
    fields["e"]["type"]["name"] = "etl_e"

    assert to_avro_schema(SCHEMA) == document


def test_what_is_written_is_read(path):
    record = {
        "dt": datetime.datetime(2021, 3, 4, 5, 6, 7, 120000),
        "n": None,
        "at": NOON,
        "clock": TIME,
        "price": decimal.Decimal("-1.50"),
        "map": {"k": 1},
        "p": {"x": 1},
        "p2": {"x": 2},
        "p3": {"y": 3},
        "e": "A",
    }
    stream = io.BytesIO()
    write_avro_records(stream, SCHEMA, [record])
    with open(path, "wb") as file:  # noqa: PTH123
        file.write(stream.getvalue())

    stream.seek(0)
    (stored,) = fastavro.reader(stream)
    assert stored["dt"] == "2021-03-04T05:06:07.12"
    found = read_avro_schema(path)
    assert [f.schema for f in found][:6] == [f.schema for f in SCHEMA][:6]
    (batch,) = read_avro_batches(path, found, {})
    assert RecordCodec(found).decode(batch) == [record]
