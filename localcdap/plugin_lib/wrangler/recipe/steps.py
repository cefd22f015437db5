"""A recipe checked: the directives with their arguments, and everything that is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import msgspec

from localcdap.api.directive import Directive, Expression
from localcdap.api.directive.argument import ArgumentKind
from localcdap.plugin_lib.wrangler.language import (
    NO_RULES,
    Call,
    Code,
    DirectiveRules,
    Load,
    Problem,
    Recipe,
    parse,
)
from localcdap.plugin_lib.wrangler.recipe.registry import Registry


class Step(msgspec.Struct):
    """One directive of a recipe."""

    call: Call
    directive: Directive | None
    """None where only the run knows it: it holds macros, or is loaded by name only."""

    @property
    def name(self) -> str:
        return self.call.name


class Steps(msgspec.Struct):
    """The directives of a recipe in their order."""

    recipe: Recipe
    steps: list[Step]
    problems: list[Problem]
    """All that is wrong, warnings among them, in the order of the text."""

    @property
    def errors(self) -> list[Problem]:
        return [problem for problem in self.problems if not problem.is_warning]

    @property
    def is_complete(self) -> bool:
        """Whether all of the recipe is known, which it is not while there are macros in it."""
        return not self.recipe.has_macros and all(step.directive is not None for step in self.steps)


def check(
    text: str, registry: Registry, rules: DirectiveRules = NO_RULES, loaded: Iterable[str] = ()
) -> Steps:
    """A recipe's directives. Never raises for what the text says.

    :param loaded: as for :func:`localcdap.plugin_lib.wrangler.language.parse`; it says which are missing.
    """
    recipe = parse(text, registry.arguments(), rules, loaded)
    problems = list(recipe.problems)
    steps = [build_step(call, registry, problems) for call in recipe.calls]
    known = set(loaded)
    problems += [
        _not_here(load)
        for load in recipe.loads
        if load.name not in registry and load.name not in known
    ]
    problems.sort(key=lambda problem: (problem.line, problem.column))
    return Steps(recipe, steps, problems)


def build_step(call: Call, registry: Registry, problems: list[Problem]) -> Step:
    """A call with its directive; what is wrong with it is added to ``problems``."""
    if not call.is_declared or call.name not in registry:
        return Step(call, None)
    cls = registry[call.name]
    before = len(problems)
    values = {
        argument.attribute: _expression(call.arguments[argument.attribute], cls, problems)
        if argument.kind is ArgumentKind.EXPRESSION
        else call.arguments[argument.attribute]
        for argument in cls.arguments
        if argument.attribute in call.arguments
    }
    if call.macros or len(problems) > before:
        return Step(call, None)
    directive = cls(values)
    wrong = directive.problem()
    if wrong is not None:
        problems.append(Problem(wrong, call.line, call.column, usage=cls.usage()))
    return Step(call, directive)


def _not_here(load: Load) -> Problem:
    message = f"the user-defined directive '{load.name}' is not here: put its artifact into a plugin folder"
    return Problem(message, load.line, load.column)


def _expression(code: Any, cls: type[Directive], problems: list[Problem]) -> Expression | None:
    from localcdap.plugin_lib.jexl import JexlError
    from localcdap.plugin_lib.jexl import parse as parse_expression

    if not isinstance(code, Code):
        return cast(Expression | None, code)
    try:
        return cast(Expression, parse_expression(code.text))
    except JexlError as error:
        for each in error.problems:
            column = each.column + (code.column - 1 if each.line == 1 else 0)
            hint = f" {each.hint}" if each.hint else ""
            message = f"{each.message}{hint}"
            problems.append(Problem(message, code.line + each.line - 1, column, usage=cls.usage()))
        return None
