"""The rows of a workspace by column, and the rows of tables of the namespace for lookups.

A step of a recipe shares all other columns with the step before it, also what is known of their values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self

from localcdap.api import Schema, StageError, Type
from localcdap.api.arrow import RecordCodec, to_arrow_schema
from localcdap.api.directive import DirectiveError
from localcdap.api.directive.rows import Row
from localcdap.api.errors import LocalcdapError
from localcdap.api.schema import Field
from localcdap.api.tables import Lookup, TableFile, TableShape
from localcdap.plugin_lib.wrangler.recipe.builder import BuiltRecipe
from localcdap.plugin_lib.wrangler.recipe.output import OutputConverter, make_converter
from localcdap.plugin_lib.wrangler.recipe.samples import infer_column_type

if TYPE_CHECKING:
    import pyarrow as pa


class _Missing:
    """The mark for a row that does not have the column."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
_COLUMN: Final = "c"
_UNFIT: Final = "unfit"
_LONGS: Final = 2**63
_PLAIN: Final = {Type.STRING: str, Type.LONG: int, Type.DOUBLE: float, Type.BOOLEAN: bool}
"""By type, the class of values that Arrow takes as they are."""


@functools.cache
def _find_plain_type(type: Type) -> pa.DataType:
    """Return the Arrow type of one of the types of :data:`_PLAIN`."""
    return to_arrow_schema(Schema.record("c", [(_COLUMN, Schema(type))]))[0].type


class Column:
    """The values of a column; they are never changed, so that tables may share it.

    :param values: for each row; :data:`MISSING` where the row does not have the column, which a null is not.
    :param is_full: whether it is known that every row has the column.
    """

    __slots__ = ("_array", "_has_missing", "_schema", "_taken", "_values", "facts")

    def __init__(self, values: list[Any] | None, *, is_full: bool = False) -> None:
        self._values = values
        self._taken: tuple[Column, Sequence[int]] | None = None
        self._schema: Schema | None = None
        self._array: pa.Array | None = None
        self._has_missing: bool | None = False if is_full else None
        self.facts: dict[str, Any] = {}
        """What was found out about the values, by the name of the question."""

    @property
    def values(self) -> list[Any]:
        """The values; those that were taken from another column are copied when they are first asked for."""
        if self._values is None:
            assert self._taken is not None
            source, index = self._taken
            values = source.values
            self._values, self._taken = [values[each] for each in index], None
        return self._values

    @property
    def has_missing(self) -> bool:
        """Whether a row does not have the column."""
        if self._has_missing is None:
            self._has_missing = any(each is MISSING for each in self.values)
        return self._has_missing

    @property
    def schema(self) -> Schema:
        """The nullable type of the values; text if they have nothing in common, and for nulls only."""
        if self._schema is None:
            self._schema = infer_column_type(self._list_present())
        return self._schema

    @property
    def array(self) -> pa.Array:
        """The values as Arrow has them, in the type of :attr:`schema`; a missing one is null."""
        if self._array is None:
            import pyarrow as pa

            try:
                self._array = self._encode(self.schema)
            except (LocalcdapError, DirectiveError, pa.ArrowException, ValueError, OverflowError):
                # Such as a whole number that does not fit a long.
                self._schema = Schema.STRING.as_nullable
                self._array = self._encode(self._schema)
        return self._array

    def _encode(self, schema: Schema) -> pa.Array:
        import pyarrow as pa

        values = self.values
        if self.has_missing:
            values = [None if each is MISSING else each for each in values]
        kind = schema.non_nullable
        if kind.logical_type is None and set(map(type, values)) <= {
            _PLAIN.get(kind.type),
            type(None),
        }:
            return pa.array(values, _find_plain_type(kind.type))
        record = Schema.record("column", [(_COLUMN, schema)])
        codec = RecordCodec(record)
        convert = OutputConverter(record).convert
        return codec.encode([convert(Row({_COLUMN: each})) for each in values]).column(0)

    def find_unfit(self, field: Field) -> dict[int, str]:
        """Return the rows whose value a field cannot have, with the message of a run for it."""
        key = f"{_UNFIT} {field.schema}"
        if key not in self.facts:
            self.facts[key] = {} if self._is_fit(field.schema) else self._try(field)
        found: dict[int, str] = self.facts[key]
        return found

    def _is_fit(self, schema: Schema) -> bool:
        """Return whether it is certain that every value is one of a type, without looking at each."""
        kind = schema.non_nullable
        cls = _PLAIN.get(kind.type) if kind.logical_type is None else None
        classes = set(map(type, self.values))
        if cls is None or not classes <= {cls, type(None), _Missing}:
            return False
        if not schema.is_nullable and len(classes) > 1:
            return False
        return cls is not int or all(
            each is None or each is MISSING or -_LONGS <= each < _LONGS for each in self.values
        )

    def _try(self, field: Field) -> dict[int, str]:
        convert, unfit = make_converter(field.schema, field.name), {}
        for index, value in enumerate(self.values):
            try:
                convert(None if value is MISSING else value)
            except DirectiveError as error:
                unfit[index] = str(error)
        return unfit

    def take(self, index: Sequence[int]) -> Column:
        """Return a column with the values of some rows."""
        taken = Column(None, is_full=self._has_missing is False)
        taken._taken = self, index
        return taken

    def count_own(self) -> int:
        """Return how many values the column has of its own."""
        return 0 if self._values is None else len(self._values)

    def is_same(self, values: list[Any]) -> bool:
        """Return whether values are the very same objects."""
        if len(values) != len(self.values):
            return False
        return all(one is other for one, other in zip(values, self.values, strict=True))

    def _list_present(self) -> list[Any]:
        if not self.has_missing:
            return self.values
        return [each for each in self.values if each is not MISSING]


