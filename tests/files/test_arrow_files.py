"""Columns of Parquet and ORC files: the schema that each type stands for, and its values under others."""

from __future__ import annotations

import datetime
import decimal
import uuid

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from localcdap.api import LogicalType, Schema, StageError
from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import SchemaError
from localcdap.files.arrow_files import read_file_batches
from localcdap.files.schemas import read_schema

UTC = datetime.UTC
NOON = datetime.datetime(2020, 1, 5, 12, 0, 0, 1000)
LATE = datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)
MILLIS, MICROS = (
    Schema.of(kind) for kind in (LogicalType.TIMESTAMP_MILLIS, LogicalType.TIMESTAMP_MICROS)
)
TIME_MILLIS = Schema.of(LogicalType.TIME_MILLIS)
ID = uuid.UUID(int=5)
ENUM = Schema.enum(["red", "blue"])


def read(path, schema: Schema | None = None, format: str = "parquet"):
    """The schema and the values of the only field of a file."""
    found = schema or read_schema(str(path), format)
    records = [
        record
        for batch in read_file_batches(str(path), format, found, 2)
        for record in RecordCodec(found).decode(batch)
    ]
    return found.fields[0].schema.non_nullable, [record["v"] for record in records]


def write(path, values, type: pa.DataType, **options) -> None:
    table = pa.table({"v": pa.array(values, type)})
    if path.suffix == ".orc":
        orc.write_table(table, path)
    else:
        pq.write_table(table, path, **options)


def field(type: Schema) -> Schema:
    return Schema.record("r", [("v", type.as_nullable)])


@pytest.mark.parametrize(
    ("type", "value", "schema", "expected"),
    [
        (pa.bool_(), True, Schema.BOOLEAN, True),
        (pa.int8(), -128, Schema.INT, -128),
        (pa.int16(), -1, Schema.INT, -1),
        (pa.int32(), -(2**31), Schema.INT, -(2**31)),
        (pa.uint8(), 255, Schema.INT, 255),
        (pa.uint16(), 65535, Schema.INT, 65535),
        (pa.uint32(), 2**32 - 1, Schema.LONG, 2**32 - 1),
        (pa.int64(), -(2**63), Schema.LONG, -(2**63)),
        (pa.uint64(), 2**63 - 1, Schema.LONG, 2**63 - 1),
        (pa.float16(), 1.5, Schema.FLOAT, 1.5),
        (pa.float32(), 0.5, Schema.FLOAT, 0.5),
        (pa.float64(), 0.1, Schema.DOUBLE, 0.1),
        (pa.string(), "é", Schema.STRING, "é"),
        (pa.large_string(), "x", Schema.STRING, "x"),
        (pa.string_view(), "x", Schema.STRING, "x"),
        (pa.dictionary(pa.int8(), pa.string()), "x", Schema.STRING, "x"),
        (pa.json_(), '{"a":1}', Schema.STRING, '{"a":1}'),
        (pa.uuid(), ID.bytes, Schema.STRING, str(ID)),
        (pa.binary(), b"\xff", Schema.BYTES, b"\xff"),
        (pa.large_binary(), b"\x00", Schema.BYTES, b"\x00"),
        (pa.binary(3), b"abc", Schema.BYTES, b"abc"),
        (pa.date32(), datetime.date(1500, 2, 28), Schema.DATE, datetime.date(1500, 2, 28)),
        (pa.date64(), datetime.date(1, 1, 1), Schema.DATE, datetime.date(1, 1, 1)),
        (pa.time32("ms"), datetime.time(1, 2, 3, 4000), TIME_MILLIS, datetime.time(1, 2, 3, 4000)),
        (pa.time64("us"), datetime.time(1, 2, 3, 4), Schema.TIME, datetime.time(1, 2, 3, 4)),
        (pa.time64("ns"), 1001, Schema.LONG, 1001),
        (pa.timestamp("s"), NOON.replace(microsecond=0), MILLIS, NOON.replace(microsecond=0)),
        (pa.timestamp("ms"), NOON, MILLIS, NOON),
        (pa.timestamp("ms", "UTC"), NOON, MILLIS, NOON),
        (pa.timestamp("us"), NOON, MICROS, NOON),
        (pa.timestamp("us", "Asia/Tokyo"), NOON, MICROS, NOON),
        (pa.timestamp("ns"), 1001, Schema.LONG, 1001),
        (pa.timestamp("ns", "UTC"), 1001, Schema.LONG, 1001),
        (pa.duration("us"), 7, Schema.LONG, 7),
        (pa.null(), None, Schema.INT, None),
        (
            pa.decimal128(38, 2),
            decimal.Decimal("-1.50"),
            Schema.decimal(38, 2),
            decimal.Decimal("-1.50"),
        ),
        (pa.decimal256(9, 1), decimal.Decimal("2.5"), Schema.decimal(9, 1), decimal.Decimal("2.5")),
        (pa.list_(pa.int8()), [1, None], Schema.array(Schema.INT.as_nullable), [1, None]),
        (pa.large_list(pa.string()), ["x"], Schema.array(Schema.STRING.as_nullable), ["x"]),
        (pa.list_(pa.int32(), 2), [1, 2], Schema.array(Schema.INT.as_nullable), [1, 2]),
        (
            pa.map_(pa.string(), pa.timestamp("ms")),
            [("k", NOON)],
            Schema.map(Schema.STRING, MILLIS.as_nullable),
            {"k": NOON.replace(tzinfo=UTC)},
        ),
        (
            pa.struct([("x", pa.uint32()), ("y", pa.list_(pa.float16()))]),
            {"x": 1, "y": [0.5]},
            Schema.record(
                "v",
                [
                    ("x", Schema.LONG.as_nullable),
                    ("y", Schema.array(Schema.FLOAT.as_nullable).as_nullable),
                ],
            ),
            {"x": 1, "y": [0.5]},
        ),
    ],
    ids=str,
)
def test_each_type_of_parquet(tmp_path, type, value, schema, expected):
    write(tmp_path / "a.parquet", [value, None, value], type)

    if isinstance(expected, datetime.datetime):
        expected = expected.replace(tzinfo=UTC)
    assert read(tmp_path / "a.parquet") == (schema, [expected, None, expected])


