"""Rules of the routing switch: ``port:function(parameter)``, and the functions.

The functions, and which values they take, are those of ``BasicRoutingFunctions`` of CDAP's artifact
switch 1.0.
"""

from __future__ import annotations

import datetime
import math
import re
import struct
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from localcdap.api import LogicalType, Schema, Type
from localcdap.java.numbers import parse_decimal, parse_double, parse_int, parse_long
from localcdap.java.regex import compile_regex

Check: TypeAlias = Callable[[Any], bool]
"""Whether a value that is not null matches a rule."""
Reader: TypeAlias = Callable[[str], Any]
"""Reads a parameter; raises ValueError when it is wrong."""

_NUMBERS: Final = {
    Type.INT: parse_int,
    Type.LONG: parse_long,
    Type.DOUBLE: lambda text: rank_real(parse_double(text)),
    Type.FLOAT: lambda text: rank_real(round_to_float(parse_double(text))),
}
_ZONE_NAME: Final = re.compile(r"\[[^\]]*\]$")

FUNCTIONS: Final = (
    *("equals", "not_equals", "contains", "not_contains", "in", "not_in", "matches", "not_matches"),
    *("starts_with", "not_starts_with", "ends_with", "not_ends_with"),
    *("number_equals", "number_not_equals", "number_greater_than", "number_greater_than_or_equals"),
    *("number_lesser_than", "number_lesser_than_or_equals", "number_between", "number_not_between"),
    *("date_equals", "date_not_equals", "date_after", "date_after_or_on"),
    *("date_before", "date_before_or_on", "date_between", "date_not_between"),
)
"""The names of the functions; case does not count."""


class Rule(NamedTuple):
    """A rule of the property ``portSpecification``."""

    text: str
    port: str
    function: str
    """One of :data:`FUNCTIONS`."""
    parameter: str


class RuleError(ValueError):
    """A rule that cannot be read, or that does not fit its field."""

    def __init__(self, message: str, corrective_action: str) -> None:
        super().__init__(message)
        self.message = message
        self.corrective_action = corrective_action


def parse_rule(text: str) -> Rule:
    """Parse a rule.

    :raises RuleError: when it is wrong; the texts are those of ``BasicPortSpecificationEvaluator``.
    """
    port, colon, call = (part.strip() for part in text.partition(":"))
    if not colon:
        raise RuleError(
            f"Could not find ':' separating port name from its routing specification in '{text}'.",
            "The configuration for each port should contain a port name and its routing specification "
            "separated by :.",
        )
    name, parenthesis, rest = (part.strip() for part in call.partition("("))
    if not parenthesis:
        raise RuleError(
            f"Could not find '(' in function '{call}'. ",
            "Please specify routing functions as as function(parameter).",
        )
    function = name.lower()
    if function not in FUNCTIONS:
        raise RuleError(
            f"Invalid routing function '{name}'.",
            f"A routing function must be  one of {','.join(FUNCTIONS).upper()}.",
        )
    if not rest.endswith(")"):
        raise RuleError(
            f"Could not find closing ')' in function '{call}'.",
            "Functions must be specified as function(parameter).",
        )
    parameter = rest[:-1].strip()
    if not parameter:
        raise RuleError(
            f"Invalid function '{call}'.", "A parameter must be provided as an argument."
        )
    return Rule(text, port, function, parameter)


def build_check(rule: Rule, schema: Schema) -> Check:
    """Build the check of a rule for the values of a field.

    :param schema: that of the field.
    :raises RuleError: when the function cannot be applied to the field, or the parameter is wrong. The
        original notices that at the first record.
    """
    kind, is_negated, name = _split_name(rule.function)
    reader = _find_reader(kind, schema.non_nullable)
    if reader is None:
        raise RuleError(
            f"The function '{rule.function}' of port '{rule.port}' cannot be applied to a field of type "
            f"'{schema.non_nullable.display_name}'.",
            f"Use a function for it: {', '.join(list_functions(schema)) or 'there is none'}.",
        )
    try:
        check = _build_comparison(kind, name, rule.parameter, reader)
    except ValueError as error:
        raise RuleError(
            f"The parameter '{rule.parameter}' of port '{rule.port}' is wrong for a field of type "
            f"'{schema.non_nullable.display_name}': {error}",
            "Correct the parameter. Bounds are separated by '|', as in number_between(1|10).",
        ) from None
    return (lambda value: not check(value)) if is_negated else check


