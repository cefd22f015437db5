"""A table of a dataset, as operations see it: its columns, and the checks of their values."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.app.table import Key, StructuredRow, create_row_class
from localcdap.api.errors import BadRequestError, StageError
from localcdap.api.schema import Schema, Type
from localcdap.api.serialization.value_types import is_unicode, is_writable
from localcdap.store.columns import to_column_type
from localcdap.store.table_catalog import to_identifier
from localcdap.store.transactions.table import KeyValues, OpenedTable, TableRef, show_value
from localcdap.text import format_available

if TYPE_CHECKING:
    from localcdap.api.arrow import RecordCodec

_PLAIN: Final = (
    Type.BOOLEAN,
    Type.INT,
    Type.LONG,
    Type.FLOAT,
    Type.DOUBLE,
    Type.BYTES,
    Type.STRING,
    Type.ENUM,
    Type.NULL,
)
_BITS: Final = {Type.INT: 32, Type.LONG: 64}
_LARGEST_FLOAT: Final = 3.4028234663852886e38
_FLOAT: Final = struct.Struct("f")


class TableInfo(msgspec.Struct, frozen=True, dict=True):
    """What describes a table of a dataset in messages."""

    ref: TableRef
    document: str
    """The schema of the rows, as JSON."""
    key: str | None

    @cached_property
    def table(self) -> DatasetTable:
        """The table, for operations."""
        return DatasetTable(self)


class DatasetTable(OpenedTable):
    """A table of a dataset. It has a key of one column, or none; its rows have no order of their own."""

    def __init__(self, info: TableInfo) -> None:
        self.schema: Final = Schema.parse(info.document)
        super().__init__(
            info.ref,
            to_identifier(info.ref.namespace, info.ref.table),
            {each.name: to_column_type(each.schema) for each in self.schema},
            () if info.key is None else (info.key,),
        )

    @cached_property
    def codec(self) -> RecordCodec | None:  # type: ignore[override]
        """Converts rows from and to Arrow; None when messages and DuckDB can hold the values of rows."""
        if all(is_plain(each.schema) for each in self.schema):
            return None
        from localcdap.api.arrow import RecordCodec

        return RecordCodec(self.schema)

    @cached_property
    def row_class(self) -> type[StructuredRow]:
        """The class of rows for dataset classes: a mapping around a stored row."""
        return create_row_class(self.columns, self.key)

    def to_record(self, values: Sequence[Any]) -> dict[str, Any]:
        """Return a stored row as a dict."""
        return dict(zip(self.columns, values, strict=True))

    def make_error(
        self,
        message: str,
        action: str | None = None,
        columns: Sequence[str] = (),
    ) -> BadRequestError:
        return BadRequestError(message, action)

    def check_key(self, key: Key) -> KeyValues:
        values = super().check_key(key)
        for column, value in zip(self.key, values, strict=True):
            if value is None:
                raise self.make_error(
                    f"The key '{column}' of table '{self.ref.table}' cannot be null."
                )
        return values

    def check_column(self, column: str) -> None:
        self._get_schema(column)

    def _get_schema(self, column: str) -> Schema:
        field = self.schema.field(column)
        if field is None:
            available = format_available(column, self.columns)
            raise self.make_error(
                f"Table '{self.ref.table}' has no column '{column}'; available: {available}."
            )
        return field.schema

    def check_value(self, column: str, value: Any) -> Any:
        """Return a value as the column holds it; every column can be compared with null.

        :raises BadRequestError: when there is no such column, or it cannot hold the value.
        """
        self.check_column(column)
        if value is None:
            return None
        try:
            return self._conversions[column](value)
        except _UnfitError as error:
            raise self.make_error(
                f"Column '{column}' of table '{self.ref.table}' cannot hold {show_value(value)}: {error}"
            ) from None

    @cached_property
    def _conversions(self) -> dict[str, Callable[[Any], Any]]:
        return {each.name: _make_conversion(each.name, each.schema) for each in self.schema}

    @cached_property
    def _required(self) -> list[str]:
        return [each.name for each in self.schema if not _is_nullable(each.schema)]

    def check_number(self, column: str) -> int:
        schema = self._get_schema(column).non_nullable
        if schema.type not in _BITS or schema.logical_type is not None or column in self.key:
            raise self.make_error(
                f"Column '{column}' of table '{self.ref.table}' cannot be incremented: it must be of "
                f"type int or long, and not the key; it is {schema.display_name}."
            )
        return _BITS[schema.type]

    def check_rows(self, rows: Sequence[dict[str, Any]], *, whole: bool) -> list[dict[str, Any]]:
        checked = []
        for row in rows:
            values = {column: self.check_value(column, value) for column, value in row.items()}
            if whole:
                self.require_values(values)
            if self.key or not whole:
                self.check_key([values.get(name) for name in self.require_key()])
            checked.append({name: values.get(name) for name in self.columns} if whole else values)
        return checked

    def require_values(self, row: dict[str, Any]) -> None:
        """Check that a row has values of all columns that cannot be null."""
        missing = [name for name in self._required if row.get(name) is None]
        if missing:
            raise self.make_error(
                f"A row of table '{self.ref.table}' needs a value of {', '.join(missing)}.",
                "Give it one, or let the column be null in the dataset's schema.",
            )

    def check_order(self, column: str) -> None:
        schema = self._get_schema(column)
        if not is_ordered(schema):
            raise self.make_error(
                f"Column '{column}' of table '{self.ref.table}' has no order: it is "
                f"{schema.display_name}."
            )


def is_plain(schema: Schema) -> bool:
    """Return whether values are numbers, texts, bytes and truth values only."""
    inner = schema.non_nullable
    return inner.logical_type is None and inner.type in _PLAIN


def is_ordered(schema: Schema) -> bool:
    """Return whether values can be ordered: plain ones, dates, times and decimals, and arrays of these."""
    inner = schema.non_nullable
    if inner.type is Type.ARRAY and inner.items is not None:
        return is_ordered(inner.items)
    return inner.logical_type is not None or inner.type in _PLAIN


def _is_nullable(schema: Schema) -> bool:
    return schema.is_nullable or schema.type is Type.NULL


class _UnfitError(Exception):
    """Says why a column cannot hold a value."""


def _make_conversion(name: str, schema: Schema) -> Callable[[Any], Any]:
    """Return a function that returns a value as DuckDB holds it; it raises _UnfitError if it does not fit."""
    inner = schema.non_nullable
    if not is_plain(schema):
        return _make_arrow_check(name, inner)
    reason = f"it is of type {inner.display_name}."
    to_stored, bits = _CONVERSIONS.get(inner.type, _check_text), _BITS.get(inner.type)

    def convert(value: Any) -> Any:
        if inner.type is Type.NULL or not is_writable(value, inner):
            raise _UnfitError(reason)
        try:
            stored = to_stored(value)
        except OverflowError:
            raise _UnfitError(reason) from None
        if bits is not None and not -(2 ** (bits - 1)) <= stored < 2 ** (bits - 1):
            raise _UnfitError(f"it has {bits} bits.")
        return stored

    return convert


def _round_float(value: Any) -> Any:
    if _LARGEST_FLOAT < abs(value) < float("inf"):
        raise OverflowError
    return _FLOAT.unpack(_FLOAT.pack(value))[0]


def _check_text(value: str) -> str:
    if not is_unicode(value):
        raise _UnfitError("the text has half of a surrogate pair.")
    return value


_CONVERSIONS: Final[dict[Type, Callable[[Any], Any]]] = {
    Type.BOOLEAN: bool,
    Type.INT: int,
    Type.LONG: int,
    Type.FLOAT: _round_float,
    Type.DOUBLE: float,
    Type.BYTES: bytes,
}
"""What returns a value that fits a type as DuckDB holds it; OverflowError when it is too large."""


def _make_arrow_check(name: str, schema: Schema) -> Callable[[Any], Any]:
    from localcdap.api.serialization.arrow_writer import build_column_writer

    write = build_column_writer(schema, name)

    def check(value: Any) -> Any:
        try:
            write([value])
        except StageError as error:
            raise _UnfitError(error.message) from None
        return value

    return check
