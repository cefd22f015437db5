"""Finds which columns the rest of a recipe needs, so that a directive makes no others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from localcdap.api.directive import Directive
from localcdap.api.directive.argument import ArgumentKind
from localcdap.api.schema import Schema

_EVERYTHING = "this"
"""The variable of an expression that reads the whole row."""


def list_needed_columns(
    directives: Sequence[Directive], output: Schema | None
) -> list[frozenset[str] | None]:
    """Return for each directive the columns that later directives and the output name, in lower case.

    None where they may need any column.
    """
    if output is None:
        return [None] * len(directives)
    names: frozenset[str] | None = frozenset(field.name.lower() for field in output)
    found: list[frozenset[str] | None] = []
    for directive in reversed(directives):
        found.append(names)
        if names is not None:
            own = list_named_columns(directive)
            names = None if own is None else names | {name.lower() for name in own}
    return found[::-1]


def list_named_columns(directive: Directive) -> set[str] | None:
    """Return the columns that a directive's arguments name; None if it reads others too."""
    if directive.whole_row:
        return None
    names: set[str] = set()
    for argument in directive.arguments:
        value = getattr(directive, argument.attribute)
        if value is None:
            continue
        if argument.kind is ArgumentKind.COLUMN:
            names.add(value)
        elif argument.kind is ArgumentKind.COLUMNS:
            names.update(value)
        elif argument.kind is ArgumentKind.EXPRESSION:
            if _EVERYTHING in value.variables:
                return None
            # "a.b" may be the column of that name, or a member of "a".
            names.update(_add_owners(value.variables))
    return names


def _add_owners(variables: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for variable in variables:
        parts = variable.split(".")
        found.update(".".join(parts[: count + 1]) for count in range(len(parts)))
    return found


def list_expression_columns(directive: Directive) -> set[str] | None:
    """Return the names that a directive's expressions read, with the owners of members; None if an expression
    reads the whole row.
    """
    names = list_variables_read(directive)
    return None if _EVERYTHING in names else _add_owners(names)


def list_variables_read(directive: Directive) -> set[str]:
    """Return the names that a directive's expressions read: columns and transient variables."""
    found: set[str] = set()
    for argument in directive.arguments:
        value = getattr(directive, argument.attribute)
        if argument.kind is ArgumentKind.EXPRESSION and value is not None:
            found.update(value.variables)
    return found
