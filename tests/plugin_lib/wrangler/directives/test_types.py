"""set-type and quantize."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal

import pytest

from localcdap.java.strings import round_to_float
from tests.plugin_lib.wrangler.directives.recipes import list_problems, run, run_failing

D = Decimal

CONVERSIONS = [
    ("int", "10000", 10000),
    ("i64", 10000, 10000),
    ("integer", 10000.9, 10000),
    ("INT", -10000.9, -10000),
    ("I64", 2**32 + 5, 5),
    ("Integer", 1e20, 2**31 - 1),
    ("INTEGER", bytes([0, 0, 39, 16]), 10000),
    ("INTEGER", D("10000.9"), 10000),
    ("int", math.nan, 0),
    ("int", "+7", 7),
    ("short", "10000", 10000),
    ("i32", 40000, -25536),
    ("Short", 10000.0, 10000),
    ("short", bytes([39, 16]), 10000),
    ("SHORT", D(10000), 10000),
    ("long", "9223372036854775807", 2**63 - 1),
    ("Long", 10000, 10000),
    ("LONG", 1e30, 2**63 - 1),
    ("long", bytes([0, 0, 0, 0, 0, 0, 39, 16]), 10000),
    ("long", D(10000), 10000),
    ("float", "22.4", 22.4),
    ("FLOAT", bytes([70, 28, 64, 0]), 10000.0),
    ("Float", D(10000), 10000.0),
    ("float", 10000, 10000.0),
    ("double", "55.1", 55.1),
    ("double", " 1e3d ", 1000.0),
    ("Double", bytes([64, 195, 136, 0, 0, 0, 0, 0]), 10000.0),
    ("DOUBLE", D(10000), 10000.0),
    ("bool", "TRUE", True),
    ("Bool", "yes", False),
    ("boolean", 10000, True),
    ("BOOLEAN", -1.5, False),
    ("bool", D(0), False),
    ("bool", True, True),
    ("bool", b"\x01", True),
    ("string", 10000, "10000"),
    ("String", 10000.0, "10000.0"),
    ("STRING", 1e10, "1.0E10"),
    ("string", b"10000", "10000"),
    ("string", D("10000"), "10000"),
    ("string", True, "true"),
    ("string", datetime.datetime(2020, 1, 2, 3, 4), "2020-01-02T03:04"),
    ("string", datetime.datetime(2020, 1, 2, 3, 4, tzinfo=datetime.UTC), "2020-01-02T03:04Z[UTC]"),
    ("bytes", "10000", b"10000"),
    ("Bytes", 10000, bytes([0, 0, 39, 16])),
    ("BYTES", 10000.0, bytes([64, 195, 136, 0, 0, 0, 0, 0])),
    ("bytes", 2**40, bytes([0, 0, 1, 0, 0, 0, 0, 0])),
    ("bytes", D("10000"), bytes([0, 0, 0, 0, 39, 16])),
    ("decimal", "10000", D("10000")),
    ("decimal", "125.45", D("125.45")),
    ("Decimal", 10000, D("10000")),
    ("DECIMAL", 10000.0, D("10000.0")),
    ("decimal", bytes([0, 0, 0, 0, 39, 16]), D("10000")),
    ("decimal 0", "122.5", D("122")),
    ("decimal 0 'FLOOR'", "456.789", D("456")),
    ("decimal -1 'HALF_UP'", "125.45", D("1.3E+2")),
    ("decimal 0 'FLOOR' prop:{precision=3}", "122.5", D("122")),
    ("decimal 0 prop:{precision=5}", "456.789", D("457")),
    ("decimal 'FLOOR' prop:{precision=3}", "122.5", D("122")),
    ("decimal 2", "1", D("1.00")),
    ("int", None, None),
    *(
        (kind, blank, blank)
        for kind in ("int", "bytes", "decimal 2", "string")
        for blank in ("", " \t")
    ),
]


@pytest.mark.parametrize(("type_", "value", "expected"), CONVERSIONS)
def test_values_are_converted(type_, value, expected):
    (row,) = run(f"set-type :a {type_}", {"a": value})

    assert row == {"a": expected}
    assert type(row["a"]) is type(expected)


def test_a_missing_column_is_passed_over():
    assert run("set-type :b int", {"a": "1"}) == [{"a": "1"}]


REFUSED = [
    ("int", "1.5"),
    ("int", "2147483648"),
    ("int", "abc"),
    ("int", True),
    ("int", b"\x01"),
    ("short", "32768"),
    ("long", " 1"),
    ("double", "1,5"),
    ("double", "inf"),
    ("bool", datetime.date(2020, 1, 1)),
    ("decimal", "1 2"),
    ("decimal", "NaN"),
    ("decimal", math.inf),
    ("decimal 1 'UNNECESSARY'", "123.45"),
    ("decimal 2 prop:{precision=3}", "12.5"),
    ("int", [1]),
]


@pytest.mark.parametrize(("type_", "value"), REFUSED)
def test_values_that_cannot_be_converted_fail_their_row(type_, value):
    assert (
        "column 'a' cannot be converted to"
        in run_failing(f"set-type :a {type_}", {"a": value}).message
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("quaternion", "quaternion"),
        ("decimal 3 'RANDOM'", "not a rounding mode"),
        ("decimal 'FLOOR'", "needs a scale or a precision"),
        ("decimal 0 'FLOOR' prop:{precision=-1}", "at least 1"),
        ("decimal 0 'FLOOR' prop:{digits=3}", "prop:{precision="),
    ],
)
def test_wrong_arguments_are_reported_with_the_recipe(arguments, message):
    assert message in list_problems(f"set-type :a {arguments}")[0]


RANGES = "quantize a b 0.0:20.0='LOW',21.0:75.0='MEDIUM',75.1:200.0='HIGH'"
QUANTITIES = [
    (RANGES, "11.79", "LOW"),
    (RANGES, "129.13", "HIGH"),
    (RANGES, "45.67", "MEDIUM"),
    (RANGES, "20.7", None),
    (RANGES, "20", "LOW"),
    (RANGES, 20.0, "LOW"),
    (RANGES, 0.0, "LOW"),
    ("quantize :a :b 1:2=20,3:4=40", 3.5, "40"),
    ("quantize :a :b 1:5='A',2:3='B'", 2.5, "B"),
    ("quantize :a :b 1:5='A',2:3='B'", 4.0, "A"),
]


@pytest.mark.parametrize(("recipe", "value", "expected"), QUANTITIES)
def test_numbers_are_quantized(recipe, value, expected):
    assert run(recipe, {"a": value}) == [{"a": value, "b": expected}]


@pytest.mark.parametrize("row", [{"a": None}, {"a": "x"}, {"a": 5}, {"c": 1.0}])
def test_what_is_no_number_with_a_point_fails_its_row(row):
    assert "column 'a'" in run_failing(RANGES, row).message


ONE = "This is an example for distance measure."
OTHER = "This test is made of works that are similar. This is an example for distance measure."
LIKENESS = [
    ("text-metric cosine", 0.76063883),
    ("text-metric euclidean", 0.8282205),
    ("text-metric block", 0.6086956),
    ("text-metric identity", 0.0),
    ("text-metric dice", 0.6666667),
    ("text-metric jaccard", 0.5),
    ("text-metric generalized-jaccard", 0.4375),
    ("text-metric overlap-cofficient", 1.0),
    ("text-metric jaro", 0.657493),
    ("text-metric simon-white", 0.6666667),
    ("text-metric levenshtein", 0.47058824),
    ("text-metric damerau-levenshtein", 0.47058824),
    ("text-metric longest-common-subsequence", 0.47058824),
    ("text-metric longest-common-substring", 0.47058824),
    ("text-metric anything", 0.76063883),
    ("text-distance cosine", 0.23936117),
    ("text-distance euclidean", 3.0),
    ("text-distance block", 9.0),
    ("text-distance block-distance", 9.0),
    ("text-distance identity", 1.0),
    ("text-distance levenshtein", 45.0),
    ("text-distance damerau-levenshtein", 45.0),
    ("text-distance longest-common-subsequence", 45.0),
    ("text-distance jaccard", 0.5),
]


@pytest.mark.parametrize(("directive", "expected"), LIKENESS)
def test_texts_are_compared(directive, expected):
    (row,) = run(f"{directive} :a :b :c", {"a": ONE, "b": OTHER})

    assert row["c"] == pytest.approx(expected, rel=1e-6)
    assert row["c"] == round_to_float(row["c"])


@pytest.mark.parametrize(
    "row", [{"a": ONE, "b": ""}, {"a": ONE, "b": 1}, {"a": ONE}, {"a": None, "b": ONE}]
)
@pytest.mark.parametrize("directive", ["text-metric", "text-distance"])
def test_what_is_no_pair_of_texts_measures_nothing(directive, row):
    assert run(f"{directive} jaro :a :b :c", row) == [{**row, "c": 0.0}]


@pytest.mark.parametrize("method", ["jaro", "levenshtein", "longest-common-substring"])
def test_texts_too_long_for_a_method_fail_their_row(method):
    row = {"a": "x" * 60_000, "b": "y"}

    assert "are not compared" in run_failing(f"text-metric {method} :a :b :c", row).message
    assert run("text-metric cosine :a :b :c", row)[0]["c"] == 0.0
