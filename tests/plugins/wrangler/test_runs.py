"""Wrangler in Spark: native directives and batches, on-error modes, error records, what runs where."""

from __future__ import annotations

from typing import Any

import pytest

from localcdap.api import Schema
from localcdap.api.errors import InvalidPipelineError, StageError
from localcdap.testing import artifact_ref
from localcdap.testing.pipeline import PipelineTester
from tests.conftest import REPOSITORY

pytestmark = pytest.mark.spark
TEXT = Schema.STRING.as_nullable
PEOPLE = Schema.record("people", [("name", TEXT), ("age", TEXT)])
GIVEN = [
    {"name": "ann", "age": "31"},
    {"name": "bob", "age": "old"},
    {"name": None, "age": None},
]
OUT = Schema.record("out", [("who", TEXT), ("age", Schema.INT.as_nullable)])


def wrangler():
    return artifact_ref(REPOSITORY / "plugins_dir" / "wrangler", "transform", "Wrangler")


class Ran:
    """A pipeline with one Wrangler stage after its run."""

    def __init__(
        self,
        spark: Any,
        folder: Any,
        properties: dict[str, str],
        schema: Schema = PEOPLE,
        records: Any = GIVEN,
        *,
        errors: bool = True,
    ) -> None:
        pipeline = PipelineTester(spark, folder)
        pipeline.source("in", schema, records)
        pipeline.stage("wrangle", wrangler(), {"field": "*", **properties}, ["in"])
        pipeline.sink("out", "wrangle")
        if errors:
            pipeline.collect_errors("errors", "wrangle")
        self.counts = pipeline.run()["wrangle"]
        self.records = pipeline.read("out")
        self.errors = pipeline.read("errors") if errors else []
        self.lines = pipeline.plan().explained["wrangle"]


def recipe(*lines: str, schema: Schema = OUT, **more: str) -> dict[str, str]:
    return {"directives": "\n".join(lines), "schema": str(schema), **more}


def test_a_native_recipe_sends_what_does_not_fit_the_schema_to_the_error_port(spark, tmp_path):
    ran = Ran(
        spark,
        tmp_path,
        recipe("rename name who", "uppercase :who", **{"on-error": "send-to-error-port"}),
    )

    assert ran.records == [{"who": "ANN", "age": 31}, {"who": None, "age": None}]
    (failed,) = ran.errors
    assert failed["record"] == {"name": "bob", "age": "old"}
    assert failed["code"] == 0
    assert failed["message"] == (
        "Problem converting into output record. Reason : Unable to convert 'old' to integer for "
        "field name 'age'"
    )
    assert failed["stage"] == "wrangle"
    assert (ran.counts.in_, ran.counts.out, ran.counts.error) == (3, 2, 1)
    assert ran.lines == ["native  rename name who", "native  uppercase :who"]


def test_a_failing_row_fails_the_run_by_default_and_names_the_stage(spark, tmp_path):
    with pytest.raises(
        StageError, match=r"'wrangle'.*Unable to convert 'old' to integer"
    ) as caught:
        Ran(spark, tmp_path, recipe("rename name who"), errors=False)

    assert caught.value.stage == "wrangle"
    assert caught.value.message.endswith("'age'. Record: {name: 'bob', age: 'old'}")


def test_failing_rows_can_be_skipped(spark, tmp_path):
    ran = Ran(
        spark, tmp_path, recipe("rename name who", **{"on-error": "skip-error"}), errors=False
    )

    assert [each["age"] for each in ran.records] == [31, None]
    assert (ran.counts.in_, ran.counts.out, ran.counts.error) == (3, 2, 0)


def test_directives_without_a_spark_form_run_in_one_pass_between_native_ones(spark, tmp_path):
    schema = Schema.record("out", [("who", TEXT), ("parts_1", TEXT), ("parts_2", TEXT)])
    ran = Ran(
        spark,
        tmp_path,
        recipe("rename name who", "copy who parts", "split-to-columns parts n", schema=schema),
        records=[{"name": "ann", "age": "1"}],
    )

    assert ran.records[0]["who"] == "ann"
    assert ran.lines[0].startswith("native")
    assert ran.lines[-1].startswith("batch")


