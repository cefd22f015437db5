"""Lineage of the instance: what runs accessed, the operations on fields, and the edges between columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence, Set
from typing import Final

from localcdap.api.lineage import EndPoint
from localcdap.metadata.lineage.column_edges import ColumnEdge, DatasetField
from localcdap.metadata.lineage.dataset_lineage import (
    CollapseType,
    Lineage,
    LineageRecord,
    LineageRuns,
    compute_lineage,
    restrict_direction,
)
from localcdap.metadata.lineage.field_lineage import (
    DatasetFieldLineage,
    Direction,
    EndPointField,
    FieldLineageDetails,
    FieldLineageInfo,
    FieldLineageRelations,
    FieldLineageSummary,
    LineageField,
    ProgramOperations,
    describe_operations,
    describe_programs,
    group_fields,
    list_fields,
    relate_fields,
    to_end_point,
)
from localcdap.metadata.lineage.field_records import INCOMING, OUTGOING, EdgeRecords, FieldRecords
from localcdap.metadata.lineage.relations import (
    DatasetId,
    DatasetPlace,
    DatasetUsage,
    PlaceRecords,
    ProgramId,
    ProgramRunId,
    Relation,
    RelationGroup,
    RelationRecords,
    list_usage_of_namespace,
)
from localcdap.metadata.lineage.time_range import TimeRange
from localcdap.metadata.lineage.traversal import (
    ALL_VISIBLE,
    MOST_EDGES,
    DatasetGraph,
    DatasetRecords,
    FieldGraph,
    LastWrite,
    VisibleLineage,
    trace_datasets,
    trace_fields,
)
from localcdap.store.store import Store, Transaction

ListSchemaFields = Callable[[DatasetId], Sequence[str]]
"""Return the fields of a dataset's current schema; none when the dataset has none."""
ALL_TIMES = TimeRange()


