"""Declared directives for tests of the language, without those that are shipped."""

from __future__ import annotations

from typing import Any

from localcdap.api.directive import Directive, argument
from localcdap.plugin_lib.wrangler.language import (
    DirectiveCall,
    ExpressionSource,
    Recipe,
    parse_recipe,
)


class Any1(Directive):
    column: str = argument.column("A column.")


class Rename(Directive):
    source: str = argument.column("A column.")
    target: str = argument.column("A column.")


class Drop(Directive):
    columns: list[str] = argument.columns("Columns.", name="column")


class SetColumn(Directive):
    column: str = argument.column("A column.")
    expression: Any = argument.expression("A value.")


class FilterRow(Directive):
    condition: Any = argument.expression("A condition.")
    type: bool = argument.boolean("Which rows go.", default=True)


class FilterByRegex(Directive):
    match_type: str = argument.identifier("Which.", choices=("if-matched", "if-not-matched"))
    column: str = argument.column("A column.")
    regex: str = argument.text("A pattern.")


class ParseCsv(Directive):
    col: str = argument.column("A column.")
    delimiter: str = argument.text("A delimiter.", default=",")
    header: bool = argument.boolean("Whether there is one.", default=False)


class SetType(Directive):
    column: str = argument.column("A column.")
    type: str = argument.identifier("A type.")
    scale: Any = argument.number("Digits.", default=None)
    rounding_mode: str | None = argument.text("How.", default=None)
    precision: Any = argument.properties("Digits.", default=None)


class Quantize(Directive):
    source: str = argument.column("A column.")
    destination: str = argument.column("A column.")
    ranges: Any = argument.ranges("Ranges.")


class Replace(Directive):
    column: list[str] = argument.columns("Columns.")
    pattern: str = argument.text("A script.")


class SendToError(Directive):
    condition: Any = argument.expression("A condition.")
    metric: str | None = argument.identifier("A metric.", default=None)
    message: str | None = argument.text("A message.", default=None)


class SetVariable(Directive):
    variable: str = argument.identifier("A variable.")
    condition: Any = argument.expression("A value.")


class Increment(Directive):
    variable: str = argument.identifier("A variable.")
    value: Any = argument.number("A number.")
    condition: Any = argument.expression("A condition.")


class FixedLength(Directive):
    column: str = argument.column("A column.")
    width: Any = argument.numbers("Widths.")
    padding: str | None = argument.text("Padding.", default=None)


class Merge(Directive):
    column1: str = argument.column("A column.")
    column2: str = argument.column("A column.")
    destination: str = argument.column("A column.")
    separator: str = argument.text("Between.")


class SplitToRows(Directive):
    column: str = argument.column("A column.")
    regex: str = argument.text("A pattern.")


class Http(Directive):
    url: str = argument.text("A place.")
    column: list[str] = argument.columns("Columns.")
    header: str | None = argument.text("Headers.", default=None)


class Cleanse(Directive):
    """Takes nothing."""


CLASSES: dict[str, type[Directive]] = {
    "uppercase": Any1,
    "rename": Rename,
    "drop": Drop,
    "keep": Drop,
    "set-headers": Drop,
    "filter-empty-or-null": Drop,
    "set-column": SetColumn,
    "filter-row": FilterRow,
    "filter-by-regex": FilterByRegex,
    "parse-as-csv": ParseCsv,
    "set-type": SetType,
    "quantize": Quantize,
    "find-and-replace": Replace,
    "send-to-error": SendToError,
    "set-variable": SetVariable,
    "increment-variable": Increment,
    "parse-as-fixed-length": FixedLength,
    "merge": Merge,
    "split-to-rows": SplitToRows,
    "invoke-http": Http,
    "cleanse-column-names": Cleanse,
}
DECLARED = {name: cls.arguments for name, cls in CLASSES.items()}


def read(text: str, **more: Any) -> Recipe:
    return parse_recipe(text, DECLARED, **more)


def describe_call(call: DirectiveCall) -> tuple[str, dict[str, Any]]:
    """A call without its places."""
    values = {
        name: each.text if isinstance(each, ExpressionSource) else each
        for name, each in call.arguments.items()
    }
    return call.name, values


def parse_calls(text: str) -> list[tuple[str, dict[str, Any]]]:
    """The calls of a recipe in which nothing is wrong."""
    recipe = read(text)
    assert not recipe.problems, [problem.text for problem in recipe.problems]
    return [describe_call(call) for call in recipe.calls]


def parse_call(text: str) -> tuple[str, dict[str, Any]]:
    (call,) = parse_calls(text)
    return call
