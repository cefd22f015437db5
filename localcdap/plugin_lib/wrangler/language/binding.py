"""Arguments as they are given, put to the arguments that a directive declares (wrangler ``MapArguments``).

An optional argument whose kind does not fit is passed over, as is a bare ``null``, which stands in recipes
that CDAP has migrated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from localcdap.api.directive.argument import Argument, ArgumentKind
from localcdap.plugin_lib.wrangler.language.grammar import LISTED, Given

_SAID: Final = {
    ArgumentKind.COLUMN: "a column",
    ArgumentKind.COLUMNS: "a list of columns",
    ArgumentKind.TEXT: "a text",
    ArgumentKind.TEXTS: "a list of texts",
    ArgumentKind.NUMBER: "a number",
    ArgumentKind.NUMBERS: "a list of numbers",
    ArgumentKind.BOOL: "true or false",
    ArgumentKind.BOOLS: "a list of true and false",
    ArgumentKind.IDENTIFIER: "a word",
    ArgumentKind.EXPRESSION: "an expression",
    ArgumentKind.RANGES: "ranges of numbers",
    ArgumentKind.PROPERTIES: "properties",
}


class Mismatch(msgspec.Struct):
    """Why arguments do not fit, and where (an offset; -1 for the whole directive)."""

    message: str
    at: int


class Bound(msgspec.Struct):
    """The arguments of a call, by attribute."""

    values: dict[str, Any]
    macros: list[str]
    ignored: list[Given]
    """What fits no argument; the original passes over it without a word."""


def bind(declared: Sequence[Argument], given: Sequence[Given]) -> Bound | Mismatch:
    """The arguments by attribute, or why they do not fit."""
    given = [each for each in given if not _is_null(each)]
    required = sum(not argument.is_optional for argument in declared)
    if len(given) < required:
        missing = [a.name for a in declared if not a.is_optional][len(given) :]
        return Mismatch(f"{_listed(missing)} missing", -1)
    bound = Bound({}, [], [])
    position = 0
    for each in given:
        while position < len(declared):
            argument = declared[position]
            position += 1
            if _fits(argument.kind, each):
                _take(bound, argument, each)
                break
            if not argument.is_optional:
                said = _SAID[argument.kind]
                return Mismatch(f"'{argument.name}' must be {said}, not {_shown(each)}", each.start)
        else:
            bound.ignored.append(each)
    left = [a.name for a in declared[position:] if not a.is_optional]
    if left:
        return Mismatch(f"{_listed(left)} missing", -1)
    return _checked(bound, declared, given)


def _checked(
    bound: Bound, declared: Sequence[Argument], given: Sequence[Given]
) -> Bound | Mismatch:
    if len(given) > len(declared):
        return Mismatch(f"there are {len(given)} arguments for {len(declared)}", -1)
    for argument in declared:
        value = bound.values.get(argument.attribute)
        if not argument.choices or not isinstance(value, str):
            continue
        spelt = next((c for c in argument.choices if c.lower() == value.lower()), None)
        if spelt is None:
            allowed = ", ".join(argument.choices)
            return Mismatch(f"'{argument.name}' must be one of {allowed}, not '{value}'", -1)
        bound.values[argument.attribute] = spelt
    return bound


def _fits(kind: ArgumentKind, given: Given) -> bool:
    return given.kind is kind or given.kind is LISTED.get(kind) or given.kind is None


def _take(bound: Bound, argument: Argument, given: Given) -> None:
    if given.has_macro:
        bound.macros.append(argument.attribute)
    elif argument.kind in LISTED and given.kind is LISTED[argument.kind]:
        bound.values[argument.attribute] = [given.value]
    else:
        bound.values[argument.attribute] = given.value


def _is_null(given: Given) -> bool:
    return given.kind is ArgumentKind.IDENTIFIER and given.value == "null"


def _listed(names: Sequence[str]) -> str:
    quoted = ", ".join(f"'{name}'" for name in names)
    return f"{quoted} {'is' if len(names) == 1 else 'are'}"


def _shown(given: Given) -> str:
    return "a value" if given.kind is None else _SAID[given.kind]
