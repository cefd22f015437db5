"""Follows the columns of a recipe's rows, directive by directive, before there are rows.

Finds the columns that a directive of a recipe names, and that no row has where it runs.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, cast

import msgspec

from localcdap.api.directive import Directive
from localcdap.api.directive.argument import ArgumentKind
from localcdap.api.directive.rows import Columns
from localcdap.api.schema import Schema
from localcdap.api.stage import FindTable
from localcdap.plugin_lib.suggestions import suggest_name
from localcdap.plugin_lib.wrangler.directives.conditions import (
    IncrementVariable,
    SendToErrorAndContinue,
    SetVariable,
)
from localcdap.plugin_lib.wrangler.language import ExpressionSource
from localcdap.plugin_lib.wrangler.recipe.builder import RecipeStep, locate_problem
from localcdap.plugin_lib.wrangler.recipe.precondition import Precondition
from localcdap.plugin_lib.wrangler.recipe.registry import load_shipped_directives
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


class PropagatedColumns(msgspec.Struct):
    """The known columns before and after each directive."""

    before: list[Columns]
    """The columns before each step."""
    after: Columns
    problems: list[RecipeProblem]
    """Errors of directives that fail on such columns, and warnings of those that have no effect on them."""
    directives: list[Directive]
    """Copies of the directives that are known. They may have noted what they learned of the columns."""

    @property
    def errors(self) -> list[RecipeProblem]:
        """The problems that are not warnings."""
        return [problem for problem in self.problems if not problem.is_warning]


def to_columns(schema: Schema | None, find_table: FindTable = lambda _: None) -> Columns:
    """Return the columns that rows have before the first directive; an unknown schema has open columns.

    :param find_table: finds the tables of directives that look up rows.
    """
    if schema is None:
        return Columns(open=True, find_table=find_table)
    return Columns(((field.name, field.schema) for field in schema), find_table=find_table)


def propagate(steps: Sequence[RecipeStep], columns: Columns) -> PropagatedColumns:
    """Follow the columns through a recipe. After a step that is known at run time only they are open.

    The steps are shared by the whole process, so that directives propagate as copies.
    """
    before: list[Columns] = []
    problems: list[RecipeProblem] = []
    directives: list[Directive] = []
    variables = set(_list_variables(steps))
    for step in steps:
        before.append(columns)
        if step.directive is None:
            columns = _propagate_unknown(step, columns)
            continue
        columns = columns.copy()
        directive = copy.copy(step.directive)
        directive.propagate(columns)
        directives.append(directive)
        problems += find_missing_columns(step, directive, before[-1], columns, variables)
        problems += _report(step, columns.problems, is_warning=False)
        problems += _report(step, columns.warnings, is_warning=True)
    return PropagatedColumns(before, columns, problems, directives)


def _propagate_unknown(step: RecipeStep, columns: Columns) -> Columns:
    """Return the columns after a directive whose arguments hold macros, or whose expression is wrong.

    The shipped directives with expressions change only the columns that their arguments name; after any other
    directive nothing is known.
    """
    call, shipped = step.call, load_shipped_directives()
    arguments = shipped[call.name].arguments if call.name in shipped else ()
    expressions = {a.attribute for a in arguments if a.kind is ArgumentKind.EXPRESSION}
    if not expressions or set(call.macros) - expressions:
        return Columns(open=True, find_table=columns.find_table)
    columns = columns.copy()
    for argument in arguments:
        if argument.kind is ArgumentKind.COLUMN:
            columns.put(call.arguments[argument.attribute], None)
    return columns


def _list_variables(steps: Sequence[RecipeStep]) -> Iterator[str]:
    """Yield the transient variables that directives set, also those with wrong expressions."""
    for step in steps:
        if step.directive is not None:
            yield from step.directive.sets_variables()
        elif step.name in (SetVariable.directive_name(), IncrementVariable.directive_name()):
            yield step.call.arguments.get("variable", "")
        elif step.name == SendToErrorAndContinue.directive_name():
            yield from SendToErrorAndContinue.variables


def _report(
    step: RecipeStep, messages: Sequence[tuple[str, str | None]], *, is_warning: bool
) -> Iterator[RecipeProblem]:
    for message, action in messages:
        yield RecipeProblem(
            f"{step.name}: {message}",
            step.call.line,
            step.call.column,
            is_warning=is_warning,
            corrective_action=action,
        )


def is_known(columns: Columns) -> bool:
    """Whether all columns are known with their types."""
    return not columns.open and all(schema is not None for _, schema in columns.items())


def propose_schema(columns: Columns, name: str = "etlSchemaBody") -> Schema | None:
    """Return the schema of a recipe's output; None while a column or its type is unknown."""
    if not is_known(columns) or not len(columns):
        return None
    return Schema.record(name, [(n, s) for n, s in columns.items() if s is not None])
