"""The relational stages of core-plugins run on Spark, through the real planner."""

from __future__ import annotations

import datetime
import decimal
import math
from typing import Any

import pytest

from localcdap.api import Schema, StageError, Type
from localcdap.plugin_lib.text_values import find_text_converter
from localcdap.testing import PipelineTester, artifact_ref, run_stage
from tests.conftest import REPOSITORY
from tests.plugins.transform.support import record

pytestmark = pytest.mark.spark
CORE = REPOSITORY / "plugins_dir" / "core-plugins"
FOOD = record(
    "food", name=Schema.STRING, city=Schema.STRING, item=Schema.STRING, price=Schema.DOUBLE
)
FOOD_ROWS = [
    dict(zip(("name", "city", "item", "price"), row, strict=True))
    for row in (
        ("Ben", "Berlin", "doughnut", 1.5),
        ("Ben", "LA", "pretzel", 2.05),
        ("Ben", "Berlin", "doughnut", 0.75),
        ("Ben", "Tokyo", "pastry", 3.25),
        ("Emma", "Tokyo", "doughnut", 1.75),
        ("Emma", "LA", "bagel", 2.95),
        ("Emma", "Berlin", "pretzel", 2.05),
        ("Ron", "LA", "bagel", 2.95),
        ("Ron", "Tokyo", "pretzel", 0.5),
        ("Ron", "Berlin", "doughnut", 1.75),
    )
]


def run(spark, type, name, properties, **inputs):
    return run_stage(spark, artifact_ref(CORE, type, name), properties, inputs)


def group(spark, keys, aggregates, schema, rows):
    properties = {"groupByFields": keys, "aggregates": aggregates}
    made = run(spark, "batchaggregator", "GroupByAggregate", properties, food=(schema, rows))
    return made.records


def by(records, *keys):
    return sorted(records, key=lambda r: tuple((r[k] is not None, r[k]) for k in keys))


def test_conditional_aggregates(spark):
    records = group(
        spark,
        "name",
        "la:maxIf(price):condition(city.equals('LA')),"
        "doughnuts:avgIf(price):condition(item.equals('doughnut')),"
        "tokyo:sumIf(price):condition(city.equals('Tokyo')),"
        "berlin:anyIf(item):condition(city.equals('Berlin')),"
        'count:countIf(item):condition(item == "doughnut"),'
        "cheapest:minIf(price):condition(!item.equals('bagel')),"
        "none:sumIf(price):condition(price > 100 or item eq null),"
        "big:countIf(*):condition(price * 2 ge 4.1 && !(city.startsWith('L'))),"
        "spread:collectListIf(price):condition(city.toLowerCase().contains('tok'))",
        FOOD,
        FOOD_ROWS,
    )

    assert [tuple(r.values()) for r in by(records, "name")] == [
        ("Ben", 2.05, 1.125, 3.25, "doughnut", 2, 0.75, None, 1, [3.25]),
        ("Emma", 2.95, 1.75, 1.75, "pretzel", 1, 1.75, None, 1, [1.75]),
        ("Ron", 2.95, 1.75, 0.5, "doughnut", 1, 0.5, None, 0, [0.5]),
    ]


def test_an_average_of_finite_numbers_is_finite(spark):
    schema = record(case=Schema.STRING, number=Schema.DOUBLE.as_nullable)
    cases: dict[str, tuple[list[float | None], float | None]] = {
        "large": ([1e308, 1e308, None], 1e308),
        "opposite": ([1.5e308, 1.5e308, -1.5e308, -1.5e308], 0.0),
        "small": ([5e-324, 5e-324], 5e-324),
        "infinite": ([math.inf, 1.0], math.inf),
        "null": ([None], None),
    }
    rows = [{"case": case, "number": n} for case, (numbers, _) in cases.items() for n in numbers]

    records = group(spark, "case", "average:avg(number)", schema, rows)

    averages = {each["case"]: each["average"] for each in records}
    assert averages == {case: average for case, (_, average) in cases.items()}


def test_counts_and_sums(spark):
    schema = record(user=Schema.STRING, item=Schema.STRING, price=Schema.LONG)
    rows = [
        {"user": "samuel", "item": "island", "price": 1000},
        {"user": "samuel", "item": "shirt", "price": 15},
        {"user": "samuel", "item": "pie", "price": 20},
        {"user": "john", "item": "pie", "price": 25},
        {"user": "john", "item": "shirt", "price": 30},
    ]

    records = group(spark, "user", "n:count(*),total:sum(price)", schema, rows)

    assert by(records, "user") == [
        {"user": "john", "n": 2, "total": 55},
        {"user": "samuel", "n": 3, "total": 1035},
    ]


