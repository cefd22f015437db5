"""The rows of a workspace by column, so that a directive touches only the columns that it reads.

A step of a recipe shares all other columns with the step before it, also what is known of their values.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self

from localcdap.api import Schema, Type
from localcdap.api.arrow import RecordCodec, to_arrow_schema
from localcdap.api.directive import DirectiveError
from localcdap.api.directive.rows import Row
from localcdap.api.errors import LocalcdapError
from localcdap.plugin_lib.wrangler.recipe.output import OutputConverter
from localcdap.plugin_lib.wrangler.recipe.samples import infer_column_type

if TYPE_CHECKING:
    import pyarrow as pa


class _Missing:
    """The mark for a row that does not have the column."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
_COLUMN: Final = "c"
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