def test_a_recipe_with_errors_fails_validation_with_each_of_them(spark, tmp_path):
    with pytest.raises(InvalidPipelineError) as caught:
        Ran(spark, tmp_path, recipe("renam :name :who", "uppercase"))

    text = str(caught.value)
    assert "line 1, column 1: there is no directive 'renam'" in text
    assert "line 2, column 1" in text


def test_a_failing_row_fails_the_run_even_behind_a_filter_and_python_columns(spark, tmp_path):
    schema = Schema.record("out", [("body_1", TEXT), ("body_2", TEXT)])
    lines = Schema.record("line", [("body", TEXT)])
    directives = (
        "parse-as-csv body , false",
        'filter-row-if-true body_1 =~ "x"',
        "mask-shuffle body_2",
    )

    where = r"\(line 3 of the recipe: mask-shuffle body_2\)\. Record: \{body: 'alone'\}$"
    with pytest.raises(StageError, match=f"mask-shuffle.*'body_2' is null.*{where}"):
        Ran(
            spark,
            tmp_path,
            recipe(*directives, schema=schema),
            lines,
            [{"body": "x,1"}, {"body": "alone"}, {"body": "y,abc"}],
            errors=False,
        )


@pytest.mark.slow
def test_records_that_a_recipe_sends_away_are_errors_with_their_code(spark, tmp_path):
    ran = Ran(
        spark,
        tmp_path,
        recipe(
            "send-to-error name == 'ann'",
            "split-to-rows age d",
            "rename name who",
            "fill-null-or-empty age 7",
            **{"on-error": "skip-error"},
        ),
        records=[
            {"name": "ann", "age": "1"},
            {"name": "cid", "age": "2d3"},
            {"name": "dan", "age": "x"},
        ],
    )

    assert ran.records == [{"who": "cid", "age": 2}, {"who": "cid", "age": 3}]
    (sent,) = ran.errors
    assert sent["record"] == {"name": "ann", "age": "1"}
    assert sent["code"] == 1
    assert (ran.counts.in_, ran.counts.out, ran.counts.error) == (3, 2, 1)


def test_without_a_reader_records_that_are_sent_away_are_counted(spark, tmp_path):
    ran = Ran(
        spark,
        tmp_path,
        recipe("send-to-error name == 'ann'", "rename name who", "drop age"),
        errors=False,
    )

    assert "ann" not in {record["who"] for record in ran.records}
    assert ran.counts.in_ == ran.counts.out + 1


def test_a_precondition_leaves_out_the_records_for_which_it_is_true(spark, tmp_path):
    ran = Ran(
        spark,
        tmp_path,
        recipe("rename name who", "drop age", precondition="name == 'ann' || age == 'old'"),
    )

    assert ran.records == [{"who": None, "age": None}]


NUMBERS = Schema.record("numbers", [("n", Schema.INT)])
HALVES = Schema.record(
    "halves",
    [("n", Schema.INT), ("half", Schema.INT), ("next", Schema.INT), ("twice", Schema.LONG)],
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "last", "place"),
    [
        ("set-column :half n", "copy :n :other", "native"),
        ("set-variable v exp:{n}", "set-column :n v", "batch"),
    ],
)
def test_whole_numbers_of_expressions_become_ints_where_they_fit(
    spark, tmp_path, first, last, place
):
    lines = (
        first,
        "set-column :half n / 2",
        "set-column :next n + 1",
        "set-column :twice n * 2",
        last,
    )
    properties = recipe(*lines, schema=HALVES, **{"on-error": "send-to-error-port"})
    given = [{"n": number} for number in (7, -7, 2147483647, 2147483646)]
    ran = Ran(spark, tmp_path, properties, NUMBERS, given)

    assert ran.records == [
        {"n": 7, "half": 3, "next": 8, "twice": 14},
        {"n": -7, "half": -3, "next": -6, "twice": -14},
        {"n": 2147483646, "half": 1073741823, "next": 2147483647, "twice": 4294967292},
    ]
    (failed,) = ran.errors
    assert failed["record"] == {"n": 2147483647}
    assert failed["message"] == (
        "Problem converting into output record. Reason : Schema specifies field 'next' is integer, but "
        "2147483648 does not fit it"
    )
    assert {line.split()[0] for line in ran.lines} == {place}


