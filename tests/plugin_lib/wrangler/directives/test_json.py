"""parse-as-json, json-path and the writers of JSON."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.directive.rows import Columns
from localcdap.api.schema import Schema
from localcdap.java.gson import JsonError, read_json, write_json
from tests.plugin_lib.wrangler.directives.recipes import (
    build_valid_directives,
    list_problems,
    run,
    run_failing,
)

PERSON = {
    "id": 1,
    "name": {"first": {"n": "Root"}, "last": "Joltie"},
    "age": 22,
    "weigth": 184,
    "height": 5.8,
}
DEVICE = {
    "deviceReference": {
        "brand": "Samsung ",
        "timestamp": 122121212341231,
        "OS": {"name": "Tizen OS", "version": "2.3.1"},
        "alerts": [{"Signal lost": True}, {"Calories": 354}],
        "screenSize": "extra-small|small|medium|large",
    }
}


@pytest.mark.parametrize(
    ("depth", "names"),
    [
        ("", ["body_id", "body_name_first_n", "body_name_last"]),
        ("3", ["body_id", "body_name_first_n", "body_name_last"]),
        ("2", ["body_id", "body_name_first", "body_name_last"]),
        ("1", ["body_id", "body_name"]),
    ],
)
def test_objects_become_columns_down_to_the_depth(depth, names):
    (row,) = run(f"parse-as-json :body {depth}", {"body": json.dumps(PERSON)})

    assert list(row) == [*names, "body_age", "body_weigth", "body_height"]
    assert (row["body_id"], row["body_height"]) == (1, 5.8)


def test_an_object_in_a_column_is_opened_further():
    (row,) = run("parse-as-json body 1\nparse-as-json body_name 1", {"body": json.dumps(PERSON)})

    assert (row["body_name_first"], row["body_name_last"]) == ({"n": "Root"}, "Joltie")
    assert "body_name" not in row


def test_depth_zero_keeps_the_object():
    assert run("parse-as-json :body 0", {"body": '{"a": 1}'}) == [{"body": {"a": 1}}]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("[1,2,3,4,5]             ", [1, 2, 3, 4, 5]),
        ('[{"a": 1}, [2], null, "x"]', [{"a": 1}, [2], None, "x"]),
    ],
)
def test_an_array_becomes_rows(text, values):
    made = run("parse-as-json body", {"body": text, "other": 7})

    assert made == [{"other": 7, "body": value} for value in values]


def test_an_empty_array_leaves_the_row_without_the_column():
    assert run("parse-as-json body", {"body": "[]", "other": 7}) == [{"other": 7}]


@pytest.mark.parametrize("row", [{"body": None}, {"other": 1}, {"body": "5"}, {"body": ""}])
def test_rows_without_object_or_array_are_dropped(row):
    assert run("parse-as-json body", row) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{a: 1, 'b c'= x; \"d\" => [1;2,]}", {"a": 1, "b c": "x", "d": [1, 2, None]}),
        ("{} // remark", {}),
        ("# remark\n{/* in it */'a': 'it\\'s'}", {"a": "it's"}),
        (")]}'\n[TRUE, Null, NaN, 1.5, 007]", [True, None, "NaN", 1.5, "007"]),
        ('{"a": NaN}', {"a": "NaN"}),
        ('{"a": "line\nend"}', {"a": "line\nend"}),
        ('{"a": 1, "a": 2}', {"a": 2}),
    ],
)
def test_json_is_read_as_gson_reads_it(text, value):
    assert read_json(text) == value


@pytest.mark.parametrize(
    "text", ['{"a": 1', "{a}", "[1 2]", "{} {}", '"a', "]", "{:1}", "[" * 100_000, "1" * 5000]
)
def test_what_is_no_json_fails_on_the_row(text):
    assert run_failing("parse-as-json body", {"body": text}).kind == 1


def test_huge_texts_that_are_no_json_are_refused():
    for text in ('{"a":"' + "x" * 50_000_000, '{"a":"' + "x" * 3_900_000, "{a:1," * 1_000_000):
        assert "it is not valid JSON" in run_failing("parse-as-json b", {"b": text}).message


def test_numbers_are_longs_and_doubles_of_java_and_keep_their_digits():
    (row,) = run(
        "parse-as-json b",
        {"b": '{"big": 9223372036854775808, "e": 1e3, "huge": 1e400, "id": 828713281267367937}'},
    )

    assert row == {
        "b_big": Decimal(2**63),
        "b_e": 1000.0,
        "b_huge": float("inf"),
        "b_id": 828713281267367937,
    }


def test_objects_of_any_depth_are_opened_or_refused():
    deep = '{"a":' * 900 + "1" + "}" * 900

    made = run_failing("parse-as-json b", {"b": '{"a":' * 5000 + "1" + "}" * 5000})
    assert "nested too deeply" in made.message
    (row,) = run("parse-as-json b 3", {"b": deep})
    assert list(row) == ["b_a_a_a"]


def test_other_types_fail():
    assert "a text, object or array is needed" in run_failing("parse-as-json b", {"b": 5}).message


def test_present_columns_stay():
    assert run("parse-as-json b", {"b_a": "old", "b": '{"a": 1, "c": 2}'}) == [
        {"b_a": "old", "b_c": 2}
    ]


def test_what_was_parsed_may_get_the_name_that_the_json_had():
    columns = Columns([("price", Schema.STRING)])
    for directive in build_valid_directives(
        "parse-as-json :price 1\nfill-null-or-empty :price_int '0'\nrename price_int price"
    ):
        directive.propagate(columns)

    assert columns.problems == []


def test_paths_select_from_what_was_parsed():
    (row,) = run(
        "parse-as-json body\n"
        "json-path body_deviceReference_alerts signal_lost $.[*].['Signal lost']\n"
        "json-path signal_lost first $.[0]\n"
        "json-path body_deviceReference_alerts calories $.[1].Calories",
        {"body": json.dumps(DEVICE)},
    )

    assert (row["signal_lost"], row["first"], row["calories"]) == ([True], True, 354)
    assert row["body_deviceReference_OS_name"] == "Tizen OS"


def test_a_path_reads_texts_and_replaces_columns():
    assert run("json-path :a :a '$.x'", {"a": '{"x": "y"}'}) == [{"a": "y"}]
    assert run("json-path :a :b '$..z'", {"a": '{"x": "y"}'}) == [{"a": '{"x": "y"}', "b": []}]
    assert (
        "nothing is at '$.z'" in run_failing("json-path :a :b '$.z'", {"a": '{"x": "y"}'}).message
    )
    assert run("json-path :a :b '$.z'", {"a": None}) == run("json-path :a :b '$.z'", {}) == []


def test_a_path_that_is_none_is_reported_at_once():
    assert "not a JSON path" in list_problems("json-path :a :b '$.x['")[0]
    assert "whole number" in list_problems("parse-as-json :a 1.5")[0]


def test_a_row_is_written_as_a_json_map():
    (row,) = run(
        "write-as-json-map test",
        {
            "url": "http://www.yahoo.com?a=b c&b=ab",
            "int": 1,
            "double": 1.8,
            "none": None,
            "flag": True,
            "o": {"b": "2", "a": None},
            "list": [None, "<'>"],
            "bytes": b"\x01\xff",
            "decimal": Decimal("12.50"),
            "day": datetime.date(2020, 1, 31),
        },
    )

    assert row["test"] == (
        '{"url":"http://www.yahoo.com?a\\u003db c\\u0026b\\u003dab","int":1,"double":1.8,"flag":true,'
        '"o":{"b":"2"},"list":[null,"\\u003c\\u0027\\u003e"],"bytes":[1,-1],"decimal":12.50,'
        '"day":"2020-01-31"}'
    )


def test_a_number_that_json_lacks_fails():
    assert "NaN" in run_failing("write-as-json-map t", {"a": float("nan")}).message


def test_an_object_is_made_of_columns():
    row = {
        "number": 1,
        "text": "this, is a string.",
        "height": 1.5,
        "weight": 1.67,
        "address": None,
    }

    (made,) = run("write-as-json-object body number,text,height,address", row)

    assert made["body"] == {
        "number": 1,
        "text": "this, is a string.",
        "height": 1.5,
        "address": None,
    }
    assert "missing" in list_problems("write-as-json-object :body")[0]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner.filter(lambda v: v is not None)),
    max_leaves=10,
)  # fmt: skip


@given(VALUES)
def test_what_is_written_is_read_again(value):
    assert read_json(write_json(value)) == value


@given(st.text(alphabet="{}[]:,;='\"\\/#*ab1 \n"))
def test_any_text_is_read_or_refused(text):
    try:
        read_json(text)
    except JsonError:
        return


@pytest.mark.parametrize(
    ("recipe", "value"),
    [
        ("parse-as-json :u 1", None),
        ("json-path :u :v '$.a[0]'", Decimal(18446744073709551616)),
        ("set-column :v json:Select(json:parse(u), '$.a[0]')", 18446744073709551616),
        ("set-column :v json:stringify(json:parse(u))", '{"a":[18446744073709551616]}'),
    ],
)
def test_whole_numbers_beyond_64_bits_keep_their_digits_wherever_json_is_read(recipe, value):
    (row,) = run(recipe, {"u": '{"a": [18446744073709551616]}'})
    assert row.get("v") == value
    assert value is not None or row["u_a"] == [18446744073709551616]
