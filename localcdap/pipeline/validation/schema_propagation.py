"""What flows into a stage: the schemas of its inputs, and why one is not known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from localcdap.api.failures import INVALID_STAGE, Cause, ValidationFailure
from localcdap.api.pipeline import StageConnection
from localcdap.api.schema import Schema, all_same_shape
from localcdap.pipeline.document.failures import create_structural_failure
from localcdap.pipeline.document.model import StageUse
from localcdap.pipeline.rules.plugin_types import (
    ALERT_PUBLISHER,
    CONDITION,
    ERROR_TRANSFORM,
    JOINER,
)
from localcdap.pipeline.rules.structure import PipelineStructure
from localcdap.pipeline.validation.configured_stage import ConfiguredStage
from localcdap.pipeline.validation.stage_configuration import StageConfiguration
from localcdap.sandbox.stage_configuration import ConfigureResult


class StageInputs(msgspec.Struct):
    """What flows into one stage."""

    schemas: dict[str, Schema | None]
    """By input stage, in connection order; None where the schema is not known."""
    common: Schema | None
    """See :func:`merge_schemas`."""
    failures: list[ValidationFailure]
    is_tainted: bool = False
    """See :class:`ConfiguredStage`; likewise the next."""
    forwarded: list[str] = []


class InputFinder:
    """Schemas on their way from outcome to outcome: what flows into a stage follows from its inputs alone.

    A stage that failed is *broken*; what it does not tell is unknown downstream. Only the stages right
    behind it say so: further downstream nothing is known that a user could act on.
    """

    def __init__(
        self, structure: PipelineStructure, outcomes: Mapping[str, ConfiguredStage]
    ) -> None:
        self._structure = structure
        self._outcomes = outcomes

    def find_inputs(self, stage: str) -> StageInputs:
        """Return what flows into a stage whose inputs have been configured (but for those on a cycle)."""
        structure = self._structure
        type = structure.types[stage]
        if structure.is_source(stage):
            return StageInputs({}, None, [])
        inputs = structure.graph.inputs[stage]
        if structure.is_action(stage) or type == ALERT_PUBLISHER:
            return StageInputs(dict.fromkeys(inputs), None, [])
        data = [
            connection
            for connection in structure.graph.incoming[stage]
            if not structure.is_action(connection.source)
        ]
        known: list[Schema] = []
        schemas: dict[str, Schema | None] = {}
        for connection in data:
            schema = self._find_schema(connection)
            schemas[connection.source] = schemas.get(connection.source) or schema
            if schema is not None:
                known.append(schema)
        unknown = [name for name, s in schemas.items() if s is None]
        causes = [cause for each in unknown for cause in self._find_causes(each)]
        is_tainted = bool(causes) or any(map(self._is_tainted, unknown))
        common, different = merge_schemas(stage, type, known)
        if type == CONDITION:
            return StageInputs(schemas, common, different, is_tainted, causes)
        failures = [_create_unknown_failure(stage, cause) for cause in dict.fromkeys(causes)]
        return StageInputs(schemas, common, failures + different, is_tainted)

    def _find_schema(self, connection: StageConnection) -> Schema | None:
        outcome = self._outcomes.get(connection.source)
        if outcome is None:
            return None  # on a cycle, which has its own failure
        if self._structure.types[connection.target] == ERROR_TRANSFORM:
            # A source that declares nothing else would emit errors about records of its own.
            own = outcome.output_schema if self._structure.is_source(connection.source) else None
            return outcome.error_schema or own
        if connection.port is not None and outcome.port_schemas:
            return outcome.port_schemas.get(connection.port)
        return outcome.output_schema

    def _is_tainted(self, stage: str) -> bool:
        outcome = self._outcomes.get(stage)
        return outcome is None or outcome.is_tainted

    def _find_causes(self, stage: str) -> list[str]:
        """Return the broken stages that make unknown what comes from this one, conditions looked through."""
        outcome = self._outcomes.get(stage)
        if outcome is None:
            return []
        if self._structure.is_condition(stage):
            return outcome.forwarded
        return [stage] if outcome.is_broken else []


def _create_unknown_failure(stage: str, cause: str) -> ValidationFailure:
    return ValidationFailure(
        INVALID_STAGE,
        f"Input schema of stage '{stage}' is unknown because stage '{cause}' is invalid.",
        f"Correct stage '{cause}'.",
        [Cause({"inputStage": cause})],
        stage=stage,
    )


def merge_schemas(
    stage: str, type: str, schemas: list[Schema]
) -> tuple[Schema | None, list[ValidationFailure]]:
    """Return the schema common to all inputs of a stage, and the failure when they differ.

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
    return schemas[0], [create_structural_failure(message, action, stage=stage)]