class LineageStore:
    """The stored lineage. Threads may share it.

    Methods with a transaction write in it. The others read a state of their own.

    :param runs: what is known of runs.
    :param schema_fields: the current fields of datasets, in the SYSTEM property ``schema``.
    """

    def __init__(self, store: Store, runs: LineageRuns, schema_fields: ListSchemaFields) -> None:
        self._store = store
        self._runs = runs
        self._schema_fields = schema_fields

    def add_relations(self, tx: Transaction, relations: Collection[Relation]) -> None:
        """Write what runs accessed; what is stored already is left as it is.

        :raises BadRequestError: when the id of a run is not a time-based UUID.
        """
        RelationRecords(tx).add(relations)

    def add_operations(self, tx: Transaction, run: ProgramRunId, info: FieldLineageInfo) -> None:
        """Write the operations of a run, whose end points all name their namespace.

        :raises BadRequestError: when an end point does not, or the id of the run is not a time-based UUID;
            nothing is written.
        """
        FieldRecords(tx).add(run, info)

    def replace_edges(
        self,
        tx: Transaction,
        namespace: str,
        application: str,
        edges: Collection[ColumnEdge],
        places: Collection[DatasetPlace] = (),
    ) -> None:
        """Write the edges of an application, and the places of its datasets, in place of those that it had.

        None remove them.
        """
        EdgeRecords(tx).replace(namespace, application, edges)
        PlaceRecords(tx).replace(namespace, application, places)

    def list_edges(self, tx: Transaction, namespace: str, application: str) -> list[ColumnEdge]:
        """Return the edges of an application."""
        return EdgeRecords(tx).list_edges(namespace, application)

    def list_places(self, tx: Transaction, namespace: str, application: str) -> list[DatasetPlace]:
        """Return the places of the datasets of an application."""
        return PlaceRecords(tx).list_places(namespace, application)

    def find_same(self, datasets: Collection[DatasetId]) -> dict[DatasetId, list[DatasetId]]:
        """Return the other names of datasets, see :class:`PlaceRecords`."""
        with self._store.snapshot() as tx:
            return PlaceRecords(tx).find_same(datasets)

    def remove_namespace(self, tx: Transaction, namespace: str) -> None:
        """Remove all lineage of a namespace's datasets and programs."""
        RelationRecords(tx).remove_namespace(namespace)
        FieldRecords(tx).remove_namespace(namespace)
        EdgeRecords(tx).remove_namespace(namespace)
        PlaceRecords(tx).remove_namespace(namespace)

    def remove_before(self, tx: Transaction, time: int) -> None:
        """Remove the lineage of runs that were asked for before a time in milliseconds since 1970."""
        RelationRecords(tx).remove_before(time)
        FieldRecords(tx).remove_before(time)

    def get_lineage(
        self,
        dataset: DatasetId,
        times: TimeRange,
        levels: int = 10,
        rollup: str | None = None,
        direction: Direction = Direction.BOTH,
        visible: VisibleLineage = ALL_VISIBLE,
    ) -> Lineage:
        """Return the relations around a dataset, see :func:`compute_lineage`.

        :param direction: only what leads to the dataset, or comes from it.
        :raises BadRequestError: when the levels are less than 1.
        """
        with self._store.snapshot() as tx:
            reader = _VisibleRelations(RelationRecords(tx), visible)
            find_same = visible.select_same(PlaceRecords(tx).find_same)
            found = compute_lineage(reader, self._runs, dataset, times, levels, rollup, find_same)
            return restrict_direction(found, dataset, direction, levels, find_same)

    def get_lineage_record(
        self,
        dataset: DatasetId,
        times: TimeRange,
        levels: int = 10,
        collapse: Collection[CollapseType] = (),
        rollup: str | None = None,
    ) -> LineageRecord:
        """Return the relations around a dataset as the REST API has them.

        :raises BadRequestError: when the levels are less than 1.
        """
        return self.get_lineage(dataset, times, levels, rollup).to_record(times, collapse)

    def list_datasets(self, namespace: str) -> list[str]:
        """Return the datasets of a namespace that have metadata or lineage, in alphabetical order."""
        with self._store.snapshot() as tx:
            return DatasetRecords(tx).list_names(namespace)

    def list_usage(self, namespace: str) -> list[DatasetUsage]:
        """Return the programs that use the datasets of a namespace, the last use first."""
        with self._store.snapshot() as tx:
            return list_usage_of_namespace(tx, namespace)

    def find_last_write(self, dataset: DatasetId) -> LastWrite | None:
        """Return the latest run that has written a dataset; None when none has."""
        with self._store.snapshot() as tx:
            return DatasetRecords(tx).find_last_write(dataset)

    def list_all_fields(self, dataset: DatasetId) -> list[LineageField]:
        """Return the fields of the current schema, and those of operations and edges, by name."""
        end_point = to_end_point(dataset)
        with self._store.snapshot() as tx:
            known = FieldRecords(tx).find_fields(end_point, ALL_TIMES)
            known |= DatasetRecords(tx).list_edge_fields(dataset)
        return list_fields(known, self._schema_fields(dataset))

    def list_fields(
        self,
        dataset: DatasetId,
        times: TimeRange = ALL_TIMES,
        prefix: str | None = None,
        *,
        include_current: bool = False,
    ) -> list[LineageField]:
        """Return the fields of which lineage is known, by name.

        :param prefix: only fields that begin so, in any case.
        :param include_current: whether fields come along that only the current schema has.
        """
        with self._store.snapshot() as tx:
            known = FieldRecords(tx).find_fields(to_end_point(dataset), times)
        schema = self._schema_fields(dataset) if include_current else ()
        return list_fields(known, schema, prefix)

    def get_field_lineage(
        self, dataset: DatasetId, field: str, direction: Direction, times: TimeRange = ALL_TIMES
    ) -> FieldLineageSummary:
        """Return the fields that a field comes from, and those that come from it."""
        end_point = to_end_point(dataset)
        with self._store.snapshot() as tx:
            records = FieldRecords(tx)
            incoming = outgoing = None
            if direction.is_incoming:
                found = records.find_summaries(INCOMING, end_point, times, field)
                incoming = group_fields(found.get(field, ()))
            if direction.is_outgoing:
                found = records.find_summaries(OUTGOING, end_point, times, field)
                outgoing = group_fields(found.get(field, ()))
        return FieldLineageSummary(incoming, outgoing)

    def get_field_operations(
        self, dataset: DatasetId, field: str, direction: Direction, times: TimeRange = ALL_TIMES
    ) -> FieldLineageDetails:
        """Return the operations that compute a field, and those that use it."""
        own = EndPointField(to_end_point(dataset), field)
        with self._store.snapshot() as tx:
            records = FieldRecords(tx)
            return FieldLineageDetails(
                _describe(records, INCOMING, own, times) if direction.is_incoming else None,
                _describe(records, OUTGOING, own, times) if direction.is_outgoing else None,
            )

    def get_dataset_field_lineage(
        self, dataset: DatasetId, direction: Direction, times: TimeRange = ALL_TIMES
    ) -> DatasetFieldLineage:
        """Return the lineage of all fields of a dataset."""
        end_point = to_end_point(dataset)
        incoming: list[FieldLineageRelations] = []
        outgoing: list[FieldLineageRelations] = []
        with self._store.snapshot() as tx:
            records = FieldRecords(tx)
            known = records.find_fields(end_point, times)
            if direction.is_incoming:
                incoming = _relate(records, INCOMING, end_point, times)
            if direction.is_outgoing:
                outgoing = _relate(records, OUTGOING, end_point, times)
        fields = [each.name for each in list_fields(known, self._schema_fields(dataset))]
        return DatasetFieldLineage(
            direction.name, times.start, times.end, dataset, fields, incoming, outgoing
        )

    def trace_fields(
        self,
        start: DatasetField,
        *,
        upstream: bool,
        hops: int,
        limit: int = MOST_EDGES,
        indirect: bool = True,
        visible: VisibleLineage = ALL_VISIBLE,
    ) -> FieldGraph:
        """Return the fields around a field in one direction, over all applications.

        See :func:`localcdap.metadata.lineage.traversal.trace_fields`.

        :param indirect: whether indirect edges, such as those of filters, are followed too.
        :raises BadRequestError: when the hops or the limit are less than 1.
        """
        with self._store.snapshot() as tx:
            records = EdgeRecords(tx)
            return trace_fields(
                lambda fields, most: visible.select_edges(
                    records.find_edges(fields, upstream=upstream, limit=most, indirect=indirect)
                ),
                start,
                upstream=upstream,
                hops=hops,
                limit=limit,
                find_same=visible.select_same(PlaceRecords(tx).find_same),
            )

    def trace_datasets(
        self,
        start: DatasetId,
        *,
        upstream: bool,
        hops: int,
        limit: int = MOST_EDGES,
        visible: VisibleLineage = ALL_VISIBLE,
    ) -> DatasetGraph:
        """Return the datasets around a dataset in one direction, by the accesses of all runs.

        See :func:`localcdap.metadata.lineage.traversal.trace_datasets`.

        :raises BadRequestError: when the hops or the limit are less than 1.
        """
        with self._store.snapshot() as tx:
            records = RelationRecords(tx)
            return trace_datasets(
                lambda datasets: visible.select_accesses(records.find_dataset_edges(datasets)),
                lambda programs: visible.select_accesses(records.find_program_edges(programs)),
                start,
                upstream=upstream,
                hops=hops,
                limit=limit,
                find_same=visible.select_same(PlaceRecords(tx).find_same),
            )


