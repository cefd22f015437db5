"""Searches in the graph of columns and in the graph of datasets, over any number of pipelines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Sequence
from typing import Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.lineage import EdgeType
from localcdap.metadata.lineage.column_edges import DatasetField
from localcdap.metadata.lineage.field_records import ApplicationEdge
from localcdap.metadata.lineage.relations import (
    AccessType,
    DatasetEdge,
    DatasetId,
    FindSame,
    ProgramId,
    find_none,
)

MOST_EDGES: Final = 5_000
"""The edges of a graph when a search names no limit; nobody can read a larger drawing."""
_READS: Final = (AccessType.READ, AccessType.READ_WRITE, AccessType.UNKNOWN)
_WRITES: Final = (AccessType.WRITE, AccessType.READ_WRITE, AccessType.UNKNOWN)


class FieldNode(msgspec.Struct, frozen=True):
    """A field that a search reached."""

    field: DatasetField
    distance: int
    """The number of edges from the start; 0 for the start."""
    direct: bool
    """Whether a path of direct edges of the graph leads there: values of one go into values of the other."""


class FieldGraph(msgspec.Struct, frozen=True):
    """The fields around a field, and the edges between them."""

    start: DatasetField
    nodes: list[FieldNode]
    """The start first, then by distance."""
    edges: list[ApplicationEdge]
    truncated: bool = False
    """Whether edges were left out because of the limit, so that fields may be missing."""
    same: list[tuple[DatasetField, DatasetField]] = []
    """Pairs of fields that are the same one, in datasets with different names: data goes into the first, and
    comes out of the second."""


class DatasetNode(msgspec.Struct, frozen=True):
    """A dataset that a search reached."""

    data: DatasetId
    distance: int
    """The number of programs between it and the start."""


class DatasetGraph(msgspec.Struct, frozen=True):
    """The datasets around a dataset, and the programs between them."""

    start: DatasetId
    nodes: list[DatasetNode]
    """The start first, then by distance."""
    edges: list[DatasetEdge]
    truncated: bool = False
    """Whether edges were left out because of the limit, so that datasets may be missing."""
    same: list[tuple[DatasetId, DatasetId]] = []
    """Pairs of names of the same data, see :attr:`FieldGraph.same`."""


FindEdges = Callable[[Collection[DatasetField], int], Sequence[ApplicationEdge]]
"""Return the edges at the fields that a search has reached, at most a number of them."""
FindProgramEdges = Callable[[Collection[ProgramId]], Iterable[DatasetEdge]]
FindDatasetEdges = Callable[[Collection[DatasetId]], Iterable[DatasetEdge]]


def trace_fields(
    find_edges: FindEdges,
    start: DatasetField,
    *,
    upstream: bool,
    hops: int,
    limit: int = MOST_EDGES,
    find_same: FindSame = find_none,
) -> FieldGraph:
    """Return the fields within a number of edges from a field, in one direction.

    :param find_edges: finds the edges in this direction that the search may follow.
    :param find_same: finds the datasets in whose edges the search goes on too.
    :raises BadRequestError: when the hops or the limit are less than 1.
    """
    _check_bounds(hops, limit)
    distances = {start: 0}
    edges: dict[ApplicationEdge, None] = {}
    same: dict[tuple[DatasetField, DatasetField], None] = {}
    frontier, truncated = [start], False
    for hop in range(1, hops + 1):
        others = _find_other_names(frontier, distances, find_same)
        found = find_edges([*frontier, *others], limit + 1)
        truncated = truncated or len(found) > limit
        frontier = []
        for edge in found:
            if edge in edges:
                continue
            if len(edges) == limit:
                truncated = True
                break
            edges[edge] = None
            near, end = (edge.target, edge.source) if upstream else (edge.source, edge.target)
            for other in _match(near, others):
                distances.setdefault(other, hop - 1)
                known = others[other]
                same[(other, known) if upstream else (known, other)] = None
            if end not in distances:
                distances[end] = hop
                frontier.append(end)
        if not frontier:
            break
    direct = _find_direct(start, edges, same, upstream=upstream)
    ordered = sorted(distances.items(), key=lambda item: item[1])
    nodes = [FieldNode(field, distance, field in direct) for field, distance in ordered]
    return FieldGraph(start, nodes, list(edges), truncated, list(same))


def trace_datasets(
    of_datasets: FindDatasetEdges,
    of_programs: FindProgramEdges,
    start: DatasetId,
    *,
    upstream: bool,
    hops: int,
    limit: int = MOST_EDGES,
    find_same: FindSame = find_none,
) -> DatasetGraph:
    """Return the datasets within a number of programs from a dataset, in one direction.

    Upstream of a dataset are the programs that write it, and what these read. An UNKNOWN access may be both.

    :param of_datasets: finds the programs that use datasets.
    :param of_programs: finds the datasets that programs use.
    :param find_same: finds the datasets whose programs are followed too.
    :raises BadRequestError: when the hops or the limit are less than 1.
    """
    _check_bounds(hops, limit)
    into, out_of = (_WRITES, _READS) if upstream else (_READS, _WRITES)
    distances = {start: 0}
    programs: set[ProgramId] = set()
    edges: dict[DatasetEdge, None] = {}
    same: dict[tuple[DatasetId, DatasetId], None] = {}
    frontier = [start]
    for hop in range(1, hops + 1):
        others = {
            other: name
            for name, found in find_same(frontier).items()
            for other in found
            if other not in distances
        }
        asked = [*frontier, *others]
        towards = [edge for edge in of_datasets(asked) if edge.access in into]
        for other in sorted({edge.data for edge in towards} & others.keys()):
            distances[other] = hop - 1
            same[(other, others[other]) if upstream else (others[other], other)] = None
        reached = {edge.program for edge in towards} - programs
        programs |= reached
        away = [edge for edge in of_programs(sorted(reached)) if edge.access in out_of]
        edges.update(dict.fromkeys(sorted({*towards, *away})))
        if len(edges) > limit:
            kept = list(edges)[:limit]
            known = {start, *(edge.data for edge in kept)}
            nodes = [DatasetNode(data, at) for data, at in distances.items() if data in known]
            nodes += [DatasetNode(data, hop) for data in sorted(known - distances.keys())]
            pairs = [pair for pair in same if known.issuperset(pair)]
            return DatasetGraph(start, nodes, kept, truncated=True, same=pairs)
        frontier = sorted({edge.data for edge in away} - distances.keys())
        distances.update(dict.fromkeys(frontier, hop))
        if not frontier:
            break
    ordered = sorted(distances.items(), key=lambda item: item[1])
    nodes = [DatasetNode(data, distance) for data, distance in ordered]
    return DatasetGraph(start, nodes, list(edges), same=list(same))


def _find_other_names(
    fields: Iterable[DatasetField], known: Container[DatasetField], find_same: FindSame
) -> dict[DatasetField, DatasetField]:
    """Return the fields that are the same as given ones, and not known yet, with the given ones."""
    given = list(fields)
    same = find_same({field.dataset for field in given})
    others = {
        DatasetField(dataset, field.field): field
        for field in given
        for dataset in same.get(field.dataset, ())
    }
    return {other: field for other, field in others.items() if other not in known}


def _match(near: DatasetField, fields: Collection[DatasetField]) -> list[DatasetField]:
    """Return those of some fields at which the near end of an edge is; all fields of a dataset match each."""
    if near.field is not None:
        return [each for each in (near, DatasetField(near.dataset)) if each in fields]
    return [each for each in fields if each.dataset == near.dataset]


def _find_direct(
    start: DatasetField,
    edges: Iterable[ApplicationEdge],
    same: Iterable[tuple[DatasetField, DatasetField]],
    *,
    upstream: bool,
) -> set[DatasetField]:
    """Return the fields that direct edges lead to."""
    ways: dict[DatasetField, list[DatasetField]] = {}
    by_dataset: dict[DatasetId, list[DatasetField]] = {}
    pairs = [
        (edge.source, edge.target) for edge in edges if edge.influence.kind.type is EdgeType.DIRECT
    ]
    for source, target in (*pairs, *same):
        begin, end = (target, source) if upstream else (source, target)
        ways.setdefault(begin, []).append(end)
        by_dataset.setdefault(begin.dataset, []).append(end)
    found, ahead = {start}, [start]
    while ahead:
        field = ahead.pop()
        # All fields of a dataset lead where each of them leads.
        ends = by_dataset.get(field.dataset, []) if field.field is None else ways.get(field, [])
        ahead += [end for end in dict.fromkeys(ends) if end not in found]
        found.update(ends)
    return found


def _check_bounds(hops: int, limit: int) -> None:
    if hops < 1:
        raise BadRequestError(f"Invalid hops ({hops}), should be greater than 0.")
    if limit < 1:
        raise BadRequestError(f"Invalid limit ({limit}), should be greater than 0.")
