"""Declared directives for tests of the language, without those that are shipped."""

from __future__ import annotations

from typing import Any

from localcdap.api.directive import Directive, directive
from localcdap.plugin_lib.wrangler.language import (
    DirectiveCall,
    ExpressionSource,
    Recipe,
    parse_recipe,
)


class Any1(Directive):
    column: str = directive.column("A column.")


class Rename(Directive):
    source: str = directive.column("A column.")
    target: str = directive.column("A column.")


class Drop(Directive):
    columns: list[str] = directive.columns("Columns.", name="column")


class SetColumn(Directive):
    column: str = directive.column("A column.")
    expression: Any = directive.expression("A value.")


class FilterRow(Directive):
    condition: Any = directive.expression("A condition.")
    type: bool = directive.boolean("Which rows go.", default=True)


class FilterByRegex(Directive):
    match_type: str = directive.identifier("Which.", choices=("if-matched", "if-not-matched"))
    column: str = directive.column("A column.")
    regex: str = directive.text("A pattern.")


class ParseCsv(Directive):
    col: str = directive.column("A column.")
    delimiter: str = directive.text("A delimiter.", default=",")
    header: bool = directive.boolean("Whether there is one.", default=False)


class SetType(Directive):
    column: str = directive.column("A column.")
    type: str = directive.identifier("A type.")
    scale: Any = directive.number("Digits.", default=None)
    rounding_mode: str | None = directive.text("How.", default=None)
    precision: Any = directive.properties("Digits.", default=None)


class Quantize(Directive):
    source: str = directive.column("A column.")
    destination: str = directive.column("A column.")
    ranges: Any = directive.ranges("Ranges.")


class Replace(Directive):
    column: list[str] = directive.columns("Columns.")
    pattern: str = directive.text("A script.")


class SendToError(Directive):
    condition: Any = directive.expression("A condition.")
    metric: str | None = directive.identifier("A metric.", default=None)
    message: str | None = directive.text("A message.", default=None)


class SetVariable(Directive):
    variable: str = directive.identifier("A variable.")
    condition: Any = directive.expression("A value.")


class Increment(Directive):
    variable: str = directive.identifier("A variable.")
    value: Any = directive.number("A number.")
    condition: Any = directive.expression("A condition.")


class FixedLength(Directive):
    column: str = directive.column("A column.")
    width: Any = directive.numbers("Widths.")
    padding: str | None = directive.text("Padding.", default=None)


class Merge(Directive):
    column1: str = directive.column("A column.")
    column2: str = directive.column("A column.")
    destination: str = directive.column("A column.")
    separator: str = directive.text("Between.")


class SplitToRows(Directive):
    column: str = directive.column("A column.")
    regex: str = directive.text("A pattern.")


class Http(Directive):
    url: str = directive.text("A place.")
    column: list[str] = directive.columns("Columns.")
    header: str | None = directive.text("Headers.", default=None)


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
