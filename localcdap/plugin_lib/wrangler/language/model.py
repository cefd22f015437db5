"""What a recipe's text says: calls of directives with their arguments, and what is wrong with it."""

from __future__ import annotations

from typing import Any

import msgspec


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something wrong with a recipe, and where. Lines and columns count from 1, of the text as given."""

    message: str
    line: int
    column: int
    usage: str | None = None
    """How the directive at fault is written."""
    nearest: str | None = None
    """What was meant, perhaps: a name like the unknown one."""
    is_warning: bool = False
    """Whether the recipe runs all the same."""

    @property
    def text(self) -> str:
        """All of it as one line for a human reader."""
        parts = [f"line {self.line}, column {self.column}: {self.message}"]
        if self.usage:
            parts.append(f"Usage: {self.usage}.")
        if self.nearest:
            parts.append(f"Did you mean '{self.nearest}'?")
        return " ".join(parts)


class Code(msgspec.Struct, frozen=True):
    """An expression of a recipe, as text."""

    text: str
    line: int
    column: int
    """Of its first character."""


class Call(msgspec.Struct):
    """One directive of a recipe, its arguments typed as its declaration says."""

    name: str
    """The directive's own name, also where the recipe uses an alias or an older form."""
    arguments: dict[str, Any]
    """By attribute; what the recipe leaves out is not here. Expressions are :class:`Code`."""
    line: int
    column: int
    source: str
    """The directive as it is written, without the semicolon."""
    macros: list[str] = []
    """Attributes of the arguments that hold macros; they have no value yet and are not in ``arguments``."""
    is_declared: bool = True
    """False for a user-defined directive that only the run knows; ``arguments`` is empty then."""


class Load(msgspec.Struct, frozen=True):
    """A user-defined directive that ``#pragma load-directives`` names."""

    name: str
    line: int
    column: int


class Recipe(msgspec.Struct):
    """A recipe as far as it could be read: right directives are here, wrong ones in ``problems``."""

    calls: list[Call]
    loads: list[Load]
    problems: list[Problem]
    """In the order of the text, warnings among them."""
    version: str | None = None
    """Of the language, as ``#pragma version`` says."""
    has_macros: bool = False
    """Whether there are macros in it, so that the recipe is not known before the run."""

    @property
    def errors(self) -> list[Problem]:
        """The problems for which the recipe cannot run."""
        return [problem for problem in self.problems if not problem.is_warning]