EVERY = record(
    k=Schema.STRING.as_nullable,
    i=Schema.INT.as_nullable,
    f=Schema.FLOAT.as_nullable,
    s=Schema.STRING.as_nullable,
    b=Schema.BOOLEAN.as_nullable,
    m=Schema.decimal(10, 2).as_nullable,
    kv=Schema.map(Schema.STRING, Schema.INT).as_nullable,
)
AGGREGATES = (
    "c_all:count(*),c:count(i),cd:countDistinct(i),cn:countNulls(i),sum:sum(i),avg:avg(i),"
    "min:min(f),max:max(f),first:first(s),last:last(s),any:any(s),sd:stddev(i),var:variance(i),"
    "list:collectList(s),set:collectSet(i),long:longestString(s),short:shortestString(s),"
    "cat:concat(s),catd:concatDistinct(s),land:logicalAnd(b),lor:logicalOr(b),"
    "ss:sumOfSquares(i),css:correctedSumOfSquares(i),money:sum(m),maps:collectList(kv)"
)


def every(k, i=None, f=None, s=None, b=None, m=None, kv=None):
    return {"k": k, "i": i, "f": f, "s": s, "b": b, "m": m, "kv": kv}


def test_every_function_with_values_with_nulls_and_without_values(spark):
    two, five = decimal.Decimal("2.50"), decimal.Decimal("5.25")
    rows = [
        every("a", 1, 1.5, None, True, two, {"x": 1}),
        every(None),
        every("a", 3, -2.5, "bb", False, five),
        every("a", None, None, "cc", None),
        every("a", 3, 0.0, "bb", True, None, {}),
    ]

    records = by(group(spark, "k", AGGREGATES, EVERY, rows), "k")

    nothing, values = records
    values["set"].sort(key=lambda v: (v is not None, v))
    assert values == {
        "k": "a",
        "c_all": 4,
        "c": 3,
        "cd": 3,
        "cn": 1,
        "sum": 7,
        "avg": pytest.approx(7 / 3),
        "min": -2.5,
        "max": 1.5,
        "first": None,
        "last": "bb",
        "any": "bb",
        "sd": pytest.approx((8 / 9) ** 0.5),
        "var": pytest.approx(8 / 9),
        "list": [None, "bb", "cc", "bb"],
        "set": [None, 1, 3],
        "long": "bb",
        "short": "bb",
        "cat": "bb, cc, bb",
        "catd": "bb, cc",
        "land": False,
        "lor": True,
        "ss": 19.0,
        "css": pytest.approx(8 / 3),
        "money": decimal.Decimal("7.75"),
        "maps": [{"x": 1}, None, None, {}],
    }
    empty = dict.fromkeys(nothing) | {
        "c_all": 1,
        "c": 0,
        "cd": 1,
        "cn": 1,
        "list": [None],
        "set": [None],
        "cat": "",
        "catd": "",
        "land": True,
        "lor": False,
        "ss": 0.0,
        "css": 0.0,
        "maps": [None],
    }
    assert nothing == empty


def test_no_records_give_no_groups(spark):
    assert group(spark, "k", AGGREGATES, EVERY, []) == []


def test_a_sum_that_does_not_fit_is_reported_on_its_stage_among_others_of_the_artifact(
    spark, tmp_path
):
    pipeline = PipelineTester(spark, tmp_path)
    rows = [{"k": 1, "i": 2**31 - 1}, {"k": 1, "i": 1}]
    pipeline.source("in", record(k=Schema.INT, i=Schema.INT), rows)
    pipeline.stage("keep", artifact_ref(CORE, "transform", "Projection"), {"keep": "k,i"}, ["in"])
    sums = {"groupByFields": "k", "aggregates": "t:sum(i)"}
    core = artifact_ref(CORE, "batchaggregator", "GroupByAggregate")
    pipeline.stage("sum", core, sums, ["keep"])
    pipeline.sink("out", "sum")

    with pytest.raises(StageError, match="overflow") as caught:
        pipeline.run()
    assert caught.value.stage == "sum"


def test_a_sum_that_does_not_fit_fails_the_run(spark):
    rows = [{"i": 2**31 - 1}, {"i": 1}]

    with pytest.raises(StageError, match=r"(?i)overflow|out of range"):
        run(
            spark,
            "batchaggregator",
            "GroupByAggregate",
            {"groupByFields": "k", "aggregates": "t:sum(i)"},
            rows=(record(k=Schema.INT.as_nullable, i=Schema.INT), [{"k": 1} | r for r in rows]),
        )


