"""The lineage of a pipeline, made of the lineage of its stages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.lineage import (
    EdgeKind,
    EndPoint,
    FieldEdge,
    FieldOperation,
    FieldReadOperation,
    FieldWriteOperation,
    StageLineage,
)
from localcdap.api.pipeline import StageConnection
from localcdap.metadata.lineage.column_edges import ColumnEdge, Influence
from localcdap.metadata.lineage.edge_composition import (
    DatasetWrite,
    StageEdge,
    StageEdges,
    compose_edges,
    connect_fields,
)
from localcdap.metadata.lineage.field_lineage import FieldLineageInfo
from localcdap.metadata.lineage.operations import PlatformRead, PlatformWrite
from localcdap.metadata.lineage.pipeline_operations import (
    RecordedStage,
    convert_pipeline,
    list_stage_inputs,
)
from localcdap.metadata.lineage.place_records import DatasetPlace
from localcdap.metadata.lineage.relations import DatasetId
from localcdap.metadata.lineage.stage_checks import (
    StageOperationsCheck,
    check_stage_operations,
    describe_checks,
)
from localcdap.pipeline.rules.plugin_types import ERROR_TRANSFORM, JOINER, SINKS, SOURCES


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
