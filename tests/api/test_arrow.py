from __future__ import annotations

import datetime
import decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localcdap.api.arrow import (
    RecordCodec,
    is_proper_union,
    list_union_tags,
    matches,
    to_arrow_schema,
    to_arrow_type,
)
from localcdap.api.errors import SchemaError, StageError
from localcdap.api.schema import LogicalType, Schema, Type
from tests.api.strategies import RECORD_SCHEMAS, values

NUMBER_OR_TEXT = Schema.union([Schema.LONG, Schema.STRING])
NOON = datetime.datetime(2024, 5, 6, 12, tzinfo=datetime.UTC)


def codec(**fields: Schema) -> RecordCodec:
    return RecordCodec(Schema.record("r", fields.items()))


def encoded(schema: Schema, *given) -> list:
    """What values become in a column ``v`` and back."""
    one = codec(v=schema)
    return [record["v"] for record in one.decode(one.encode({"v": value} for value in given))]


# -- types ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (Schema.NULL, pa.null()),
        (Schema.BOOLEAN, pa.bool_()),
        (Schema.INT, pa.int32()),
        (Schema.LONG.as_nullable, pa.int64()),
        (Schema.FLOAT, pa.float32()),
        (Schema.DOUBLE, pa.float64()),
        (Schema.BYTES, pa.binary()),
        (Schema.STRING, pa.string()),
        (Schema.enum(["A"]), pa.string()),
        (Schema.DATE, pa.date32()),
        (Schema.of(LogicalType.TIME_MILLIS), pa.time64("ns")),
        (Schema.TIME, pa.time64("ns")),
        (Schema.of(LogicalType.TIMESTAMP_MILLIS), pa.timestamp("us", tz="UTC")),
        (Schema.TIMESTAMP, pa.timestamp("us", tz="UTC")),
        (Schema.DATETIME, pa.timestamp("us")),
        (Schema.decimal(38, 4), pa.decimal128(38, 4)),
        (Schema.array(Schema.INT), pa.list_(pa.field("element", pa.int32(), nullable=False))),
        (
            Schema.map(Schema.STRING, Schema.INT.as_nullable),
            pa.map_(pa.string(), pa.field("value", pa.int32())),
        ),
        (
            Schema.record("p", [("x", Schema.INT), ("y", Schema.INT.as_nullable)]),
            pa.struct([pa.field("x", pa.int32(), nullable=False), pa.field("y", pa.int32())]),
        ),
        (
            NUMBER_OR_TEXT.as_nullable,
            pa.struct([pa.field("long", pa.int64()), pa.field("string", pa.string())]),
        ),
    ],
)
def test_each_type_has_its_arrow_type(schema, expected):
    assert to_arrow_type(schema) == expected


def test_columns_allow_null_where_the_schema_does():
    schema = Schema.record(
        "r", [("a", Schema.INT), ("b", Schema.INT.as_nullable), ("n", Schema.NULL)]
    )

    assert [(f.name, f.nullable) for f in to_arrow_schema(schema)] == [
        ("a", False),
        ("b", True),
        ("n", True),
    ]


def test_what_arrow_cannot_hold_is_refused():
    tree = Schema.record("tree", [("children", Schema.array(Schema.reference("tree")))])

    with pytest.raises(SchemaError, match="Record 'tree' contains itself; recursive records"):
        RecordCodec(tree)
    with pytest.raises(SchemaError, match="A decimal of 39 digits cannot be run; the most is 38"):
        codec(d=Schema.decimal(39))


def test_members_of_a_union_are_tagged_each_differently():
    point = Schema.record("point", [("x", Schema.INT)])
    union = Schema.union(
        [
            Schema.NULL,
            Schema.INT,
            Schema.TIME,
            point,
            Schema.array(Schema.INT),
            point.renamed("int"),
        ]
    )
    clashing = Schema.union([point.renamed("p_2"), point.renamed("p"), point.renamed("p")])

    assert list_union_tags(union) == ["int", "time-micros", "point", "array", "int_4"]
    assert len(set(list_union_tags(clashing))) == 3


def test_a_nullable_type_is_no_proper_union():
    assert not is_proper_union(Schema.INT.as_nullable)
    assert not is_proper_union(Schema.INT)
    assert is_proper_union(NUMBER_OR_TEXT)
    assert is_proper_union(NUMBER_OR_TEXT.as_nullable)


# -- round trips ----------------------------------------------------------------------------------


@st.composite
def schemas_and_records(draw) -> tuple[Schema, list[dict]]:
    schema = draw(RECORD_SCHEMAS)
    return schema, draw(st.lists(values(schema), max_size=5))


