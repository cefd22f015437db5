"""Directives compiled to Spark give what they give in Python, for every kind of value."""

from __future__ import annotations

import base64
import datetime
import json
import math
import random
from typing import Any

import pytest

from localcdap.api.directive import NoNativeFormError
from localcdap.api.directive.rows import Columns
from localcdap.api.schema import Schema
from localcdap.plugin_lib.wrangler.directives.text_distance import round_to_single
from localcdap.plugin_lib.wrangler.recipe.batch import RowFailure
from localcdap.plugin_lib.wrangler.recipe.spark_frame import ERROR, ERROR_TYPE, SparkFrame
from tests.plugin_lib.wrangler.recipe_runs import (
    NUMBER,
    _create_frame,
    compile_natively,
    list_blank_columns,
    load_valid_recipe,
    run_in_python,
)

TEXT = Schema.STRING.as_nullable
PAIR = Schema.record("pair", [("x", Schema.INT.as_nullable), ("y", TEXT)])
GIVEN = Schema.record(
    "given",
    [
        ("Name", TEXT),
        ("other", TEXT),
        ("number", TEXT),
        ("mail", TEXT),
        ("escaped", TEXT),
        ("day", TEXT),
        ("int", Schema.INT.as_nullable),
        ("long", Schema.LONG.as_nullable),
        ("double", Schema.DOUBLE.as_nullable),
        ("flag", Schema.BOOLEAN.as_nullable),
        ("pair", PAIR.as_nullable),
    ],
)

RECIPES = [
    "rename :name :label",
    "rename :missing :label",
    "copy :name :copied",
    "copy :int :NAME true",
    "swap :name :int",
    "drop :NAME,:double,:missing",
    "keep :Name,:int,:name,:number__",
    "change-column-case lower",
    "cleanse-column-names",
    "columns-replace s/a/_/g",
    "set-headers :one,:two",
    "uppercase :name",
    "lowercase :name",
    "trim :name",
    "ltrim :name",
    "rtrim :name",
    "trim :int",
    "fill-null-or-empty :name 'none'",
    "fill-null-or-empty :missing 'none'",
    "merge :name :int :joined '\\u002d'",
    "merge :long :other :Name '-'",
    "mask-number :number 'xx-##\\'X$#.9#'",
    "mask-number :name '#x##'",
    "mask-number :long 'xx#1#'",
    "mask-number :missing '#'",
    "mask-shuffle :name",
    "find-and-replace :name,:other,:int s/[a-c]+/<>/g",
    "find-and-replace :name s/a//g",
    "filter-by-regex if-matched :name '.*a.*'",
    "filter-by-regex if-not-matched :int '[0-9]+'",
    "filter-by-regex if-matched :missing 'a'",
    "filter-by-regex if-matched :name 'null'",
    "filter-empty-or-null :name",
    "filter-empty-or-null :name,:int",
    "filter-empty-or-null :name,:missing",
    "filter-row exp:{int > 3}",
    "filter-row exp:{name == 'abc'} false",
    "send-to-error exp:{int < 0} 'below'",
    "send-to-error exp:{name == null}",
    "fail exp:{int > 100}",
    "set-column :made exp:{int + 1}",
    "set-column :name exp:{name + 'x'}",
    "set-type :number int",
    "set-type :number short",
    "set-type :number long",
    "set-type :number double",
    "set-type :number float",
    "set-type :number bool",
    "set-type :number string",
    "set-type :name bytes",
    "set-type :long int",
    "set-type :long short",
    "set-type :int long",
    "set-type :int double",
    "set-type :long string",
    "set-type :long bool",
    "set-type :missing int",
    "hash :name 'SHA-256' true",
    "hash :name 'MD5' true",
    "hash :name 'SHA-1' true",
    "hash :name 'SHA-512' true",
    "hash :name 'SHA-384' false",
    "encode hex :name",
    "encode base64 :name",
    "split-email :mail",
    "flatten-record :pair",
    "quantize :double :label 0:1='low',1:2='mid'",
    "quantize :number :other 0:1='low',5:500='high'",
    "url-encode :name",
    "url-decode :escaped",
    "parse-timestamp :long",
    "parse-timestamp :long 'seconds'",
    "parse-timestamp :number 'microseconds'; timestamp-to-datetime :number",
    "parse-timestamp :int 'seconds'; parse-timestamp :number 'seconds'; diff-date :int :number :passed",
    "parse-timestamp :int 'seconds'; timestamp-to-datetime :int; datetime-to-timestamp :int",
    "diff-date :name :int :passed",
    "parse-as-simple-date :day 'yyyy-MM-dd'",
    "parse-as-simple-date :day 'MM/dd/yy'",
    "parse-as-simple-date :day 'yyyyMMdd'",
    "parse-as-simple-date :day \"yyyy-MM-dd'T'HH:mm:ss.SSS\"; timestamp-to-datetime :day",
    "parse-as-simple-date :day 'd.M.yyyy H:m'",
    "parse-as-simple-date :day 'HH:mm'",
    "parse-as-simple-date :missing 'HH:mm'",
    # Directives one after another, as recipes have them.
    "uppercase :name; fill-null-or-empty :name 'X'; filter-by-regex if-matched :name 'X'; mask-shuffle :name",
    "send-to-error exp:{int < 0}; set-type :number int; filter-row exp:{int == 3}; rename :int :i",
]

