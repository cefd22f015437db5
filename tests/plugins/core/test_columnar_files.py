"""Parquet and ORC files of other writers, and those of the File sink, read by the File source on Spark."""

from __future__ import annotations

import datetime
import decimal
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from localcdap.api import Schema
from localcdap.api.errors import StageError
from localcdap.files.formats import FileInput, detect_format
from localcdap.files.rows import RowReader
from localcdap.testing import artifact_ref, run_stage
from tests.plugins.core.support import ARTIFACT, record, schema_text

pytestmark = pytest.mark.spark

UTC = datetime.UTC
NOON = datetime.datetime(2020, 1, 5, 12, 0, 0, 1000)
OLD = datetime.datetime(1582, 10, 4)
LATE = datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)
MOMENT = {"type": "long", "logicalType": "timestamp-micros"}
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
LOCAL = {"type": "string", "logicalType": "datetime"}
CLOCK = {"type": "long", "logicalType": "time-micros"}
DAY = {"type": "int", "logicalType": "date"}


def money(precision: int, scale: int):
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


@pytest.fixture
def read(spark, tmp_path):
    """The records of the File source with the given properties, paths relative to ``tmp_path``."""

    def run(**properties: str):
        given = {"referenceName": "r", "path": "in"} | properties
        source = artifact_ref(ARTIFACT, "batchsource", "File")
        return run_stage(spark, source, given, directory=tmp_path, counts=False).records

    return run


@pytest.fixture
def sink(spark, tmp_path):
    """Writes records with the File sink into ``in``, and gives back the only file."""

    def run(schema: Schema, records, format: str):
        properties = {"path": "in", "format": format}
        ref = artifact_ref(ARTIFACT, "batchsink", "File")
        run_stage(spark, ref, properties, {"in": (schema, records)}, directory=tmp_path)
        return next(file for file in (tmp_path / "in").iterdir() if file.stat().st_size)

    return run


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "in"
    path.mkdir()
    return path


def write(path, columns, **options) -> None:
    table = pa.table({name: pa.array(*column) for name, column in columns.items()})
    if path.suffix == ".orc":
        orc.write_table(table, path)
    else:
        pq.write_table(table, path, **options)


MIXED = schema_text(
    id="long",
    half=["double", "null"],
    price=[money(10, 3), "null"],
    at=[MOMENT, "null"],
    list=[{"type": "array", "items": ["long", "null"]}, "null"],
    same=["string", "null"],
    ID=["long", "null"],
    file="string",
)


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_files_of_one_folder_have_other_types(read, folder, format):
    write(
        folder / f"a.{format}",
        {
            "id": ([1], pa.int32()),
            "half": ([0.5], pa.float32()),
            "price": ([decimal.Decimal("1.5")], pa.decimal128(5, 1)),
            "at": ([NOON], pa.timestamp("us", "UTC")),
            "list": ([[1]], pa.list_(pa.int32())),
            "same": (["a"],),
            "more": ([1],),
        },
    )
    write(
        folder / f"b.{format}",
        {
            "same": (["b"],),
            "id": ([2**40], pa.int64()),
            "half": ([0.1], pa.float64()),
            "price": ([decimal.Decimal("2.25")], pa.decimal128(9, 2)),
            "list": ([[2**40, None]], pa.list_(pa.int64())),
            "ID": ([7],),
        },
    )
    write(folder / f"c.{format}", {"id": ([3], pa.int8()), "at": ([NOON], pa.timestamp("us"))})
    found = read(format=format, schema=MIXED, pathField="file", filenameOnly="true")

    noon = NOON.replace(tzinfo=UTC)
    assert sorted(found, key=lambda row: row["file"]) == [
        {
            "id": 1,
            "half": 0.5,
            "price": decimal.Decimal("1.500"),
            "at": noon,
            "list": [1],
            "same": "a",
            "ID": None,
            "file": f"a.{format}",
        },
        {
            "id": 2**40,
            "half": 0.1,
            "price": decimal.Decimal("2.250"),
            "at": None,
            "list": [2**40, None],
            "same": "b",
            "ID": 7,
            "file": f"b.{format}",
        },
        dict.fromkeys(["half", "price", "list", "same", "ID"])
        | {"id": 3, "at": noon, "file": f"c.{format}"},
    ]


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_a_failure_names_the_file_and_the_field(read, folder, format):
    write(folder / f"a.{format}", {"id": ([1], pa.int64()), "text": (["x"],)})
    write(folder / f"b.{format}", {"id": ([2, 2**31], pa.int64()), "text": ([1, 2],)})
    for schema, expected in (
        (
            schema_text(id="int"),
            rf"Field 'id' must be of type int, but it is 2147483648\. File: .*b\.{format}; row 2",
        ),
        (
            schema_text(text="string"),
            rf"field 'text' is of type int64 in the data of '.*b\.{format}', but",
        ),
        (
            schema_text(gone="string"),
            rf"field 'gone' does not exist in the data of '.*a\.{format}'",
        ),
    ):
        with pytest.raises(StageError, match=expected):
            read(format=format, schema=schema)
    write(folder / f"c.{format}", {"id": ([None], pa.int64())})
    with pytest.raises(StageError, match=rf"Field 'id' is null, .*c\.{format}"):
        read(format=format, schema=schema_text(id="long"))
    (folder / f"c.{format}").write_bytes(b"PAR1 and no footer PAR1")
    with pytest.raises(StageError, match=rf"c\.{format}' cannot be read as {format}"):
        read(format=format, schema=schema_text(id="long"))


