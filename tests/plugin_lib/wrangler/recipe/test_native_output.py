"""The conversions of the output are the same in Spark as in Python, for any values."""

from __future__ import annotations

import datetime
import random
import struct

import pytest

from localcdap.api.directive import DirectiveError
from localcdap.api.directive.rows import Columns, Row
from localcdap.api.schema import Schema
from localcdap.plugin_lib.wrangler.recipe.batch import RowFailure
from localcdap.plugin_lib.wrangler.recipe.output import OutputConverter, convert_output
from localcdap.plugin_lib.wrangler.recipe.spark_frame import FAILURE, SparkFrame
from tests.plugin_lib.wrangler.recipe_runs import (
    NUMBER,
    _collect_tables,
    _create_frame,
    _read_results,
    _select_structs,
)

NUMBERS = [
    "", " ", "\t", "0", "-0", "+7", "007", " 7", "7 ", "1.5", ".5", "5.", "1e3", "1E-3", "1.5f", "2D",
    "1e400", "NaN", "Infinity", "-Infinity", "nan", "inf", "0x10", "1_000", "2147483647", "2147483648",
    "-2147483649", "9223372036854775807", "9223372036854775808", "1e", "--1", "١", "true", "TRUE", "no", "ä",
    None, "-.5e+2",
]  # fmt: skip
SOURCES = {
    "text": (Schema.STRING, NUMBERS),
    "whole": (Schema.INT, [0, 1, -1, 2**31 - 1, -(2**31), None]),
    "long": (
        Schema.LONG,
        [0, -7, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**53 + 1, 2**63 - 1, -(2**63), None],
    ),
    "real": (Schema.DOUBLE, [0.0, -0.0, 1.5, 1e10, 1e-5, 123456789.125, float("inf"), None]),
    "flag": (Schema.BOOLEAN, [True, False, None]),
    "day": (Schema.DATE, [datetime.date(2026, 1, 2), datetime.date(1, 1, 1), None]),
}
TARGETS = {
    "text": [Schema.INT, Schema.LONG, Schema.DOUBLE, Schema.BOOLEAN, Schema.BYTES],
    "whole": [Schema.LONG, Schema.DOUBLE, Schema.STRING],
    "long": [Schema.INT, Schema.DOUBLE, Schema.STRING],
    "real": [Schema.STRING],
    "flag": [Schema.STRING],
    "day": [Schema.STRING],
}
GIVEN = Schema.record(
    "given", [(name, schema.as_nullable) for name, (schema, _) in SOURCES.items()]
)


def records() -> list[dict]:
    draw = random.Random(7)
    made = [{"text": each} for each in NUMBERS]
    for _ in range(200):
        real = struct.unpack("d", struct.pack("Q", draw.getrandbits(64)))[0]
        row = {name: draw.choice(values) for name, (_, values) in SOURCES.items()}
        if real == real and abs(real) < 1e300:
            row |= {"real": draw.choice([real, round(draw.uniform(-1e6, 1e6), 3)])}
        row["text"] = draw.choice(
            [repr(row["real"]), str(draw.randrange(-(2**33), 2**33)), row["text"]]
        )
        made.append(row)
    return [{name: row.get(name) for name in SOURCES} for row in made]


def run_in_python(name: str, target: Schema, rows: list[dict]) -> list:
    converter = OutputConverter(Schema.record("out", [(name, target)]))
    found = []
    for row in rows:
        try:
            found.append([converter.convert(Row(row))])
        except DirectiveError as error:
            found.append(RowFailure(FAILURE, 0, str(error)))
    return found


@pytest.mark.spark
def test_spark_converts_as_python_does(spark):
    rows = records()
    df = _create_frame(spark, GIVEN, rows)
    cases = [
        (name, target)
        for name, targets in TARGETS.items()
        for each in targets
        for target in (each, each.as_nullable)
    ]
    frames = []
    for name, target in cases:
        columns = Columns([(field.name, field.schema) for field in GIVEN])
        columns.put(NUMBER, Schema.INT)
        names = {each: f"c{index}" for index, each in enumerate(GIVEN.field_names)}
        frame = SparkFrame(df, columns, {**names, NUMBER: NUMBER})
        convert_output(frame, Schema.record("out", [(name, target), (NUMBER, Schema.INT)]))
        frames.append(frame)

    tables = _collect_tables(
        [_select_structs(number, frame) for number, frame in enumerate(frames)]
    )

    for (name, target), frame, table in zip(cases, frames, tables, strict=True):
        native, python = _read_results(frame, table, len(rows)), run_in_python(name, target, rows)
        for row, one, other in zip(rows, native, python, strict=True):
            assert repr(one) == repr(other), (row[name], target)