def test_timestamps_of_96_bits(tmp_path):
    values = [NOON, None, LATE, datetime.datetime(1, 1, 1)]
    write(tmp_path / "a.parquet", values, pa.timestamp("us"), use_deprecated_int96_timestamps=True)
    found, read_values = read(tmp_path / "a.parquet")
    assert found == MICROS
    assert read_values == [value and value.replace(tzinfo=UTC) for value in values]
    assert read(tmp_path / "a.parquet", field(Schema.DATETIME))[1] == values
    assert read(tmp_path / "a.parquet", field(Schema.LONG))[1][0] == 1578225600001000


@pytest.mark.parametrize(
    ("stored", "value", "schema", "expected"),
    [
        (pa.int32(), 5, Schema.LONG, 5),
        (pa.int32(), 5, Schema.FLOAT, 5.0),
        (pa.int32(), 5, Schema.DOUBLE, 5.0),
        (pa.int64(), 2**53 + 1, Schema.DOUBLE, 2.0**53),
        (pa.int64(), 7, Schema.INT, 7),
        (pa.float32(), 0.1, Schema.DOUBLE, 0.10000000149011612),
        (pa.float64(), 0.1, Schema.FLOAT, 0.10000000149011612),
        (pa.float64(), 3.0, Schema.LONG, 3),
        (pa.int32(), 5, Schema.decimal(3, 1), decimal.Decimal("5.0")),
        (
            pa.decimal128(5, 2),
            decimal.Decimal("1.50"),
            Schema.decimal(9, 4),
            decimal.Decimal("1.5"),
        ),
        (
            pa.decimal128(5, 2),
            decimal.Decimal("1.50"),
            Schema.decimal(2, 1),
            decimal.Decimal("1.5"),
        ),
        (pa.decimal128(5, 2), decimal.Decimal("1.50"), Schema.DOUBLE, 1.5),
        (pa.binary(), b"\x00\x96", Schema.decimal(5, 2), decimal.Decimal("1.5")),
        (pa.binary(), "é".encode(), Schema.STRING, "é"),
        (pa.string(), "é", Schema.BYTES, "é".encode()),
        (pa.string(), "red", ENUM, "red"),
        (pa.uuid(), ID.bytes, Schema.BYTES, ID.bytes),
        (pa.int32(), -1, Schema.DATE, datetime.date(1969, 12, 31)),
        (pa.date32(), datetime.date(1969, 12, 31), Schema.INT, -1),
        (pa.time64("ns"), 1000, Schema.TIME, datetime.time(0, 0, 0, 1)),
        (pa.int32(), 1, TIME_MILLIS, datetime.time(0, 0, 0, 1000)),
        (pa.int64(), 1, Schema.TIME, datetime.time(0, 0, 0, 1)),
        (pa.timestamp("ms"), NOON, MICROS, NOON.replace(tzinfo=UTC)),
        (pa.timestamp("ns"), 1000, MICROS, datetime.datetime(1970, 1, 1, 0, 0, 0, 1, UTC)),
        (pa.timestamp("ms"), NOON, Schema.LONG, 1578225600001),
        (pa.timestamp("us", "UTC"), NOON, Schema.DATETIME, NOON),
        (pa.int64(), 1, MILLIS, datetime.datetime(1970, 1, 1, 0, 0, 0, 1000, UTC)),
        (pa.int64(), 1, MICROS, datetime.datetime(1970, 1, 1, 0, 0, 0, 1, UTC)),
        (pa.string(), "2020-01-05T12:00:00.001", Schema.DATETIME, NOON),
        (pa.string(), "2020-01-05T12:00", Schema.DATETIME, datetime.datetime(2020, 1, 5, 12)),
        (pa.list_(pa.int32()), [1], Schema.array(Schema.LONG), [1]),
        (
            pa.map_(pa.string(), pa.float32()),
            [("k", 0.5)],
            Schema.map(Schema.STRING, Schema.DOUBLE),
            {"k": 0.5},
        ),
        (
            pa.struct([("x", pa.int32()), ("y", pa.string())]),
            {"x": 1, "y": "z"},
            Schema.record("q", [("y", Schema.STRING), ("n", Schema.INT.as_nullable)]),
            {"y": "z", "n": None},
        ),
    ],
    ids=str,
)
def test_a_column_under_another_type(tmp_path, stored, value, schema, expected):
    write(tmp_path / "a.parquet", [None, value], stored)

    _, found = read(tmp_path / "a.parquet", field(schema))

    assert found == [None, expected]