def test_timestamps_of_96_bits_beside_new_ones(read, sink, folder, tmp_path):
    values = [NOON, OLD, LATE, None]
    write(
        folder / "old.parquet",
        {
            "id": ([1, 2, 3, 4],),
            "at": (values, pa.timestamp("us")),
            "local": (values, pa.timestamp("us")),
        },
        use_deprecated_int96_timestamps=True,
    )
    old = folder.rename(tmp_path / "old")
    moments = [value and value.replace(tzinfo=UTC) for value in values]
    records = [
        {"id": 5 + i, "at": moment, "local": value}
        for i, (moment, value) in enumerate(zip(moments, values, strict=True))
    ]
    schema = record(id="long", at=[MOMENT, "null"], local=[LOCAL, "null"])
    for file in sink(schema, records, "parquet").parent.iterdir():
        file.rename(old / file.name)

    found = read(path="old", format="parquet", schema=str(schema))

    assert sorted(found, key=lambda row: row["id"]) == [
        *(
            {"id": i + 1, **{k: v for k, v in row.items() if k != "id"}}
            for i, row in enumerate(records)
        ),
        *records,
    ]


TYPES = {
    "flag": ("boolean", True, "BOOLEAN", None),
    "whole": ("int", -1, "INT32", None),
    "big": ("long", 2**40, "INT64", None),
    "single": ("float", 0.5, "FLOAT", None),
    "half": ("double", 0.1, "DOUBLE", None),
    "data": ("bytes", b"\xff", "BYTE_ARRAY", None),
    "text": ("string", "é", "BYTE_ARRAY", "String"),
    "color": ({"type": "enum", "symbols": ["RED"]}, "RED", "BYTE_ARRAY", "String"),
    "day": (DAY, datetime.date(1500, 2, 28), "INT32", "Date"),
    "clock": (CLOCK, datetime.time(1, 2, 3, 4), "INT64", "Time"),
    "moment": (
        MOMENT,
        OLD.replace(tzinfo=UTC),
        "INT64",
        "Timestamp(isAdjustedToUTC=true, timeUnit=micro",
    ),
    "local": (LOCAL, LATE, "BYTE_ARRAY", "String"),
    "money": (
        money(38, 2),
        decimal.Decimal("1.50"),
        "FIXED_LEN_BYTE_ARRAY",
        "Decimal(precision=38, scale=2)",
    ),
    "small": (money(5, 2), decimal.Decimal("1.50"), "INT32", "Decimal(precision=5, scale=2)"),
}


def test_the_columns_of_the_parquet_sink(read, sink):
    required = {name: type for name, (type, *_) in TYPES.items()}
    nullable = {f"{name}_n": [type, "null"] for name, (type, *_) in TYPES.items()}
    values = {name: value for name, (_, value, *_) in TYPES.items()}
    full = values | {f"{name}_n": value for name, value in values.items()}
    empty = values | dict.fromkeys(nullable)
    schema = record(**required, **nullable)

    file = sink(schema, [full, empty], "parquet")

    stored = pq.ParquetFile(file).schema
    text = str(stored)
    for number, name in enumerate(schema.field_names):
        column = stored.column(number)
        _, _, physical, logical = TYPES[name.removesuffix("_n")]
        assert (column.name, column.physical_type) == (name, physical)
        assert str(column.logical_type).startswith(logical or "None")
        assert column.max_definition_level == (1 if name in nullable else 0), text
    assert read(format="parquet", schema=str(schema)) == [full, empty]
    # Without a schema, a datetime and an enum are texts, as those that CDAP writes are.
    texts = {"local": "9999-12-31T23:59:59.999999"}
    detected = full | texts | {f"{name}_n": value for name, value in texts.items()}
    assert read(format="parquet")[0] == detected


def test_datetimes_inside_of_other_values(read, sink):
    point = {"type": "record", "name": "p", "fields": [{"name": "at", "type": [LOCAL, "null"]}]}
    schema = record(
        list={"type": "array", "items": LOCAL},
        map=[{"type": "map", "keys": "string", "values": LOCAL}, "null"],
        points=[{"type": "array", "items": point}, "null"],
    )
    records = [
        {"list": [NOON, OLD], "map": {"k": LATE}, "points": [{"at": NOON}, {"at": None}]},
        {"list": [], "map": None, "points": None},
    ]
    sink(schema, records, "parquet")
    assert read(format="parquet", schema=str(schema)) == records


