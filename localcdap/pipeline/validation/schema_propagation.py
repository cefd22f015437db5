"""Schema propagation: configures the stages of a pipeline in order and hands schemas downstream.

After a change only the stages that it may affect are configured again. That keeps an edit in a pipeline
of 200 stages below one frame (16 ms, ``benchmarks/editing.py``). The specification is that of CDAP 6
``BatchPipelineSpec``. Expectations are checked with them: whether a stage can have them, and whether
they suit its records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from localcdap.api.failures import INVALID_STAGE, Cause, ValidationFailure
from localcdap.api.pipeline import (
    OutputPort,
    PipelineSpec,
    PluginSpec,
    PostActionSpec,
    StageConnection,
    StageSpec,
    UsedPluginSpec,
)
from localcdap.api.schema import Schema, all_same_shape
from localcdap.artifacts.model import PluginRef
from localcdap.expectations.rules import KEY, Expectation, RuleAction
from localcdap.expectations.schema_checks import find_schema_problems
from localcdap.pipeline.document.model import (
    PipelineDocument,
    PluginUse,
    StageUse,
    create_structural_failure,
)
from localcdap.pipeline.macros.evaluation import connections_used
from localcdap.pipeline.rules.graph import (
    ALERT_PUBLISHER,
    CONDITION,
    ERROR_EMITTERS,
    ERROR_TRANSFORM,
    JOINER,
    SINKS,
    Graph,
)
from localcdap.pipeline.rules.structure_rules import PipelineStructure
from localcdap.pipeline.validation.stage_configuration import (
    ConfiguredStage,
    StageConfiguration,
    StagePosition,
)
from localcdap.sandbox.stage_configuration import ConfigureResult

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


def create_stage_specs(
    document: PipelineDocument, graph: Graph, outcomes: Mapping[str, ConfiguredStage]
) -> dict[str, StageSpec]:
    """Return the specification of each stage whose plugin was found, with its place in the pipeline."""
    stages = {}
    for name, outcome in outcomes.items():
        if outcome.plugin is None:
            continue
        spec = create_stage_spec(outcome)
        spec.input_stages = graph.inputs[name]
        spec.output_ports = _create_output_ports(graph, outcome)
        spec.stage_logging_enabled = document.stage_logging_enabled
        spec.process_timing_enabled = document.process_timing_enabled
        spec.max_preview_records = document.num_of_records_preview
        stages[name] = spec
    return stages


def create_pipeline_spec(
    document: PipelineDocument,
    stages: Mapping[str, StageSpec],
    ending: Iterable[ConfiguredStage],
    properties: dict[str, str],
) -> PipelineSpec:
    """Return the specification of a pipeline all of whose stages and post actions have a plugin.

    :param properties: see :func:`pipeline_properties`.
    """
    used = [name for each in stages.values() for name in connections_used(each.plugin.properties)]
    return PipelineSpec(
        stages=list(stages.values()),
        connections=document.connections,
        resources=document.resources,
        driver_resources=document.driver_resources,
        client_resources=document.client_resources,
        stage_logging_enabled=document.stage_logging_enabled,
        process_timing_enabled=document.process_timing_enabled,
        num_of_records_preview=document.num_of_records_preview,
        properties=properties,
        ending_actions=[
            PostActionSpec(each.stage.name, _create_plugin_spec(each)) for each in ending
        ],
        engine=document.engine,
        connections_used=list(dict.fromkeys(used)),
    )


def create_stage_spec(outcome: ConfiguredStage) -> StageSpec:
    """Return the specification of a stage on its own, connected to nothing."""
    return StageSpec(
        name=outcome.stage.name,
        plugin=_create_plugin_spec(outcome),
        input_schemas=outcome.input_schemas,
        input_stages=list(outcome.input_schemas),
        output_ports={},
        port_schemas=outcome.port_schemas,
        output_schema=outcome.output_schema,
        error_schema=outcome.error_schema,
    )


def _create_plugin_spec(outcome: ConfiguredStage) -> PluginSpec:
    assert outcome.plugin is not None  # a stage without a plugin is a failure, and ends in no spec
    return create_plugin_spec(outcome.stage.plugin, outcome.plugin)


def create_plugin_spec(use: PluginUse, plugin: PluginRef) -> PluginSpec:
    """Return the plugin with its exact artifact and its unevaluated properties, so that no secret shows."""
    uses = [UsedPluginSpec(each.type, each.name, each.artifact) for each in plugin.uses]
    return PluginSpec(use.type, use.name, use.properties, plugin.artifact, uses)


def _create_output_ports(graph: Graph, outcome: ConfiguredStage) -> dict[str, OutputPort]:
    ports: dict[str, OutputPort] = {}
    for connection in graph.outgoing[outcome.stage.name]:
        if outcome.port_schemas and connection.port is not None:
            port = OutputPort(connection.port, outcome.port_schemas.get(connection.port))
        else:
            port = OutputPort(connection.port, outcome.output_schema)
        ports.setdefault(connection.target, port)
    return ports


def pipeline_properties(
    document: PipelineDocument, outcomes: Iterable[ConfiguredStage]
) -> tuple[dict[str, str], list[ValidationFailure]]:
    """Return the engine properties: those of the document, overridden by those that stages ask for.

    Two stages must not ask for different values (CDAP 6 ``PipelineSpecGenerator``).
    """
    asked: dict[str, tuple[str, str]] = {}
    failures: list[ValidationFailure] = []
    for outcome in outcomes:
        stage = outcome.stage.name
        for key, value in outcome.result.pipeline_properties.items():
            other, earlier = asked.setdefault(key, (stage, value))
            if earlier != value:
                message = (
                    f"Pipeline property '{key}' is being set to different values by stages. "
                    f"stage '{other}' = '{earlier}', stage '{stage}' = '{value}'"
                )
                failures.append(
                    create_structural_failure(message, "Configure the two stages alike.")
                )
    properties = document.engine_properties | {key: value for key, (_, value) in asked.items()}
    return properties, failures


def check_columns(outcomes: Iterable[ConfiguredStage]) -> list[ValidationFailure]:
    """Return a failure for each column that two stages would write with different types."""
    written: dict[tuple[str, str], tuple[str, str]] = {}
    failures: list[ValidationFailure] = []
    for outcome in outcomes:
        stage = outcome.stage.name
        for table, columns in outcome.result.columns.items():
            for column, type in columns.items():
                other, earlier = written.setdefault((table, column), (stage, type))
                if earlier != type:
                    message = (
                        f"Stages '{other}' and '{stage}' write column '{column}' of table '{table}' with "
                        f"different types: {earlier} and {type}."
                    )
                    action = "Convert the field in one of the two, or write into two tables."
                    failures.append(create_structural_failure(message, action))
    return failures
