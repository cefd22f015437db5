"""Lookups of rows by key: a file of rows sorted by key, which all workers open.

The file holds one Arrow record batch: the keys, then the columns. It is memory-mapped, so that the workers
of a machine share its pages and read only the pages that they need. In a million rows a search takes about
ten microseconds and no memory of the worker.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import StageError
from localcdap.api.schema import Schema
from localcdap.api.tables import TableShape
from localcdap.artifacts.loading import locate_content

if TYPE_CHECKING:
    import pyarrow as pa

_CACHED_KEYS: Final = 10_000
"""Keys whose rows a worker caches: the values of a column repeat."""


class LookupFile(msgspec.Struct):
    """The file with the rows of a table."""

    name: str
    shape: TableShape
    path: str
    """A relative path when it was sent to a cluster, see :func:`localcdap.artifacts.loading.located`."""


class FileLookup:
    """A lookup in such a file, which is opened at the first use.

    It is pickled as the name of the file.
    """

    def __init__(self, file: LookupFile, sent: LookupFile | None = None) -> None:
        """Create a lookup.

        :param sent: the file at the path at which workers find it; it is used when the object is pickled.
        """
        self.name: str = file.name
        self.shape: TableShape = file.shape
        self.schema: Schema = get_lookup_schema(file.name, file.shape)
        self._file: Final = file
        self._sent: Final = sent or file
        self._rows: SortedRows | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return FileLookup, (self._sent,)

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the row of a key; None when there is none."""
        return self._open().get(key)

    def get_all(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the rows of several keys; keys without a row are missing."""
        found = ((key, self.get(key)) for key in keys)
        return {key: row for key, row in found if row is not None}

    def sorted_rows(self) -> tuple[pa.Array, pa.RecordBatch]:
        """Return the sorted keys, as UTF-8 bytes, and their rows."""
        opened = self._open()
        return opened.keys, opened.rows

    def _open(self) -> SortedRows:
        if self._rows is None:
            import pyarrow as pa

            with pa.memory_map(str(locate_content(self._file.path))) as mapped:
                batch = pa.ipc.open_file(mapped).get_batch(0)
            self._rows = SortedRows(batch, self.schema)
        return self._rows


class SortedRows:
    """Rows that are found by key.

    :param batch: the keys, then the columns of ``schema``; sorted by key, each key once.
    """

    def __init__(self, batch: pa.RecordBatch, schema: Schema) -> None:
        import pyarrow as pa

        self.keys: Final[pa.Array] = batch.column(0)
        self.rows: Final[pa.RecordBatch] = pa.RecordBatch.from_arrays(
            batch.columns[1:], schema=pa.schema(RecordCodec(schema).arrow)
        )
        self._codec: Final = RecordCodec(schema)
        self._search: Final = _BinaryValues(self.keys)
        self.get: Final = lru_cache(_CACHED_KEYS)(self._find)

    def _find(self, key: str) -> dict[str, Any] | None:
        try:
            wanted = key.encode()
        except UnicodeEncodeError:  # half a character, which no table holds
            return None
        index = bisect_left(self._search, wanted)
        if index == len(self._search) or self._search[index] != wanted:
            return None
        if not self.rows.num_columns:
            return {}
        (row,) = self._codec.decode(self.rows.slice(index, 1))
        return row


class _BinaryValues:
    """The values of a ``large_binary`` array as a sequence, without an Arrow object for each of them."""

    def __init__(self, array: pa.Array) -> None:
        _, offsets, data = array.buffers()
        self._offsets: Final = memoryview(offsets).cast("q")
        self._data: Final = memoryview(data) if data is not None else memoryview(b"")
        self._first: Final = array.offset
        self._length: Final = len(array)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> bytes:
        index += self._first
        return bytes(self._data[self._offsets[index] : self._offsets[index + 1]])


def get_lookup_schema(name: str, shape: TableShape) -> Schema:
    """Return the schema of the rows that a lookup in a table returns.

    :raises StageError: (without a stage) when it has no key.
    """
    found = shape.found
    if found is None:
        raise StageError(
            f"table '{name}' has no key by which its rows could be looked up; its columns are: "
            f"{', '.join(shape.schema.field_names)}.",
            "Write it with a key, with a column 'key', or with two columns of which the first is the key.",
        )
    return found