@pytest.mark.parametrize(
    ("stored", "value", "schema", "message"),
    [
        (pa.int64(), 2**31, Schema.INT, "Field 'v' must be of type int, but it is 2147483648."),
        (pa.uint64(), 2**63, Schema.LONG, "Field 'v' must be of type long, but it is 922337203"),
        (pa.float64(), 0.5, Schema.LONG, "Field 'v' must be of type long, but it is 0.5."),
        (pa.float64(), 1e300, Schema.FLOAT, "Field 'v' must be of type float, but it is 1e"),
        (
            pa.decimal128(5, 2),
            decimal.Decimal("1.55"),
            Schema.decimal(5, 1),
            "Field 'v' must be of type decimal(5, 1), but it is 1.55.",
        ),
        (
            pa.decimal128(5, 2),
            decimal.Decimal("123.00"),
            Schema.decimal(2, 0),
            "Field 'v' must be of type decimal(2, 0), but it is 123.00.",
        ),
        (pa.timestamp("ns"), 1001, MICROS, "Field 'v' must be of type timestamp-micros, but it is"),
        (pa.time64("ns"), 1, Schema.TIME, "Field 'v' must be of type time-micros, but it is"),
        (pa.string(), "5 May", Schema.DATETIME, "Field 'v' must be of type datetime, but it is 5"),
        (
            pa.string(),
            "2020-01-05T12:00:00Z",
            Schema.DATETIME,
            "Field 'v' must be of type datetime",
        ),
        (pa.string(), "green", ENUM, "Field 'v' must be of type enum, but it is green."),
        (pa.binary(), b"\xff", Schema.STRING, "Field 'v' must be of type string, but it is"),
        (
            pa.list_(pa.int64()),
            [2**40],
            Schema.array(Schema.INT),
            "Field 'v' must be of type array",
        ),
    ],
    ids=str,
)
def test_a_value_that_does_not_fit_is_named(tmp_path, stored, value, schema, message):
    write(tmp_path / "a.parquet", [None, None, value], stored)

    with pytest.raises(StageError) as error:
        read(tmp_path / "a.parquet", field(schema))

    assert error.value.message.startswith(message)
    assert error.value.message.endswith(f"File: {tmp_path}/a.parquet; row 3.")