COUNTS = Schema.record("counts", [("n", TEXT), ("m", TEXT)])
BLANKS = [{"n": "4", "m": "1"}, {"n": "", "m": ""}, {"n": "  ", "m": "  "}, {"n": None, "m": None}]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "types", "expected", "places"),
    [
        (["set-type :n int"], "i", [4, None, None, None], "native"),
        (["set-type :n bytes"], "b", [b"4", None, None, None], "native"),
        (["set-type :n int"], "s", ["4", "", "  ", None], "batch"),
        (["set-type :n int", "rename :n :k"], "s", ["4", "", "  ", None], "batch"),
        (["set-type :n int", "set-column :k n == ''"], "f", [False, True, False, False], "batch"),
        (["set-type :n int", "swap :n :m"], "i", [1, None, None, None], "batch"),
        (["set-type :n int", "copy :n :k", "drop :n"], "s", ["4", "", "  ", None], "batch"),
        (
            ["set-type :n int", "set-column :z n == null", "lowercase :m"],
            "i",
            [4, None, None, None],
            "batch batch native",
        ),
    ],
)
def test_blank_texts_that_set_type_leaves_are_null_only_where_the_output_is_no_text(
    spark, tmp_path, lines, types, expected, places
):
    """As ColumnConverter.convertType and RecordConvertor.decodeSimpleTypes of wrangler have it."""
    types = {"i": Schema.INT, "b": Schema.BYTES, "s": Schema.STRING, "f": Schema.BOOLEAN}[types]
    name = "k" if " :k" in "".join(lines) else "n"
    schema = Schema.record("out", [(name, types.as_nullable)])
    ran = Ran(spark, tmp_path, recipe(*lines, schema=schema), COUNTS, BLANKS, errors=False)

    assert [each[name] for each in ran.records] == expected
    assert [line.split()[0] for line in ran.lines][-len(places.split()) :] == places.split()


FLAGS = Schema.record("flags", [("name", TEXT), ("flag", Schema.BOOLEAN.as_nullable)])


@pytest.mark.parametrize(
    ("condition", "place"),
    [("flag", "native"), ("name == 'text' ? 'true' : flag", "batch")],
)
def test_a_precondition_that_is_neither_true_nor_false_is_an_error_of_its_record(
    spark, tmp_path, condition, place
):
    given = [
        {"name": "dropped", "flag": True},
        {"name": "kept", "flag": False},
        {"name": "null", "flag": None},
        {"name": "text", "flag": None},
    ]
    properties = recipe("drop flag", schema=Schema.record("out", [("name", TEXT)]))
    properties |= {"precondition": condition, "on-error": "send-to-error-port"}
    ran = Ran(spark, tmp_path, properties, FLAGS, given)

    assert ran.records == [{"name": "kept"}]
    assert [each["record"]["name"] for each in ran.errors] == ["null", "text"]
    reported = f"Precondition '{condition}' does not result in true or false."
    assert {(each["code"], each["message"]) for each in ran.errors} == {(0, reported)}
    assert ran.lines[0].startswith(place)


@pytest.mark.parametrize("first", ["trim :name", "mask-shuffle name"])
def test_a_failure_says_which_lines_it_may_be_of(spark, tmp_path, first):
    """The first directive runs in Spark, or has the others run in batches."""
    numbers = [
        "set-column :age exp:{age + 1}",
        "rename name who",
        "set-column :age age / (age - 1)",
    ]

    where = r"\(line 2 or 4 of the recipe\)\. Record: \{(name|who): '\w+', age: '\w+'\}$"
    with pytest.raises(StageError, match=f"'set-column'.*{where}"):
        Ran(spark, tmp_path, recipe(first, *numbers), errors=False)


def test_a_failure_shows_long_records_shortened(spark, tmp_path):
    schema = Schema.record("long", [("id", Schema.INT), ("age", TEXT), ("note", TEXT)])
    given = [{"id": 7, "age": 'ö"ld', "note": "x" * 500}]

    with pytest.raises(StageError) as caught:
        Ran(spark, tmp_path, recipe("drop note"), schema, given, errors=False)

    shown = caught.value.message.partition("Record: ")[2]
    assert shown == "{id: 7, age: 'ö\"ld', note: '" + "x" * 58 + "…}"


