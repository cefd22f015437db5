"""Tables of the namespace for lookups outside of a run: the platform gives their rows as files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from localcdap.api import Schema, StageError
from localcdap.api.arrow import RecordCodec
from localcdap.api.directive import DirectiveError
from localcdap.api.tables import Lookup, TableFile, TableShape
from localcdap.plugin_lib.wrangler.recipe.builder import BuiltRecipe

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_ROWS: Final = 1_000_000
OpenTables = Callable[[Sequence[str]], Sequence[TableFile]]
"""Gives tables as files, see :meth:`localcdap.api.methods.MethodContext.open_tables`."""


class SampleLookup:
    """The rows of a table by the texts of their keys, as a run finds them; of equal keys the first row.

    :raises StageError: when there are too many rows, or their keys are not plain values.
    """

    def __init__(self, given: TableFile, schema: Schema) -> None:
        import pyarrow.parquet as pq

        self.name: str = given.name
        self.shape: TableShape = TableShape(schema, given.key)
        self.schema: Schema = self.shape.found or Schema.record("row", [])
        with pq.ParquetFile(given.path) as file:
            if file.metadata.num_rows > _MOST_ROWS:
                raise StageError(
                    f"table '{given.name}' has {file.metadata.num_rows:,} rows; at most {_MOST_ROWS:,} can "
                    "be looked into outside of a run"
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
        self.reason: Final = reason

    def get(self, key: str) -> dict[str, Any] | None:
        """Fail.

        :raises DirectiveError: always.
        """
        raise DirectiveError(self.reason)

    def get_all(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Fail as :meth:`get`."""
        raise DirectiveError(self.reason)

    def sorted_rows(self) -> tuple[pa.Array, pa.RecordBatch]:
        """Fail as :meth:`get`."""
        raise DirectiveError(self.reason)


class SampleTables:
    """The tables that recipes name."""

    def __init__(self) -> None:
        self.lookups: Final[dict[str, SampleLookup | FailingLookup]] = {}

    def find_shape(self, name: str) -> TableShape | None:
        """Return the columns of a table; None for one that cannot be read."""
        found = self.lookups.get(name)
        return found.shape if isinstance(found, SampleLookup) else None

    def open(self, recipe: BuiltRecipe, open_tables: OpenTables) -> None:
        """Read the tables that a recipe names and that are not there yet."""
        missing = [name for name in list_tables(recipe) if name not in self.lookups]
        for table in open_tables(missing) if missing else ():
            self.lookups[table.name] = _open(table)


Lookups = Mapping[str, Lookup]


def list_tables(recipe: BuiltRecipe) -> list[str]:
    """Return the tables that a recipe names, each once."""
    directives = [step.directive for step in recipe.steps if step.directive is not None]
    return list(dict.fromkeys(name for each in directives for name in each.tables()))


def _open(table: TableFile) -> SampleLookup | FailingLookup:
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
