"""Which structured tables there are."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from localcdap.api.app.specification import StructuredTableSpecification
from localcdap.api.errors import ConflictError, NotFoundError
from localcdap.store.store import Store, Transaction


class TableRegistry:
    """The specifications of the tables, remembered in memory: nobody else changes them.

    What a transaction changes is seen by others when it is committed.
    """

    def __init__(self, store: Store) -> None:
        rows = store.read("SELECT name, specification FROM structured_tables")
        self._specifications: Mapping[str, StructuredTableSpecification] = {
            name: msgspec.json.decode(text, type=StructuredTableSpecification)
            for name, text in rows
        }

    def names(self) -> list[str]:
        """The ids of all tables, in order."""
        return sorted(self._specifications)

    def find(self, table: str) -> StructuredTableSpecification | None:
        """The specification of a table, None when there is no such table."""
        return self._specifications.get(table)

    def known(self) -> Mapping[str, StructuredTableSpecification]:
        """All tables as they are now; what changes later is not in it."""
        return self._specifications

    def specification(self, table: str) -> StructuredTableSpecification:
        """:raises NotFoundError: when there is no such table; lists those that are."""
        return specification_in(self._specifications, table)

    def register(self, tx: Transaction, spec: StructuredTableSpecification) -> None:
        """Add a table.

        :raises ConflictError: when there is one of that name, whatever its case: DuckDB sees none.
        """
        for name in self.names():
            if name.lower() == spec.table.lower():
                raise ConflictError(f"There is a structured table '{name}' already.")
        tx.execute("INSERT INTO structured_tables VALUES (?, ?)", (spec.table, _text(spec)))
        tx.on_commit(lambda: self._set(spec))

    def change(self, tx: Transaction, spec: StructuredTableSpecification) -> None:
        """Replace the specification of the table of that name."""
        tx.execute(
            "UPDATE structured_tables SET specification = ? WHERE name = ?",
            (_text(spec), spec.table),
        )
        tx.on_commit(lambda: self._set(spec))

    def remove(self, tx: Transaction, table: str) -> None:
        """Remove a table; nothing happens when there is none."""
        tx.execute("DELETE FROM structured_tables WHERE name = ?", (table,))
        tx.on_commit(lambda: self._forget(table))

    def _set(self, spec: StructuredTableSpecification) -> None:
        self._specifications = {**self._specifications, spec.table: spec}

    def _forget(self, table: str) -> None:
        self._specifications = {k: v for k, v in self._specifications.items() if k != table}


def specification_in(
    known: Mapping[str, StructuredTableSpecification], table: str
) -> StructuredTableSpecification:
    """:raises NotFoundError: when there is no such table among those; lists them."""
    found = known.get(table)
    if found is None:
        raise NotFoundError(
            f"There is no structured table '{table}'; there are: {', '.join(sorted(known)) or 'none'}."
        )
    return found


def _text(spec: StructuredTableSpecification) -> str:
    return msgspec.json.encode(spec).decode()
