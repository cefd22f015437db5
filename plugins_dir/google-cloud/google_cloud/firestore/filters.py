"""Filters of the Firestore source: ``value:operator(field)``, separated by commas."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from localcdap.java.numbers import is_number

_OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "EqualTo": operator.eq,
    "NumericEqualTo": operator.eq,
    "LessThan": operator.lt,
    "LessThanOrEqualTo": operator.le,
    "GreaterThan": operator.gt,
    "GreaterThanOrEqualTo": operator.ge,
}


class Filter(msgspec.Struct, frozen=True):
    """A condition on a field of a document; a document without the field does not meet it."""

    field: str
    operator: str
    value: str | int | float

    def accepts(self, document: Mapping[str, Any]) -> bool:
        """Return whether a document, as decoded JSON, meets the condition."""
        held = document.get(self.field)
        if isinstance(self.value, str):
            return held == self.value
        return is_number(held) and _OPERATORS[self.operator](held, self.value)


def parse_filters(text: str) -> list[Filter]:
    """Parse filters (firestore-plugins, ``FilterInfoParser.java``).

    :raises ValueError: for the first wrong one, in the words of CDAP.
    """
    return [_parse_filter(each.strip()) for each in text.split(",")] if text.strip() else []


def _parse_filter(text: str) -> Filter:
    value, colon, operation = (part.strip() for part in text.partition(":"))
    if not colon:
        raise ValueError(
            f"Could not find ':' separating filter value from its operation in '{text}'."
        )
    name, bracket, rest = operation.partition("(")
    form = "Operations must be specified as operator(field)."
    if not bracket:
        raise ValueError(f"Could not find '(' in operation '{operation}'. {form}")
    name = name.strip()
    known = next((each for each in _OPERATORS if each.lower() == name.lower()), None)
    if known is None:
        raise ValueError(f"Invalid operator '{name}'. Must be one of {', '.join(_OPERATORS)}.")
    if not rest.endswith(")"):
        raise ValueError(f"Could not find closing ')' in operation '{operation}'. {form}")
    field = rest[:-1].strip()
    if not field:
        raise ValueError(
            f"Invalid operation format '{operation}'. A field must be given as an argument."
        )
    return Filter(field, known, value if known == "EqualTo" else _parse_number(value, name))


def _parse_number(value: str, name: str) -> int | float:
    try:
        return float(value) if "." in value else int(value)
    except ValueError:
        raise ValueError(
            f"Invalid value '{value}' for operator '{name}'. A numeric value expected for the operator used."
        ) from None
