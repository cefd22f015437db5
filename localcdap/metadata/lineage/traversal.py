"""Searches in the graph of columns and in the graph of datasets, over any number of pipelines.

A caller sees the relations and edges whose datasets and programs are all visible. The original answers with
all of them (CDAP 6 ``LineageAdmin`` and ``FieldLineageAdmin`` ask no enforcer). Here the rule is that of its
searches and lists (``DefaultMetadataAdmin``, ``AccessEnforcer.isVisible``): what a caller may not see is left
out, and nothing is followed beyond it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from functools import cache
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from localcdap.api.errors import BadRequestError
from localcdap.api.lineage import EdgeType
from localcdap.api.metadata import DATASET, MetadataEntity
from localcdap.metadata.entities import from_key
from localcdap.metadata.lineage.column_edges import DatasetField
from localcdap.metadata.lineage.field_lineage import (
    DatasetFieldLineage,
    DatasetFields,
    FieldLineageDetails,
    FieldLineageSummary,
    OperationInfo,
    ProgramOperations,
)
from localcdap.metadata.lineage.field_records import ApplicationEdge
from localcdap.metadata.lineage.relations import (
    AccessType,
    DatasetEdge,
    DatasetId,
    DatasetUsage,
    FindSame,
    ProgramId,
    RelationGroup,
    find_none,
)
from localcdap.security.access import SwitchedAuthorizer
from localcdap.security.principals import current_principal
from localcdap.store.store import Transaction

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


_WRITING_ACCESSES: Final = (AccessType.WRITE.value, AccessType.READ_WRITE.value)


class LastWrite(msgspec.Struct, frozen=True):
    """The latest run that has written a dataset."""

    namespace: str
    """Of the application."""
    application: str
    run: str
    time: int
    """Milliseconds since 1970 at which the run was asked for."""


class DatasetRecords:
    """Reads what is stored of datasets in one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def list_names(self, namespace: str) -> list[str]:
        """Return the datasets of a namespace that have metadata or lineage, in alphabetical order."""
        described = self._tx.execute(
            "SELECT entity FROM metadata WHERE namespace = ? AND type = ?", (namespace, DATASET)
        )
        used = self._tx.execute(
            "SELECT DISTINCT dataset FROM lineage_relations WHERE namespace = ? "
            "UNION SELECT source FROM lineage_column_edges WHERE source_namespace = ? "
            "UNION SELECT target FROM lineage_column_edges WHERE target_namespace = ?",
            (namespace, namespace, namespace),
        )
        return sorted({from_key(key).name for (key,) in described} | {name for (name,) in used})

    def list_edge_fields(self, dataset: DatasetId) -> set[str]:
        """Return the fields of a dataset at which an edge begins or ends."""
        key = (dataset.namespace, dataset.dataset)
        rows = self._tx.execute(
            "SELECT source_field FROM lineage_column_edges WHERE source_namespace = ? AND source = ? "
            "UNION SELECT target_field FROM lineage_column_edges "
            "WHERE target_namespace = ? AND target = ? AND target_field IS NOT NULL",
            (*key, *key),
        )
        return {name for (name,) in rows}

    def find_last_write(self, dataset: DatasetId) -> LastWrite | None:
        """Return the latest run that has written a dataset; None when none has."""
        rows = self._tx.execute(
            "SELECT program_namespace, application, run, start FROM lineage_relations "
            "WHERE namespace = ? AND dataset = ? AND access IN (SELECT unnest(?::VARCHAR[])) "
            "ORDER BY start DESC, run LIMIT 1",
            (dataset.namespace, dataset.dataset, list(_WRITING_ACCESSES)),
        )
        return LastWrite(*rows[0]) if rows else None


_Access = TypeVar("_Access", DatasetEdge, RelationGroup)


class VisibleLineage:
    """Selects what a caller sees, for one question.

    :param is_visible: whether the caller sees an entity.
    """

    def __init__(self, is_visible: Callable[[MetadataEntity], bool]) -> None:
        self._is_visible: Final = is_visible
        self._shows: Final = cache(self._look)

    def shows_application(self, namespace: str, application: str) -> bool:
        """Return whether the caller sees an application."""
        return self._is_visible(MetadataEntity.of_application(application, namespace))

    def _look(self, id: DatasetId | ProgramId) -> bool:
        return self._is_visible(id.to_entity())

    def select_accesses(self, accesses: Iterable[_Access]) -> list[_Access]:
        """Return the accesses of which the caller sees dataset and program."""
        return [each for each in accesses if self._shows(each.data) and self._shows(each.program)]

    def select_usages(self, usages: Iterable[DatasetUsage]) -> list[DatasetUsage]:
        """Return the uses of which the caller sees dataset and program."""
        return [u for u in usages if self._shows(u.dataset) and self._shows(u.program)]

    def select_edges(self, edges: Iterable[ApplicationEdge]) -> list[ApplicationEdge]:
        """Return the edges of which the caller sees both datasets and the application."""
        return [
            each
            for each in edges
            if self._shows(each.source.dataset)
            and self._shows(each.target.dataset)
            and self.shows_application(each.namespace, each.application)
        ]

    def select_same(self, find_same: FindSame) -> FindSame:
        """Return a function that finds the datasets of another one as far as the caller sees them."""

        def find(datasets: Collection[DatasetId]) -> Mapping[DatasetId, Collection[DatasetId]]:
            return {
                dataset: [each for each in others if self._shows(each)]
                for dataset, others in find_same(datasets).items()
            }

        return find

    def select_last_write(self, last: LastWrite | None) -> LastWrite | None:
        """Return the last write; None when the caller does not see who wrote."""
        is_shown = last is not None and self.shows_application(last.namespace, last.application)
        return last if is_shown else None

    def select_summary(self, summary: FieldLineageSummary) -> FieldLineageSummary:
        """Return a summary with the datasets that the caller sees."""

        def select(datasets: list[DatasetFields] | None) -> list[DatasetFields] | None:
            return datasets and [each for each in datasets if self._shows(each.dataset)]

        return FieldLineageSummary(select(summary.incoming), select(summary.outgoing))

    def select_details(self, details: FieldLineageDetails) -> FieldLineageDetails:
        """Return the operations whose end points and programs the caller sees."""

        def select(ways: list[ProgramOperations] | None) -> list[ProgramOperations] | None:
            if ways is None:
                return None
            selected = (
                replace(way, programs=[each for each in way.programs if self._shows(each.program)])
                for way in ways
                if all(map(self._shows_operation, way.operations))
            )
            return [way for way in selected if way.programs]

        return FieldLineageDetails(select(details.incoming), select(details.outgoing))

    def select_relations(self, lineage: DatasetFieldLineage) -> DatasetFieldLineage:
        """Return the relations to the datasets that the caller sees."""
        return replace(
            lineage,
            incoming=[each for each in lineage.incoming if self._shows(each.entity_id)],
            outgoing=[each for each in lineage.outgoing if self._shows(each.entity_id)],
        )

    def _shows_operation(self, operation: OperationInfo) -> bool:
        ends = (operation.inputs.end_point, operation.outputs.end_point)
        return all(self._shows(DatasetId(each.namespace or "", each.name)) for each in ends if each)


ALL_VISIBLE: Final = VisibleLineage(lambda _: True)
"""For callers who see everything."""


def find_visible(authorizer: SwitchedAuthorizer) -> VisibleLineage:
    """Return what the caller sees."""
    who = current_principal()
    if authorizer.describe_view(who) is None:
        return ALL_VISIBLE
    return VisibleLineage(lambda entity: authorizer.is_visible(who, entity))
