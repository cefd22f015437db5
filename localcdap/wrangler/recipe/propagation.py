"""The columns of a recipe's rows, directive by directive, before there are rows."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from localcdap.api.rows import Columns
from localcdap.api.schema import Schema
from localcdap.wrangler.language import Problem
from localcdap.wrangler.recipe.steps import Step


class Propagated(msgspec.Struct):
    """What is known of the columns."""

    before: list[Columns]
    """For each step."""
    after: Columns
    problems: list[Problem]
    """What the directives cannot work on."""


def columns_of(schema: Schema | None) -> Columns:
    """The columns that rows begin with; of an unknown schema nothing is known."""
    if schema is None:
        return Columns(open=True)
    return Columns((field.name, field.schema) for field in schema)


def propagate(steps: Sequence[Step], columns: Columns) -> Propagated:
    """Follow the columns through a recipe. A step that only the run knows may make anything of them."""
    before: list[Columns] = []
    problems: list[Problem] = []
    for step in steps:
        before.append(columns)
        if step.directive is None:
            columns = Columns(open=True)
            continue
        columns = columns.copy()
        step.directive.propagate(columns)
        for message, action in columns.problems:
            full = f"{step.name}: {message}" + (f" {action}" if action else "")
            problems.append(Problem(full, step.call.line, step.call.column))
    return Propagated(before, columns, problems)


def is_known(columns: Columns) -> bool:
    """Whether all columns are known with their types."""
    return not columns.open and all(schema is not None for _, schema in columns.items())


def proposed_schema(columns: Columns, name: str = "etlSchemaBody") -> Schema | None:
    """The schema of a recipe's output, None while it is not known whole."""
    if not is_known(columns) or not len(columns):
        return None
    return Schema.record(name, [(n, s) for n, s in columns.items() if s is not None])
