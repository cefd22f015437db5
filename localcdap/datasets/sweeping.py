"""Removing the rows of namespaces that were deleted from the structured tables of applications."""

from __future__ import annotations

from localcdap.api.app.events import EntityDeleted, SystemEventListener
from localcdap.api.app.namespaces import GENERATION, NAMESPACE
from localcdap.store.columns import quoted
from localcdap.store.store import Transaction
from localcdap.store.structured.admin import TableAdmin
from localcdap.store.structured.sql import TableSql


class DeletedNamespaceCleanup(SystemEventListener[Transaction]):
    """Deletes what nobody sees any more.

    The tables it cares for have a key that begins with ``namespace, generation``, as those of CDAP 6's
    applications do: their rows are out of sight as soon as the namespace has another generation, or none. Of
    other tables it cannot know what their rows belong to.
    """

    name = "structured-table-sweep"
    events = (EntityDeleted,)

    def __init__(self, tables: TableAdmin) -> None:
        self._tables = tables

    def on_event(self, event: EntityDeleted, tx: Transaction) -> None:
        if event.entity.type != NAMESPACE or event.generation is None:
            return
        for spec in self._tables.list_tables():
            if list(spec.primary_key[:2]) == [NAMESPACE, GENERATION]:
                tx.execute(
                    f"DELETE FROM {TableSql(spec).name} "  # noqa: S608
                    f"WHERE {quoted(NAMESPACE)} = ? AND {quoted(GENERATION)} <= ?",
                    (event.entity.namespace, event.generation),
                )