def exact(value, schema: Schema):
    """The value with what equality does not distinguish: the classes of all parts."""
    if isinstance(value, dict):
        return {k: exact(v, schema) for k, v in value.items()}
    if isinstance(value, list):
        return [exact(v, schema) for v in value]
    return type(value), value


@given(schemas_and_records())
@settings(max_examples=200, deadline=None)
def test_records_come_back_as_they_went_in(pair):
    schema, records = pair
    one = RecordCodec(schema)

    batch = one.encode(records)

    assert batch.schema == one.arrow
    batch.validate(full=True)
    assert exact(one.decode(batch), schema) == exact(records, schema)


@given(schemas_and_records(), st.integers(0, 2))
@settings(max_examples=100, deadline=None)
def test_a_slice_of_a_batch_is_read_as_the_slice_of_its_records(pair, start):
    schema, records = pair
    one = RecordCodec(schema)

    assert one.decode(one.encode(records)[start : start + 2]) == records[start : start + 2]


@pytest.mark.parametrize(
    "schema",
    [
        Schema.array(Schema.DATE.as_nullable),
        Schema.map(Schema.STRING, Schema.array(Schema.INT)),
        Schema.record("p", [("x", Schema.INT), ("at", Schema.TIMESTAMP)]),
        NUMBER_OR_TEXT,
    ],
    ids=["array", "map", "record", "union"],
)
@pytest.mark.parametrize("where", [0, 1, 2])
def test_null_may_stand_anywhere_among_values_with_parts(schema, where, tmp_path):
    parts: dict[Type, list[Any]] = {
        Type.ARRAY: [[NOON.date(), None], []],
        Type.MAP: [{"a": [1]}, {}],
        Type.RECORD: [{"x": 1, "at": NOON}, {"x": 2, "at": NOON}],
        Type.UNION: [1, "one"],
    }
    given = parts[schema.type]
    given.insert(where, None)
    one = codec(v=schema.as_nullable)
    batch = one.encode({"v": value} for value in given)

    assert [r["v"] for r in one.decode(batch)] == given
    if schema.type is not Type.UNION:
        pq.write_table(pa.Table.from_batches([batch]), tmp_path / "file.parquet")
        assert pq.read_table(tmp_path / "file.parquet")["v"].null_count == 1


def test_a_union_of_like_types_keeps_each_value():
    day = datetime.date(2024, 5, 6)
    local = datetime.datetime(2024, 5, 6, 7)
    union = Schema.union(
        [
            Schema.DATE,
            Schema.DATETIME,
            Schema.TIMESTAMP,
            Schema.INT,
            Schema.LONG,
            Schema.BOOLEAN,
            Schema.enum(["A"]),
            Schema.STRING,
            Schema.array(Schema.LONG),
            Schema.array(Schema.STRING),
            Schema.decimal(3, 1),
            Schema.decimal(10, 2),
        ]
    )
    given = [
        day,
        local,
        NOON,
        1,
        2**40,
        True,
        False,
        "A",
        "B",
        [1],
        ["x"],
        decimal.Decimal("123.45"),
    ]

    back = encoded(union, *given)

    assert [(type(v), v) for v in back] == [(type(v), v) for v in given]


def test_records_need_not_have_all_fields_and_may_have_more():
    one = codec(a=Schema.INT.as_nullable, b=Schema.STRING)

    assert one.decode(one.encode([{"b": "x", "c": 1}, {"b": "y", "a": 2}])) == [
        {"a": None, "b": "x"},
        {"a": 2, "b": "y"},
    ]


def test_no_records_and_no_fields():
    assert codec(a=Schema.INT).encode([]).num_rows == 0
    assert codec(a=Schema.INT).decode(codec(a=Schema.INT).encode([])) == []
    assert codec().encode([{}, {}]).num_rows == 2
    assert codec().decode(codec().encode([{}, {}])) == [{}, {}]


def test_columns_are_found_by_name():
    batch = pa.RecordBatch.from_pydict({"other": [1.0], "b": ["x"], "a": pa.array([1], pa.int32())})

    assert codec(a=Schema.INT, b=Schema.STRING).decode(batch) == [{"a": 1, "b": "x"}]


def test_timestamps_of_any_zone_are_read_in_utc():
    column = pa.array([NOON], pa.timestamp("us", tz="Asia/Tokyo"))

    (record,) = codec(v=Schema.TIMESTAMP).decode(pa.RecordBatch.from_arrays([column], ["v"]))

    assert record["v"] == NOON
    assert record["v"].utcoffset() == datetime.timedelta(0)


