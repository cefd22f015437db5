"""What the File sink writes, the File source reads: every format, every type, odd values."""

from __future__ import annotations

import datetime
import decimal
import json
import math
from pathlib import Path

import pytest

from localcdap.api.errors import InvalidPipelineError, StageError
from localcdap.files.formats import FORMER_JSON
from localcdap.testing import artifact_ref, run_stage
from tests.plugins.core.support import ARTIFACT, record

pytestmark = pytest.mark.spark

UTC = datetime.UTC
DATE = {"type": "int", "logicalType": "date"}
TIME = {"type": "long", "logicalType": "time-micros"}
MOMENT = {"type": "long", "logicalType": "timestamp-micros"}
LOCAL = {"type": "string", "logicalType": "datetime"}
MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 10}
COLOR = {"type": "enum", "symbols": ["RED", "BLUE"]}
SIMPLE = {
    "id": "int",
    "flag": ["boolean", "null"],
    "big": ["long", "null"],
    "single": ["float", "null"],
    "half": ["double", "null"],
    "text": ["string", "null"],
    "data": ["bytes", "null"],
    "color": [COLOR, "null"],
    "day": [DATE, "null"],
    "moment": [MOMENT, "null"],
    "local": [LOCAL, "null"],
    "money": [MONEY, "null"],
}
POINT = {"type": "record", "name": "point", "fields": [{"name": "x", "type": ["int", "null"]}]}
NESTED = {
    "list": [{"type": "array", "items": ["string", "null"]}, "null"],
    "map": [{"type": "map", "keys": "string", "values": "long"}, "null"],
    "point": [POINT, "null"],
    "points": [{"type": "array", "items": POINT}, "null"],
    "either": ["int", "string", "null"],
}
FULL = {
    "id": -(2**31),
    "flag": True,
    "big": -(2**63),
    "single": 1.5,
    "half": 1.7976931348623157e308,
    "text": "é, \"quoted\"\t😀 'x' \\n",
    "data": b"\x00\xff",
    "color": "BLUE",
    "day": datetime.date(1500, 2, 28),
    "moment": datetime.datetime(2024, 2, 29, 23, 59, 59, 999999, UTC),
    "local": datetime.datetime(1970, 1, 1, 0, 0, 0, 1),
    "money": decimal.Decimal("-1234567890123456789012345678.0123456789"),
}
EARLY = FULL | {
    "id": 2**31 - 1,
    "big": 2**63 - 1,
    "half": math.inf,
    "single": -math.inf,
    "day": datetime.date(1, 1, 1),
    "moment": datetime.datetime(1, 1, 1, tzinfo=UTC),
    "local": datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
    "money": decimal.Decimal("0E-10"),
}
EMPTY = dict.fromkeys(SIMPLE) | {"id": 0}
DEEP = {
    "list": ["a", None, ""],
    "map": {"k": 2**40, "é": -1},
    "point": {"x": None},
    "points": [{"x": 1}, {"x": None}],
    "either": "text",
}
SHALLOW = {"list": [], "map": {}, "point": {"x": 5}, "points": [], "either": 7}


@pytest.fixture
def round_trip(spark, tmp_path):
    """Writes records, and gives back what the source reads and the files that were written."""

    def run(fields, records, format: str, sink=None, source=None):
        schema = record(**fields)
        written = {"path": "out", "format": format} | (sink or {})
        run_stage(
            spark,
            artifact_ref(ARTIFACT, "batchsink", "File"),
            written,
            {"in": (schema, records)},
            directory=tmp_path,
        )
        read = {
            "referenceName": "r",
            "path": "out",
            "format": format,
            "recursive": "true",
            "schema": str(schema),
        }
        found = run_stage(
            spark,
            artifact_ref(ARTIFACT, "batchsource", "File"),
            read | (source or {}),
            directory=tmp_path,
        )
        files = [f for f in sorted((tmp_path / "out").rglob("*")) if f.is_file()]
        assert all(not f.name.startswith((".", "_")) for f in files)
        return sorted(found.records, key=str), files

    return run


@pytest.mark.parametrize("format", ["csv", "tsv", "delimited"])
def test_delimited_text_keeps_every_simple_type(round_trip, format):
    fields = SIMPLE | {"clock": [TIME, "null"]}
    records = [FULL, EARLY, EMPTY]
    records = [
        r | {"clock": None if r is EMPTY else datetime.time(23, 59, 59, 999999)} for r in records
    ]
    options = {"enableQuotedValues": "true"}

    found, files = round_trip(
        fields,
        records,
        format,
        sink=options | {"writeHeader": "true", "delimiter": "|"},
        source=options | {"doubledQuotes": "true", "skipHeader": "true", "delimiter": "|"},
    )

    assert found == sorted(records, key=str)
    separator = {"csv": ",", "tsv": "\t", "delimited": "|"}[format]
    for file in files:
        assert file.read_text().split("\n")[0] == separator.join(fields)


TENTH = 0.10000000149011612
"""0.1 as a float of 32 bits."""
FORMER = {FORMER_JSON: "true"}


