"""Finds the columns that a directive of a recipe names, and that no row has where it runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, cast

from localcdap.api.directive import Directive
from localcdap.api.directive.argument import ArgumentKind
from localcdap.api.directive.rows import Columns
from localcdap.plugin_lib.suggestions import suggest_name
from localcdap.plugin_lib.wrangler.language import ExpressionSource
from localcdap.plugin_lib.wrangler.recipe.builder import RecipeStep, locate_problem
from localcdap.plugin_lib.wrangler.recipe.precondition import Precondition
from localcdap.workspace_views import RecipeProblem

if TYPE_CHECKING:
    from localcdap.plugin_lib.jexl import JexlExpression


def find_missing_columns(
    step: RecipeStep,
    directive: Directive,
    before: Columns,
    after: Columns,
    variables: Collection[str],
) -> Iterator[RecipeProblem]:
    """Yield a problem for each column that cannot exist, unless the directive has reported it itself.

    A column of an argument is a warning. In an expression it is an error where each row fails without it.

    :param directive: the directive of the step, which has propagated.
    :param before: the columns before the directive.
    :param after: the columns after it, with the directive's own reports.
    :param variables: the transient variables of the recipe, which expressions read like columns.
    """
    reported = " ".join(message for message, _ in (*after.problems, *after.warnings))
    for name in dict.fromkeys(directive.reads_columns()):
        if before.is_missing(name) and after.is_missing(name) and f"'{name}'" not in reported:
            yield RecipeProblem(
                f"{step.name}: There is no column '{name}'.",
                step.call.line,
                step.call.column,
                is_warning=True,
                corrective_action=suggest_name(name, before),
            )
    for argument in directive.arguments:
        if argument.kind is ArgumentKind.EXPRESSION:
            yield from _check_expression(step, directive, argument.attribute, before, variables)


def _check_expression(
    step: RecipeStep,
    directive: Directive,
    attribute: str,
    columns: Columns,
    variables: Collection[str],
) -> Iterator[RecipeProblem]:
    source = step.call.arguments.get(attribute)
    if not isinstance(source, ExpressionSource):
        return
    expression = cast("JexlExpression", getattr(directive, attribute))
    must_exist = isinstance(directive, Precondition)
    for problem in expression.check_columns(columns, variables, must_exist=must_exist):
        line, column = locate_problem(problem, source)
        yield RecipeProblem(
            f"{step.name}: {problem.message}.",
            line,
            column,
            is_warning=problem.is_warning,
            corrective_action=problem.hint,
        )
