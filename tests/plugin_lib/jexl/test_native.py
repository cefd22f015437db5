"""Native expressions answer as the batch form does, nulls and errors included."""

from __future__ import annotations

import datetime
import math
import random
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from localcdap.api.directive.rows import Row
from localcdap.api.schema import Schema
from localcdap.plugin_lib.jexl import EvaluationError, parse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = Schema.record(
    "row",
    [
        ("i", Schema.INT.as_nullable),
        ("j", Schema.INT.as_nullable),
        ("l", Schema.LONG.as_nullable),
        ("d", Schema.DOUBLE.as_nullable),
        ("e", Schema.DOUBLE.as_nullable),
        ("s", Schema.STRING.as_nullable),
        ("t", Schema.STRING.as_nullable),
        ("b", Schema.BOOLEAN.as_nullable),
        ("whole", Schema.INT),
        ("text", Schema.STRING),
        ("day", Schema.DATE.as_nullable),
        ("dotted.name", Schema.INT.as_nullable),
        ("r", Schema.FLOAT.as_nullable),
        ("m", Schema.decimal(10, 2).as_nullable),
    ],
)
_TEXTS = [
    "",
    " ",
    "a",
    "A",
    "abc",
    "Abc def",
    " x ",
    "\tx\n",
    "false",
    "true",
    "0",
    "1",
    "-7",
    "+5",
]
_TEXTS += [
    "1.5",
    " 2 ",
    "1e3",
    "1d",
    "NaN",
    "-Infinity",
    "99999999999",
    "9223372036854775808",
    "é",
    "ß",
]
_TEXTS += [
    "ÀÉ",
    "日本",
    "😀",
    "a😀b",
    "1_0",
    "0x10",
    "inf",
    "12:30",
    "a\nb",
    "null",
    "1f",
    "٣",
    ".5",
    "5.",
    ".",
]
_INTS = [0, 1, -1, 2, 7, 15, 2**31 - 1, -(2**31), 1000]
_LONGS = [*_INTS, 2**63 - 1, -(2**63), 2**53 + 1]
_DOUBLES = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    0.1,
    1e300,
    -1e300,
    5e-324,
    math.nan,
    math.inf,
    -math.inf,
    7.0,
    15.0,
]


def made_rows(count: int) -> list[dict[str, Any]]:
    draw = random.Random(7)

    def maybe(values: list[Any]) -> Any:
        return None if draw.random() < 0.15 else draw.choice(values)

    days = [datetime.date(2020, 2, 29), datetime.date(1969, 12, 31)]
    return [
        {
            "i": maybe(_INTS),
            "j": maybe(_INTS),
            "l": maybe(_LONGS),
            "d": maybe(_DOUBLES),
            "e": maybe(_DOUBLES),
            "s": maybe(_TEXTS),
            "t": maybe(_TEXTS),
            "b": maybe([True, False]),
            "whole": draw.choice(_INTS),
            "text": draw.choice(_TEXTS),
            "day": maybe(days),
            "dotted.name": maybe(_INTS),
            "r": maybe([0.0, -0.0, 1.5, -2.0, math.nan, math.inf]),
            "m": maybe([Decimal("0.00"), Decimal("1.50"), Decimal("-7.00")]),
        }
        for _ in range(count)
    ]


WRITTEN = [
    "i + 1 < 5 ? 'yes' : 'no'",
    "age < 15",
    "s < 15 ? 'young' : s",
    "s == 'a' || t == 'a'",
    "s + '-' + t",
    "s + i + b",
    "i + j * 2",
    "i / j",
    "i % j",
    "-7 / 2",
    "i * j - 1",
    "-i",
    "-d",
    "d + e",
    "d * i",
    "d / e",
    "d % e",
    "d > e",
    "d <= e",
    "d == e",
    "d == i",
    "d < l",
    "l == i",
    "i == s",
    "l < s",
    "d == s",
    "d > s",
    "b == s",
    "b == i",
    "b != true",
    "!b",
    "!s",
    "!d",
    "r ? 1 : 2",
    "m ? 1 : 2",
    "!r || !m",
    "b && i > 0",
    "b || s == 'x'",
    "s && t && b",
    "i > 0 && s < 5",
    "s =~ '[a-z]+'",
    "s !~ '.*1.*'",
    "i =~ '[0-9]'",
    "s =~ 'a.b'",
    "s =~ '(a|b)c*'",
    r"s =~ '^\\W*$'",
    r"s =~ '\\d+'",
    "s =^ 'a'",
    "s =$ t",
    "s !^ 'A'",
    "s !$ 'b'",
    "empty(s)",
    "empty(d)",
    "empty i",
    "empty(b)",
    "size(s) > 2",
    "size(s + t)",
    "empty(s + t)",
    "not empty(s) and i gt 3",
    "s ?: 'none'",
    "i ?: j",
    "d ?: e",
    "s ?? t ?? 'z'",
    "s == null",
    "null != i",
    "day == null",
    "b ? i : l",
    "b ? day : null",
    "coalesce(i, j, 3)",
    "coalesce(s, t)",
    "rcoalesce(s, t, 'q')",
    "NullToEmpty(s)",
    "NullToZero(i)",
    "NullToValue(s, 'x')",
    "IsNull(day)",
    "IsNotNull(s) ? s : 'null'",
    "concat(s, t)",
    "toInteger(s)",
    "toLong(s)",
    "toDouble(s)",
    "math:abs(i)",
    "math:abs(d)",
    "dq:isnull(s)",
    "dq:isempty(s)",
    "string:upperCase(s)",
    "string:lowerCase(s)",
    "string:trim(s)",
    "string:length(s)",
    "string:defaultString(s)",
    "string:isEmpty(s)",
    "string:isNotEmpty(s)",
    "string:equals(s, t)",
    "string:contains(s, t)",
    "s.trim()",
    "s.toUpperCase() + t.toLowerCase()",
    "s.isEmpty()",
    "s.contains('a') ? 1 : 2",
    "s.startsWith(t)",
    "s.endsWith('c')",
    "s.concat(t)",
    "s.trim() ?: 'nothing'",
    "b ? s.trim() : t.trim()",
    "s?.trim()",
    "missing == null",
    "missing ?: 'd'",
    "dotted.name + 1",
    "S == 'abc'",
    "text + whole",
    "whole * whole",
    "toDouble(s) * 2 + d",
    "math:abs(toInteger(s)) + 1",
    "(i + j) * 2 > 10 and (b or s eq 'a')",
    "1 < 2",
    "'a' + 1",
    "i <= s",
    "d >= e",
    "e < d || d < e",
    "l <= i",
    "i >= null",
    "null <= s",
    "s == 1.5",
    "(0 >= s.trim()) >= e",
]


