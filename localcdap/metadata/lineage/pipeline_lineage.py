"""The lineage of a pipeline, made of the lineage of its stages.

The edges between datasets that follow from the edges of each stage of a pipeline.
"""

from __future__ import annotations

import graphlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.failures import ValidationFailure
from localcdap.api.lineage import (
    EdgeKind,
    EdgeType,
    EndPoint,
    FieldEdge,
    FieldOperation,
    FieldReadOperation,
    FieldWriteOperation,
    StageLineage,
)
from localcdap.api.pipeline import StageConnection
from localcdap.api.tables import TableShape
from localcdap.engine.messages.dataset_names import list_places
from localcdap.metadata.lineage.column_edges import IDENTITY, ColumnEdge, DatasetField, Influence
from localcdap.metadata.lineage.field_lineage import FieldLineageInfo
from localcdap.metadata.lineage.pipeline_operations import (
    PlatformRead,
    PlatformWrite,
    RecordedStage,
    StageOperationsCheck,
    check_stage_operations,
    convert_pipeline,
    describe_checks,
    list_stage_inputs,
)
from localcdap.metadata.lineage.relations import DatasetId, DatasetPlace
from localcdap.metadata.lineage.store import LineageStore
from localcdap.pipeline.library.applications import RecordLineage
from localcdap.pipeline.rules.graph import ERROR_TRANSFORM, JOINER, SINKS, SOURCES
from localcdap.pipeline.validation.lineage import TracedPipeline, trace_pipeline
from localcdap.pipeline.validation.resolution import ResolvedPipeline
from localcdap.sandbox.plugin_calls import JobRunner
from localcdap.store.store import Transaction


class StageEdge(msgspec.Struct, frozen=True):
    """A field of an input that influences a field, or all fields, of a stage.

    :raises BadRequestError: when a direct edge leads to all fields.
    """

    source: str | DatasetId
    """The input stage, or the dataset that this stage reads, as sources and lookups do."""
    source_field: str
    field: str | None = None
    """The field of the stage. None: it has an influence on which records there are, or on their order."""
    influence: Influence = IDENTITY

    def __post_init__(self) -> None:
        if self.field is None and self.influence.kind.type is EdgeType.DIRECT:
            raise BadRequestError(
                f"The edge from field '{self.source_field}' to all fields of a stage is "
                f"{self.influence.kind}; only indirect edges lead to all fields."
            )


class DatasetWrite(msgspec.Struct, frozen=True):
    """The fields of a stage that it writes to a dataset."""

    dataset: DatasetId
    fields: Sequence[str]


class StageEdges(msgspec.Struct, frozen=True):
    """What is known of the fields of one stage."""

    stage: str
    edges: Sequence[StageEdge]
    writes: Sequence[DatasetWrite] = ()
    """What the stage writes, as sinks do."""


_Influences: TypeAlias = dict[DatasetField, set[Influence]]
"""How fields of datasets influence something."""


class _StageState(msgspec.Struct):
    """What influences the fields of a stage."""

    fields: dict[str, _Influences] = msgspec.field(default_factory=dict)
    records: _Influences = msgspec.field(default_factory=dict)
    """What influences which records there are, and with them all fields."""


def connect_fields(
    source: str | DatasetId, fields: Iterable[str], influence: Influence = IDENTITY
) -> list[StageEdge]:
    """Return edges from each field to the field of the same name."""
    return [StageEdge(source, field, field, influence) for field in fields]


def compose_edges(
    stages: Iterable[StageEdges], connections: Iterable[StageConnection]
) -> list[ColumnEdge]:
    """Return the edges from the fields of the datasets that a pipeline reads to those that it writes.

    A field of an input of which a stage's edges say nothing is dropped. What influences the records of a
    stage influences all fields of the stages after it. Between two fields there is an edge for each
    different way.

    :raises BadRequestError: when the stages form a cycle.
    """
    by_name = {stage.stage: stage for stage in stages}
    inputs: dict[str, list[str]] = {name: [] for name in by_name}
    for connection in connections:
        if connection.source in by_name and connection.target in by_name:
            inputs[connection.target].append(connection.source)
    states: dict[str, _StageState] = {}
    found: dict[ColumnEdge, None] = {}
    for name in _sort(inputs):
        states[name] = _trace_stage(by_name[name], {each: states[each] for each in inputs[name]})
        for write in by_name[name].writes:
            found.update(dict.fromkeys(_end_edges(states[name], write)))
    return list(found)