def make_columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, Column]:
    """Return the columns of rows, in order of appearance."""
    names: dict[str, None] = {}
    last: Any = None
    kinds = 0
    for row in rows:
        keys = row.keys()
        if keys != last:
            names.update(dict.fromkeys(keys))
            last = keys
            kinds += 1
    if kinds == 1:
        return {name: Column([row[name] for row in rows], is_full=True) for name in names}
    return {name: Column([row.get(name, MISSING) for row in rows]) for name in names}


class ColumnTable:
    """Rows by column.

    :param columns: by name, in order, all of the same length.
    :param origins: for each row, the index of the record of the sample from which it comes.
    :param variables: the transient variables of each record of the sample; None when no directive so far sets
        any.
    """

    def __init__(
        self,
        columns: Mapping[str, Column],
        origins: Sequence[int],
        variables: dict[int, dict[str, Any]] | None = None,
    ) -> None:
        self.columns: Final = dict(columns)
        self.origins: Final = origins
        self.variables: Final = variables

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, Any]]) -> Self:
        """Make a table of the records of a sample."""
        return cls(make_columns(rows), range(len(rows)))

    def __len__(self) -> int:
        return len(self.origins)

    def without(self, records: Collection[int]) -> ColumnTable:
        """Return the table without the rows of some records of the sample."""
        index = [n for n, origin in enumerate(self.origins) if origin not in records]
        columns = {name: column.take(index) for name, column in self.columns.items()}
        return ColumnTable(columns, [self.origins[each] for each in index], self.variables)

    def make_rows(self, names: Iterable[str], *more: tuple[str, Any]) -> list[Row]:
        """Return new rows with some of the columns, and the same values of more columns for all rows."""
        chosen = list(names)
        if not chosen:
            return [Row(more) for _ in range(len(self))]
        lists = [self.columns[name].values for name in chosen]
        ends = [[value] * len(self) for _, value in more]
        keys = [*chosen, *(name for name, _ in more)]
        if any(self.columns[name].has_missing for name in chosen):
            return [
                Row(pair for pair in zip(keys, values, strict=True) if pair[1] is not MISSING)
                for values in zip(*lists, *ends, strict=True)
            ]
        if len(keys) == 2:  # the most frequent case by far: one column and the mark
            first, second = keys
            return [
                Row({first: one, second: other}) for one, other in zip(*lists, *ends, strict=True)
            ]
        return [Row(zip(keys, values, strict=True)) for values in zip(*lists, *ends, strict=True)]

    def measure(self, seen: set[int]) -> int:
        """Return about how many bytes the table takes, without columns that are seen already."""
        fresh = [each for each in self.columns.values() if id(each) not in seen]
        seen.update(map(id, fresh))
        return sum(each.count_own() * _VALUE_BYTES for each in fresh) + len(self) * 8


_VALUE_BYTES: Final = 70
"""Bytes of a value with its place in a list: a short text takes 50 to 60, a small number 28."""


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
