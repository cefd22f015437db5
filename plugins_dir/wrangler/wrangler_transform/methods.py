"""What front ends ask Wrangler while a recipe is written."""

from __future__ import annotations

from typing import Any

import msgspec

from localcdap.api import Schema
from localcdap.api.errors import BadRequestError
from localcdap.api.record_json import decode_json_records, encode_json_record
from localcdap.plugin_lib.wrangler.language import Problem
from localcdap.plugin_lib.wrangler.recipe.propagation import columns_of, propagate
from localcdap.plugin_lib.wrangler.recipe.registry import shipped
from localcdap.plugin_lib.wrangler.recipe.samples import sample
from localcdap.plugin_lib.wrangler.recipe.steps import check

from .config import WranglerConfig
from .configuration import ALL, given_schema


class RecipeRequest(msgspec.Struct):
    """A recipe to look at."""

    recipe: str


class RecipeAnswer(msgspec.Struct):
    """What a recipe holds."""

    directives: list[str]
    """The directives that are right, as they are written."""
    problems: list[Problem]


class SampleRequest(msgspec.Struct):
    """Records that the recipe of the stage's properties is tried on."""

    schema: Schema
    """Of the records."""
    records: list[Any]
    """As JSON, see :mod:`localcdap.api.record_json`."""


class SampleFailure(msgspec.Struct):
    """A record for which the recipe fails, or that it sends to the error port."""

    record: int
    """Its place among those given, from 0."""
    code: int
    message: str


class SampleAnswer(msgspec.Struct):
    """What came of the records."""

    schema: Schema | None
    """The output schema that they propose; None when there are no columns."""
    records: list[Any]
    errors: list[SampleFailure]


def checked(request: RecipeRequest) -> RecipeAnswer:
    """What a recipe holds, and what is wrong with it."""
    steps = check(request.recipe, shipped())
    return RecipeAnswer([step.call.source for step in steps.steps], steps.problems)


def sampled(config: WranglerConfig, request: SampleRequest) -> SampleAnswer:
    """What the stage's recipe makes of records; its precondition is not looked at.

    :raises BadRequestError: when the recipe is not right, or the records do not fit their schema.
    """
    steps = check(config.directives or "", shipped())
    if steps.errors or not steps.is_complete:
        told = "; ".join(problem.text for problem in steps.errors)
        raise BadRequestError(
            f"The recipe cannot be tried: {told or 'it holds macros.'}", "Correct it first."
        )
    records = decode_json_records(request.schema, request.records, "records")
    field = config.input_field or ALL
    given = given_schema(field, request.schema)
    if field != ALL:
        records = [{field: record.get(field)} for record in records]
    found = propagate(steps.steps, columns_of(given))
    directives = [step.directive for step in steps.steps if step.directive is not None]
    tried = sample(directives, records, found.after, {})
    failures = [SampleFailure(place, each.code, each.message) for place, each in tried.failures]
    return SampleAnswer(tried.schema, [encode_json_record(row) for row in tried.rows], failures)
