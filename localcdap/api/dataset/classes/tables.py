"""The dataset classes of tables: ``table``, ``keyValueTable`` and ``indexedTable``.

The methods are those of CDAP 6 ``Table``, ``KeyValueTable`` and ``IndexedTable``, with their annotations.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from localcdap.api.dataset.access import read_only, read_write, write_only
from localcdap.api.dataset.dataset import Dataset
from localcdap.api.dataset.rows import Row, between, equal, one_of
from localcdap.api.errors import BadRequestError
from localcdap.api.tables import KEY, VALUE

_COLUMNS: Final = "columns"
_LONG: Final = struct.Struct(">q")


class Table(Dataset):
    """Rows with the columns of a schema. Rows are dicts; keys are values of the column that identifies a row.

    Without such a column, rows can only be written and scanned.
    """

    @read_only
    def get(self, key: Any) -> Row | None:
        """Return the row with a key; None when there is none."""
        return self._open_table().read(key)

    @read_only
    def get_all(self, keys: Iterable[Any]) -> list[Row]:
        """Return the rows with some keys, in no particular order; missing ones are left out."""
        rows = self._open_table()
        return rows.select([one_of(rows.key or "", keys)])

    @read_only
    def scan(
        self, start: Any = None, stop: Any = None, *, limit: int | None = None
    ) -> Iterator[Row]:
        """Return the rows from a key on, ordered by key; without a key column all rows.

        :param start: the first key; None: from the beginning.
        :param stop: the key before which the rows end; None: all rows.
        """
        rows = self._open_table()
        if rows.key is None:
            return iter(rows.select(limit=limit))
        conditions = between(rows.key, start, stop)
        return iter(rows.select(conditions, order_by=[rows.key], limit=limit))

    @read_only
    def count(self) -> int:
        """Return the number of rows."""
        return self._open_table().count()

    @write_only
    def write(self, row: Mapping[str, Any]) -> None:
        """Add a row, or replace the one with its key; columns that it lacks are null."""
        self._open_table().write([row])

    @write_only
    def write_all(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add or replace rows; see :meth:`write`."""
        self._open_table().write(rows)

    @write_only
    def put(self, key: Any, values: Mapping[str, Any]) -> None:
        """Change some columns of the row with a key, which is added when there is none."""
        self._open_table().update(key, values)

    @write_only
    def delete(self, key: Any) -> None:
        """Remove the row with a key, if there is one."""
        rows = self._open_table()
        rows.delete([equal(rows.key or "", key)])

    @read_write
    def increment(self, key: Any, column: str, amount: int) -> int:
        """Add to a column of type int or long, and return the sum; a missing value counts as 0."""
        total: int = self._open_table().increment(key, {column: amount})[column]
        return total

    @read_write
    def compare_and_swap(self, key: Any, column: str, old: Any, new: Any) -> bool:
        """Set a column if it has the value ``old`` (None: null, or no row), and return whether it had."""
        return self._open_table().compare_and_swap(key, column, old, new)


class CellTable(Dataset):
    """A ``table`` without a schema: rows with any columns, by keys of bytes. Values are bytes.

    Numbers are stored as 8 bytes, big-endian, as in the original.
    """

    @read_only
    def get(self, key: bytes) -> dict[str, bytes]:
        """Return the columns of a row; none when there is no such row."""
        return self._read(key)

    @read_only
    def scan(
        self, start: bytes | None = None, stop: bytes | None = None, *, limit: int | None = None
    ) -> Iterator[tuple[bytes, dict[str, bytes]]]:
        """Return the keys and columns of rows, ordered by key; see :meth:`Table.scan`."""
        found = self._open_table().select(
            between("row", start, stop), order_by=["row"], limit=limit
        )
        return ((row["row"], row[_COLUMNS]) for row in found)

    @read_write
    def put(self, key: bytes, values: Mapping[str, bytes]) -> None:
        """Set some columns of a row, which is added when there is none."""
        self._write(key, {**self._read(key), **values})

    @write_only
    def delete(self, key: bytes) -> None:
        """Remove a row with all columns, if there is one."""
        self._open_table().delete([equal("row", key)])

    @read_write
    def delete_columns(self, key: bytes, *columns: str) -> None:
        """Remove columns of a row; a row without columns does not exist."""
        self._write(key, {k: v for k, v in self._read(key).items() if k not in columns})

    @read_write
    def increment(self, key: bytes, column: str, amount: int) -> int:
        """Add to a number, and return the sum; a missing one counts as 0.

        :raises BadRequestError: when the value has not 8 bytes, or the sum has more than 64 bits.
        """
        columns = self._read(key)
        total = _read_number(columns.get(column), column) + amount
        self._write(key, {**columns, column: _write_number(total, column)})
        return total

    @read_write
    def compare_and_swap(
        self, key: bytes, column: str, old: bytes | None, new: bytes | None
    ) -> bool:
        """Set a column if it has the value ``old`` (None: it does not exist); return whether it had."""
        columns = self._read(key)
        if columns.get(column) != old:
            return False
        changed = {**columns, column: new}
        self._write(key, {name: value for name, value in changed.items() if value is not None})
        return True

    def _read(self, key: bytes) -> dict[str, bytes]:
        found = self._open_table().read(key)
        return {} if found is None else dict(found[_COLUMNS])

    def _write(self, key: bytes, columns: Mapping[str, bytes]) -> None:
        rows = self._open_table()
        if columns:
            rows.write([{"row": key, _COLUMNS: dict(columns)}])
        else:
            rows.delete([equal("row", key)])