FILMS = record(film_id=Schema.INT, film_name=Schema.STRING)
ACTORS = record(id=Schema.INT, name=Schema.STRING, actor=Schema.STRING)
CATEGORIES = record(film_id=Schema.INT, category=Schema.STRING)
FILM_ROWS = [(1, "matrix"), (2, "equilibrium"), (3, "avatar")]
ACTOR_ROWS = [
    (1, "matrix", "alex"),
    (1, "matrix", "bob"),
    (2, "equilibrium", "cathie"),
    (3, "avatar", "samuel"),
]
CATEGORY_ROWS = [(1, "action"), (1, "thriller"), (2, "action")]


def table(schema, rows):
    return schema, [dict(zip(schema.field_names, row, strict=True)) for row in rows]


def test_inner_then_left_outer_join(spark):
    first = run(
        spark,
        "batchjoiner",
        "Joiner",
        {
            "selectedFields": "film.film_id, film.film_name, actor.actor as actor_name",
            "joinKeys": "film.film_id = actor.id & film.film_name = actor.name",
            "requiredInputs": "film, actor",
            "inMemoryInputs": "film",
        },
        film=table(FILMS, FILM_ROWS),
        actor=table(ACTORS, ACTOR_ROWS),
    )
    second = run(
        spark,
        "batchjoiner",
        "Joiner",
        {
            "selectedFields": "film.film_id as id,film.film_name,film.actor_name,category.category",
            "joinKeys": "film.film_id=category.film_id",
            "requiredInputs": "film",
            "numPartitions": "2",
        },
        category=table(CATEGORIES, CATEGORY_ROWS),
        film=(first.output_schema, first.records),
    )

    assert by(second.records, "id", "actor_name", "category") == [
        {"id": i, "film_name": f, "actor_name": a, "category": c}
        for i, f, a, c in (
            (1, "matrix", "alex", "action"),
            (1, "matrix", "alex", "thriller"),
            (1, "matrix", "bob", "action"),
            (1, "matrix", "bob", "thriller"),
            (2, "equilibrium", "cathie", "action"),
            (3, "avatar", "samuel", None),
        )
    ]


KEYED = record(k=Schema.INT.as_nullable, v=Schema.STRING)


def make_keyed_table(*rows):
    return table(KEYED, rows)


def join(spark, properties, **inputs):
    selected = ",".join(f"{name}.v as {name}" for name in inputs)
    keys = "=".join(f"{name}.k" for name in inputs)
    given = {"selectedFields": selected, "joinKeys": keys} | properties
    made = run(spark, "batchjoiner", "Joiner", given, **inputs)
    return sorted((tuple(r.values()) for r in made.records), key=str)


def test_full_outer_join_of_three_inputs_with_null_keys(spark):
    inputs = {
        "a": make_keyed_table((1, "a1"), (None, "an")),
        "b": make_keyed_table((1, "b1"), (2, "b2"), (None, "bn")),
        "c": make_keyed_table((2, "c2"), (3, "c3"), (None, "cn")),
    }

    assert join(spark, {}, **inputs) == [
        ("a1", "b1", None),
        ("an", "bn", "cn"),
        (None, "b2", "c2"),
        (None, None, "c3"),
    ]
    assert join(spark, {"requiredInputs": "b,c"}, **inputs) == [
        ("an", "bn", "cn"),
        (None, "b2", "c2"),
    ]


def test_null_keys_do_not_match_when_the_property_says_so(spark):
    inputs = {
        "a": make_keyed_table((1, "a1"), (None, "an")),
        "b": make_keyed_table((1, "b1"), (None, "bn")),
    }

    assert join(spark, {"joinNullKeys": "false"}, **inputs) == [
        ("a1", "b1"),
        ("an", None),
        (None, "bn"),
    ]


def test_join_on_a_condition(spark):
    inputs = {
        "left-1": make_keyed_table((1, "x"), (5, "y")),
        "right": make_keyed_table((2, "r2"), (6, "r6")),
    }
    properties = {
        "conditionType": "advanced",
        "conditionExpression": "l.k < right.k and l.v <> 'q'",
        "inputAliases": "left-1=l",
        "requiredInputs": "left-1,right",
    }

    assert join(spark, properties, **inputs) == [("x", "r2"), ("x", "r6"), ("y", "r6")]
    outer = {"requiredInputs": "right", "inMemoryInputs": "left-1"}
    condition = {"conditionExpression": "l.k + 1 = right.k"}
    assert join(spark, properties | outer | condition, **inputs) == [("x", "r2"), ("y", "r6")]
    optional = {"requiredInputs": "left-1", "conditionExpression": "l.k = right.k - 9"}
    assert join(spark, properties | outer | optional, **inputs) == [("x", None), ("y", None)]


