"""Compares rules with the schema of the records for which they are meant, and converts the values in them.

The error records that the plugin of a stage emits and the records that violate a rule leave the stage by one
stream, so they have one schema: the fields of both. A field that both have with different types gets a type
for the values of both: a wider number, or else text. So the value that broke a rule stays, whatever the
stage made of its input.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from localcdap.api.schema import Field, LogicalType, Schema, Type
from localcdap.expectations.rules import (
    Expectation,
    InRange,
    InSet,
    MatchesPattern,
    MeetsCondition,
    RuleAction,
    RuleProblem,
    Unique,
)
from localcdap.java.numbers import is_number
from localcdap.text import format_available, nearest_name

_TEXTS: Final = (Type.STRING, Type.ENUM)
_TIMES: Final = (LogicalType.TIMESTAMP_MILLIS, LogicalType.TIMESTAMP_MICROS)


def is_text(schema: Schema) -> bool:
    """Return whether the values of a column are texts."""
    inner = schema.non_nullable
    return inner.logical_type is None and inner.type in _TEXTS


def is_comparable(schema: Schema) -> bool:
    """Return whether a rule may compare the values of a column with values that it states."""
    inner = schema.non_nullable
    if inner.logical_type is not None:
        return inner.logical_type in (
            *_TIMES,
            LogicalType.DATE,
            LogicalType.DATETIME,
            LogicalType.DECIMAL,
        )
    return inner.type.is_numeric or inner.type in (*_TEXTS, Type.BOOLEAN)


def to_column_value(schema: Schema, value: Any) -> Any:
    """Return a value of a rule in the type of a column: a text of a date as a date, for instance.

    A time without a zone is in UTC.

    :raises ValueError: when it cannot be one; the message says what is expected.
    """
    inner = schema.non_nullable
    match inner.logical_type:
        case LogicalType.DATE:
            return _parse(datetime.date.fromisoformat, value, "a date such as 2026-11-30")
        case LogicalType.DATETIME:
            moment = _parse_moment(value)
            if moment.tzinfo is not None:
                raise ValueError("a date and time without a zone is expected")
            return moment
        case LogicalType.TIMESTAMP_MILLIS | LogicalType.TIMESTAMP_MICROS:
            moment = _parse_moment(value)
            return moment if moment.tzinfo is not None else moment.replace(tzinfo=datetime.UTC)
        case LogicalType.DECIMAL:
            return _to_decimal(value)
    if inner.type in _TEXTS:
        return _require(isinstance(value, str), value, "a text")
    if inner.type is Type.BOOLEAN:
        return _require(isinstance(value, bool), value, "true or false")
    return _require(is_number(value), value, "a number")


def _require(holds: bool, value: Any, expected: str) -> Any:
    if not holds:
        raise ValueError(f"{expected} is expected")
    return value


def _to_decimal(value: Any) -> Decimal:
    if isinstance(value, bool):
        raise ValueError("a number is expected")
    try:
        found = Decimal(str(value))
    except InvalidOperation:
        raise ValueError("a number is expected") from None
    if not found.is_finite():
        raise ValueError("a number is expected")
    return found


def _parse_moment(value: Any) -> datetime.datetime:
    found: datetime.datetime = _parse(
        datetime.datetime.fromisoformat, value, "a date and time such as 2026-11-30T18:00:00"
    )
    return found


def _parse(parse: Any, value: Any, expected: str) -> Any:
    if isinstance(value, str):
        try:
            return parse(value)
        except ValueError:
            pass
    raise ValueError(f"{expected} is expected")


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


_WIDER: Final = {
    frozenset((Type.INT, Type.LONG)): Schema.LONG,
    frozenset((Type.INT, Type.FLOAT)): Schema.DOUBLE,
    frozenset((Type.INT, Type.DOUBLE)): Schema.DOUBLE,
    frozenset((Type.FLOAT, Type.DOUBLE)): Schema.DOUBLE,
}
"""The types that hold every number of two others. No double holds every long."""


def has_diverting_rule(rules: Iterable[Expectation]) -> bool:
    """Return whether a rule sends records to error."""
    return any(rule.action is RuleAction.ERROR for rule in rules)


def unite_error_schemas(
    own: Schema | None, checked: Schema | None, rules: Iterable[Expectation]
) -> Schema | None:
    """Return the schema of all error records of a stage.

    :param own: that of the error records which the plugin emits.
    :param checked: that of the records which the rules check.
    :returns: ``own`` when no rule sends records to error; else a record whose fields may all be null.
    """
    if own is None or checked is None or not has_diverting_rule(rules):
        return own
    fields = [Field(field.name, _unite_types(field, checked.field(field.name))) for field in own]
    more = (field for field in checked if own.field(field.name) is None)
    fields += [Field(field.name, field.schema.as_nullable) for field in more]
    return Schema.record(own.name or "record", fields)


def _unite_types(own: Field, checked: Field | None) -> Schema:
    if checked is None or is_same_type(own.schema, checked.schema):
        return own.schema.as_nullable
    one, other = own.schema.non_nullable, checked.schema.non_nullable
    wider = None
    if one.logical_type is None and other.logical_type is None:
        wider = _WIDER.get(frozenset((one.type, other.type)))
    return (wider or Schema.STRING).as_nullable


def is_same_type(one: Schema, other: Schema) -> bool:
    """Return whether two types are equal except for nulls and the name of the record."""
    return one.non_nullable.same_shape(other.non_nullable)
