"""The edges between datasets that follow from the edges of each stage of a pipeline."""

from __future__ import annotations

import graphlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.lineage import EdgeType
from localcdap.api.pipeline import StageConnection
from localcdap.metadata.lineage.column_edges import IDENTITY, ColumnEdge, DatasetField, Influence
from localcdap.metadata.lineage.relations import DatasetId


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