class SchemaPropagation:
    """The configured stages of a pipeline. After a change of it only those that may differ are configured.

    That is: a stage that is new or has another plugin or other properties, one with other connections,
    and one behind a stage that now passes on something else.

    A stage whose plugin has not answered yet keeps what it passed on before. One that passed on nothing yet
    holds up those behind it.
    """

    def __init__(self, configure: StageConfiguration) -> None:
        self._configure = configure
        self._get_connections: dict[str, _Connections] = {}
        self.stages: dict[str, ConfiguredStage] = {}
        """By stage, in topological order."""
        self.duplicates: list[ConfiguredStage] = []
        """Of further stages with a name that another one has."""
        self.late_stages: set[str] = set()
        """Stages whose plugins take so long that those behind them go on without."""

    @property
    def failures(self) -> list[ValidationFailure]:
        """Of all stages, in topological order, those of further stages of the same name last."""
        return [
            f for outcome in (*self.stages.values(), *self.duplicates) for f in outcome.failures
        ]

    def reset(self, configure: StageConfiguration) -> None:
        """Configure every stage anew the next time, in another way."""
        self._configure = configure
        self._get_connections.clear()

    def forget(self, stage: str) -> None:
        """Configure one stage anew the next time."""
        self._get_connections.pop(stage, None)

    def update(self, structure: PipelineStructure) -> None:
        """Configure the stages, each once and after its inputs."""
        former, links = self.stages, self._get_connections
        if structure.cyclic_groups:
            links = {}  # on a cycle, what a stage is given follows from the order too
        self.stages, self._get_connections, moved = {}, {}, set[str]()
        flow = InputFinder(structure, self.stages)
        for name in structure.order:
            stage, before = structure.stages[name], former.get(name)
            self._get_connections[name] = now = _get_connections(structure, name)
            is_same = before is not None and _is_same(before, stage) and links.get(name) == now
            if before is not None and is_same and moved.isdisjoint(structure.graph.inputs[name]):
                self.stages[name] = before
                continue
            outcome = self._configure_stage(stage, structure, flow.find_inputs(name), before)
            self.stages[name] = outcome
            if before is None or before.get_propagated() != outcome.get_propagated():
                moved.add(name)
        self.duplicates = [
            self._configure(stage, dict.fromkeys(structure.graph.inputs[stage.name]))
            for stage in structure.duplicates
            if stage.plugin.name and stage.plugin.type
        ]

    def _configure_stage(
        self,
        stage: StageUse,
        structure: PipelineStructure,
        incoming: StageInputs,
        before: ConfiguredStage | None,
    ) -> ConfiguredStage:
        name = stage.name
        is_known = name not in structure.unknown and bool(stage.plugin.name)
        if not is_known:
            outcome = ConfiguredStage(
                stage, [], input_schemas=incoming.schemas
            )  # its failure is structural
        elif any(self._must_wait_for(each) for each in incoming.schemas):
            outcome = ConfiguredStage(stage, [], input_schemas=incoming.schemas, is_checking=True)
        else:
            ports = [c.port for c in structure.graph.outgoing[name] if c.port is not None]
            outcome = self._configure(stage, incoming.schemas, list(dict.fromkeys(ports)))
        if outcome.is_checking and before is not None and _is_same_plugin(before, stage):
            outcome.result = before.result
            outcome.failures += before.result.failures
        outcome.is_tainted = incoming.is_tainted
        outcome.is_broken = not incoming.is_tainted and bool(outcome.failures or not is_known)
        outcome.forwarded = incoming.forwarded
        outcome.set_output_schemas(incoming.common)
        outcome.failures += incoming.failures
        return outcome

    def _must_wait_for(self, stage: str) -> bool:
        """Return whether nothing is known yet of what a stage passes on."""
        outcome = self.stages.get(stage)
        if outcome is None or stage in self.late_stages:
            return False
        return outcome.is_checking and outcome.result == _NOTHING


_NOTHING: Final = ConfigureResult([])
_Connections = tuple[list[StageConnection], list[StageConnection]]


def _get_connections(structure: PipelineStructure, stage: str) -> _Connections:
    return structure.graph.incoming[stage], structure.graph.outgoing[stage]


def _is_same(outcome: ConfiguredStage, stage: StageUse) -> bool:
    return outcome.stage.plugin == stage.plugin and not outcome.is_checking


def _is_same_plugin(outcome: ConfiguredStage, stage: StageUse) -> bool:
    before, now = outcome.stage.plugin, stage.plugin
    return (before.type, before.name) == (now.type, now.name)
