"""A table of a dataset, as operations see it: its columns, and the checks of their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.app.rows import StructuredRow, create_row_class
from localcdap.api.dataset.rows import RowComparison, RowCondition
from localcdap.api.errors import BadRequestError, StageError
from localcdap.api.schema import Schema, Type
from localcdap.api.serialization.value_types import is_unicode, is_writable
from localcdap.store.columns import quote_identifier, to_column_type
from localcdap.store.table_catalog import to_identifier
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
_BITS: Final = {Type.INT: 31, Type.LONG: 63}
_LARGEST_FLOAT: Final = 3.4028234663852886e38


StoredRow = tuple[Any, ...]
"""The values of a row in the order of the table's columns."""


class TableRef(msgspec.Struct, frozen=True):
    """A table of a dataset."""

    namespace: str
    dataset: str
    table: str
    """The name of the dataset, or one that begins with it and a dot."""

    @property
    def id(self) -> str:
        """The name under which conflicts are detected; no structured table has one with a dot."""
        return f"{self.namespace}.{self.table}"


class TableInfo(msgspec.Struct, frozen=True, dict=True):
    """A table of a dataset with its columns."""

    ref: TableRef
    document: str
    """The schema of the rows, as JSON."""
    key: str | None

    @cached_property
    def schema(self) -> Schema:
        return Schema.parse(self.document)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.schema.field_names)

    @cached_property
    def identifier(self) -> str:
        return to_identifier(self.ref.namespace, self.ref.table)

    @cached_property
    def positions(self) -> dict[str, int]:
        """The positions of the columns in a stored row."""
        return {name: position for position, name in enumerate(self.columns)}

    @cached_property
    def is_plain(self) -> bool:
        """Whether DuckDB takes and returns all values as records have them, and messages can hold them."""
        return all(is_plain(each.schema) for each in self.schema)

    @cached_property
    def codec(self) -> RecordCodec:
        """Converts rows from and to Arrow."""
        from localcdap.api.arrow import RecordCodec

        return RecordCodec(self.schema)

    @cached_property
    def _checks(self) -> dict[str, Callable[[Any], str | None]]:
        return {each.name: _make_check(each.name, each.schema) for each in self.schema}

    @cached_property
    def _required(self) -> list[str]:
        return [each.name for each in self.schema if not _is_nullable(each.schema)]

    @cached_property
    def types(self) -> dict[str, str]:
        """The DuckDB types of the columns."""
        return {each.name: to_column_type(each.schema) for each in self.schema}

    @cached_property
    def all_columns(self) -> str:
        return ", ".join(map(quote_identifier, self.columns))

    @cached_property
    def selection(self) -> str:
        """The statement that selects all rows."""
        return f"SELECT {self.all_columns} FROM {self.identifier}"  # noqa: S608  both are quoted

    @cached_property
    def key_condition(self) -> str:
        """The SQL condition that the key has a value.

        :raises BadRequestError: when there is no key.
        """
        return f"{quote_identifier(self.require_key())} = ?"

    def require_key(self) -> str:
        """Return the column that identifies a row.

        :raises BadRequestError: when there is none.
        """
        if self.key is None:
            raise BadRequestError(
                f"Table '{self.ref.table}' has no key: its rows are only added.",
                "Select rows by conditions, or declare the property 'schema.row.field' of a new dataset.",
            )
        return self.key

    def check_key(self, key: Any) -> Any:
        """Return a value of the key column.

        :raises BadRequestError: when there is no such column, or the value is null or of another type.
        """
        column = self.require_key()
        self.check_value(column, key)
        if key is None:
            raise BadRequestError(f"The key '{column}' of table '{self.ref.table}' cannot be null.")
        return key

    def check_column(self, column: str) -> Schema:
        """Return the schema of a column.

        :raises BadRequestError: when there is none of that name; the message lists the columns.
        """
        field = self.schema.field(column)
        if field is None:
            known = format_available(column, self.columns)
            raise BadRequestError(
                f"Table '{self.ref.table}' has no column '{column}'; available: {known}."
            )
        return field.schema

    def check_value(self, column: str, value: Any) -> None:
        """Check that a column can hold a value; every column can be compared with null.

        :raises BadRequestError: when it cannot.
        """
        self.check_column(column)
        expected = None if value is None else self._checks[column](value)
        if expected is not None:
            raise BadRequestError(
                f"Column '{column}' of table '{self.ref.table}' cannot hold {_show(value)}: {expected}"
            )

    def complete(self, row: Mapping[str, Any]) -> StoredRow:
        """Return a row with all columns.

        :raises BadRequestError: when it has an unknown column, a value of a wrong type, or lacks one that
            must not be null.
        """
        for column, value in row.items():
            self.check_value(column, value)
        missing = [name for name in self._required if row.get(name) is None]
        if missing:
            raise BadRequestError(
                f"A row of table '{self.ref.table}' needs a value of {', '.join(missing)}.",
                "Give it one, or let the column be null in the dataset's schema.",
            )
        if self.key is not None:
            self.check_key(row.get(self.key))
        return tuple(map(row.get, self.columns))

    @cached_property
    def row_class(self) -> type[StructuredRow]:
        """The class of rows for dataset classes: a mapping around a stored row."""
        return create_row_class(self.columns, () if self.key is None else (self.key,))

    def to_record(self, values: Sequence[Any]) -> dict[str, Any]:
        """Return a stored row as a dict."""
        return dict(zip(self.columns, values, strict=True))

    def check_conditions(self, conditions: Iterable[RowCondition]) -> None:
        """Check columns and values of conditions.

        :raises BadRequestError: when one is wrong.
        """
        for each in conditions:
            schema = self.check_column(each.column)
            if each.comparison is not RowComparison.EQUAL and not is_ordered(schema):
                raise BadRequestError(
                    f"Column '{each.column}' of table '{self.ref.table}' has no order: it is "
                    f"{schema.display_name}."
                )
            if each.comparison is not RowComparison.ONE_OF:
                self.check_value(each.column, each.value)
                continue
            if not isinstance(each.value, (list, tuple)):
                raise BadRequestError(
                    f"Column '{each.column}' must be compared with a list of values, not with "
                    f"{_show(each.value)}."
                )
            for value in each.value:
                self.check_value(each.column, value)


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


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _make_check(name: str, schema: Schema) -> Callable[[Any], str | None]:
    """Return a function that returns why a value does not fit; None when it does."""
    inner = schema.non_nullable
    if not is_plain(schema):
        return _make_arrow_check(name, inner)
    described = f"it is of type {inner.display_name}."
    bits = _BITS.get(inner.type)

    def check(value: Any) -> str | None:
        if inner.type is Type.NULL or not is_writable(value, inner):
            return described
        if bits is not None and not -(2**bits) <= value < 2**bits:
            return f"it has {bits + 1} bits."
        if inner.type is Type.FLOAT and _LARGEST_FLOAT < abs(value) < float("inf"):
            return described
        if inner.type is Type.STRING and not is_unicode(value):
            return "the text has half of a surrogate pair."
        return None

    return check


def _make_arrow_check(name: str, schema: Schema) -> Callable[[Any], str | None]:
    from localcdap.api.serialization.arrow_writer import build_column_writer

    write = build_column_writer(schema, name)

    def check(value: Any) -> str | None:
        try:
            write([value])
        except StageError as error:
            return error.message
        return None

    return check