def _sort(inputs: Mapping[str, Sequence[str]]) -> list[str]:
    try:
        return list(graphlib.TopologicalSorter(inputs).static_order())
    except graphlib.CycleError as error:
        raise BadRequestError(
            f"The stages {', '.join(error.args[1])} form a cycle.", "Remove one of its connections."
        ) from None


def _trace_stage(stage: StageEdges, inputs: Mapping[str, _StageState]) -> _StageState:
    state = _StageState()
    for each in inputs.values():
        _merge(state.records, each.records)
    for edge in stage.edges:
        origins = _find_origins(edge, inputs)
        target = state.records if edge.field is None else state.fields.setdefault(edge.field, {})
        for origin, influences in origins.items():
            extended = {influence.extend(edge.influence) for influence in influences}
            target.setdefault(origin, set()).update(extended)
    return state


def _find_origins(edge: StageEdge, inputs: Mapping[str, _StageState]) -> _Influences:
    if isinstance(edge.source, DatasetId):
        return {DatasetField(edge.source, edge.source_field): {IDENTITY}}
    if edge.source not in inputs:
        return {}
    return inputs[edge.source].fields.get(edge.source_field, {})


def _merge(into: _Influences, others: _Influences) -> None:
    for origin, influences in others.items():
        into.setdefault(origin, set()).update(influences)


def _end_edges(state: _StageState, write: DatasetWrite) -> Iterable[ColumnEdge]:
    for field in write.fields:
        yield from _edges_to(DatasetField(write.dataset, field), state.fields.get(field, {}))
    yield from _edges_to(DatasetField(write.dataset), state.records)


def _edges_to(target: DatasetField, influences: _Influences) -> Iterable[ColumnEdge]:
    for source, ways in influences.items():
        for influence in sorted(ways):
            yield ColumnEdge(source, target, influence)


class PipelineLineage(msgspec.Struct, frozen=True):
    """The field lineage of one run, or of a pipeline as it is designed."""

    edges: list[ColumnEdge]
    """Between the fields of the datasets that it reads and writes."""
    operations: FieldLineageInfo | None
    """None when the operations are not valid together, or no stage reads or writes."""
    warnings: list[str]
    """What is wrong with operations that stages recorded."""
    places: list[DatasetPlace] = []
    """Where the datasets lie."""


def build_lineage(
    stages: Iterable[StageLineage], connections: Iterable[StageConnection], namespace: str
) -> PipelineLineage:
    """Return the lineage of a pipeline. What is wrong with it is a warning; nothing fails.

    :param stages: connections from or to other stages, such as actions, are ignored.
    :param namespace: of the datasets.
    """
    known, carried = _separate_errors(stages, connections)
    try:
        edges = compose_edges((_to_stage_edges(each, namespace) for each in known), carried)
        converted = convert_pipeline(map(_to_recorded_stage, known), carried)
    except BadRequestError as error:
        return PipelineLineage([], None, [error.message])
    except Exception as error:  # nothing that plugins record makes a deployment or a run fail
        return PipelineLineage([], None, [f"The field lineage is not recorded: {error!r}"])
    warnings = describe_checks(check_stages(known))
    info = None
    kinds = {type(each) for each in converted.operations}
    if {PlatformRead, PlatformWrite} <= kinds:
        try:
            info = FieldLineageInfo(converted.operations, namespace)
        except BadRequestError as error:
            warnings.append(error.message)
    return PipelineLineage(edges, info, warnings, list(_list_places(known, namespace)))


def _list_places(stages: Iterable[StageLineage], namespace: str) -> Iterator[DatasetPlace]:
    for stage in stages:
        for name in stage.datasets if stage.places else ():
            for place in stage.places:
                yield DatasetPlace(DatasetId(namespace, name), place)


def check_stages(stages: Iterable[StageLineage]) -> dict[str, StageOperationsCheck]:
    """Return what is wrong with recorded operations, by stage, where the edges follow from them."""
    return {
        stage.stage: check_stage_operations(
            stage.operations, list_stage_inputs(_to_recorded_stage(stage))
        )
        for stage in stages
        if stage.derived
    }


