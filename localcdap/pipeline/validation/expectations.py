"""Checks the expectations of a stage: whether it can have them, and whether they suit its records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from localcdap.api.failures import INVALID_STAGE, Cause, ValidationFailure
from localcdap.api.schema import Schema
from localcdap.expectations.rules import KEY, Expectation, RuleAction
from localcdap.expectations.schema_checks import find_schema_problems
from localcdap.pipeline.document.model import StageUse
from localcdap.pipeline.rules.plugin_types import ERROR_EMITTERS, JOINER, SINKS
from localcdap.pipeline.validation.configured_stage import ConfiguredStage

_SINKS: Final = ("batchsink", "sparksink")
_WITH_RECORDS: Final = (*ERROR_EMITTERS, JOINER, "sparkcompute", *_SINKS)
"""The types of the stages whose records can be checked: a splitter's have no common schema."""


def check_expectations(
    outcome: ConfiguredStage, common: Schema | None, *, wants_errors: bool | None
) -> None:
    """Add the failures and warnings of a stage's expectations to the configured stage.

    :param common: the schema of its input, which the expectations of a sink are about.
    :param wants_errors: whether a stage reads its error records; None: not known.
    """
    stage = outcome.stage
    if not stage.expectations:
        return
    type = stage.plugin.type
    if type and type not in _WITH_RECORDS:
        outcome.failures.append(
            _refuse(stage, f"Stages of type '{type}' cannot have expectations.")
        )
        return
    schema = common if type in SINKS else outcome.output_schema
    for rule in stage.expectations:
        outcome.failures += _find_failures(stage, rule, schema)
        if rule.action is RuleAction.ERROR and type in ERROR_EMITTERS and wants_errors is False:
            outcome.rule_warnings.append(
                _create_failure(
                    stage,
                    f"Records that violate '{rule.label}' are left out and only counted: no stage reads the "
                    "error records.",
                    "Connect an error collector, or use the action 'count' or 'fail'.",
                )
            )


def _find_failures(
    stage: StageUse, rule: Expectation, schema: Schema | None
) -> Iterator[ValidationFailure]:
    if rule.action is RuleAction.ERROR and stage.plugin.type not in ERROR_EMITTERS:
        yield _create_failure(
            stage,
            f"'{rule.label}' cannot send records to error: stages of type '{stage.plugin.type}' emit none.",
            "Use the action 'count' or 'fail', or move it to the stage before.",
        )
    if schema is None:
        return
    # Few pipelines have expectations, and every client would load the parser of expressions.
    from localcdap.plugin_lib.jexl.row_conditions import find_condition_problems

    for problem in find_schema_problems(rule, schema, find_condition_problems):
        yield _create_failure(stage, f"'{rule.label}': {problem.message}", problem.action)


def _refuse(stage: StageUse, message: str) -> ValidationFailure:
    return _create_failure(stage, message, "Move them to the stage before or after it.")


def _create_failure(stage: StageUse, message: str, action: str) -> ValidationFailure:
    return ValidationFailure(
        INVALID_STAGE,
        f"Expectations: {message}",
        action,
        [Cause({"stageConfig": KEY})],
        stage=stage.name,
        field=KEY,
    )