class _VisibleRelations:
    """Reads the relations that a caller sees."""

    def __init__(self, records: RelationRecords, visible: VisibleLineage) -> None:
        self._records = records
        self._visible = visible
        self.find_programs: Final = records.find_programs

    def find_relations(
        self, programs: Set[ProgramId], runs: Set[str], times: tuple[int, int]
    ) -> list[RelationGroup]:
        """See :meth:`RelationRecords.find_relations`."""
        return self._visible.select_accesses(self._records.find_relations(programs, runs, times))


def _describe(
    records: FieldRecords, direction: str, field: EndPointField, times: TimeRange
) -> list[ProgramOperations]:
    described = []
    for each in records.find_operations(direction, field.end_point, times):
        info = each.info
        operations = (
            info.find_incoming_operations(field)
            if direction == INCOMING
            else info.find_outgoing_operations(field)
        )
        if operations:
            programs = describe_programs(each.runs)
            described.append(ProgramOperations(programs, describe_operations(operations)))
    return described


def _relate(
    records: FieldRecords, direction: str, end_point: EndPoint, times: TimeRange
) -> list[FieldLineageRelations]:
    summaries = records.find_summaries(direction, end_point, times)
    others = {
        each.end_point for fields in summaries.values() for each in fields if each is not None
    }
    counts = records.count_fields(others, times)
    return relate_fields(summaries, counts, incoming=direction == INCOMING)