def test_orc_gives_back_what_was_written(read, sink):
    point = {
        "type": "record",
        "name": "p",
        "fields": [{"name": "at", "type": MOMENT}, {"name": "ms", "type": [MILLIS, "null"]}],
    }
    nested = {"type": "array", "items": point}
    moment = NOON.replace(tzinfo=UTC)
    types = {name: type for name, (type, *_) in TYPES.items()} | {"ms": MILLIS, "nested": nested}
    record_written = {name: value for name, (_, value, *_) in TYPES.items()} | {
        "ms": moment,
        "nested": [{"at": moment, "ms": moment}, {"at": moment, "ms": None}],
    }

    file = sink(record(**types), [record_written], "orc")

    stored = {column.name: str(column.type) for column in orc.ORCFile(file).schema}
    assert {name: stored[name] for name in ("moment", "ms", "clock", "local", "day", "money")} == {
        "moment": "int64",
        "ms": "int64",
        "clock": "int64",
        "local": "string",
        "day": "date32[day]",
        "money": "decimal128(38, 2)",
    }
    assert read(format="orc", schema=str(record(**types))) == [record_written]
    detected = {"local": "9999-12-31T23:59:59.999999", "clock": 3723000004, "ms": 1578225600001}
    parts = [{"at": moment, "ms": 1578225600001}, {"at": moment, "ms": None}]
    assert read(format="orc") == [record_written | detected | {"nested": parts}]


def test_old_dates_in_orc_files_that_java_has_not_written(read, folder):
    old = [datetime.date(1582, 10, 10), datetime.date(1, 1, 1), datetime.date(9999, 12, 31)]
    write(folder / "a.orc", {"d": (old,)})
    micros = pa.timestamp("us", "UTC")
    write(folder / "b.orc", {"d": ([datetime.date(1582, 10, 15)],), "t": ([LATE], micros)})
    schema = schema_text(d=[DAY, "null"], t=[MOMENT, "null"])

    records = read(format="orc", schema=schema)

    assert sorted(record["d"] for record in records) == sorted([*old, datetime.date(1582, 10, 15)])
    assert [r["t"] for r in records if r["t"]] == [LATE.replace(tzinfo=UTC)]
    write(folder / "c.orc", {"t": ([OLD], micros)})
    with pytest.raises(StageError, match=r"Field 't' has a date before 15 October 1582.*c\.orc"):
        read(format="orc", schema=schema)


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_a_column_has_the_name_of_one_of_the_reader(read, folder, format):
    write(folder / f"a.{format}", {"file": (["x"],), "value": (["y"],)})
    assert read(format=format) == [{"file": "x", "value": "y"}]


@pytest.mark.parametrize("suffix", ["parquet", "orc"])
def test_spark_and_python_read_each_type_alike(read, folder, suffix):
    columns = {
        "i8": ([-1, None], pa.int8()),
        "u16": ([65535, None], pa.uint16()),
        "u32": ([2**32 - 1, None], pa.uint32()),
        "f16": ([0.5, None], pa.float16()),
        "u64": ([2**63 - 1, None], pa.uint64()),
        "id": ([uuid.UUID(int=5).bytes, None], pa.uuid()),
        "fixed": ([b"abc", None], pa.binary(3)),
        "category": (pa.array(["x", None]).dictionary_encode(),),
        "ms": ([NOON, None], pa.timestamp("ms")),
        "ns": ([1001, None], pa.timestamp("ns")),
        "local": ([NOON, None], pa.timestamp("us")),
        "t32": ([datetime.time(1, 2, 3, 4000), None], pa.time32("ms")),
        "t64": ([1001, None], pa.time64("ns")),
        "nothing": ([None, None], pa.null()),
        "wide": ([decimal.Decimal("1.50"), None], pa.decimal256(38, 2)),
        "map": ([[("k", 1)], None], pa.map_(pa.string(), pa.uint32())),
        "nested": ([[{"x": NOON}], None], pa.large_list(pa.struct([("x", pa.timestamp("ms"))]))),
    }
    if suffix == "orc":
        names = ("i8", "local")
        columns = {name: columns[name] for name in names}
    file = folder / f"a.{suffix}"
    write(file, columns)

    rows = list(RowReader(FileInput(str(file)), detect_format(FileInput(str(file)))))

    assert read(format=suffix) == rows
    assert rows[1] == dict.fromkeys(columns)


def test_a_failure_shows_no_task_of_spark(read, folder):
    write(folder / "a.parquet", {"n": ([2**31], pa.int64())})

    with pytest.raises(StageError) as caught:
        read(format="parquet", schema=schema_text(n="int"))

    place = f"File: {folder}/a.parquet; row 1"
    assert caught.value.message.rstrip(".").endswith(place)
    assert caught.value.record is None
