"""What flows into a stage: the schemas of its inputs, and why one is not known."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from localcdap.api.failures import INVALID_STAGE, Cause, ValidationFailure
from localcdap.api.pipeline import Connection
from localcdap.api.schema import Schema, all_same_shape
from localcdap.pipeline.rules.failure import structural
from localcdap.pipeline.rules.plugin_types import (
    ALERT_PUBLISHER,
    CONDITION,
    ERROR_TRANSFORM,
    JOINER,
)
from localcdap.pipeline.rules.structure import Structure
from localcdap.pipeline.validation.outcome import Outcome


class Incoming(msgspec.Struct):
    """What flows into one stage."""

    schemas: dict[str, Schema | None]
    """By input stage, in connection order; None where the schema is not known."""
    common: Schema | None
    """See :func:`merge`."""
    failures: list[ValidationFailure]
    is_tainted: bool = False
    """See :class:`Outcome`; likewise the next."""
    forwarded: list[str] = []


class Flow:
    """Schemas on their way from outcome to outcome: what flows into a stage follows from its inputs alone.

    A stage that failed is *broken*; what it does not tell is unknown downstream. Only the stages right
    behind it say so: further downstream nothing is known that a user could act on.
    """

    def __init__(self, structure: Structure, outcomes: Mapping[str, Outcome]) -> None:
        self._structure = structure
        self._outcomes = outcomes

    def into(self, stage: str) -> Incoming:
        """What flows into a stage whose inputs have been configured (but for those on a cycle)."""
        structure = self._structure
        type = structure.types[stage]
        if structure.is_source(stage):
            return Incoming({}, None, [])
        inputs = structure.graph.inputs[stage]
        if structure.is_action(stage) or type == ALERT_PUBLISHER:
            return Incoming(dict.fromkeys(inputs), None, [])
        data = [
            connection
            for connection in structure.graph.incoming[stage]
            if not structure.is_action(connection.source)
        ]
        known: list[Schema] = []
        schemas: dict[str, Schema | None] = {}
        for connection in data:
            schema = self._along(connection)
            schemas[connection.source] = schemas.get(connection.source) or schema
            if schema is not None:
                known.append(schema)
        unknown = [name for name, s in schemas.items() if s is None]
        causes = [cause for each in unknown for cause in self._causes(each)]
        is_tainted = bool(causes) or any(map(self._is_tainted, unknown))
        common, different = merge(stage, type, known)
        if type == CONDITION:
            return Incoming(schemas, common, different, is_tainted, causes)
        failures = [_unknown(stage, cause) for cause in dict.fromkeys(causes)]
        return Incoming(schemas, common, failures + different, is_tainted)

    def _along(self, connection: Connection) -> Schema | None:
        outcome = self._outcomes.get(connection.source)
        if outcome is None:
            return None  # on a cycle, which has its own failure
        if self._structure.types[connection.target] == ERROR_TRANSFORM:
            # A source that declares nothing else would emit errors about records of its own.
            own = outcome.output if self._structure.is_source(connection.source) else None
            return outcome.error or own
        if connection.port is not None and outcome.ports:
            return outcome.ports.get(connection.port)
        return outcome.output

    def _is_tainted(self, stage: str) -> bool:
        outcome = self._outcomes.get(stage)
        return outcome is None or outcome.is_tainted

    def _causes(self, stage: str) -> list[str]:
        """The broken stages that make unknown what comes from this one, conditions looked through."""
        outcome = self._outcomes.get(stage)
        if outcome is None:
            return []
        if self._structure.is_condition(stage):
            return outcome.forwarded
        return [stage] if outcome.is_broken else []


def _unknown(stage: str, cause: str) -> ValidationFailure:
    return ValidationFailure(
        INVALID_STAGE,
        f"Input schema of stage '{stage}' is unknown because stage '{cause}' is invalid.",
        f"Correct stage '{cause}'.",
        [Cause({"inputStage": cause})],
        stage=stage,
    )


def merge(
    stage: str, type: str, schemas: list[Schema]
) -> tuple[Schema | None, list[ValidationFailure]]:
    """The schema common to all inputs of a stage, and the failure when they differ.

    The inputs of a joiner may differ; there is no common schema then. Names of records never count.
    """
    if all_same_shape(schemas):
        return (schemas[0] if schemas else None), []
    if type == JOINER:
        return None, []
    message = (
        f"Cannot have different input schemas going into stage {stage}"
        if type == CONDITION
        else f"Two different input schema were set for the stage {stage}"
    )
    action = "Give all stages before it the same fields, types and order."
    return schemas[0], [structural(message, action, stage=stage)]
