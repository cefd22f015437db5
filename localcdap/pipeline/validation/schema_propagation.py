"""Schema propagation: configures the stages of a pipeline in order and hands schemas downstream.

After a change only the stages that it may affect are configured again. That keeps an edit in a pipeline of
200 stages below one frame (16 ms, ``benchmarks/editing.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from localcdap.api.failures import INVALID_STAGE, Cause, ValidationFailure
from localcdap.api.pipeline import StageConnection
from localcdap.api.schema import Schema, all_same_shape
from localcdap.pipeline.document.failures import create_structural_failure
from localcdap.pipeline.document.model import StageUse
from localcdap.pipeline.rules.graph import Graph
from localcdap.pipeline.rules.plugin_types import (
    ALERT_PUBLISHER,
    CONDITION,
    ERROR_TRANSFORM,
    JOINER,
)
from localcdap.pipeline.rules.structure import PipelineStructure
from localcdap.pipeline.validation.configured_stage import ConfiguredStage
from localcdap.pipeline.validation.expectations import check_expectations
from localcdap.pipeline.validation.stage_configuration import StageConfiguration, StagePosition
from localcdap.sandbox.stage_configuration import ConfigureResult


class StageInputs(msgspec.Struct):
    """The input schemas of one stage."""

    schemas: dict[str, Schema | None]
    """By input stage, in connection order; None where the schema is not known."""
    common: Schema | None
    """See :func:`merge_schemas`."""
    failures: list[ValidationFailure]
    is_tainted: bool = False
    """See :class:`ConfiguredStage`."""
    forwarded: list[str] = []


class InputFinder:
    """Finds the input schemas of a stage from the configured stages before it.

    A stage that failed is *broken*, and a schema that it does not set is unknown downstream. Only the stages
    directly after it report a failure: a user could not act on one further downstream.
    """

    def __init__(
        self, structure: PipelineStructure, outcomes: Mapping[str, ConfiguredStage]
    ) -> None:
        self._structure = structure
        self._outcomes = outcomes

    def find_inputs(self, stage: str) -> StageInputs:
        """Return the inputs of a stage whose input stages are configured, except those on a cycle."""
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
            return None  # on a cycle, which is a failure of the structure
        if self._structure.types[connection.target] == ERROR_TRANSFORM:
            # A source without an error schema emits its own records as errors.
            own = outcome.output_schema if self._structure.is_source(connection.source) else None
            return outcome.error_schema or own
        if connection.port is not None and outcome.port_schemas:
            return outcome.port_schemas.get(connection.port)
        return outcome.output_schema

    def _is_tainted(self, stage: str) -> bool:
        outcome = self._outcomes.get(stage)
        return outcome is None or outcome.is_tainted

    def _find_causes(self, stage: str) -> list[str]:
        """Return the broken stages that make the output of this one unknown; a condition passes them on."""
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

    The inputs of a joiner may differ; there is no common schema then. Record names are ignored.
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
    """The configured stages of a pipeline, updated with the least work.

    An update configures a stage that is new, has another plugin, other properties or other connections, or
    comes after a stage whose output changed.

    A stage whose plugin has not answered yet keeps its previous output. Without one, stages after it wait.
    """

    def __init__(self, configure: StageConfiguration) -> None:
        self._configure = configure
        self._graph: Graph | None = None
        self._found_places: dict[str, _Place] = {}
        """The places in the graph, which most edits leave as it is."""
        self._places: dict[str, _Place] = {}
        """The places with which the stages were configured."""
        self.stages: dict[str, ConfiguredStage] = {}
        """By stage, in topological order."""
        self.duplicates: list[ConfiguredStage] = []
        """Stages with a name that another stage has already."""
        self.late_stages: set[str] = set()
        """Stages whose plugins take so long that the stages after them no longer wait."""

    @property
    def failures(self) -> list[ValidationFailure]:
        """The failures of all stages in topological order, then those of duplicates."""
        return [
            f for outcome in (*self.stages.values(), *self.duplicates) for f in outcome.failures
        ]

    def reset(self, configure: StageConfiguration) -> None:
        """Configure every stage again at the next update, with another configuration."""
        self._configure = configure
        self._places.clear()

    def forget(self, stage: str) -> None:
        """Configure one stage again at the next update."""
        self._places.pop(stage, None)

    def update(self, structure: PipelineStructure) -> None:
        """Configure the stages that may have changed, each once and after its inputs."""
        if structure.graph is not self._graph:
            self._graph = structure.graph
            self._found_places = {name: _find_place(structure, name) for name in structure.order}
        former, places = self.stages, self._places
        if structure.cyclic_groups:
            places = {}  # on a cycle, the inputs of a stage depend on the order too
        self.stages, self._places, moved = {}, {}, set[str]()
        flow = InputFinder(structure, self.stages)
        for name in structure.order:
            stage, before = structure.stages[name], former.get(name)
            self._places[name] = now = self._found_places[name]
            then = places.get(name)
            is_same = (
                before is not None and _is_same(before, stage) and (then is now or then == now)
            )
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
            )  # the structure rules report it
        elif any(self._must_wait_for(each) for each in incoming.schemas):
            outcome = ConfiguredStage(stage, [], input_schemas=incoming.schemas, is_checking=True)
        else:
            outcome = self._configure(stage, incoming.schemas, self._places[name].position)
        if outcome.is_checking and before is not None and _is_same_plugin(before, stage):
            outcome.result = before.result
            outcome.failures += before.result.failures
        outcome.is_tainted = incoming.is_tainted
        outcome.is_broken = not incoming.is_tainted and bool(outcome.failures or not is_known)
        outcome.forwarded = incoming.forwarded
        outcome.set_output_schemas(incoming.common)
        outcome.failures += incoming.failures
        wants_errors = self._places[name].position.wants_errors
        check_expectations(outcome, incoming.common, wants_errors=wants_errors)
        return outcome

    def _must_wait_for(self, stage: str) -> bool:
        """Return whether a stage has no output yet that the stages after it could use."""
        outcome = self.stages.get(stage)
        if outcome is None or stage in self.late_stages:
            return False
        return outcome.is_checking and outcome.result == _NOTHING


_NOTHING: Final = ConfigureResult([])


class _Place(msgspec.Struct, frozen=True):
    """What the result of a stage depends on besides its plugin and its inputs."""

    incoming: list[StageConnection]
    outgoing: list[StageConnection]
    position: StagePosition


def _find_place(structure: PipelineStructure, stage: str) -> _Place:
    graph, types = structure.graph, structure.types
    outgoing = graph.outgoing[stage]
    ports = dict.fromkeys(each.port for each in outgoing if each.port is not None)
    position = StagePosition(
        list(ports),
        any(types.get(each.target) == ERROR_TRANSFORM for each in outgoing),
        frozenset(graph.find_ancestors(stage)) if structure.is_condition(stage) else None,
    )
    return _Place(graph.incoming[stage], outgoing, position)


def _is_same(outcome: ConfiguredStage, stage: StageUse) -> bool:
    has_same_rules = outcome.stage.expectations == stage.expectations
    return has_same_rules and outcome.stage.plugin == stage.plugin and not outcome.is_checking


def _is_same_plugin(outcome: ConfiguredStage, stage: StageUse) -> bool:
    before, now = outcome.stage.plugin, stage.plugin
    return (before.type, before.name) == (now.type, now.name)
