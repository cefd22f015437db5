"""Lines of JSON: what Arrow reads of a batch is what is read line by line."""

from __future__ import annotations

import datetime
import json
import math
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api import LogicalType, Schema, StageError
from localcdap.api.arrow import RecordCodec
from localcdap.plugin_lib.files.readers.json_lines import LineReader
from localcdap.plugin_lib.files.readers.line_format import REPLACED
from localcdap.plugin_lib.files.readers.lines import FILE
from localcdap.plugin_lib.files.writers import LineWriter
from localcdap.plugin_lib.json_values import CHANGES, make_json_reader

MICROS = Schema.of(LogicalType.TIMESTAMP_MICROS)
INNER = Schema.record(
    "inner",
    [
        ("x", Schema.INT),
        ("on", Schema.of(LogicalType.DATE).as_nullable),
        ("f", Schema.FLOAT.as_nullable),
    ],
)
FIELDS = {
    "i": Schema.INT,
    "l": Schema.LONG.as_nullable,
    "d": Schema.DOUBLE.as_nullable,
    "f": Schema.FLOAT.as_nullable,
    "s": Schema.STRING,
    "n": Schema.STRING.as_nullable,
    "b": Schema.BOOLEAN.as_nullable,
    "at": MICROS.as_nullable,
    "many": Schema.array(Schema.INT).as_nullable,
    "inner": INNER.as_nullable,
}
SCHEMA = Schema.record("r", list(FIELDS.items()))
WHOLE = {"i": 1, "s": "x"}


def read(lines: list[str], schema: Schema = SCHEMA) -> list[dict]:
    return read_with_changes(lines, schema)[0]


def read_with_changes(lines: list[str], schema: Schema = SCHEMA) -> tuple[list[dict], list[list]]:
    """The records, and for each of ``CHANGES`` what is said of each line."""
    columns = [lines, ["file:/in.json"] * len(lines), pa.nulls(len(lines), pa.string())]
    batch = pa.record_batch(columns, names=["value", FILE, REPLACED])
    (records,) = LineReader(schema, with_file=False)(iter([batch]))
    names = schema.field_names
    first = len(names) + 1  # after the replaced bytes
    changes = [column.to_pylist() for column in records.columns[first : first + len(CHANGES)]]
    return RecordCodec(schema).decode(records.select(names)), changes


VALUES = [
    *("1", '"2"', "3.0", "3.5", "-0", "1e2", "9223372036854775807", "9223372036854775808"),
    *(
        "1e400",
        "0.1",
        "16777217",
        "NaN",
        "true",
        "TRUE",
        "null",
        '"NaN"',
        '"x"',
        '"a\\u0000é\\ud83d\\ude00"',
    ),
    *(
        '"\\ud800"',
        '"tab\t"',
        "[]",
        "[1, 2]",
        "[1, null]",
        "[1.0]",
        "{}",
        '{"x": 1}',
        '{"X": 2, "x": 3}',
    ),
    *(
        '{"x": 1, "on": 18266}',
        '{"x": 1, "on": "2020-01-05"}',
        '{"x": null}',
        '{"x": 1, "y": {"x": []}}',
    ),
    *(
        '"2020-01-05T10:20:30.000001Z"',
        '"2020-01-05"',
        '"2020-01-05 10:20Z"',
        '"2020-01-05T10:20:30+05:30"',
    ),
    *(
        "1578219630000001",
        "01",
        "1 2",
        "",
        "'x'",
        "1e39",
        '{"x": 1, "on": 99999999}',
        "253402300800000000",
    ),
    *('{"x": 1, "f": 1e39}', '{"x": 1, "f": 0.1}', "-62135596800000000", '{"on": null, "x": 1}'),
]
LINES = st.dictionaries(
    st.sampled_from([*FIELDS, "I", "S", "more", "AT"]), st.sampled_from(VALUES), max_size=4
).map(lambda values: {"i": "1", "s": '"x"'} | values)


@given(st.lists(LINES, min_size=1, max_size=3), st.sampled_from(["", " ", '{"i":1,"s":""}']))
def test_a_batch_is_what_its_lines_are(members, end):
    lines = ["{%s}" % ", ".join(f'"{k}": {v}' for k, v in m.items()) + end for m in members]  # noqa: UP031
    convert = make_json_reader(SCHEMA, lambda _: None)
    try:
        expected = RecordCodec(SCHEMA).decode(RecordCodec(SCHEMA).encode(map(convert, lines)))
    except (ValueError, StageError):
        with pytest.raises(StageError):
            read(lines)
    else:
        assert read(lines) == expected


