"""The rows of field lineage and of the edges between columns, in the transaction of the caller.

As in CDAP 6 (``data2/metadata/lineage/field/FieldLineageTable``), operations and summaries are stored once
for each checksum, and the end points of each run refer to the checksum. The start time of a run decides
whether it is in a range; the start belongs to the range, the end does not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import Any, Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.lineage import EdgeKind, EdgeType, EndPoint
from localcdap.decoders import decode_json
from localcdap.metadata.lineage.column_edges import ColumnEdge, DatasetField, Influence
from localcdap.metadata.lineage.field_lineage import EndPointField, FieldLineageInfo
from localcdap.metadata.lineage.pipeline_operations import PlatformOperation
from localcdap.metadata.lineage.relations import DatasetId, ProgramId, ProgramRunId
from localcdap.metadata.lineage.time_range import TimeRange
from localcdap.store.store import Transaction

INCOMING: Final = "incoming"
OUTGOING: Final = "outgoing"
_PREFIX: Final = {INCOMING: "destination", OUTGOING: "source"}
"""The columns of a summary that hold the field that is asked for."""
_OTHER: Final = {INCOMING: "source", OUTGOING: "destination"}
_CHECKSUMS: Final = """
SELECT DISTINCT checksum FROM lineage_end_points
WHERE direction = ? AND namespace = ? AND name = ? AND start >= ? AND start < ?
"""
_COUNTS: Final = """
WITH wanted AS (SELECT unnest(?::VARCHAR[]) AS namespace, unnest(?::VARCHAR[]) AS name)
SELECT namespace, name, count(DISTINCT field) FROM (
    SELECT namespace, name, field FROM lineage_destination_fields
    SEMI JOIN wanted USING (namespace, name)
    SEMI JOIN (FROM lineage_end_points WHERE direction = ? AND start >= ? AND start < ?)
        USING (checksum, namespace, name)
    UNION ALL
    SELECT source_namespace AS namespace, source AS name, source_field AS field
    FROM (SELECT *, source_namespace AS namespace, source AS name FROM lineage_field_summaries)
    SEMI JOIN wanted USING (namespace, name)
    SEMI JOIN (FROM lineage_end_points WHERE direction = ? AND start >= ? AND start < ?)
        USING (checksum, namespace, name)
)
GROUP BY ALL
"""
_TABLES: Final = (
    "lineage_operations",
    "lineage_destination_fields",
    "lineage_field_summaries",
)
"""The tables of rows that belong to a checksum."""


class RunOperations(msgspec.Struct, frozen=True):
    """Operations, and the latest run of each program that performed exactly these."""

    runs: frozenset[ProgramRunId]
    info: FieldLineageInfo


class FieldRecords:
    """Reads and writes field lineage in one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def add(self, run: ProgramRunId, info: FieldLineageInfo) -> None:
        """Write the field lineage of a run, whose end points all name their namespace.

        Nothing changes when the same lineage of the run is stored already.

        :raises BadRequestError: when an end point does not, or the id of the run is not a time-based UUID.
        """
        unresolved = [e.name for e in info.sources | info.destinations if e.namespace is None]
        if unresolved:
            raise BadRequestError(
                f"End points without a namespace: {', '.join(sorted(unresolved))}."
            )
        start, checksum = run.start, info.checksum
        if not self._tx.execute("SELECT 1 FROM lineage_operations WHERE checksum = ?", (checksum,)):
            self._add_operations(info)
        known = set(
            self._tx.execute(
                "SELECT direction, namespace, name FROM lineage_end_points "
                "WHERE start = ? AND run = ? AND checksum = ? AND program = ? AND application = ?",
                (start, run.run, checksum, run.program.program, run.program.application),
            )
        )
        ends = [(INCOMING, each.namespace, each.name) for each in info.destinations]
        ends += [(OUTGOING, each.namespace, each.name) for each in info.sources]
        program = run.program
        names = (program.namespace, program.application, program.type, program.program)
        self._insert(
            "lineage_end_points",
            [(checksum, *end, *names, run.run, start) for end in ends if end not in known],
        )

    def find_fields(self, end_point: EndPoint, times: TimeRange) -> set[str]:
        """Return the fields that were written to an end point, or read from it and used."""
        rows = self._tx.execute(
            "SELECT DISTINCT field FROM lineage_destination_fields "  # noqa: S608
            f"WHERE namespace = ? AND name = ? AND checksum IN ({_CHECKSUMS}) UNION "
            f"SELECT DISTINCT source_field FROM lineage_field_summaries "
            f"WHERE source_namespace = ? AND source = ? AND checksum IN ({_CHECKSUMS})",
            [
                *_name(end_point),
                *_range(INCOMING, end_point, times),
                *_name(end_point),
                *_range(OUTGOING, end_point, times),
            ],
        )
        return {row[0] for row in rows}

    def count_fields(
        self, end_points: Collection[EndPoint], times: TimeRange
    ) -> dict[EndPoint, int]:
        """Return the numbers of fields that :meth:`find_fields` finds, of end points that have some."""
        if not end_points:
            return {}
        names = [list(column) for column in zip(*map(_name, end_points), strict=True)]
        bounds = (times.start, times.end)
        rows = self._tx.execute(_COUNTS, [*names, INCOMING, *bounds, OUTGOING, *bounds])
        return {EndPoint(name, namespace): count for namespace, name, count in rows}

    def find_summaries(
        self, direction: str, end_point: EndPoint, times: TimeRange, field: str | None = None
    ) -> Mapping[str, Set[EndPointField | None]]:
        """Return the fields on the other side, by the field of an end point.

        :param direction: ``incoming`` for what the fields come from, ``outgoing`` for what comes from them.
        :param field: one field; None for all of them.
        :returns: None among the outgoing ones means that the field was dropped.
        """
        own, other = _PREFIX[direction], _OTHER[direction]
        rows = self._tx.execute(
            f"SELECT DISTINCT {own}_field, {other}_namespace, {other}, {other}_field "  # noqa: S608
            f"FROM lineage_field_summaries WHERE {own}_namespace = ? AND {own} = ? "
            f"AND (? IS NULL OR {own}_field = ?) AND checksum IN ({_CHECKSUMS})",
            [*_name(end_point), field, field, *_range(direction, end_point, times)],
        )
        found: dict[str, set[EndPointField | None]] = {}
        for own_field, namespace, name, other_field in rows:
            other_end = (
                None if name is None else EndPointField(EndPoint(name, namespace), other_field)
            )
            found.setdefault(own_field, set()).add(other_end)
        return found

    def find_operations(
        self, direction: str, end_point: EndPoint, times: TimeRange
    ) -> list[RunOperations]:
        """Return the different operations that wrote (``incoming``) or read (``outgoing``) an end point."""
        rows = self._tx.execute(
            "SELECT checksum, program_namespace, application, program_type, program, "
            "arg_max(run, start) FROM lineage_end_points "
            "WHERE direction = ? AND namespace = ? AND name = ? AND start >= ? AND start < ? "
            "GROUP BY ALL ORDER BY max(start) DESC, checksum",
            _range(direction, end_point, times),
        )
        runs: dict[int, set[ProgramRunId]] = {}
        for checksum, *program, run in rows:
            runs.setdefault(checksum, set()).add(ProgramRunId(ProgramId(*program), run))
        stored = self._tx.execute(
            "SELECT checksum, operations FROM lineage_operations WHERE checksum IN (SELECT unnest(?))",
            (list(runs),),
        )
        texts: dict[int, str] = dict(stored)
        return [
            RunOperations(
                frozenset(found),
                FieldLineageInfo(decode_json(texts[checksum], list[PlatformOperation])),
            )
            for checksum, found in runs.items()
        ]

    def remove_namespace(self, namespace: str) -> None:
        """Remove the lineage of a namespace's end points and programs, and operations that no run has."""
        self._tx.execute(
            "DELETE FROM lineage_end_points WHERE namespace = ? OR program_namespace = ?",
            (namespace, namespace),
        )
        self._remove_unused()

    def remove_before(self, time: int) -> None:
        """Remove the lineage of runs that were asked for before a time in milliseconds since 1970."""
        self._tx.execute("DELETE FROM lineage_end_points WHERE start < ?", (time,))
        self._remove_unused()

    def _remove_unused(self) -> None:
        for table in _TABLES:
            self._tx.execute(
                f"DELETE FROM {table} "  # noqa: S608
                "WHERE checksum NOT IN (SELECT checksum FROM lineage_end_points)"
            )

    def _add_operations(self, info: FieldLineageInfo) -> None:
        checksum = info.checksum
        text = msgspec.json.encode(info.operations).decode()
        self._insert("lineage_operations", [(checksum, text)])
        self._insert(
            "lineage_destination_fields",
            [
                (checksum, *_name(destination), field)
                for destination, fields in info.destination_fields.items()
                for field in sorted(fields)
            ],
        )
        self._insert(
            "lineage_field_summaries",
            [
                (checksum, *_name(source.end_point), source.field, *_name_or_null(target))
                for source, targets in info.outgoing_summary.items()
                for target in targets
            ],
        )

    def _insert(self, table: str, rows: Collection[Sequence[Any]]) -> None:
        """Write rows by one statement, because a statement for each row takes milliseconds."""
        if rows:
            columns = [list(column) for column in zip(*rows, strict=True)]
            values = ", ".join(
                f"unnest(?::{'BIGINT' if isinstance(column[0], int) else 'VARCHAR'}[])"
                for column in columns
            )
            self._tx.execute(f"INSERT INTO {table} SELECT {values}", columns)


