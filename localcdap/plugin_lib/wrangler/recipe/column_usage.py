"""Which columns the rest of a recipe names, so that a directive need not make more of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from localcdap.api.directive import Directive
from localcdap.api.directive.argument import ArgumentKind
from localcdap.api.schema import Schema

_EVERYTHING = "this"
"""What an expression reads that looks at the whole row."""


def named_behind(
    directives: Sequence[Directive], output: Schema | None
) -> list[frozenset[str] | None]:
    """For each directive, in lower case, the columns that those behind it and the output name.

    None where they may need any.
    """
    if output is None:
        return [None] * len(directives)
    names: frozenset[str] | None = frozenset(field.name.lower() for field in output)
    found: list[frozenset[str] | None] = []
    for directive in reversed(directives):
        found.append(names)
        if names is not None:
            own = names_of(directive)
            names = None if own is None else names | {name.lower() for name in own}
    return found[::-1]


def names_of(directive: Directive) -> set[str] | None:
    """The columns that a directive's arguments name; None where it looks at others too."""
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
            names.update(_with_owners(value.variables))
    return names


def _with_owners(variables: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for variable in variables:
        parts = variable.split(".")
        found.update(".".join(parts[: count + 1]) for count in range(len(parts)))
    return found


def variables_read(directive: Directive) -> set[str]:
    """The names that a directive's expressions read: columns, and transient variables."""
    found: set[str] = set()
    for argument in directive.arguments:
        value = getattr(directive, argument.attribute)
        if argument.kind is ArgumentKind.EXPRESSION and value is not None:
            found.update(value.variables)
    return found