def list_functions(schema: Schema) -> list[str]:
    """Return the functions that take values of a schema."""
    return [name for name in FUNCTIONS if _find_reader(_split_name(name)[0], schema.non_nullable)]


def _split_name(function: str) -> tuple[str, bool, str]:
    """Return what a function compares (``text``, ``number``, ``date``), whether it is negated, and its name.

    >>> _split_name("number_not_between")
    ('number', True, 'between')
    """
    prefix, _, rest = function.partition("_")
    kind, name = (prefix, rest) if prefix in ("number", "date") else ("text", function)
    return kind, name.startswith("not_"), name.removeprefix("not_")


def _find_reader(kind: str, schema: Schema) -> Reader | None:
    """Return what reads the parameters of a kind of functions for a type; None when they do not take it."""
    logical = schema.logical_type
    if kind == "text":
        return str if schema.type is Type.STRING else None
    if kind == "number":
        if logical is LogicalType.DECIMAL:
            return parse_decimal
        return None if logical is not None else _NUMBERS.get(schema.type)
    return None if logical is None else _TIMES.get(logical)


def _build_comparison(kind: str, name: str, parameter: str, read: Reader) -> Check:
    if kind == "text":
        return _build_text_check(name, parameter)
    if name == "between":
        bounds = parameter.split("|")
        if len(bounds) != 2:
            raise ValueError(
                f"Should specify a lower bound and upper bound separated by a pipe. Found {parameter}."
            )
        low, high = map(read, bounds)
        return lambda value: bool(low <= rank(value) <= high)
    wanted = read(parameter)
    checks: dict[str, Check] = {
        "equals": lambda value: bool(rank(value) == wanted),
        "greater_than": lambda value: bool(rank(value) > wanted),
        "greater_than_or_equals": lambda value: bool(rank(value) >= wanted),
        "lesser_than": lambda value: bool(rank(value) < wanted),
        "lesser_than_or_equals": lambda value: bool(rank(value) <= wanted),
        "after": lambda value: bool(rank(value) > wanted),
        "after_or_on": lambda value: bool(rank(value) >= wanted),
        "before": lambda value: bool(rank(value) < wanted),
        "before_or_on": lambda value: bool(rank(value) <= wanted),
    }
    return checks[name]


def _build_text_check(name: str, parameter: str) -> Check:
    if name == "matches":
        return compile_regex(parameter).matches
    if name == "in":
        choices = frozenset(parameter.rstrip("|").split("|"))
        return lambda value: value in choices
    checks: dict[str, Check] = {
        "equals": lambda value: bool(value == parameter),
        "contains": lambda value: parameter in value,
        "starts_with": lambda value: bool(value.startswith(parameter)),
        "ends_with": lambda value: bool(value.endswith(parameter)),
    }
    return checks[name]


def rank(value: Any) -> Any:
    """Return a value in the form in which parameters are read."""
    return rank_real(value) if isinstance(value, float) else value


def rank_real(value: float) -> tuple[bool, float, float]:
    """Return what orders reals as Java's ``compareTo``: NaN is the largest, and -0.0 is less than 0.0."""
    return math.isnan(value), 0.0 if math.isnan(value) else value, math.copysign(1, value)


def round_to_float(value: float) -> float:
    """Round a number to 32 bits, in which values of the type float are."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def parse_zoned_time(text: str) -> datetime.datetime:
    """Parse a time with its offset, and perhaps the name of its zone, which says nothing more.

    The original compares the names of the zones too, so that no field ever equals such a parameter; moments
    are compared here.

    :raises ValueError: when the text is another one.
    """
    moment = datetime.datetime.fromisoformat(_ZONE_NAME.sub("", text))
    if moment.tzinfo is None:
        raise ValueError(f"'{text}' has no offset, as 2020-05-02T00:03:20-07:00 has.")
    return moment


_TIMES: Final[dict[LogicalType, Reader]] = {
    LogicalType.DATE: datetime.date.fromisoformat,
    LogicalType.TIME_MILLIS: datetime.time.fromisoformat,
    LogicalType.TIME_MICROS: datetime.time.fromisoformat,
    LogicalType.TIMESTAMP_MILLIS: parse_zoned_time,
    LogicalType.TIMESTAMP_MICROS: parse_zoned_time,
}
