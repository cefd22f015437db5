"""The plugin methods that front ends call while a recipe is written."""

from __future__ import annotations

from typing import Any

import msgspec

from localcdap.api import Schema
from localcdap.api.errors import BadRequestError
from localcdap.api.record_json import decode_json_records, encode_json_record
from localcdap.plugin_lib.wrangler.language import RecipeProblem
from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe
from localcdap.plugin_lib.wrangler.recipe.propagation import propagate, to_columns
from localcdap.plugin_lib.wrangler.recipe.samples import run_sample

from .config import WranglerConfig
from .configuration import ALL_FIELDS, find_row_schema


class RecipeRequest(msgspec.Struct):
    """A recipe to check."""

    recipe: str


class RecipeAnswer(msgspec.Struct):
    """The directives and problems of a recipe."""

    directives: list[str]
    """The text of each valid directive."""
    problems: list[RecipeProblem]


class RecipeSampleRequest(msgspec.Struct):
    """Records on which to run the recipe of the stage's properties."""

    schema: Schema
    """The schema of the records."""
    records: list[Any]
    """As JSON, see :mod:`localcdap.api.record_json`."""


class SampleFailure(msgspec.Struct):
    """A record for which the recipe fails, or that it sends to the error port."""

    record: int
    """The index of the record among the given ones, from 0."""
    code: int
    message: str


class SampleAnswer(msgspec.Struct):
    """The output of the recipe for the records."""

    schema: Schema | None
    """The output schema that the records propose; None if there are no columns."""
    records: list[Any]
    errors: list[SampleFailure]


def check_recipe(request: RecipeRequest) -> RecipeAnswer:
    """Return the directives of a recipe, and its problems."""
    recipe = load_recipe(request.recipe)
    sources = [step.call.source for step in recipe.steps]
    return RecipeAnswer(sources, list(recipe.problems))


def sample_recipe(config: WranglerConfig, request: RecipeSampleRequest) -> SampleAnswer:
    """Run the stage's recipe on records; its precondition is ignored.

    :raises BadRequestError: for a recipe with errors, or records that do not match their schema.
    """
    recipe = load_recipe(config.directives or "")
    if recipe.errors or not recipe.is_complete:
        reason = "; ".join(problem.text for problem in recipe.errors)
        raise BadRequestError(
            f"The recipe cannot be tried: {reason or 'it holds macros.'}", "Correct it first."
        )
    records = decode_json_records(request.schema, request.records, "records")
    field = config.input_field or ALL_FIELDS
    row_schema = find_row_schema(field, request.schema)
    if field != ALL_FIELDS:
        records = [{field: record.get(field)} for record in records]
    found = propagate(recipe.steps, to_columns(row_schema))
    sampled = run_sample(found.directives, records, found.after, {})
    failures = [SampleFailure(index, each.code, each.message) for index, each in sampled.failures]
    rows = [encode_json_record(row) for row in sampled.rows]
    return SampleAnswer(sampled.schema, rows, failures)