CSV = Schema.record("lines", [("body", TEXT)])
CSV_RECIPES = [
    "parse-as-csv :body ','",
    "parse-as-csv :body '|'; drop :body",
    "parse-as-csv :body '\\t'",
]
WANTED = frozenset({"body", *(f"body_{i}" for i in range(1, 6))})

_LETTERS = [
    *"abcABC019 -.@<>'$\\\n\t\u00e9\u00c4\u00df\u0130\u212a\u00a0\u2003",
    "\U0001f600",
    "abc",
    "  ",
]
_NUMBERS = [
    *(
        "0",
        "7",
        "-12",
        "+3",
        "007",
        "32767",
        "32768",
        "2147483647",
        "2147483648",
        "9223372036854775808",
    ),
    *(
        "1.5",
        ".5",
        "5.",
        "1e3",
        "-1E-3",
        "1d",
        "2.5f",
        "NaN",
        "Infinity",
        "-Infinity",
        "1e400",
        " 4 ",
    ),
    *(
        "",
        "  ",
        "x",
        "1 2",
        "0x10",
        "1_000",
        "\u0661",
        "true",
        "TRUE",
        "false",
        "1.",
        "-",
        "nan",
        "1e",
    ),
]
_MAILS = ["a@b.c", "A <a@b.c>", "a", "", "<a@b", "a@b@c", "<>", ">x<y@z>", "@", "a@", "x <y> <z@w>"]

_DATES = [
    *("2016-12-10", "16-1-5", " 2016- 1-\t2", "2016-13-40", "2016-00-00", "2016-12-10 trailing"),
    *("2016--1-05", "12/10/16", "1/2/2045", "1/2/45", "1/2/50", "02/30/20", "1/2/5", "1/2/007"),
    *(
        "20161210",
        "2016121",
        "201612",
        "2016 1 2",
        "2017-02-02T21:06:44.123",
        "2017-02-02T21:06:44.5",
    ),
    *("2017-02-02T25:61:61.123456Z", "5.6.2020 7:8", "31.12.9999 23:59", "31.12.9999 24:00"),
    *("1.1.1 0:0", "0.1.1 0:0", "1.1.0 0:0", "5.6.99999999999 1:1", "1:2", "24:00", ""),
    *("x", "-", "99999999999:1", "2016-12-\u0661"),
]


def _text(source: random.Random, letters: list[str], most: int = 6) -> str | None:
    if source.random() < 0.1:
        return None
    return "".join(source.choices(letters, k=source.randint(0, most)))


def _records(count: int) -> list[dict[str, Any]]:
    source = random.Random(7)  # noqa: S311 - the same values in every run
    return [
        {
            "Name": _text(source, _LETTERS),
            "other": _text(source, _LETTERS),
            "number": source.choice([None, *_NUMBERS]),
            "mail": source.choice([None, *_MAILS]),
            "escaped": source.choice(
                [None, "", "a+b", "%41%c3%a4", "%", "%4", "%zz", "%ff", "ä%20+"]
            ),
            "day": source.choice([None, *_DATES]),
            "int": source.choice([None, 0, 3, -5, 101, 2**31 - 1, -(2**31)]),
            "long": source.choice([None, 0, 40000, -40000, 2**31, -(2**63), 2**63 - 1, 65536]),
            "double": source.choice([None, 0.0, 1.5, -2.25]),
            "flag": source.choice([None, True, False]),
            "pair": source.choice([None, {"x": None, "y": "b"}, {"x": 1, "y": None}]),
        }
        for _ in range(count)
    ]


