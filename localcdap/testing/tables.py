"""Tables of a test, instead of those of an instance."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import NotFoundError
from localcdap.api.schema import Schema
from localcdap.api.stage import FindTable, Record
from localcdap.api.tables import Partitioning, TableShape
from localcdap.engine.messages.host import TableFiles
from localcdap.engine.plan.tables import TableSource

_NAMESPACE: Final = "default"


class TableData(msgspec.Struct):
    """A table and its rows.

    >>> GivenTable(PEOPLE, [{"id": "1", "name": "ada"}], key="id")  # doctest: +SKIP
    """

    schema: Schema
    rows: Sequence[Record]
    key: str | None = None
    """The key field; None for a table to which rows are appended."""
    partitioning: Partitioning | None = None
    is_view: bool = False
    """Whether the stage under test sees a view, with these rows as its result."""

    @property
    def shape(self) -> TableShape:
        """The columns of the table."""
        return TableShape(self.schema, self.key, self.partitioning, is_view=self.is_view)


class TableDataSource:
    """A source of the tables of a test.

    :param folder: the folder for snapshots.
    """

    def __init__(self, tables: Mapping[str, TableData], folder: Path) -> None:
        self._tables: Final = dict(tables)
        self._folder: Final = folder
        self._numbers: Final = itertools.count()

    def add(self, name: str, table: TableData) -> None:
        self._tables[name] = table

    def export(self, namespace: str, name: str) -> TableFiles:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = self._tables.get(name)
        if table is None or namespace != _NAMESPACE:
            known = ", ".join(self._tables) or "none"
            raise NotFoundError(
                f"There is no table '{name}'; tables here: {known}.",
                "Add it to 'tables'.",
            )
        file = self._folder / f"table-{next(self._numbers)}.parquet"
        rows = pa.Table.from_batches([RecordCodec(table.schema).encode(table.rows)])
        self._folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, file)
        return TableFiles(table.schema, [str(file)], table.key)

    def find(self, namespace: str, name: str) -> TableShape | None:
        table = self._tables.get(name) if namespace == _NAMESPACE else None
        return None if table is None else table.shape


def build_find_table(tables: TableSource) -> FindTable:
    """Return the function that finds the columns of the tables of a source."""
    return lambda name: tables.find(_NAMESPACE, name)
