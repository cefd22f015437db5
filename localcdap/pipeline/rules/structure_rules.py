"""The structural rules of pipelines: which stages may be connected to which, and what a pipeline may have.

Rules and wordings are those of CDAP 6 ``PipelineSpecGenerator`` and ``Dag``, which stop at the first
violation. Here every rule checks the whole pipeline, so that all violations are found at once; a rule
does not report what another rule reports already. The schedule of a pipeline is made by its deployment
(CDAP 6 ``DataPipelineApp``). CDAP has no rule for the inputs of alert publishers. A SQL engine, in
whose database CDAP executes some stages, gets a warning, because localcdap runs all on Spark.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from typing import Final

from localcdap.api.errors import BadRequestError
from localcdap.api.failures import INVALID_PIPELINE, INVALID_STAGE, Cause, ValidationFailure
from localcdap.api.pipeline import StageConnection
from localcdap.java.cron import parse_cron
from localcdap.pipeline.document.model import (
    PipelineDocument,
    PipelineType,
    StageUse,
    create_structural_failure,
)
from localcdap.pipeline.rules.graph import (
    ACTIONS,
    ALERT_PUBLISHER,
    BATCH,
    CONDITION,
    CONTROL,
    ERROR_EMITTERS,
    ERROR_TRANSFORM,
    HELPERS,
    JOINER,
    POST_ACTION,
    SINKS,
    SOURCES,
    SPLITTER,
    STREAMING,
    Graph,
)
from localcdap.text import nearest_names


class PipelineStructure:
    """The stages and connections of a document. Of stages with the same name the first one counts."""

    def __init__(self, document: PipelineDocument) -> None:
        self.document = document
        self.types: dict[str, str] = {}
        """Plugin type by stage; empty where the document does not state it."""
        self.stages, self.duplicates = _index_stages(document)
        """Stages by name, and further stages with a name that is taken already."""
        for stage in document.stages:
            self.types.setdefault(stage.name, stage.plugin.type)
        self.graph = Graph(self.types, document.connections)
        self.dangling: list[tuple[StageConnection, str]] = [
            (connection, name)
            for connection in document.connections
            for name in (connection.source, connection.target)
            if name not in self.types
        ]
        """Connections with an end that is not a stage, and the name of that end."""
        self.loose: frozenset[str] = frozenset(
            name
            for connection, _ in self.dangling
            for name in (connection.source, connection.target)
        )
        """Stages whose neighbour is unknown because of a dangling connection."""
        known = BATCH | STREAMING if document.type is PipelineType.STREAMING else BATCH
        self.unknown: frozenset[str] = frozenset(s for s, t in self.types.items() if t not in known)
        """Stages with an unknown type, and so an unknown role."""

    def with_document(self, document: PipelineDocument) -> PipelineStructure:
        """Return a copy for a document that differs only in plugin names, artifacts and properties."""
        renewed = copy.copy(self)
        renewed.document = document
        renewed.stages, renewed.duplicates = _index_stages(document)
        return renewed

    @cached_property
    def order(self) -> list[str]:
        """See :meth:`Graph.order`."""
        return self.graph.sort()

    @cached_property
    def cyclic_groups(self) -> list[list[str]]:
        """See :meth:`Graph.cyclic_groups`."""
        return self.graph.find_cyclic_groups()

    def is_source(self, stage: str) -> bool:
        return self.types[stage] in SOURCES

    def is_sink(self, stage: str) -> bool:
        return self.types[stage] in SINKS

    def is_action(self, stage: str) -> bool:
        return self.types[stage] in ACTIONS

    def is_condition(self, stage: str) -> bool:
        return self.types[stage] == CONDITION

    def is_control(self, stage: str) -> bool:
        return self.types[stage] in CONTROL

    def list_stages(self, type: str) -> list[str]:
        return [stage for stage, each in self.types.items() if each == type]


def _index_stages(document: PipelineDocument) -> tuple[dict[str, StageUse], list[StageUse]]:
    first: dict[str, StageUse] = {}
    further = [s for s in document.stages if first.setdefault(s.name, s) is not s]
    return first, further


_BRANCHES = (True, False)


def _require_branch_labels(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    for stage in pipeline.list_stages(CONDITION):
        for connection in pipeline.graph.outgoing[stage]:
            if connection.condition is None:
                yield create_structural_failure(
                    f"For condition stage {stage}, the connection {connection} is not marked "
                    "with either 'true' or 'false'.",
                    "Set 'condition' of the connection.",
                    stage=stage,
                )


def _refuse_equal_branches(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    for stage in pipeline.list_stages(CONDITION):
        taken = [connection.condition for connection in pipeline.graph.outgoing[stage]]
        for branch in _BRANCHES:
            if taken.count(branch) > 1:
                yield create_structural_failure(
                    f"For condition stage '{stage}', more than one outgoing connections are "
                    f"marked as {str(branch).lower()}.",
                    "A condition leads to one stage if true and to one if false.",
                    stage=stage,
                )


def _limit_branches(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    for stage in pipeline.list_stages(CONDITION):
        count = len(pipeline.graph.outputs[stage])
        if count > len(_BRANCHES):
            yield create_structural_failure(
                f"Condition stage in the pipeline '{stage}' should have at least 1 and at max 2 "
                "outgoing connections corresponding to 'true' and 'false' branches but found "
                f"'{count}'.",
                "Remove the connections beyond two.",
                stage=stage,
            )


def _separate_branches(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    """Yield a failure for each stage of a branch that can also be reached on a path around the condition."""
    graph = pipeline.graph
    for condition in pipeline.list_stages(CONDITION):
        crossed = (graph.find_descendants(condition) & graph.find_reachable_without(condition)) - {
            condition
        }
        for stage in (each for each in graph.stages if each in crossed):
            if len(graph.inputs[stage]) > 1:
                others = ",".join(graph.find_origins(stage, until=condition))
                yield create_structural_failure(
                    f"Stage in the pipeline '{stage}' is on the branch of condition '{condition}'. "
                    f"However it also has following incoming paths: '{others}'. "
                    "Different branches of a condition cannot be inputs to the same stage.",
                    "Give each branch its own stages.",
                    stage=stage,
                )


CONDITION_RULES = (
    _require_branch_labels,
    _refuse_equal_branches,
    _limit_branches,
    _separate_branches,
)
"""In the order in which failures are reported."""


def check_schedule(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    """Yield what keeps the schedule of a pipeline from being made."""
    document = pipeline.document
    if not document.schedule:
        return
    try:
        parse_cron(document.schedule)
    except BadRequestError as error:
        yield _create_failure("schedule", error.message, error.corrective_action)
    limit = document.max_concurrent_runs
    if limit is not None and limit < 0:
        yield _create_failure(
            "maxConcurrentRuns",
            f"The most runs of a schedule at the same time cannot be {limit}.",
            "Give a number from 1 on as 'maxConcurrentRuns', or leave it out for any number.",
        )


def _create_failure(field: str, message: str, action: str | None) -> ValidationFailure:
    return ValidationFailure(INVALID_PIPELINE, message, action, [], field=field)


Rule = Callable[[PipelineStructure], Iterator[ValidationFailure]]


def check_structure(structure: PipelineStructure) -> list[ValidationFailure]:
    """Return all structural failures of a document, first those of parts that could not be read."""
    problems = structure.document.problems
    found = [*problems, *(failure for rule in RULES for failure in rule(structure))]
    # Connections that differ only in port or condition lead to failures with the same message.
    return list({(failure.message, failure.stage): failure for failure in found}.values())


def _refuse_streaming(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    if pipeline.document.type is PipelineType.STREAMING:
        yield create_structural_failure(
            "Streaming pipelines cannot be run here; only their structure was checked.",
            f"Rebuild it as a batch pipeline with the artifact '{PipelineType.BATCH.value}'.",
        )


def _require_stages(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    if not pipeline.types and not pipeline.document.problems:
        yield create_structural_failure(
            "A pipeline must contain at least one stage.", "Add a source and a sink."
        )


def _require_unique_names(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    document = pipeline.document
    names = Counter(stage.name for stage in (*document.stages, *document.post_actions))
    for name, count in names.items():
        if count > 1:
            yield create_structural_failure(
                f"Invalid pipeline. Multiple stages are named {name}. "
                "Please ensure all stage names are unique",
                f"Rename all but one of the {count} and connect them again.",
                stage=name,
            )


def _require_known_types(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    for stage, type in pipeline.types.items():
        if stage not in pipeline.unknown or not type:
            continue
        if type in STREAMING:
            message = f"Plugin type '{type}' of stage '{stage}' is for streaming pipelines only."
            action = "Use a batch plugin in its place."
        elif type in HELPERS:
            message = f"Plugin type '{type}' of stage '{stage}' is not a type of stages."
            action = "Remove the stage" + (
                ", or move it to 'postActions'." if type == POST_ACTION else "."
            )
        else:
            message = f"Unknown plugin type '{type}' of stage '{stage}'."
            near = nearest_names(type.lower(), BATCH, limit=5)
            action = f"Use one of {', '.join(near or sorted(BATCH))}."
        yield create_structural_failure(message, action, stage=stage)


def _require_connected_stages(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    names = list(pipeline.types)
    for connection, name in pipeline.dangling:
        near = nearest_names(name, names, limit=5)
        action = f"Did you mean '{near[0]}'?" if near else f"Stages: {', '.join(names) or 'none'}."
        other = connection.target if name == connection.source else connection.source
        yield create_structural_failure(
            f"Invalid connection {connection}. {name} is not a stage.",
            action,
            stage=other if other in pipeline.types else None,
        )


def _require_connections(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    if _has_no_connections(pipeline) and pipeline.types:
        names = list(pipeline.types)
        if len(names) != 1 or not (pipeline.is_action(names[0]) or names[0] in pipeline.unknown):
            yield create_structural_failure(
                "Invalid pipeline. There are no connections between stages. "
                "This is only allowed if the pipeline consists of a single action plugin.",
                "Connect the stages.",
            )


def _has_no_connections(pipeline: PipelineStructure) -> bool:
    return not pipeline.document.connections


def _refuse_inputs_of_sources(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    for stage in filter(pipeline.is_source, pipeline.types):
        yield from _refuse(pipeline, stage, pipeline.graph.inputs[stage], "incoming", "from")


def _refuse_outputs_of_sinks(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    for stage in filter(pipeline.is_sink, pipeline.types):
        yield from _refuse(pipeline, stage, pipeline.graph.outputs[stage], "outgoing", "to")


def _refuse(
    pipeline: PipelineStructure, stage: str, others: Collection[str], kind: str, where: str
) -> Iterator[ValidationFailure]:
    """Yield a failure when a stage has connections with others, except those of control."""
    if not all(map(pipeline.is_control, others)):
        type = pipeline.types[stage]
        yield create_structural_failure(
            f"{type} {stage} has {kind} connections {where} {','.join(others)}. "
            f"{type} stages cannot have any {kind} connections.",
            "Remove the connections.",
            stage=stage,
        )


def _require_error_emitters(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    for stage in pipeline.list_stages(ERROR_TRANSFORM):
        for source in pipeline.graph.inputs[stage]:
            type = pipeline.types[source]
            if type not in ERROR_EMITTERS and source not in pipeline.unknown:
                yield create_structural_failure(
                    f"ErrorTransform {stage} cannot have stage {source} of type {type} as input. "
                    f"Only {', '.join(ERROR_EMITTERS)} stages can emit errors.",
                    "Connect it to a stage that can.",
                    stage=stage,
                )


def _refuse_unreachable_stages(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    for stage in _list_checkable_stages(pipeline):
        starts = pipeline.is_source(stage) or pipeline.is_control(stage)
        if not starts and not pipeline.graph.inputs[stage]:
            yield create_structural_failure(
                f"Stage {stage} is unreachable, it has no incoming connections.",
                "Connect a stage to it, or remove it.",
                stage=stage,
            )


def _refuse_dead_ends(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    for stage in _list_checkable_stages(pipeline):
        ends = pipeline.is_sink(stage) or pipeline.is_action(stage)
        if not ends and not pipeline.graph.outputs[stage]:
            yield create_structural_failure(
                f"Stage {stage} is a dead end, it has no outgoing connections.",
                "Connect it to a stage, or remove it.",
                stage=stage,
            )


def _list_checkable_stages(pipeline: PipelineStructure) -> list[str]:
    """Return the stages whose missing inputs or outputs no other rule reports."""
    if _has_no_connections(pipeline):
        return []
    without = pipeline.loose | pipeline.unknown
    return [stage for stage in pipeline.types if stage not in without]


def _require_actions_at_ends(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    for stage in filter(pipeline.is_action, pipeline.types):
        graph = pipeline.graph
        if all(
            any(not pipeline.is_control(each) for each in side - {stage})
            for side in (graph.find_ancestors(stage), graph.find_descendants(stage))
        ):
            yield create_structural_failure(
                f"Action stage '{stage}' is invalid. "
                "Actions can only be placed at the start or end of the pipeline.",
                "Move it before all sources or after all sinks.",
                stage=stage,
            )


def _require_splitter_ports(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    for stage in pipeline.list_stages(SPLITTER):
        for connection in pipeline.graph.outgoing[stage]:
            if connection.port is None:
                yield create_structural_failure(
                    f"Connection from Splitter '{stage}' to '{connection.target}' must specify a port.",
                    "Set 'port' of the connection.",
                    stage=stage,
                )


def _require_ends(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    graph = pipeline.graph
    connected = [s for s in pipeline.types if graph.inputs[s] or graph.outputs[s]]
    if not connected or pipeline.loose:
        return
    for what, side in (("sources", graph.inputs), ("sinks", graph.outputs)):
        if all(side[stage] for stage in connected):
            message = f"DAG does not have any {what}. Please remove cycles from the graph."
            yield create_structural_failure(message)


def _refuse_cycles(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    for cycle in pipeline.graph.find_cycles():
        path = " -> ".join([*cycle, cycle[0]])
        yield create_structural_failure(
            f"Invalid DAG. The stages {path} form a cycle.",
            "Remove one of these connections.",
        )


def _refuse_islands(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    graph = pipeline.graph
    parts = [
        part
        for part in graph.find_components()
        if len(part) > 1 or pipeline.is_action(part[0]) or graph.outputs[part[0]]
    ]
    # Every dangling connection may have been intended to connect one more component.
    if len(parts) - 1 <= len(pipeline.dangling) or _has_no_connections(pipeline):
        return
    mainland = max(parts, key=len)
    for part in parts:
        if part is not mainland:
            yield create_structural_failure(
                f"Invalid DAG. There is an island made up of stages {', '.join(part)} "
                "(no other stages connect to them).",
                "Connect them to the rest, or move them to another pipeline.",
            )


RULES: tuple[Rule, ...] = (
    _refuse_streaming,
    _require_stages,
    _require_unique_names,
    _require_known_types,
    _require_connected_stages,
    _require_connections,
    _require_ends,
    _refuse_cycles,
    _refuse_islands,
    _refuse_inputs_of_sources,
    _refuse_outputs_of_sinks,
    _require_error_emitters,
    _refuse_unreachable_stages,
    _refuse_dead_ends,
    _require_actions_at_ends,
    _require_splitter_ports,
    *CONDITION_RULES,
    check_schedule,
)
"""In the order in which failures are reported."""


_SILENT: Final = CONTROL | SOURCES | {JOINER, "sparkcompute"}
"""Types of stages whose plugins have no emitter, and so emit no alerts."""


def find_silent_inputs(structure: PipelineStructure) -> list[ValidationFailure]:
    """Return a warning for each alert publisher none of whose inputs can emit alerts."""
    found = []
    for publisher in structure.list_stages(ALERT_PUBLISHER):
        inputs = [c.source for c in structure.graph.incoming[publisher]]
        if inputs and all(structure.types[each] in _SILENT for each in inputs):
            named = ", ".join(f"'{each}' ({structure.types[each]})" for each in inputs)
            found.append(
                ValidationFailure(
                    INVALID_STAGE,
                    f"Stage '{publisher}' gets no alerts: {named} cannot emit any.",
                    "Connect it to a stage that emits alerts, such as a JavaScript transform.",
                    [Cause({"inputStage": each}) for each in inputs],
                    stage=publisher,
                )
            )
    return found


SQL_ENGINE = "batchsqlengine"


def check_sql_engine(document: PipelineDocument) -> list[ValidationFailure]:
    """Return a warning that the SQL engine is not used, or that its plugin is of another type."""
    plugin = document.sql_engine
    if plugin is None:
        return []
    if not plugin.name or plugin.type != SQL_ENGINE:
        message = (
            f"The plugin of 'transformationPushdown' must have a name and the type '{SQL_ENGINE}', not "
            f"'{plugin.type}'."
        )
        return [_warn(message, "Correct it before the pipeline is deployed in CDAP.")]
    return [
        _warn(
            f"The SQL engine '{plugin.name}' is not used: all stages run on Spark.",
            "Nothing is to be done. It stays in the document, and CDAP uses it.",
        )
    ]


def _warn(message: str, action: str) -> ValidationFailure:
    return ValidationFailure(INVALID_PIPELINE, message, action, [])