def test_a_failure_says_that_a_record_is_too_long_to_show(spark, tmp_path):
    with pytest.raises(StageError, match=r"Record: \(its JSON has more than 8000 characters\)$"):
        Ran(
            spark,
            tmp_path,
            recipe("rename name who"),
            records=[{"name": "x" * 9000, "age": "old"}],
            errors=False,
        )


def test_a_precondition_that_is_neither_true_nor_false_fails_the_run(spark, tmp_path):
    properties = recipe("drop flag", schema=Schema.record("out", [("name", TEXT)]))

    with pytest.raises(StageError, match="Precondition 'flag' does not result in true or false"):
        Ran(spark, tmp_path, properties | {"precondition": "flag"}, FLAGS, [{}], errors=False)


def test_an_sql_precondition_keeps_the_records_for_which_it_is_true(spark, tmp_path):
    ran = Ran(
        spark,
        tmp_path,
        {
            "preconditionLanguage": "SQL",
            "preconditionSQL": "age > 30",
            "schema": str(Schema.record("out", [("name", TEXT), ("age", Schema.LONG.as_nullable)])),
        },
        records=[{"name": "ann", "age": "31"}, {"name": "cid", "age": "7"}],
    )

    assert ran.records == [{"name": "ann", "age": 31}]


def test_one_field_is_wrangled_and_the_whole_record_is_the_error_record(spark, tmp_path):
    ran = Ran(
        spark,
        tmp_path,
        recipe("uppercase age", field="age", schema=Schema.record("out", [("AGE", Schema.INT)]))
        | {"on-error": "send-to-error-port"},
    )

    assert ran.records == [{"AGE": 31}]
    assert [each["record"] for each in ran.errors] == GIVEN[1:]


def test_patterns_that_explode_fail_their_row_within_the_time_limit(spark, tmp_path):
    schema = Schema.record("out", [("name", TEXT)])
    ran = Ran(
        spark,
        tmp_path,
        recipe("extract-regex-groups name ^(a+)+$", schema=schema)
        | {"on-error": "send-to-error-port"},
        records=[{"name": "a" * 60 + "!", "age": None}, {"name": "aa", "age": None}],
    )

    assert [each["name"] for each in ran.records][-1] == "aa"
    assert len(ran.records) + len(ran.errors) == 2


def test_data_decide_and_the_declared_schema_gives_the_columns(spark, tmp_path):
    schema = Schema.record(
        "out", [("name", TEXT), ("age_1", TEXT), ("age_2", Schema.INT.as_nullable), ("more", TEXT)]
    )
    ran = Ran(
        spark,
        tmp_path,
        recipe("split-to-columns age -", schema=schema),
        records=[{"name": "ann", "age": "x-2"}, {"name": "bob", "age": "y"}],
    )

    assert ran.records == [
        {"name": "ann", "age_1": "x", "age_2": 2, "more": None},
        {"name": "bob", "age_1": "y", "age_2": None, "more": None},
    ]


def test_bytes_that_are_no_text_are_read_as_the_charset_says(spark, tmp_path):
    given = [b"ok", b"\xff\xfe", b"\xe2\x82", None, b"\xed\xa0\x80", "é".encode()]
    schema = Schema.record("r", [("b", Schema.BYTES.as_nullable)])
    ran = Ran(
        spark,
        tmp_path,
        recipe(
            "copy :b :c",
            "set-charset :c 'UTF-8'",
            "send-to-error c == 'ok'",
            "set-column :d c",
            schema=Schema.record("out", [("b", TEXT), ("c", TEXT), ("d", TEXT)]),
        ),
        schema,
        [{"b": each} for each in given],
    )

    texts = ["\ufffd" * 2, "\ufffd", None, "\ufffd" * 3, "é"]
    assert [tuple(record.values()) for record in ran.records] == [(text,) * 3 for text in texts]
    assert [error["record"] for error in ran.errors] == [{"b": b"ok"}]