class KeyValueTable(Dataset):
    """Values by key. Keys and values are bytes or texts, as the schema says."""

    @read_only
    def read(self, key: Any) -> Any:
        """Return the value of a key; None when there is none."""
        found = self._open_table().read(key)
        return None if found is None else found[VALUE]

    @read_only
    def read_all(self, keys: Iterable[Any]) -> dict[Any, Any]:
        """Return the values of some keys; missing ones are left out."""
        found = self._open_table().select([one_of(KEY, keys)])
        return {row[KEY]: row[VALUE] for row in found}

    @read_only
    def scan(self, start: Any = None, stop: Any = None) -> Iterator[tuple[Any, Any]]:
        """Return keys and values, ordered by key; see :meth:`Table.scan`."""
        found = self._open_table().select(between(KEY, start, stop), order_by=[KEY])
        return ((row[KEY], row[VALUE]) for row in found)

    @write_only
    def write(self, key: Any, value: Any) -> None:
        """Set the value of a key."""
        self._open_table().write([{KEY: key, VALUE: value}])

    @write_only
    def write_all(self, values: Mapping[Any, Any]) -> None:
        """Set the values of some keys."""
        self._open_table().write({KEY: key, VALUE: value} for key, value in values.items())

    @write_only
    def delete(self, key: Any) -> None:
        """Remove a key, if there is one."""
        self._open_table().delete([equal(KEY, key)])

    @write_only
    def delete_all(self, keys: Iterable[Any]) -> None:
        """Remove some keys."""
        self._open_table().delete([one_of(KEY, keys)])

    @read_write
    def swap(self, key: Any, old: Any, new: Any) -> bool:
        """Set the value of a key if it is ``old`` (None: it does not exist); return whether it was.

        :param new: None removes the key.
        """
        rows = self._open_table()
        found = rows.read(key)
        if (None if found is None else found[VALUE]) != old:
            return False
        if new is None:
            rows.delete([equal(KEY, key)])
        else:
            rows.write([{KEY: key, VALUE: new}])
        return True

    @read_write
    def increment(self, key: bytes, amount: int) -> int:
        """Add to a number of 8 bytes, big-endian, and return the sum; a missing one counts as 0.

        :raises BadRequestError: when the value is not one, or the sum has more than 64 bits.
        """
        rows = self._open_table()
        found = rows.read(key)
        total = _read_number(None if found is None else found[VALUE], VALUE) + amount
        rows.write([{KEY: key, VALUE: _write_number(total, VALUE)}])
        return total


class IndexedTable(Table):
    """A table whose rows are also found by the columns that ``columnsToIndex`` names."""

    @read_only
    def read_by_index(self, column: str, value: Any) -> list[Row]:
        """Return the rows in which an indexed column has a value.

        :raises BadRequestError: when the column is not indexed.
        """
        self._require_index(column)
        return self._open_table().select([equal(column, value)])

    @read_only
    def scan_by_index(self, column: str, start: Any = None, stop: Any = None) -> Iterator[Row]:
        """Return the rows in a range of an indexed column, ordered by it.

        :param start: the first value; None: from the beginning.
        :param stop: the value before which the rows end; None: all rows.
        :raises BadRequestError: when the column is not indexed.
        """
        self._require_index(column)
        return iter(self._open_table().select(between(column, start, stop), order_by=[column]))

    def _require_index(self, column: str) -> None:
        indexed = self.specification.properties.get("columnsToIndex", "").split(",")
        if column not in indexed:
            raise BadRequestError(
                f"Column '{column}' of dataset '{self.name}' is not indexed.",
                f"Use one of: {', '.join(indexed)}.",
            )


def _read_number(value: Any, column: str) -> int:
    if value is None:
        return 0
    if not isinstance(value, bytes) or len(value) != _LONG.size:
        raise BadRequestError(f"The value of '{column}' is not a number of 8 bytes.")
    number: int = _LONG.unpack(value)[0]
    return number


def _write_number(number: int, column: str) -> bytes:
    try:
        return _LONG.pack(number)
    except struct.error:
        raise BadRequestError(f"The sum for '{column}' has more than 64 bits: {number}") from None
