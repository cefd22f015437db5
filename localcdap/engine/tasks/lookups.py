"""Tables in which records' values are looked up: a file of rows sorted by key, which all workers open.

The file holds one Arrow record batch: the keys, then the columns. It is mapped into memory, so that the
workers of a machine share its pages and none of them reads more than it looks at; a million rows cost a
search of some ten microseconds, and no memory of the worker's own.
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

_REMEMBERED: Final = 10_000
"""Keys whose rows a worker keeps: the values of a column come again and again."""


class LookupFile(msgspec.Struct):
    """Where the rows of a table lie."""

    name: str
    shape: TableShape
    path: str
    """Relative where it was sent to a cluster, see :func:`localcdap.artifacts.loading.located`."""


class FileLookup:
    """A :class:`localcdap.api.tables.Lookup` in such a file, which is opened when it is first asked.

    Pickled, it is the name of the file.
    """

    def __init__(self, file: LookupFile, sent: LookupFile | None = None) -> None:
        """:param sent: the same file as workers find it, which get that one when the object is pickled."""
        self.name: str = file.name
        self.shape: TableShape = file.shape
        self.schema: Schema = found_schema(file.name, file.shape)
        self._file: Final = file
        self._sent: Final = sent or file
        self._rows: SortedRows | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return FileLookup, (self._sent,)

    def get(self, key: str) -> dict[str, Any] | None:
        return self._opened().get(key)

    def get_all(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        found = ((key, self.get(key)) for key in keys)
        return {key: row for key, row in found if row is not None}

    def sorted_rows(self) -> tuple[pa.Array, pa.RecordBatch]:
        opened = self._opened()
        return opened.keys, opened.rows

    def _opened(self) -> SortedRows:
        if self._rows is None:
            import pyarrow as pa

            with pa.memory_map(str(locate_content(self._file.path))) as mapped:
                batch = pa.ipc.open_file(mapped).get_batch(0)
            self._rows = SortedRows(batch, self.schema)
        return self._rows


class SortedRows:
    """Rows found by key.

    :param batch: the keys, then the columns of ``schema``; sorted by key, each key once.
    """

    def __init__(self, batch: pa.RecordBatch, schema: Schema) -> None:
        import pyarrow as pa

        self.keys: Final[pa.Array] = batch.column(0)
        self.rows: Final[pa.RecordBatch] = pa.RecordBatch.from_arrays(
            batch.columns[1:], schema=pa.schema(RecordCodec(schema).arrow)
        )
        self._codec: Final = RecordCodec(schema)
        self._search: Final = _Texts(self.keys)
        self.get: Final = lru_cache(_REMEMBERED)(self._get)

    def _get(self, key: str) -> dict[str, Any] | None:
        try:
            wanted = key.encode()
        except UnicodeEncodeError:  # half a character, which no table holds
            return None
        place = bisect_left(self._search, wanted)
        if place == len(self._search) or self._search[place] != wanted:
            return None
        if not self.rows.num_columns:
            return {}
        (row,) = self._codec.decode(self.rows.slice(place, 1))
        return row


class _Texts:
    """The values of a ``large_binary`` array as a sequence, without Arrow's objects around them."""

    def __init__(self, array: pa.Array) -> None:
        _, offsets, data = array.buffers()
        self._offsets: Final = memoryview(offsets).cast("q")
        self._data: Final = memoryview(data) if data is not None else memoryview(b"")
        self._first: Final = array.offset
        self._length: Final = len(array)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, place: int) -> bytes:
        place += self._first
        return bytes(self._data[self._offsets[place] : self._offsets[place + 1]])


def found_schema(name: str, shape: TableShape) -> Schema:
    """The schema of what is found in a table.

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