@pytest.mark.parametrize(
    ("stored", "value", "schema"),
    [
        (pa.int32(), 1, Schema.STRING),
        (pa.int32(), 1, Schema.BOOLEAN),
        (pa.string(), "1", Schema.INT),
        (pa.bool_(), True, Schema.INT),
        (pa.date32(), datetime.date(2020, 1, 1), MICROS),
        (pa.timestamp("us"), NOON, Schema.DATE),
        (pa.timestamp("us"), NOON, Schema.INT),
        (pa.float64(), 0.5, Schema.decimal(5, 2)),
        (pa.list_(pa.string()), ["x"], Schema.array(Schema.INT)),
        (pa.int32(), 1, Schema.record("q", [("x", Schema.INT)])),
    ],
    ids=str,
)
def test_a_column_of_a_type_that_cannot_be_read(tmp_path, stored, value, schema):
    write(tmp_path / "a.parquet", [value], stored)

    with pytest.raises(StageError) as error:
        read(tmp_path / "a.parquet", field(schema))

    place = f"in the data of '{tmp_path}/a.parquet', but its schema says {schema.display_name}."
    assert error.value.message.startswith("field 'v' is of type ")
    assert error.value.message.endswith(place)


def test_null_a_missing_column_and_two_of_one_name(tmp_path):
    write(tmp_path / "a.parquet", [1, None], pa.int32())
    required = Schema.record("r", [("v", Schema.INT)])
    with pytest.raises(StageError, match=r"Field 'v' is null.*a\.parquet; row 2"):
        read(tmp_path / "a.parquet", required)
    other = Schema.record("r", [("V", Schema.INT)])
    with pytest.raises(StageError, match=r"'V' does not exist in the data of '.*a\.parquet'"):
        read(tmp_path / "a.parquet", other)
    missing = Schema.record("r", [("V", Schema.INT.as_nullable)])
    (batch,) = read_file_batches(str(tmp_path / "a.parquet"), "parquet", missing, 9)
    assert RecordCodec(missing).decode(batch) == [{"V": None}, {"V": None}]
    twice = pa.table([pa.array([1]), pa.array([2])], names=["v", "v"])
    pq.write_table(twice, tmp_path / "b.parquet")
    with pytest.raises(StageError, match=r"'v' exists 2 times in the data of '.*b\.parquet'"):
        read(tmp_path / "b.parquet", field(Schema.LONG))


def test_a_type_that_no_schema_has(tmp_path):
    write(tmp_path / "a.parquet", [decimal.Decimal(1)], pa.decimal256(50, 0))
    with pytest.raises(SchemaError, match=r"Field 'v': A decimal of 50 digits cannot be run"):
        read(tmp_path / "a.parquet")


