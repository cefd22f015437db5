"""What directives say of columns before there are rows holds for the rows that they make."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from localcdap.api.directive.rows import Columns
from localcdap.api.schema import LogicalType, Schema, Type
from localcdap.plugin_lib.wrangler.recipe.batch import RowFailure
from localcdap.plugin_lib.wrangler.recipe.registry import load_shipped_directives
from tests.plugin_lib.wrangler.directives.recipes import (
    build_valid_directives,
    list_problems,
    run_rows,
)
from tests.plugin_lib.wrangler.directives.test_hostile import ELSEWHERE
from tests.plugin_lib.wrangler.directives.test_native import GIVEN, RECIPES, _records

MORE = [
    "titlecase :name",
    "parse-as-csv :name ','",
    "split-to-columns :name 'a'",
    "split-to-rows :name 'a'",
    "set-record-delim :name 'a'",
    "split :name 'a' :x :y",
    "indexsplit :name 1 2 :x",
    "extract-regex-groups :name '(a)'",
    "split-url :mail",
    "cut-character :name :x 1-2",
    "decode hex :number",
    "encode base32 :name",
    "url-encode :name",
    "url-decode :name",
    "generate-uuid :id",
    "generate-uuid :int",
    "text-metric jaro :name :other :x",
    "text-distance jaro :name :other :double",
    "create-record :r :name,:int",
    "create-record :r :missing",
    "flatten :name,:missing",
    "set-type :number decimal 2",
    "set-type :double decimal 2",
    "set-type :double string",
    "set-type :flag string",
    "quantize :double :x 0:1='a'",
    "parse-as-simple-date :number 'H'; format-date :number 'yyyy'",
    "parse-as-simple-date :number 'H'",
    "parse-timestamp :long",
    "parse-timestamp :int 'seconds'; timestamp-to-datetime :int",
    "parse-as-datetime :number 'y'",
    "current-datetime :name; datetime-to-timestamp :name",
    "current-datetime :x; format-datetime :x 'y'",
    "diff-date :int :now :x",
    "parse-as-date :number",
    "parse-as-currency :number :x",
    "format-as-currency :double :x",
    "set-variable v exp:{int}; set-column :x exp:{name}",
    "increment-variable v 1 exp:{int == null}",
    "send-to-error-and-continue exp:{int == null}",
]

_PYTHON: dict[Any, tuple[type, ...]] = {
    Type.STRING: (str,),
    Type.INT: (int,),
    Type.LONG: (int,),
    Type.FLOAT: (float,),
    Type.DOUBLE: (float,),
    Type.BOOLEAN: (bool,),
    Type.BYTES: (bytes,),
    Type.RECORD: (dict,),
    LogicalType.DECIMAL: (Decimal,),
    LogicalType.TIMESTAMP_MICROS: (datetime.datetime,),
    LogicalType.DATETIME: (datetime.datetime,),
}


def _fits(value: Any, schema: Schema, *, may_be_blank: bool) -> bool:
    if value is None or (may_be_blank and isinstance(value, str) and not value.strip()):
        return schema.is_nullable
    inner = schema.non_nullable
    return isinstance(value, _PYTHON[inner.logical_type or inner.type])


@pytest.mark.parametrize("recipe", [*RECIPES, *MORE])
def test_rows_have_the_reported_columns(recipe):
    columns = Columns([(field.name, field.schema) for field in GIVEN])
    for directive in build_valid_directives(recipe):
        directive.propagate(columns)
    records = _records(120)
    keeps_blanks = "set-type" in recipe  # which the output makes null

    made = [rows for rows in run_rows(recipe, records) if not isinstance(rows, RowFailure)]

    assert not columns.problems or not made
    for row in (row for rows in made for row in rows):
        for name, value in row.items():
            if columns.find(name) is None:
                assert columns.open, name
                continue
            schema = columns.schema(name)
            is_right = schema is None or _fits(value, schema, may_be_blank=keeps_blanks)
            assert is_right, (name, value, schema)
        order = [name for name in columns if name in row]
        assert order == [name for name in row if name in order]


CERTAIN = [
    "rename :name :int",
    "copy :missing :x",
    "copy :name :int",
    "swap :name :missing",
    "mask-shuffle :missing",
    "cut-character :missing :x 1-2",
    "hash :missing 'MD5'",
    "url-encode :missing",
    "split-email :missing",
    "quantize :missing :x 1:2='a'",
    "format-date :missing 'y'",
    "diff-date :missing :now :x",
    "flatten-record :name",
    "filter-row exp:{int + 1}",
]


DROPPING = [
    "flatten :missing,:lost",
    "split-to-columns :missing ','",
    "set-record-delim :missing ','",
]


@pytest.mark.parametrize("recipe", DROPPING)
def test_what_drops_every_row_is_warned_of(recipe):
    columns = Columns([(field.name, field.schema) for field in GIVEN])

    (directive,) = build_valid_directives(recipe)
    directive.propagate(columns)

    ((message, _),) = columns.warnings
    assert "There is no column 'missing'" in message


@pytest.mark.parametrize("recipe", CERTAIN)
def test_what_cannot_work_on_any_row_is_reported_before(recipe):
    columns = Columns([(field.name, field.schema) for field in GIVEN])

    (directive,) = build_valid_directives(recipe)
    directive.propagate(columns)

    assert columns.problems


@pytest.mark.parametrize("name", load_shipped_directives().names)
def test_examples_are_right(name):
    cls = load_shipped_directives()[name]

    assert cls.categories
    assert cls.examples
    for example in cls.examples:
        reported = list_problems(example)
        assert not reported or name in ELSEWHERE, (example, reported)
