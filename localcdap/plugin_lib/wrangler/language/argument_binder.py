"""Binds the arguments that a recipe gives to those that a directive declares (wrangler ``MapArguments``).

An optional argument whose kind does not match is skipped. A bare ``null``, which stands in recipes that CDAP
has migrated, is ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from localcdap.api.directive.argument import Argument, ArgumentKind
from localcdap.plugin_lib.wrangler.language.grammar import MEMBER_KINDS, ParsedArgument

_KIND_NAMES: Final = {
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


class ArgumentMismatch(msgspec.Struct):
    """The reason why arguments do not fit a declaration."""

    message: str
    offset: int
    """The position of the argument; -1 for the whole directive."""


class BoundArguments(msgspec.Struct):
    """The arguments of a call, by attribute."""

    values: dict[str, Any]
    macros: list[str]
    """Attributes of the arguments that hold macros."""
    ignored: list[ParsedArgument]
    """Arguments that fit no declared one; the original ignores them silently."""


def bind_arguments(
    declared: Sequence[Argument], given: Sequence[ParsedArgument]
) -> BoundArguments | ArgumentMismatch:
    """Return the given arguments by attribute, or the reason why they do not fit."""
    given = [each for each in given if not _is_null(each)]
    required = sum(not argument.is_optional for argument in declared)
    if len(given) < required:
        missing = [a.name for a in declared if not a.is_optional][len(given) :]
        return ArgumentMismatch(f"{_quote_names(missing)} missing", -1)
    bound = BoundArguments({}, [], [])
    position = 0
    for each in given:
        while position < len(declared):
            argument = declared[position]
            position += 1
            if _can_bind(argument.kind, each):
                _bind(bound, argument, each)
                break
            if not argument.is_optional:
                kind = _KIND_NAMES[argument.kind]
                message = f"'{argument.name}' must be {kind}, not {_describe(each)}"
                return ArgumentMismatch(message, each.start)
        else:
            bound.ignored.append(each)
    left = [a.name for a in declared[position:] if not a.is_optional]
    if left:
        return ArgumentMismatch(f"{_quote_names(left)} missing", -1)
    return _check_choices(bound, declared, given)


def _check_choices(
    bound: BoundArguments, declared: Sequence[Argument], given: Sequence[ParsedArgument]
) -> BoundArguments | ArgumentMismatch:
    """Check the number of arguments, and spell choices as they are declared."""
    if len(given) > len(declared):
        return ArgumentMismatch(f"there are {len(given)} arguments for {len(declared)}", -1)
    for argument in declared:
        value = bound.values.get(argument.attribute)
        if not argument.choices or not isinstance(value, str):
            continue
        choice = next((c for c in argument.choices if c.lower() == value.lower()), None)
        if choice is None:
            allowed = ", ".join(argument.choices)
            message = f"'{argument.name}' must be one of {allowed}, not '{value}'"
            return ArgumentMismatch(message, -1)
        bound.values[argument.attribute] = choice
    return bound


def _can_bind(kind: ArgumentKind, given: ParsedArgument) -> bool:
    return given.kind is kind or given.kind is MEMBER_KINDS.get(kind) or given.kind is None


def _bind(bound: BoundArguments, argument: Argument, given: ParsedArgument) -> None:
    if given.has_macro:
        bound.macros.append(argument.attribute)
    elif argument.kind in MEMBER_KINDS and given.kind is MEMBER_KINDS[argument.kind]:
        bound.values[argument.attribute] = [given.value]
    else:
        bound.values[argument.attribute] = given.value


def _is_null(given: ParsedArgument) -> bool:
    return given.kind is ArgumentKind.IDENTIFIER and given.value == "null"


def _quote_names(names: Sequence[str]) -> str:
    quoted = ", ".join(f"'{name}'" for name in names)
    return f"{quoted} {'is' if len(names) == 1 else 'are'}"


def _describe(given: ParsedArgument) -> str:
    return "a value" if given.kind is None else _KIND_NAMES[given.kind]
