"""Parameters of algorithms and splitters: their descriptions, defaults, and the check of given values.

Names, texts and order are those of mmds ``spec/*Param`` and ``modeler/param``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from localcdap.api.app import BadRequestError

INT: Final = "int"
LONG: Final = "long"
DOUBLE: Final = "double"
BOOL: Final = "bool"
STRING: Final = "string"
INT_ARRAY: Final = "intarray"
_WORDS: Final = {INT: "integer", LONG: "long", DOUBLE: "double"}
_LIST: Final = "Must be a comma separate list of positive integers."


class ValueRange(msgspec.Struct, rename="camel", omit_defaults=True):
    """The values that a number may have; each bound as text, as mmds writes it."""

    min: str | None = None
    max: str | None = None
    is_min_inclusive: bool | None = None
    is_max_inclusive: bool | None = None

    def contains(self, value: float) -> bool:
        """Return whether a number is in the range."""
        low = self.min is None or value > float(self.min)
        high = self.max is None or value < float(self.max)
        at_low = bool(self.is_min_inclusive) and self.min is not None and value == float(self.min)
        at_high = bool(self.is_max_inclusive) and self.max is not None and value == float(self.max)
        return (low or at_low) and (high or at_high)

    def __str__(self) -> str:
        low = (
            f"{'[' if self.is_min_inclusive else '('}{self.min}" if self.min is not None else "(-∞"
        )
        high = (
            f"{self.max}{']' if self.is_max_inclusive else ')'}" if self.max is not None else "∞)"
        )
        return f"{low}, {high}"


class ParamSpec(msgspec.Struct, rename="camel", kw_only=True):
    """A parameter."""

    type: str
    name: str
    label: str
    description: str
    default_val: str
    """The default as text; ``null`` for none."""
    valid_values: list[str] = []
    """The words that are allowed; empty: any value of the type."""
    range: ValueRange | None = None

    def parse(self, text: str) -> Any:
        """Return the value that a text stands for.

        :raises BadRequestError: when it is none, or outside of the range.
        """
        value = self._convert(text)
        if self.valid_values and text.lower() not in self.valid_values:
            raise self._reject(text, f"Must be one of {', '.join(self.valid_values)}.")
        if self.range is not None and not self.range.contains(value):
            raise self._reject(text, f"Must be in the range {self.range}.")
        return value

    def _convert(self, text: str) -> Any:
        try:
            match self.type:
                case "int" | "long":
                    return int(text)
                case "double":
                    return float(text)
                case "bool":
                    return text.lower() == "true"
                case "intarray":
                    layers = [int(part.strip()) for part in text.split(",")]
                    if min(layers) < 1:
                        raise self._reject(text, _LIST)
                    return layers
        except ValueError:
            word = _WORDS.get(self.type)
            raise self._reject(text, f"Must be a valid {word}." if word else _LIST) from None
        return text.lower() if self.valid_values else text

    def _reject(self, text: str, rule: str) -> BadRequestError:
        return BadRequestError(f"Invalid modeler parameter {self.name}={text}. {rule}")


def fill_defaults(specs: Sequence[ParamSpec], given: Mapping[str, str]) -> dict[str, str]:
    """Return the values of all parameters that have one, as text.

    :raises BadRequestError: for a parameter that there is not, or an invalid value.
    """
    known = {each.name: each for each in specs}
    unknown = [name for name in given if name not in known]
    if unknown:
        raise BadRequestError(
            f"There is no parameter '{unknown[0]}'; parameters: {', '.join(known) or 'none'}."
        )
    filled = {each.name: given.get(each.name, each.default_val) for each in specs}
    values = {name: text for name, text in filled.items() if text != "null"}
    for name, text in values.items():
        known[name].parse(text)
    return values


def parse_values(specs: Sequence[ParamSpec], values: Mapping[str, str]) -> dict[str, Any]:
    """Return typed values by name."""
    known = {each.name: each for each in specs}
    return {name: known[name].parse(text) for name, text in values.items()}


def at_least(least: int | float, *, inclusive: bool = True) -> ValueRange:
    """Return the range of the numbers from ``least`` on."""
    return ValueRange(str(least), None, inclusive, None)


def between(low: float, high: float, *, low_inclusive: bool, high_inclusive: bool) -> ValueRange:
    """Return the range of the numbers between two."""
    return ValueRange(str(low), str(high), low_inclusive, high_inclusive)