@pytest.mark.parametrize(
    "lines",
    [
        ['{"i": 1, "s": "x"}{"i": 2, "s": "y"}', '{"i":'],
        ['{"i": 1, "s":', '"x"}'],
        ['{"i": 1, "s": "x"}', ""],
        ["1"],
    ],
)
def test_a_line_that_does_not_begin_with_an_object_is_an_error(lines):
    with pytest.raises(StageError, match=r"A line is not a JSON object"):
        read(lines)


def test_what_is_altered_is_said_of_its_line():
    lines = [
        '{"i": 1, "s": "x", "f": 0.5}',
        '{"i": 2, "s": "\\ud800", "l": 9007199254740993.0, "f": 1e39} {"i": 3}',
    ]
    records, changes = read_with_changes(lines)

    assert [records[1][name] for name in "islf"] == [2, "?", 9007199254740992, math.inf]
    assert changes == [[None, f"File: file:/in.json; line: {lines[1]}"]] * len(CHANGES)
    assert read_with_changes(lines[:1])[1] == [[None]] * len(CHANGES)


def test_an_error_names_file_line_field_and_value():
    lines = [json.dumps(WHOLE), json.dumps(WHOLE | {"i": 3.5})]
    with pytest.raises(StageError) as failure:
        read(lines)
    assert "'i' must be of type int, but is 3.5" in failure.value.message
    assert f"File: file:/in.json; line: {lines[1]}" in failure.value.message


ALL = Schema.record(
    "all",
    [
        ("date", Schema.of(LogicalType.DATE)),
        ("time", Schema.of(LogicalType.TIME_MICROS)),
        ("milli", Schema.of(LogicalType.TIME_MILLIS)),
        ("at", MICROS),
        ("ms", Schema.of(LogicalType.TIMESTAMP_MILLIS).as_nullable),
        ("local", Schema.of(LogicalType.DATETIME)),
        ("price", Schema.decimal(6, 2).as_nullable),
        ("raw", Schema.BYTES),
        ("float", Schema.FLOAT),
        ("double", Schema.DOUBLE),
        ("either", Schema.union([Schema.STRING, Schema.INT, Schema.NULL])),
        ("map", Schema.map(Schema.INT, Schema.of(LogicalType.DATE))),
        ("list", Schema.array(Schema.decimal(6, 2))),
        ("none", Schema.STRING.as_nullable),
    ],
)
RECORD = {
    "date": datetime.date(2020, 1, 5),
    "time": datetime.time(10, 20, 30, 1),
    "milli": datetime.time(10, 20, 30, 500000),
    "at": datetime.datetime(2020, 1, 5, 10, 20, 30, 1, tzinfo=datetime.UTC),
    "ms": datetime.datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=datetime.UTC),
    "local": datetime.datetime(2020, 1, 5, 10, 20, 30, 500000),
    "price": Decimal("12.50"),
    "raw": b"\x01\xff",
    "float": 0.1,
    "double": 0.1,
    "either": 5,
    "map": {1: datetime.date(1970, 1, 2)},
    "list": [Decimal("-1.29"), Decimal("1.28"), Decimal("0.00")],
    "none": None,
}
WRITTEN = {
    "date": 18266,
    "time": 37230000001,
    "milli": 37230500,
    "at": 1578219630000001,
    "ms": -1,
    "local": "2020-01-05T10:20:30.5",
    "price": [4, -30],
    "raw": [1, -1],
    "float": 0.10000000149011612,
    "double": 0.1,
    "either": 5,
    "map": {"1": 1},
    "list": [[-1, 127], [0, -128], [0]],
    "none": None,
}


def write(record: dict) -> str:
    (lines,) = LineWriter(ALL)(iter([RecordCodec(ALL).encode([record])]))
    return lines.column(0)[0].as_py()


def test_lines_have_the_form_of_cdap_and_are_read_again():
    line = write(RECORD)

    assert json.loads(line) == WRITTEN
    (again,) = read([line], ALL)
    assert again == RecordCodec(ALL).decode(RecordCodec(ALL).encode([RECORD]))[0]


def test_a_number_that_is_none_cannot_be_written():
    with pytest.raises(StageError, match="must be finite, but it is inf"):
        write(RECORD | {"double": float("inf")})