def test_joining_nothing(spark):
    assert (
        join(spark, {"requiredInputs": "a"}, a=make_keyed_table(), b=make_keyed_table((1, "b")))
        == []
    )


def test_distinct(spark):
    rows = [(1, "a"), (1, "a"), (None, "a"), (None, "a"), (1, "b")]

    whole = run(spark, "batchaggregator", "Distinct", {}, i=make_keyed_table(*rows))
    part = run(
        spark,
        "batchaggregator",
        "Distinct",
        {"fields": "v", "numPartitions": "2"},
        i=make_keyed_table(*rows),
    )

    assert len(whole.records) == 3
    assert by(part.records, "v") == [{"v": "a"}, {"v": "b"}]
    assert (part.counts.in_, part.counts.out) == (5, 2)


PEOPLE = record(name=Schema.STRING, job=Schema.STRING, age=Schema.INT.as_nullable)
PEOPLE_ROWS = [
    ("Alex", "professor", 45),
    ("Bob", "professor", 50),
    ("Chris", "accountant", 23),
    ("Henry", "engineer", 30),
    ("Ali", "engineer", 28),
]


@pytest.mark.parametrize(
    ("operation", "kept"),
    [
        ("age:Min", ["Ali", "Nina", "Alex", "Chris"]),
        ("age:max", ["Henry", "Nina", "Bob", "Chris"]),
        ("age:any", ["Henry", "Nina", "Alex", "Chris"]),
        ("age:last", ["Ali", "Nora", "Bob", "Chris"]),
        ("", ["Henry", "Nina", "Alex", "Nell"]),
    ],
)
def test_deduplicate(spark, operation, kept):
    rows = [
        ("Nell", "accountant", None),
        *PEOPLE_ROWS,
        ("Nina", "none", None),
        ("Nora", "none", None),
    ]

    made = run(
        spark,
        "batchaggregator",
        "Deduplicate",
        {"uniqueFields": "job", "filterOperation": operation},
        people=table(PEOPLE, rows),
    )

    assert {r["name"] for r in made.records} == set(kept)


def test_deduplicate_whole_records(spark):
    made = run(
        spark,
        "batchaggregator",
        "Deduplicate",
        {"filterOperation": "age:max"},
        people=table(PEOPLE, [*PEOPLE_ROWS, PEOPLE_ROWS[0]]),
    )

    assert len(made.records) == len(PEOPLE_ROWS)


PROJECTED = {
    "i": (Schema.INT, -7),
    "l": (Schema.LONG.as_nullable, 2**40),
    "f": (Schema.FLOAT, 0.5),
    "d": (Schema.DOUBLE, 1.25),
    "b": (Schema.BOOLEAN, True),
    "s": (Schema.STRING, "+12"),
    "t": (Schema.STRING, "é"),
    "x": (Schema.BYTES, b"\xff\xff\xff\xfe"),
    "day": (Schema.DATE, datetime.date(2020, 2, 29)),
    "m": (Schema.decimal(5, 2), decimal.Decimal("1.50")),
    "name.with.dots": (Schema.INT, 1),
    "gone": (Schema.STRING, "z"),
}


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        (
            {
                "convert": "i:double,l:float,f:double,s:long,x:int,b:string,day:string,m:string,t:bytes"
            },
            {"i": -7.0, "l": float(2**40), "f": 0.5, "s": 12, "x": -2, "b": "true"}
            | {"day": "2020-02-29", "m": "1.50", "t": b"\xe9"},
        ),
        (
            {"convert": "i:bytes,l:bytes,f:bytes,d:bytes,b:bytes,s:double,x:string"},
            {"i": b"\xff\xff\xff\xf9", "l": (2**40).to_bytes(8, "big"), "f": b"?\0\0\0"}
            | {"d": b"?\xf4\0\0\0\0\0\0", "b": b"\xff", "s": 12.0, "x": "\ufffd" * 4},
        ),
        ({"rename": "name.with.dots:n,i:name.with.dots", "convert": "t:boolean"}, {"t": False}),
    ],
)
def test_projection(spark, properties, expected):
    schema = record("in", **{name: type for name, (type, _) in PROJECTED.items()})
    values = {name: value for name, (_, value) in PROJECTED.items()}

    made = run(
        spark, "transform", "Projection", properties | {"drop": "gone"}, i=(schema, [values])
    )

    (row,) = made.records
    assert {name: row[name] for name in expected} == expected
    assert "gone" not in row
    if "rename" in properties:
        assert (row["n"], row["name.with.dots"], "i" in row) == (1, -7, False)
    assert (made.counts.in_, made.counts.out) == (1, 1)