def _lines(count: int) -> list[dict[str, Any]]:
    source = random.Random(11)  # noqa: S311
    letters = ["a", "b ", ",", ",", "|", "\t", '"', '"', '""', "\n", "\r\n", " ", "é"]
    lines = [_text(source, letters, 9) for _ in range(count)]
    odd = ['"a""b" ,c', 'a,"b\nc",d', "a,b\nc,d,e\n", "\n\n", '"a', '"a"b']
    return [{"body": line} for line in [*lines, *odd]]


def _natively(
    spark: Any, recipes: list[str], schema: Schema, records: list[dict[str, Any]]
) -> list[Any]:
    """For each recipe and record the rows, or kind and code of the failure; all in one Spark job."""
    wanted = WANTED if schema is CSV else None
    given = _create_frame(spark, schema, records)
    frames = [compile_natively(given, recipe, schema, wanted) for recipe in recipes]
    parts = [_as_texts(number, frame) for number, frame in enumerate(frames)]
    while len(parts) > 1:  # a tree, as Spark is slow at planning deep unions
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [pair[0].union(pair[1]) if len(pair) == 2 else pair[0] for pair in pairs]
    found: list[Any] = [[[] for _ in records] for _ in recipes]
    for row in parts[0].collect():
        reported = (row.kind, row.code) if row.kind is not None else None
        found[row.recipe][row.number].append(reported or json.loads(row.v))
    return found


def _as_texts(number: int, frame: SparkFrame) -> Any:
    from pyspark.sql import functions as f

    names = [name for name in frame.columns if name != NUMBER]
    df = frame.to_dataframe()
    members = [
        (f.col(physical).cast("string") if _is_moment(frame, name) else f.col(physical)).alias(name)
        for name, physical in zip(frame.columns, frame.physical, strict=True)
    ]
    shown = f.struct(*[m for m, name in zip(members, frame.columns, strict=True) if name in names])
    error = f.col(ERROR) if ERROR in frame.carried else f.lit(None).cast(ERROR_TYPE)
    return df.select(
        f.lit(number).alias("recipe"),
        f.col(NUMBER).alias("number"),
        error.getField("kind").alias("kind"),
        error.getField("code").alias("code"),
        f.to_json(shown, {"ignoreNullFields": "false"}).alias("v"),
    )


def _is_moment(frame: SparkFrame, name: str) -> bool:
    schema = frame.columns.schema(name)
    return schema is not None and schema.non_nullable in (Schema.TIMESTAMP, Schema.DATETIME)


def _batched(made: Any, native: list[Any], blank: frozenset[str]) -> list[Any]:
    """What a batch made, as :func:`_natively` has it. Columns that its rows lack are null, as a column of
    Spark is in every row, and only those that are wanted are there.

    :param blank: the columns in which ``set-type`` leaves blank texts, which the output makes null.
    """
    if isinstance(made, RowFailure):
        return [(made.kind, made.code)]
    rows = []
    for index, row in enumerate(made):
        like = native[index] if index < len(native) and isinstance(native[index], dict) else row
        rows.append({name: _as_json(row.value(name)) for name in like})
        for name in rows[-1].keys() & {each for each in like if each.lower() in blank}:
            if isinstance(rows[-1][name], str) and not rows[-1][name].strip():
                rows[-1][name] = None
    return rows


def _as_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime.datetime):
        text = value.strftime("%H:%M:%S.%f").rstrip("0").rstrip(".")
        return f"{value.year:04}-{value.month:02}-{value.day:02} {text}"
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return value


