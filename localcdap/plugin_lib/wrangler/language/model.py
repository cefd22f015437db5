"""The content of a recipe: calls of directives with their arguments, and the problems in its text."""

from __future__ import annotations

from typing import Any

import msgspec

from localcdap.workspace_views import RecipeProblem


class ExpressionSource(msgspec.Struct, frozen=True):
    """The text of an expression in a recipe."""

    text: str
    line: int
    column: int
    """The position of its first character."""


class DirectiveCall(msgspec.Struct, frozen=True):
    """One directive of a recipe, with arguments of the types that its declaration says."""

    name: str
    """The directive's declared name, also where the recipe uses an alias or a legacy name."""
    arguments: dict[str, Any]
    """The arguments that the recipe gives, by attribute. Expressions are :class:`ExpressionSource`."""
    line: int
    column: int
    source: str
    """The text of the directive, without the semicolon."""
    macros: tuple[str, ...] = ()
    """Attributes of the arguments that hold macros; they have no value yet and are not in ``arguments``."""
    is_declared: bool = True
    """False for a user-defined directive that is not loaded; ``arguments`` is empty then."""


class LoadPragma(msgspec.Struct, frozen=True):
    """A user-defined directive that ``#pragma load-directives`` names."""

    name: str
    line: int
    column: int


class Recipe(msgspec.Struct, frozen=True):
    """A parsed recipe: calls of the valid directives, and problems for the others."""

    calls: tuple[DirectiveCall, ...]
    loads: tuple[LoadPragma, ...]
    problems: tuple[RecipeProblem, ...]
    """In the order of the text, warnings included."""
    version: str | None = None
    """The version of the language that ``#pragma version`` names."""
    has_macros: bool = False
    """Whether the text holds macros, so that the recipe is known only at run time."""
    known_calls: int | None = None
    """The number of calls before the first statement that is invalid or a macro; None without such a
    statement.
    """

    @property
    def errors(self) -> list[RecipeProblem]:
        """The problems that keep the recipe from running."""
        return [problem for problem in self.problems if not problem.is_warning]