TEXTS: dict[str, tuple[Type, dict[str, Any], list[str]]] = {
    "int": (
        Type.INT,
        {"-7": -7, "+7": 7, "007": 7},
        ["", " 7", "7 ", "1e3", "7.0", "1_0", "2147483648"],
    ),
    "long": (Type.LONG, {"9223372036854775807": 2**63 - 1}, ["9223372036854775808", "7L"]),
    "float": (Type.FLOAT, {"0.5": 0.5, "NaN": math.nan, "1f": 1.0}, ["nan", "inf"]),
    "double": (
        Type.DOUBLE,
        {" 1e3 ": 1000.0, ".5": 0.5, "5.": 5.0, "-Infinity": -math.inf, "1d": 1.0},
        ["nan", "infinity", "inf", "1_0", "0,5", "e", ""],
    ),
    "boolean": (Type.BOOLEAN, {"TRUE": True, "yes": False, "1": False, " true": False}, []),
    "bytes": (
        Type.BYTES,
        {r"\x41z": b"Az", "abc": b"abc", "é": b"\xe9", "\u20ac": b"\xac", "\U0001f600": b"=\0"}
        | {r"\n": b"\\n", r"\x4g": b"x4g", r"\xff": b"xff", r"\x00\xFF": b"\0\xff"},
        ["\\", r"a\x4"],
    ),
}
"""By type: texts with their values in CDAP ``StructuredRecord.Builder.convertAndSet``, and refused ones."""


@pytest.mark.parametrize("name", TEXTS)
def test_texts_become_values_as_in_java(spark, name):
    type, values, refused = TEXTS[name]
    convert = find_text_converter(Schema.of(type))
    assert convert is not None
    assert repr({text: convert(text) for text in values}) == repr(values)
    for text in refused:
        with pytest.raises(ValueError):
            convert(text)

    rows = [{"s": text} for text in values]
    schema = record(s=Schema.STRING)
    made = run(spark, "transform", "Projection", {"convert": f"s:{name}"}, i=(schema, rows))
    assert repr([row["s"] for row in made.records]) == repr(list(values.values()))


@pytest.mark.parametrize(
    ("type", "text"), [("int", "abc"), ("int", " 7"), ("double", "inf"), ("bytes", "\\")]
)
def test_a_text_that_is_not_of_the_type_fails_the_run(spark, type, text):
    with pytest.raises(StageError, match="Field 's' is not of type|within an escape"):
        run(
            spark,
            "transform",
            "Projection",
            {"convert": f"s:{type}"},
            i=(record(s=Schema.STRING), [{"s": text}]),
        )


def test_numbers_with_fractions_are_rounded_as_java_rounds_them(spark):
    numbers = [
        0.5,
        -0.5,
        2.5,
        -2.5,
        0.49999999999999994,
        1e300,
        -1e300,
        math.nan,
        math.inf,
        2.0**31,
    ]
    schema = record(f=Schema.FLOAT, d=Schema.DOUBLE, e=Schema.DOUBLE)
    finite = [n if abs(n) < 1e38 or n != n else math.copysign(math.inf, n) for n in numbers]
    rows = [{"f": f, "d": d, "e": d} for f, d in zip(finite, numbers, strict=True)]

    made = run(
        spark, "transform", "Projection", {"convert": "f:int,d:long,e:int"}, i=(schema, rows)
    )

    most, least = 2**63 - 1, -(2**63)
    int_most, int_least = 2**31 - 1, -(2**31)
    assert [row["f"] for row in made.records] == [
        *(1, 0, 3, -2, 1, int_most, int_least, 0, int_most, int_most)
    ]
    assert [row["d"] for row in made.records] == [*(1, 0, 3, -2, 0, most, least, 0, most, 2**31)]
    assert [row["e"] for row in made.records] == [1, 0, 3, -2, 0, -1, 0, 0, -1, int_least]


def test_of_two_fields_of_one_name_the_values_of_the_last_one_are_kept(spark):
    schema = record(a=Schema.STRING, b=Schema.LONG, c=Schema.STRING)

    made = run(
        spark,
        "transform",
        "Projection",
        {"rename": "c:a"},
        i=(schema, [{"a": "first", "b": 1, "c": "last"}]),
    )

    assert made.records == [{"a": "last", "b": 1}]
    assert list(made.records[0]) == ["a", "b"]
