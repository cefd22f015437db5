"""The columns of a recipe's rows, directive by directive, before there are rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from localcdap.api.directive.rows import Columns
from localcdap.api.schema import Schema
from localcdap.api.stage import FindTable
from localcdap.plugin_lib.wrangler.language import Problem
from localcdap.plugin_lib.wrangler.recipe.steps import Step


class Propagated(msgspec.Struct):
    """What is known of the columns."""

    before: list[Columns]
    """For each step."""
    after: Columns
    problems: list[Problem]
    """What the directives cannot work on, and in warnings what they have no effect on."""

    @property
    def errors(self) -> list[Problem]:
        return [problem for problem in self.problems if not problem.is_warning]


def columns_of(schema: Schema | None, find_table: FindTable = lambda _: None) -> Columns:
    """The columns that rows begin with; of an unknown schema nothing is known.

    :param find_table: of directives that look rows up.
    """
    if schema is None:
        return Columns(open=True, find_table=find_table)
    return Columns(((field.name, field.schema) for field in schema), find_table=find_table)


def propagate(steps: Sequence[Step], columns: Columns) -> Propagated:
    """Follow the columns through a recipe. A step that only the run knows may make anything of them."""
    before: list[Columns] = []
    problems: list[Problem] = []
    for step in steps:
        before.append(columns)
        if step.directive is None:
            columns = Columns(open=True, find_table=columns.find_table)
            continue
        columns = columns.copy()
        step.directive.propagate(columns)
        problems += _told(step, columns.problems, is_warning=False)
        problems += _told(step, columns.warnings, is_warning=True)
    return Propagated(before, columns, problems)


def _told(
    step: Step, told: Sequence[tuple[str, str | None]], *, is_warning: bool
) -> Iterator[Problem]:
    for message, action in told:
        full = f"{step.name}: {message}" + (f" {action}" if action else "")
        yield Problem(full, step.call.line, step.call.column, is_warning=is_warning)


def is_known(columns: Columns) -> bool:
    """Whether all columns are known with their types."""
    return not columns.open and all(schema is not None for _, schema in columns.items())


def proposed_schema(columns: Columns, name: str = "etlSchemaBody") -> Schema | None:
    """The schema of a recipe's output, None while it is not known whole."""
    if not is_known(columns) or not len(columns):
        return None
    return Schema.record(name, [(n, s) for n, s in columns.items() if s is not None])