def _name(end_point: EndPoint) -> tuple[str, str]:
    return end_point.namespace or "", end_point.name


def _name_or_null(field: EndPointField | None) -> Iterable[str | None]:
    return (None, None, None) if field is None else (*_name(field.end_point), field.field)


def _range(direction: str, end_point: EndPoint, times: TimeRange) -> list[Any]:
    return [direction, *_name(end_point), times.start, times.end]


_SELECT: Final = """
SELECT application_namespace, application, source_namespace, source, source_field,
    target_namespace, target, target_field, kind, masking, assumed
FROM lineage_column_edges edges
"""
_DIRECT: Final = tuple(kind.value for kind in EdgeKind if kind.type is EdgeType.DIRECT)


class ApplicationEdge(ColumnEdge, frozen=True):
    """An edge with the application whose run takes it."""

    namespace: str = ""
    application: str = ""


class EdgeRecords:
    """Reads and writes the edges between columns in one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def replace(self, namespace: str, application: str, edges: Collection[ColumnEdge]) -> None:
        """Write the edges of an application in place of those that it had."""
        self._tx.execute(
            "DELETE FROM lineage_column_edges WHERE application_namespace = ? AND application = ?",
            (namespace, application),
        )
        rows = [_to_row(edge) for edge in dict.fromkeys(edges)]
        if rows:
            columns = [list(column) for column in zip(*rows, strict=True)]
            values = ", ".join(
                f"unnest(?::{'BOOLEAN' if isinstance(column[0], bool) else 'VARCHAR'}[])"
                for column in columns
            )
            self._tx.execute(
                f"INSERT INTO lineage_column_edges SELECT ?, ?, {values}",
                [namespace, application, *columns],
            )

    def list_edges(
        self, namespace: str, application: str, limit: int | None = None
    ) -> list[ColumnEdge]:
        """Return the edges of an application, at most a number of them."""
        rows = self._tx.execute(
            f"{_SELECT} WHERE application_namespace = ? AND application = ? ORDER BY ALL LIMIT ?",
            (namespace, application, limit),
        )
        found = map(_to_edge, rows)
        return [ColumnEdge(each.source, each.target, each.influence) for each in found]

    def find_edges(
        self, fields: Collection[DatasetField], *, upstream: bool, limit: int, indirect: bool = True
    ) -> list[ApplicationEdge]:
        """Return the edges that end at one of the fields (``upstream``), or that begin there.

        An edge to all fields of a dataset ends at each of them; all fields of a dataset begin and end all of
        its edges.

        :param limit: the largest number of edges.
        :param indirect: whether indirect edges are among them.
        """
        side = "target" if upstream else "source"
        columns = [
            list(column)
            for column in zip(
                *((f.dataset.namespace, f.dataset.dataset, f.field) for f in fields), strict=True
            )
        ]
        all_fields = f"OR edges.{side}_field IS NULL" if upstream else ""
        rows = self._tx.execute(
            f"{_SELECT} WHERE EXISTS (SELECT 1 FROM (SELECT unnest(?::VARCHAR[]) AS namespace, "  # noqa: S608
            "unnest(?::VARCHAR[]) AS name, unnest(?::VARCHAR[]) AS field) wanted "
            f"WHERE wanted.namespace = edges.{side}_namespace AND wanted.name = edges.{side} "
            f"AND (wanted.field = edges.{side}_field OR wanted.field IS NULL {all_fields})) "
            "AND (? OR kind IN (SELECT unnest(?::VARCHAR[]))) ORDER BY ALL LIMIT ?",
            [*columns, indirect, list(_DIRECT), limit],
        )
        return [_to_edge(row) for row in rows]

    def remove_namespace(self, namespace: str) -> None:
        """Remove the edges of a namespace's applications, and those from and to its datasets."""
        self._tx.execute(
            "DELETE FROM lineage_column_edges "
            "WHERE ? IN (application_namespace, source_namespace, target_namespace)",
            (namespace,),
        )


def _to_row(edge: ColumnEdge) -> tuple[Any, ...]:
    return (
        *_to_columns(edge.source),
        *_to_columns(edge.target),
        edge.influence.kind.value,
        edge.influence.masking,
        edge.influence.assumed,
    )


def _to_columns(field: DatasetField) -> Iterable[str | None]:
    return field.dataset.namespace, field.dataset.dataset, field.field


def _to_edge(row: tuple[Any, ...]) -> ApplicationEdge:
    return ApplicationEdge(
        DatasetField(DatasetId(row[2], row[3]), row[4]),
        DatasetField(DatasetId(row[5], row[6]), row[7]),
        Influence(EdgeKind(row[8]), row[9], row[10]),
        row[0],
        row[1],
    )