_LEAVES = ["i", "j", "l", "d", "e", "s", "t", "b", "r", "m", "whole", "text", "null", "missing"]
_LEAVES += ["0", "3", "-1", "2.5", "'a'", "''", "'7'", "true"]
_SYMBOLS = [
    "+",
    "-",
    "*",
    "/",
    "%",
    "==",
    "!=",
    "<",
    ">",
    "<=",
    ">=",
    "&&",
    "||",
    "=^",
    "=$",
    "?:",
    "??",
]
_FORMS = [
    "({a} ? {b} : {c})",
    "(!{a})",
    "empty({a})",
    "size({a})",
    "coalesce({a}, {b})",
    "NullToZero({a})",
    "toInteger({a})",
    "string:upperCase({a})",
    "({a} =~ '[a-z0-9]*')",
    "({a}).trim()",
]


def generated(count: int) -> list[str]:
    """Random expressions, typed loosely."""
    draw = random.Random(11)

    def make(depth: int) -> str:
        if depth == 0 or draw.random() < 0.2:
            return draw.choice(_LEAVES)
        a, b, c = (make(depth - 1) for _ in range(3))
        symbols = [f"({a} {symbol} {b})" for symbol in draw.sample(_SYMBOLS, 6)]
        return draw.choice([*symbols, *(form.format(a=a, b=b, c=c) for form in _FORMS)])

    return [make(3) for _ in range(count)]


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return (left != left and right != right) or (
            left == right and math.copysign(1, left) == math.copysign(1, right)
        )
    return type(left) is type(right) and left == right


def _in_python(text: str, rows: list[dict[str, Any]]) -> list[tuple[bool, Any]]:
    """(fails, value) of each row."""
    run = parse(text).compile()
    found: list[tuple[bool, Any]] = []
    for row in rows:
        try:
            found.append((False, run(Row(row))))
        except EvaluationError:
            found.append((True, None))
    return found


def _in_spark(spark: SparkSession, texts: list[str], rows: list[dict[str, Any]]) -> Any:
    """For each expression with a native form, the same; all in one job."""
    import pyarrow as pa
    from pyspark.sql import functions as f

    from localcdap.api.arrow import RecordCodec
    from localcdap.engine.plan.spark_types import spark_schema

    frame = spark.createDataFrame(
        pa.Table.from_batches([RecordCodec(SCHEMA).encode(rows)]),
        spark_schema(SCHEMA, nullable=True),
    )
    natives = {text: parse(text).native(SCHEMA) for text in texts}
    columns = []
    for number, native in enumerate(natives.values()):
        if native is not None:
            failing = f.lit(False) if native.failing is None else native.failing
            columns += [native.column.alias(f"v{number}"), failing.alias(f"f{number}")]
    table = frame.select(*columns).toArrow()
    return {
        text: (
            natives[text],
            list(zip(*(table.column(f"{k}{n}").to_pylist() for k in "fv"), strict=True)),
        )
        for n, text in enumerate(natives)
        if natives[text] is not None
    }


@pytest.mark.spark
def test_spark_answers_as_python_does(spark: SparkSession) -> None:
    rows = made_rows(80)
    texts = list(dict.fromkeys([*WRITTEN, *generated(100)]))
    found = _in_spark(spark, texts, rows)
    assert len(found) > 120, "many of these have a native form"
    wrong = []
    for text, (native, answers) in found.items():
        expected = _in_python(text, rows)
        for row, want, have in zip(rows, expected, answers, strict=True):
            if want[0] != have[0] or not _same(want[1], have[1]):
                used = {name: row.get(name) for name in parse(text).variables}
                wrong.append(f"{text} with {used}: python {want}, spark {have}")
                break
        reported = parse(text).type(SCHEMA)
        if reported is not None:
            assert reported.non_nullable == native.type.non_nullable, text
        if not native.type.is_nullable:
            assert all(fails or value is not None for fails, value in answers), text
    assert not wrong, "\n".join(wrong)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_what_has_no_equal_in_spark_has_no_native_form() -> None:
    for text in (
        "l + 1",
        "s * 2",
        "s < t",
        "d + 's'",
        "s =~ '(a+)+b'",
        "dq:isNumber(s)",
        "this.size()",
    ):
        assert parse(text).native(SCHEMA) is None, text