class StageFieldLineage(msgspec.Struct, frozen=True):
    """Where a field of a stage comes from, and where it goes."""

    incoming: list[ColumnEdge]
    """From the fields of datasets; their target is the field, or all fields, of the stage."""
    outgoing: list[ColumnEdge]
    """To the fields of datasets, or to all fields of one."""


def trace_stage_field(
    stages: Iterable[StageLineage],
    connections: Iterable[StageConnection],
    namespace: str,
    stage: str,
    field: str,
) -> StageFieldLineage:
    """Return the edges from datasets to a field that a stage gives, or that a sink takes, and those from it.

    :raises BadRequestError: when the stages form a cycle.
    """
    known, carried = _separate_errors(stages, connections)
    given = [_to_stage_edges(each, namespace) for each in known]
    here = DatasetId("", stage)
    ending = [
        msgspec.structs.replace(each, writes=[*each.writes, DatasetWrite(here, [field])])
        if each.stage == stage
        else each
        for each in given
    ]
    beginning = [
        msgspec.structs.replace(each, edges=connect_fields(here, [field]))
        if each.stage == stage
        else each
        for each in given
    ]
    return StageFieldLineage(
        [edge for edge in compose_edges(ending, carried) if edge.target.dataset == here],
        [edge for edge in compose_edges(beginning, carried) if edge.source.dataset == here],
    )


def _separate_errors(
    stages: Iterable[StageLineage], connections: Iterable[StageConnection]
) -> tuple[list[StageLineage], list[StageConnection]]:
    """Return stages and connections with a stage of its own for the error records of a stage.

    These are records that the stage received: their fields are not those of its output.
    """
    by_name = {stage.stage: stage for stage in stages}
    given = [each for each in connections if each.source in by_name and each.target in by_name]
    carried: dict[StageConnection, None] = {}
    for each in given:
        if by_name[each.target].type != ERROR_TRANSFORM:
            carried[each] = None
            continue
        emitter = by_name[each.source]
        errors = f"{emitter.stage} errors"
        by_name[errors] = msgspec.structs.replace(
            emitter,
            stage=errors,
            operations=(),
            edges=_select_errors(emitter),
            outputs=sorted({name for names in emitter.inputs.values() for name in names}),
            datasets=(),
        )
        carried[StageConnection(errors, each.target)] = None
        carried |= {
            StageConnection(before.source, errors): None
            for before in given
            if before.target == emitter.stage
        }
    return list(by_name.values()), list(carried)


def _select_errors(stage: StageLineage) -> list[FieldEdge]:
    """Return the edges of the error records of a stage, which are chosen by whatever it reads."""
    fields = sorted({name for names in stage.inputs.values() for name in names})
    read = {
        edge.source
        for edge in stage.edges
        if edge.kind is not EdgeKind.IDENTITY and edge.dataset is None
    }
    kept = [FieldEdge(name, name, EdgeKind.IDENTITY) for name in fields]
    return kept + [FieldEdge(name, kind=EdgeKind.FILTER) for name in fields if name in read]


def _to_stage_edges(stage: StageLineage, namespace: str) -> StageEdges:
    datasets = [DatasetId(namespace, name) for name in stage.datasets]
    if stage.type in SOURCES and not stage.edges:
        return StageEdges(
            stage.stage, [each for d in datasets for each in connect_fields(d, stage.outputs)]
        )
    if stage.type not in SINKS:
        return StageEdges(
            stage.stage,
            [e for edge in stage.edges for e in _to_edges(edge, stage, datasets, namespace)],
        )
    if stage.edges:
        edges = [each for edge in stage.edges for each in _to_edges(edge, stage, (), namespace)]
    else:
        edges = [e for before, names in stage.inputs.items() for e in connect_fields(before, names)]
    fields = list(dict.fromkeys(edge.field for edge in edges if edge.field is not None))
    return StageEdges(stage.stage, edges, [DatasetWrite(each, fields) for each in datasets])