def test_a_date_beyond_python_is_an_error_and_no_number():
    column = pa.array([4_000_000], pa.int32()).cast(pa.date32())

    with pytest.raises((OverflowError, ValueError)):
        codec(v=Schema.DATE).decode(pa.RecordBatch.from_arrays([column], ["v"]))


@pytest.mark.parametrize(
    ("schema", "value", "written"),
    [
        (Schema.INT, 1.0, 1),
        (Schema.DOUBLE, 1, 1.0),
        (Schema.decimal(5, 2), 3, decimal.Decimal("3.00")),
        (Schema.decimal(5, 2), decimal.Decimal("1.5"), decimal.Decimal("1.50")),
        (Schema.BYTES, bytearray(b"x"), b"x"),
        (Schema.array(Schema.INT), (1, 2), [1, 2]),
        (
            Schema.TIMESTAMP,
            NOON.astimezone(datetime.timezone(datetime.timedelta(hours=9))),
            NOON,
        ),
    ],
)
def test_a_value_of_a_narrower_kind_is_widened(schema, value, written):
    (back,) = encoded(schema, value)

    assert (type(back), back) == (type(written), written)


def test_numbers_of_numpy_are_numbers():
    numpy = pytest.importorskip("numpy")

    assert encoded(Schema.LONG, numpy.int64(5), 6) == [5, 6]
    assert encoded(Schema.DOUBLE, numpy.float64(0.5)) == [0.5]
    assert encoded(Schema.BOOLEAN, numpy.bool_(True)) == [True]


# -- errors ---------------------------------------------------------------------------------------

POINT = Schema.record("point", [("x", Schema.INT), ("tags", Schema.array(Schema.STRING))])


DECIMAL = "must be of type decimal(3, 2) (digits: 1 before the point, 2 after it)"


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (Schema.INT, "three", "must be of type int, but a record holds 'three' (str)."),
        (Schema.INT, 1.5, "must be of type int, but a record holds 1.5 (float)."),
        (Schema.INT, True, "must be of type int, but a record holds True (bool)."),
        (Schema.INT, 2**31, "must be of type int, but a record holds 2147483648 (int)."),
        (Schema.LONG, 2**63, "must be of type long, but a record holds 9223372036854775808 (int)."),
        (Schema.DOUBLE, "1", "must be of type double, but a record holds '1' (str)."),
        (Schema.DOUBLE, True, "must be of type double, but a record holds True (bool)."),
        (Schema.BOOLEAN, 1, "must be of type boolean, but a record holds 1 (int)."),
        (Schema.STRING, 1, "must be of type string, but a record holds 1 (int)."),
        (Schema.STRING, b"x", "must be of type string, but a record holds b'x' (bytes)."),
        (Schema.STRING, "\ud800", "must be of type string, but a record holds '\\ud800' (str)."),
        (Schema.BYTES, "x", "must be of type bytes, but a record holds 'x' (str)."),
        (Schema.NULL, 1, "must be of type null, but a record holds 1 (int)."),
        (Schema.enum(["A", "B"]), "C", "must be one of A, B, but a record holds 'C' (str)."),
        (Schema.DATE, NOON, "must be of type date, but a record holds 20"),
        (Schema.DATE, 5, "must be of type date, but a record holds 5 (int)."),
        (Schema.TIME, 5, "must be of type time-micros, but a record holds 5 (int)."),
        (
            Schema.TIMESTAMP,
            NOON.date(),
            "must be of type timestamp-micros (a datetime with a time zone), but a record holds 20",
        ),
        (
            Schema.DATETIME,
            "now",
            "must be of type datetime (a datetime without a time zone), but a record holds 'now' (str).",
        ),
        (
            Schema.decimal(3, 2),
            0.5,
            f"{DECIMAL}, but a record holds 0.5 (float).",
        ),
        (
            Schema.decimal(3, 2),
            decimal.Decimal("1.234"),
            f"{DECIMAL}, but a record holds 1.234 (Decimal).",
        ),
        (
            Schema.decimal(3, 2),
            decimal.Decimal("NaN"),
            f"{DECIMAL}, but a record holds NaN (Decimal).",
        ),
        (
            Schema.array(Schema.STRING),
            "ab",
            "must be of type array, but a record holds 'ab' (str).",
        ),
        (Schema.map(Schema.STRING, Schema.INT), [("a", 1)], "must be of type map, but a record"),
        (POINT, 5, "must be of type record, but a record holds 5 (int)."),
        (NUMBER_OR_TEXT, 0.5, "must be one of the types long, string, but a record holds 0.5"),
        (Schema.STRING, None, "is null in a record, but its schema does not allow null."),
        (NUMBER_OR_TEXT, None, "is null in a record, but its schema does not allow null."),
        (POINT, None, "is null in a record, but its schema does not allow null."),
    ],
)
def test_a_value_that_does_not_fit_is_named(schema, value, message):
    good = (
        {Type.STRING: "fine", Type.UNION: 1}.get(schema.type)
        if schema.logical_type is None
        else None
    )
    records = [{"v": good}, {"v": value}] if good else [{"v": value}]

    with pytest.raises(StageError) as caught:
        codec(v=schema).encode(records)

    assert str(caught.value).startswith("Field 'v' " + message)
    assert caught.value.stage is None


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (POINT, {"tags": []}, "Field 'v.x' is null in a record"),
        (POINT, {"x": "1", "tags": []}, "Field 'v.x' must be of type int"),
        (POINT, {"x": 1, "tags": ["a", None]}, "Field 'v.tags[]' is null in a record"),
        (Schema.array(POINT), [{"x": 1, "tags": [5]}], "Field 'v[].tags[]' must be of type string"),
        (Schema.map(Schema.STRING, Schema.INT), {"a": None}, "Field 'v.values' is null"),
        (Schema.map(Schema.STRING, Schema.INT), {1: 1}, "Field 'v.keys' must be of type string"),
        (Schema.map(Schema.STRING, Schema.INT), {None: 1}, "Field 'v.keys' is null in a record"),
    ],
)
def test_a_value_inside_another_that_does_not_fit_is_named_with_its_path(schema, value, message):
    with pytest.raises(StageError) as caught:
        codec(v=schema.as_nullable).encode([{"v": None}, {"v": value}])

    assert str(caught.value).startswith(message)


