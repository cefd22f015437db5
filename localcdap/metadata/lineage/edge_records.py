"""The rows of the edges between columns, in the transaction of the caller."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

from localcdap.api.lineage import EdgeKind, EdgeType
from localcdap.metadata.lineage.column_edges import ColumnEdge, DatasetField, Influence
from localcdap.metadata.lineage.relations import DatasetId
from localcdap.store.store import Transaction

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