@pytest.mark.spark
def test_directives_have_native_forms(spark):
    given = _create_frame(spark, GIVEN, _records(1))

    for recipe in RECIPES:
        compile_natively(given, recipe, GIVEN)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("schema", "recipes"),
    [(GIVEN, RECIPES[0::2]), (GIVEN, RECIPES[1::2]), (CSV, CSV_RECIPES)],
    ids=["one half", "the other", "csv"],
)
def test_native_forms_answer_as_batches(spark, schema, recipes):
    records = _lines(1500) if schema is CSV else _records(400)

    found = _natively(spark, recipes, schema, records)

    for recipe, natives in zip(recipes, found, strict=True):
        blank = list_blank_columns(recipe, schema)
        for record, native, made in zip(
            records, natives, run_in_python(recipe, records), strict=True
        ):
            expected = _batched(made, native, blank)
            if recipe.endswith(" float"):
                native, expected = _in_single_precision(native), _in_single_precision(expected)
            assert native == expected, (recipe, record)


def _in_single_precision(rows: list[Any]) -> list[Any]:
    """Python has a float of 32 bits as the double that prints alike."""
    return [
        row | {"number": round_to_single(row["number"])}
        if isinstance(row, dict) and isinstance(row["number"], float)
        else row
        for row in rows
    ]


REFUSED = [
    ("uppercase-less", "titlecase :Name", "there is no Spark form"),
    ("a group", "find-and-replace :Name s/(a)/$1/g", "groups"),
    ("only the first", "find-and-replace :Name s/a/b/", "no such replacement"),
    ("may explode", "filter-by-regex if-matched :Name '(a+)+b'", "time limit"),
    ("a header", "parse-as-csv :Name ',' true", "first row"),
    ("unknown columns", "parse-as-csv :Name ','", "only data tell"),
    ("a metric", "send-to-error exp:{int < 0} counted", "metric"),
    ("no text", "mask-shuffle :int", "not text"),
    ("missing", "hash :missing 'MD5'", "no column"),
    ("taken", "rename :Name :other", "exists already"),
]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("recipe", "reason"), [case[1:] for case in REFUSED], ids=[c[0] for c in REFUSED]
)
def test_what_spark_cannot_is_left_to_batches(spark, recipe, reason):
    columns = Columns([(field.name, field.schema) for field in GIVEN])
    frame = SparkFrame(spark.range(1), columns, {name: f"c{i}" for i, name in enumerate(columns)})

    (step,) = load_valid_recipe(recipe).steps
    assert step.directive is not None

    with pytest.raises(NoNativeFormError, match=reason):
        step.directive.native(frame)


@pytest.mark.spark
def test_a_failure_in_spark_names_columns_and_their_values(spark):
    schema = Schema.record("r", [(name, TEXT) for name in "nm"])
    given = _create_frame(spark, schema, [{"n": "z" * 100, "m": None}])
    recipes = ["set-column :c exp:{toLong(n) + m}", "filter-row exp:{toLong(m) > 1}"]
    frames = [compile_natively(given, recipe, schema) for recipe in recipes]
    errors = [frame.to_dataframe().select(f"{ERROR}.message") for frame in frames]
    failed, unmet = (row.message for row in errors[0].union(errors[1]).collect())
    assert failed == (
        "Error encountered while executing 'set-column' : the expression cannot be evaluated: "
        f"toLong(n) + m; column 'm' is null; column 'n' is '{'z' * 80}'"
    )
    assert unmet.endswith("the condition has no value: toLong(m) > 1; column 'm' is null")


@pytest.mark.spark
def test_digits_of_other_scripts_are_digits_as_in_java(spark):
    """``Character.digit`` reads Arabic, Devanagari and wide digits, but none of two UTF-16 units."""
    schema = Schema.record("r", [("n", TEXT)])
    texts = ["٤٢", "-१२", "+３", "1٢", "\U0001d7d9", "²", "٤٫٥", "٩" * 20]
    records = [{"n": text} for text in texts]
    recipes = [
        "set-column :c exp:{toLong(n)}",
        "set-column :c exp:{toInteger(n)}",
        "set-type :n long",
    ]
    for recipe, found in zip(recipes, _natively(spark, recipes, schema, records), strict=True):
        expected = run_in_python(recipe, records)
        assert found[:4] == [[dict(row) for row in rows] for rows in expected[:4]], recipe
        assert all(isinstance(each, RowFailure) for each in expected[4:]), recipe
        assert found[4:] == [[(1, 0)]] * 4, recipe
    assert [each[0]["n"] for each in expected[:4]] == [42, -12, 3, 12]