@pytest.mark.parametrize("format", ["json", "avro", "parquet", "orc"])
def test_typed_formats_keep_every_type(round_trip, format):
    nothing = dict.fromkeys(NESTED)
    records = [FULL | DEEP, EARLY | SHALLOW, EMPTY | nothing]
    fields = SIMPLE | NESTED | {"clock": [TIME, "null"]}
    records = [
        r | {"clock": None if r["text"] is None else datetime.time(0, 0, 0, 1)} for r in records
    ]

    # Of the form that CDAP reads, JSON has no infinite numbers.
    found, _ = round_trip(fields, records, format, sink=FORMER if format == "json" else None)

    assert found == sorted(records, key=str)


def test_the_json_of_cdap_keeps_every_type(round_trip):
    fields = SIMPLE | NESTED | {"clock": [TIME, "null"]}
    finite = EARLY | {"half": 5e-324, "single": -1.5}
    records = [
        FULL | DEEP | {"clock": datetime.time(0, 0, 0, 1)},
        finite | SHALLOW | {"clock": datetime.time(23, 59, 59, 999999)},
        EMPTY | dict.fromkeys(NESTED) | {"clock": None},
    ]

    found, files = round_trip(fields, records, "json")

    assert found == sorted(records, key=str)
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    (line,) = [line for line in lines if line["id"] == FULL["id"]]
    assert (line["day"], line["moment"]) == (-171606, 1709251199999999)
    assert (line["data"], line["local"]) == ([0, -1], "1970-01-01T00:00:00.000001")
    assert (line["either"], line["clock"]) == ("text", 1)
    assert {file.suffix for file in files} == {".json"}


def test_spark_writes_the_same_json(round_trip):
    """Types without arrays of bytes and unions, which Spark writes by itself."""
    names = ("id", "big", "half", "single", "day", "moment", "local")
    records = [
        {name: r[name] for name in names} for r in (FULL, EARLY | {"half": 0.1, "single": TENTH})
    ]
    times = {"clock": TIME, "milli": {"type": "int", "logicalType": "time-millis"}}
    fields = {name: SIMPLE[name] for name in names} | times
    clock = datetime.time(23, 59, 59, 999000)
    records = [r | {"clock": clock, "milli": clock} for r in records]

    found, files = round_trip(fields, records, "json")

    assert found == sorted(records, key=str)
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    (line,) = [line for line in lines if line["id"] == EARLY["id"]]
    assert (line["single"], line["local"]) == (TENTH, "9999-12-31T23:59:59.999999")
    assert (line["day"], line["moment"]) == (-719162, -62135596800000000)
    assert (line["clock"], line["milli"]) == (86399999000, 86399999)


@pytest.mark.slow
@pytest.mark.parametrize("format", ["csv", "json", "avro", "parquet", "orc"])
def test_not_a_number_and_no_records(round_trip, format):
    sink = FORMER if format == "json" else {}
    (found,), _ = round_trip({"v": "double"}, [{"v": math.nan}], format, sink=sink)
    assert math.isnan(found["v"])
    nothing, files = round_trip(
        {"v": "double"},
        [],
        format,
        sink={"suffix": "'none'"},
        source={"path": "out/none", "ignoreNonExistingFolders": "true"},
    )
    assert nothing == []
    assert files


@pytest.mark.slow
def test_json_of_cdap_has_only_finite_numbers(round_trip):
    with pytest.raises(StageError, match="A number of JSON must be finite, but it is NaN"):
        round_trip({"v": "double"}, [{"v": math.nan}], "json")


def test_codecs_and_written_schemas(round_trip, tmp_path):
    fields = {"a": "int", "b": ["string", "null"]}
    for format, codec in (
        ("avro", "deflate"),
        ("avro", "snappy"),
        ("avro", "xz"),
        ("parquet", "gzip"),
        ("parquet", "none"),
        ("orc", "snappy"),
    ):
        narrow = str(record(b=["string", "null"]))
        found, files = round_trip(
            fields,
            [{"a": 1, "b": "x"}],
            format,
            sink={
                "path": f"out/{format}-{codec}",
                "compressionCodec": codec,
                "schema": narrow,
            },
            source={"path": f"out/{format}-{codec}", "schema": narrow},
        )
        assert found == [{"b": "x"}]
        assert files


def test_the_suffix_is_the_logical_start_time(round_trip, tmp_path):
    _, files = round_trip({"a": "int"}, [{"a": 1}], "json", sink={"suffix": "yyyy-MM-dd/HH"})

    (file,) = files
    assert file.parent == tmp_path / "out" / "2026-01-02" / "03"


def test_what_cannot_be_written_is_refused(round_trip, tmp_path: Path):
    nested = {"a": "int", "list": {"type": "array", "items": "int"}}
    with pytest.raises(InvalidPipelineError, match="Field 'list' is of type 'array'"):
        round_trip(nested, [], "csv")
    with pytest.raises(StageError, match="Field 'a' is null, but its schema does not allow null"):
        round_trip(
            {"a": ["int", "null"]},
            [{"a": None}],
            "parquet",
            sink={"schema": str(record(a="int"))},
        )
    assert not (tmp_path / "out").exists()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").write_text("")
    with pytest.raises(StageError, match="already exists and is not empty"):
        round_trip({"a": "int"}, [{"a": 1}], "csv")