def _to_edges(
    edge: FieldEdge, stage: StageLineage, datasets: Sequence[DatasetId], namespace: str
) -> Iterator[StageEdge]:
    """Yield the edges from the inputs of a stage; from its datasets, where it has no inputs."""
    influence = Influence(edge.kind, edge.masking, edge.assumed)
    if edge.dataset is not None:
        datasets = [DatasetId(namespace, edge.dataset)]
    if edge.dataset is not None or not stage.inputs:
        for dataset in datasets:
            yield StageEdge(dataset, edge.source, edge.field, influence)
        return
    for before, names in stage.inputs.items():
        if edge.stage in (None, before) and edge.source in names:
            yield StageEdge(before, edge.source, edge.field, influence)


def _to_recorded_stage(stage: StageLineage) -> RecordedStage:
    """Return a stage with its operations, and those of its reads and writes unless it recorded them."""
    operations: Sequence[FieldOperation] = stage.operations
    inputs: Mapping[str, Sequence[str]] = stage.inputs
    if not operations and stage.type in SOURCES:
        operations = [
            FieldReadOperation("Read", f"Read from {name}.", EndPoint(name), stage.outputs)
            for name in stage.datasets
        ]
    if not operations and stage.type in SINKS:
        fields = list({edge.source: None for edge in stage.edges if edge.field is not None})
        operations = [
            FieldWriteOperation("Write", f"Wrote to {name}.", EndPoint(name), fields)
            for name in stage.datasets
        ]
    # Without its output fields, a stage that changes no field does not count as one that recorded nothing.
    is_assumed = any(edge.assumed for edge in stage.edges)
    outputs = stage.outputs if is_assumed else ()
    return RecordedStage(stage.stage, operations, inputs, outputs, stage.type == JOINER)


WRONG_LINEAGE = "Invalid Lineage"
"""The type of warnings about operations that a plugin records."""
_ACTION = "The author of the plugin can correct it; records are not affected."


class DesignedLineage:
    """Finds the lineage of pipelines. Threads may share it."""

    def __init__(
        self,
        lineage: LineageStore,
        runner: JobRunner,
        read_tables: Callable[[str], Mapping[str, TableShape]] = lambda _: {},
    ) -> None:
        """Create it.

        :param read_tables: returns the columns of the tables of a namespace, by name.
        """
        self._lineage = lineage
        self._runner = runner
        self._read_tables = read_tables

    def trace(
        self, resolved: ResolvedPipeline, namespace: str
    ) -> tuple[RecordLineage, list[ValidationFailure]]:
        """Find the lineage of a valid pipeline, for a transaction that deploys it, and what is wrong with it.

        Its edges take the place of those that the application had. A run that commits replaces them in turn:
        it knows the values of macros.
        """
        traced, found = self.build(resolved, namespace)

        def record(tx: Transaction, application: str) -> None:
            self._lineage.replace_edges(tx, namespace, application, found.edges, found.places)

        return record, find_lineage_warnings(traced)

    def check(self, resolved: ResolvedPipeline) -> list[ValidationFailure]:
        """Return what is wrong with the lineage that plugins of users record; the shipped ones are tested."""
        return find_lineage_warnings(trace_pipeline(resolved, self._runner, scope="USER"))

    def build(
        self, resolved: ResolvedPipeline, namespace: str
    ) -> tuple[TracedPipeline, PipelineLineage]:
        """Return the lineage of the stages of a pipeline, and of the whole pipeline."""
        tables = partial(self._read_tables, namespace)
        traced = trace_pipeline(resolved, self._runner, tables)
        traced.stages = [
            msgspec.structs.replace(
                each, places=_list_designed_places(resolved, traced, each, namespace)
            )
            if each.datasets
            else each
            for each in traced.stages
        ]
        return traced, build_lineage(traced.stages, traced.connections, namespace)


def _list_designed_places(
    resolved: ResolvedPipeline, traced: TracedPipeline, stage: StageLineage, namespace: str
) -> list[str]:
    """Return where the data of a source or sink lies, as far as its properties say it without a run."""
    plugin = resolved.stages[stage.stage].plugin
    tables = traced.recorded.get(stage.stage, ())
    return list_places(namespace, plugin.name, plugin.properties, tables)


def find_lineage_warnings(traced: TracedPipeline) -> list[ValidationFailure]:
    """Return a warning for each thing that is wrong with the operations that a stage records."""
    return [
        ValidationFailure(WRONG_LINEAGE, message.strip(), _ACTION, [], stage=stage)
        for stage, check in check_stages(traced.stages).items()
        for message in describe_checks({stage: check})
    ]
