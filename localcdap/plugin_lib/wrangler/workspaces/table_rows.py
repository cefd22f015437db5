"""Tables of the namespace for lookups in a sample: the caller of the workspace gives their rows as files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api import Schema, StageError
from localcdap.api.arrow import RecordCodec
from localcdap.api.directive import DirectiveError
from localcdap.api.tables import Lookup, TableShape
from localcdap.plugin_lib.wrangler.recipe.builder import BuiltRecipe

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_ROWS: Final = 1_000_000


class GivenTable(msgspec.Struct):
    """A table that a recipe names."""

    name: str
    schema: Schema | None = None
    key: str | None = None
    """The column of its key, as in :class:`localcdap.api.tables.TableShape`."""
    path: str = ""
    """A Parquet file with its rows, which is read at once."""
    problem: str = ""
    """Why there are no rows, as a clause."""


class SampleLookup:
    """The rows of a table by the texts of their keys, as a run finds them; of equal keys the first row.

    :raises StageError: when there are too many rows, or their keys are not plain values.
    """

    def __init__(self, given: GivenTable, schema: Schema) -> None:
        import pyarrow.parquet as pq

        self.name: str = given.name
        self.shape: TableShape = TableShape(schema, given.key)
        self.schema: Schema = self.shape.found or Schema.record("row", [])
        with pq.ParquetFile(given.path) as file:
            if file.metadata.num_rows > _MOST_ROWS:
                raise StageError(
                    f"table '{given.name}' has {file.metadata.num_rows:,} rows; a sample looks into at most "
                    f"{_MOST_ROWS:,}"
                )
            table = file.read()
        key = self.shape.lookup_key
        keys = [] if key is None else _read_keys(given.name, table.column(key))
        pairs = ((text, row) for row, text in reversed(list(enumerate(keys))) if text is not None)
        self._index: Final[dict[str, int]] = dict(pairs)
        self._codec: Final = RecordCodec(self.schema)
        names = [field.name for field in self._codec.arrow]
        self._rows: Final = table.select(names).cast(self._codec.arrow)

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the row of a key; None when there is none."""
        index = self._index.get(key)
        if index is None:
            return None
        (batch,) = self._rows.slice(index, 1).to_batches()
        return self._codec.decode(batch)[0]

    def get_all(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the rows of several keys; keys without a row are missing."""
        found = ((key, self.get(key)) for key in keys)
        return {key: row for key, row in found if row is not None}

    def sorted_rows(self) -> tuple[pa.Array, pa.RecordBatch]:
        """Return the sorted keys and their rows, see :class:`localcdap.api.tables.Lookup`."""
        import pyarrow as pa

        found = sorted((text.encode(), row) for text, row in self._index.items())
        rows = self._rows.take(pa.array([row for _, row in found], pa.int64())).combine_chunks()
        batches = rows.to_batches() or [pa.RecordBatch.from_pylist([], self._codec.arrow)]
        return pa.array([key for key, _ in found], pa.large_binary()), batches[0]


class FailingLookup:
    """A table without rows to look into: each lookup fails with the reason."""

    def __init__(self, name: str, reason: str) -> None:
        self.name: str = name
        self.shape: TableShape = TableShape(Schema.record("row", []))
        self.schema: Schema = self.shape.schema
        self._reason: Final = reason

    def get(self, key: str) -> dict[str, Any] | None:
        """Fail.

        :raises DirectiveError: always.
        """
        raise DirectiveError(self._reason)

    def get_all(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Fail as :meth:`get`."""
        raise DirectiveError(self._reason)

    def sorted_rows(self) -> tuple[pa.Array, pa.RecordBatch]:
        """Fail as :meth:`get`."""
        raise DirectiveError(self._reason)


class SampleTables:
    """The tables of a workspace."""

    def __init__(self) -> None:
        self.lookups: Final[dict[str, SampleLookup | FailingLookup]] = {}

    def find_shape(self, name: str) -> TableShape | None:
        """Return the columns of a table; None for one that cannot be read."""
        found = self.lookups.get(name)
        return found.shape if isinstance(found, SampleLookup) else None

    def list_missing(self, recipe: BuiltRecipe) -> list[str]:
        """Return the tables that a recipe names and nobody has given yet."""
        directives = [step.directive for step in recipe.steps if step.directive is not None]
        named = dict.fromkeys(name for each in directives for name in each.tables())
        return [name for name in named if name not in self.lookups]

    def add(self, given: Sequence[GivenTable]) -> None:
        """Take tables, also ones that are there."""
        for table in given:
            self.lookups[table.name] = _open(table)


Lookups = Mapping[str, Lookup]


def _open(table: GivenTable) -> SampleLookup | FailingLookup:
    if table.schema is None:
        return FailingLookup(table.name, table.problem)
    try:
        return SampleLookup(table, table.schema)
    except StageError as error:
        return FailingLookup(table.name, error.message)


def _read_keys(name: str, values: pa.ChunkedArray) -> list[str | None]:
    import pyarrow as pa

    try:
        if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
            return [
                None if each is None else each.decode("utf-8", "replace")
                for each in values.to_pylist()
            ]
        texts: list[str | None] = values.cast(pa.large_string()).to_pylist()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise StageError(
            f"table '{name}' cannot be looked into: its key is of type {values.type}"
        ) from None
    return texts