def test_a_file_of_pandas(tmp_path):
    frame = pd.DataFrame({"v": pd.to_datetime([NOON, None])})
    frame.to_parquet(tmp_path / "a.parquet", index=False)
    assert read(tmp_path / "a.parquet") == (Schema.LONG, [1578225600001000000, None])
    _, moments = read(tmp_path / "a.parquet", field(MICROS))
    assert moments == [NOON.replace(tzinfo=UTC), None]
    for values, type, expected in (
        (pd.Categorical(["a", None]), Schema.STRING, ["a", None]),
        (pd.array([1, None], dtype="Int16"), Schema.INT, [1, None]),
        ([1, None], Schema.DOUBLE, [1.0, None]),
        (pd.to_timedelta([1, 2], unit="us"), Schema.LONG, [1000, 2000]),
    ):
        pd.DataFrame({"v": values}).to_parquet(tmp_path / "b.parquet", index=False)
        assert read(tmp_path / "b.parquet") == (type, expected)


@pytest.mark.parametrize(
    ("sql", "schema", "expected"),
    [
        ("1::UTINYINT", Schema.INT, 1),
        ("4294967295::UINTEGER", Schema.LONG, 2**32 - 1),
        ("1.5::DECIMAL(4, 1)", Schema.decimal(4, 1), decimal.Decimal("1.5")),
        ("1.5::DECIMAL(38, 1)", Schema.decimal(38, 1), decimal.Decimal("1.5")),
        ("170141183460469231731687303715884105727::HUGEINT", Schema.DOUBLE, 2.0**127),
        ("'00000000-0000-0000-0000-000000000005'::UUID", Schema.STRING, str(ID)),
        ("TIME '01:02:03'", Schema.TIME, datetime.time(1, 2, 3)),
        ("TIMESTAMP '2020-01-05 12:00:00.001'", MICROS, NOON.replace(tzinfo=UTC)),
        ("TIMESTAMPTZ '2020-01-05 12:00:00.001Z'", MICROS, NOON.replace(tzinfo=UTC)),
        ("TIMESTAMP_NS '1970-01-01 00:00:00.000001001'", Schema.LONG, 1001),
        ("'red'::ENUM('red')", Schema.STRING, "red"),
        ("'{}'::JSON", Schema.STRING, "{}"),
        ("'\\xAA'::BLOB", Schema.BYTES, b"\xaa"),
        ("[1, NULL]", Schema.array(Schema.INT.as_nullable), [1, None]),
        ("MAP {'k': 1}", Schema.map(Schema.STRING, Schema.INT.as_nullable), {"k": 1}),
    ],
)
def test_a_file_of_duckdb(tmp_path, sql, schema, expected):
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"COPY (SELECT {sql} AS v) TO '{tmp_path}/a.parquet'")  # noqa: S608
    assert read(tmp_path / "a.parquet") == (schema, [expected])


@pytest.mark.parametrize(
    ("type", "value", "schema"),
    [
        (pa.bool_(), True, Schema.BOOLEAN),
        (pa.int8(), 1, Schema.INT),
        (pa.int64(), 1, Schema.LONG),
        (pa.float32(), 0.5, Schema.FLOAT),
        (pa.float64(), 0.5, Schema.DOUBLE),
        (pa.string(), "x", Schema.STRING),
        (pa.binary(), b"x", Schema.BYTES),
        (pa.date32(), datetime.date(2020, 1, 5), Schema.DATE),
        (pa.timestamp("us"), NOON.replace(tzinfo=UTC), MICROS),
        (pa.timestamp("us", "UTC"), NOON.replace(tzinfo=UTC), MICROS),
        (pa.decimal128(9, 2), decimal.Decimal("1.50"), Schema.decimal(9, 2)),
        (pa.list_(pa.int32()), [1], Schema.array(Schema.INT.as_nullable)),
    ],
    ids=str,
)
def test_each_type_of_orc(tmp_path, type, value, schema):
    write(tmp_path / "a.orc", [value, None], type)
    assert read(tmp_path / "a.orc", format="orc") == (schema, [value, None])


def test_moments_of_orc_that_arrow_cannot_hold_are_refused(tmp_path):
    write(tmp_path / "a.orc", [LATE], pa.timestamp("us"))
    with pytest.raises(StageError, match=r"a\.orc' cannot be read as orc: .*out of range"):
        read(tmp_path / "a.orc", format="orc")