def test_null_where_it_is_not_allowed_comes_with_what_to_do():
    with pytest.raises(StageError) as caught:
        codec(v=Schema.INT).encode([{}])

    assert caught.value.corrective_action == (
        "Give 'v' a value, or make it nullable in the output schema."
    )


@pytest.mark.parametrize("record", ["text", None, 5, ["v"]])
def test_a_record_must_be_a_dict(record):
    with pytest.raises(StageError, match="A record must be a dict, not "):
        codec(v=Schema.INT).encode([{"v": 1}, record])


def test_a_long_value_is_cut_in_the_message():
    with pytest.raises(StageError) as caught:
        codec(v=Schema.INT).encode([{"v": "x" * 10_000}])

    assert "xxx... (str)." in str(caught.value)
    assert len(str(caught.value)) < 200


# -- choosing a member of a union -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        (Schema.NULL, [None], [0, "", False]),
        (Schema.BOOLEAN, [True], [1, None]),
        (Schema.INT, [5], [True, 2**31, 5.0, None]),
        (Schema.LONG, [2**40], [True, 5.0]),
        (Schema.DOUBLE, [5.0], [5, "5"]),
        (Schema.STRING, [""], [b""]),
        (Schema.enum(["A"]), ["A"], ["B", 1]),
        (Schema.BYTES, [b"", bytearray(), memoryview(b"")], [""]),
        (Schema.DATE, [NOON.date()], [NOON]),
        (Schema.TIME, [NOON.time()], [NOON]),
        (Schema.TIMESTAMP, [NOON], [NOON.replace(tzinfo=None), NOON.date()]),
        (Schema.DATETIME, [NOON.replace(tzinfo=None)], [NOON]),
        (
            Schema.decimal(3, 1),
            [decimal.Decimal("12.3"), decimal.Decimal(0)],
            [decimal.Decimal("1.23"), decimal.Decimal(123), decimal.Decimal("NaN"), 1],
        ),
        (Schema.array(Schema.INT), [[], [1], (1,)], [["a"], [None], "a"]),
        (Schema.map(Schema.STRING, Schema.INT), [{}, {"a": 1}], [{"a": "b"}, {1: 1}, []]),
        (POINT, [{"x": 1, "tags": []}], [{"x": 1}, {"x": 1, "tags": [], "z": 1}, {}, 1]),
        (NUMBER_OR_TEXT.as_nullable, [1, "a", None], [0.5]),
    ],
)
def test_values_match_only_their_own_type(schema, right, wrong):
    assert [matches(value, schema) for value in right] == [True] * len(right)
    assert [matches(value, schema) for value in wrong] == [False] * len(wrong)
