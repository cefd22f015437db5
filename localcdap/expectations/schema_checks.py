"""Compares rules with the schema of the records for which they are meant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from localcdap.api.schema import Schema, Type
from localcdap.expectations.rules import (
    Expectation,
    InRange,
    InSet,
    MatchesPattern,
    MeetsCondition,
    RuleProblem,
    Unique,
)
from localcdap.expectations.values import is_comparable, is_text, to_column_value
from localcdap.text import format_available, nearest_name

FindProblems = Callable[[str, Schema], list[str]]
"""Returns what is wrong with a condition for records of a schema."""
_NOT_COMPARED: Final = (Type.MAP, Type.RECORD, Type.UNION, Type.ARRAY)


def find_schema_problems(
    rule: Expectation, schema: Schema, check_condition: FindProblems
) -> list[RuleProblem]:
    """Return why a rule cannot be checked on records of a schema."""
    missing = [name for name in rule.columns if schema.field(name) is None]
    if missing:
        return [_explain_missing(name, schema) for name in missing]
    return list(_find_problems(rule, schema, check_condition))


def _explain_missing(name: str, schema: Schema) -> RuleProblem:
    near = nearest_name(name, schema.field_names)
    available = f"The columns are: {format_available(name, schema.field_names)}."
    action = f"Did you mean '{near}'?" if near else available
    return RuleProblem(f"There is no column '{name}'.", action)


def _find_problems(
    rule: Expectation, schema: Schema, check_condition: FindProblems
) -> Iterator[RuleProblem]:
    match rule:
        case InRange():
            bounds = [each for each in (rule.min, rule.max) if each is not None]
            yield from _check_values(schema, rule.column, bounds)
        case InSet():
            yield from _check_values(schema, rule.column, list(rule.values))
        case MatchesPattern() if not is_text(get_column_type(schema, rule.column)):
            type = get_column_type(schema, rule.column)
            yield RuleProblem(
                f"Column '{rule.column}' is {type.display_name}; only texts match a regular expression.",
                "Use the rule 'range', 'in-set' or 'row'.",
            )
        case Unique():
            for name in rule.columns:
                type = get_column_type(schema, name)
                if type.type in _NOT_COMPARED:
                    yield RuleProblem(
                        f"Column '{name}' is {type.display_name}, which is not compared.",
                        "Name columns of simple types.",
                    )
        case MeetsCondition():
            for message in check_condition(rule.condition, schema):
                yield RuleProblem(message, "Correct the condition.")


def _check_values(schema: Schema, column: str, values: Sequence[object]) -> Iterator[RuleProblem]:
    type = get_column_type(schema, column)
    if not is_comparable(type):
        yield RuleProblem(
            f"Column '{column}' is {type.display_name}, which is not compared with values.",
            "Use the rule 'row', or another column.",
        )
        return
    for value in values:
        try:
            to_column_value(type, value)
        except ValueError as error:
            yield RuleProblem(
                f"{value!r} does not suit column '{column}', which is {type.display_name}: {error}.",
                "Correct the value, or the type of the column.",
            )


def get_column_type(schema: Schema, column: str) -> Schema:
    """Return the type of a column that exists, without null."""
    field = schema.field(column)
    assert field is not None
    return field.schema.non_nullable
