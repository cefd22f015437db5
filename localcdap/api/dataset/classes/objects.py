"""The dataset classes of objects: ``objectStore``, ``indexedObjectStore`` and ``objectMappedTable``.

The methods are those of CDAP 6 ``ObjectStore``, ``IndexedObjectStore`` and ``ObjectMappedTable``, with their
annotations. An object is a value of the dataset's schema, such as a dict for a record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from localcdap.api.dataset.access import read_only, write_only
from localcdap.api.dataset.dataset import Dataset
from localcdap.api.dataset.rows import Row, between, equal, one_of


class ObjectStore(Dataset):
    """Objects by keys of bytes."""

    @read_only
    def read(self, key: bytes) -> Any:
        """Return the object with a key; None when there is none."""
        found = self._open_table().read(key)
        return None if found is None else found["value"]

    @read_only
    def scan(
        self, start: bytes | None = None, stop: bytes | None = None
    ) -> Iterator[tuple[bytes, Any]]:
        """Return keys and objects, ordered by key.

        :param start: the first key; None: from the beginning.
        :param stop: the key before which the objects end; None: all objects.
        """
        found = self._open_table().select(between("key", start, stop), order_by=["key"])
        return ((row["key"], row["value"]) for row in found)

    @write_only
    def write(self, key: bytes, value: Any) -> None:
        """Set the object of a key."""
        self._open_table().write([{"key": key, "value": value}])

    @write_only
    def delete(self, key: bytes) -> None:
        """Remove the object with a key, if there is one."""
        self._open_table().delete([equal("key", key)])


class IndexedObjectStore(ObjectStore):
    """Objects that are also found by any number of secondary keys each."""

    @read_only
    def read_all_by_index(self, secondary_key: bytes) -> list[Any]:
        """Return the objects with a secondary key, ordered by key."""
        pairs = self._open_table("index").select([equal("secondaryKey", secondary_key)])
        keys = {pair["key"] for pair in pairs}
        found = self._open_table().select([one_of("key", keys)], order_by=["key"])
        return [row["value"] for row in found]

    @write_only
    def write(self, key: bytes, value: Any, secondary_keys: Iterable[bytes] = ()) -> None:
        """Set the object of a key; its secondary keys are these and no others."""
        self._open_table().write([{"key": key, "value": value}])
        pairs = self._open_table("index")
        pairs.delete([equal("key", key)])
        pairs.write({"secondaryKey": each, "key": key} for each in dict.fromkeys(secondary_keys))

    @write_only
    def delete(self, key: bytes) -> None:
        """Remove an object with its secondary keys. In the original they stay."""
        self._open_table().delete([equal("key", key)])
        self._open_table("index").delete([equal("key", key)])

    @write_only
    def prune_index(self, key: bytes, secondary_key: bytes) -> None:
        """Remove one secondary key of an object."""
        pair = [equal("key", key), equal("secondaryKey", secondary_key)]
        self._open_table("index").delete(pair)

    @write_only
    def update_index(self, key: bytes, secondary_key: bytes) -> None:
        """Add a secondary key to an object; it keeps the others."""
        pairs = self._open_table("index")
        pairs.delete([equal("key", key), equal("secondaryKey", secondary_key)])
        pairs.write([{"secondaryKey": secondary_key, "key": key}])


class ObjectMappedTable(Dataset):
    """Objects by key, with one column for each field. Objects are dicts without the key."""

    @read_only
    def read(self, key: Any) -> Row | None:
        """Return the object with a key; None when there is none."""
        found = self._open_table().read(key)
        return None if found is None else self._split(found)[1]

    @read_only
    def scan(self, start: Any = None, stop: Any = None) -> Iterator[tuple[Any, Row]]:
        """Return keys and objects, ordered by key; see :meth:`ObjectStore.scan`."""
        rows = self._open_table()
        key = rows.key or ""
        return map(self._split, rows.select(between(key, start, stop), order_by=[key]))

    @write_only
    def write(self, key: Any, value: Mapping[str, Any]) -> None:
        """Set the object of a key."""
        rows = self._open_table()
        rows.write([{**value, rows.key or "": key}])

    @write_only
    def delete(self, key: Any) -> None:
        """Remove the object with a key, if there is one."""
        rows = self._open_table()
        rows.delete([equal(rows.key or "", key)])

    def _split(self, row: Row) -> tuple[Any, Row]:
        key = self._open_table().key or ""
        return row[key], {name: row[name] for name in row if name != key}
