"""Structured tables as operations see them: the checks of CDAP ``FieldValidator``, and names in DuckDB.

Missing fields and wrong types are reported before fields at the wrong position of a key.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.app.table import (
    FieldType,
    Key,
    Range,
    StructuredRow,
    StructuredTableSpecification,
    create_row_class,
)
from localcdap.api.errors import BadRequestError, InvalidTableFieldError, NotFoundError, StageError
from localcdap.api.schema import Schema, Type
from localcdap.api.serialization.value_types import is_unicode, is_writable
from localcdap.api.sql_names import quote_identifier
from localcdap.store.columns import to_column_type
from localcdap.store.table_catalog import to_identifier
from localcdap.store.transactions.table import KeyValues, OpenedTable, TableRef, show_value
from localcdap.text import format_available

if TYPE_CHECKING:
    from localcdap.api.arrow import RecordCodec


PREFIX: Final = "app_"
"""The prefix of structured tables' names in DuckDB, which separates them from localcdap's own tables."""
TYPES: Final = {
    FieldType.INTEGER: "INTEGER",
    FieldType.LONG: "BIGINT",
    FieldType.FLOAT: "FLOAT",
    FieldType.DOUBLE: "DOUBLE",
    FieldType.STRING: "VARCHAR",
    FieldType.BYTES: "BLOB",
    FieldType.BOOLEAN: "BOOLEAN",
}
_EXACT: Final = {
    FieldType.BOOLEAN: bool,
    FieldType.DOUBLE: float,
    FieldType.BYTES: bytes,
    FieldType.INTEGER: int,
    FieldType.LONG: int,
    FieldType.STRING: str,
}
_BITS: Final = {FieldType.INTEGER: 31, FieldType.LONG: 63}


class StructuredTableInfo(OpenedTable):
    """A structured table with its specification. It has a primary key, whose order rows are in."""

    is_ordered_by_key = True

    def __init__(self, spec: StructuredTableSpecification) -> None:
        super().__init__(
            TableRef.of_structured(spec.table),
            quote_identifier(PREFIX + spec.table),
            {name: TYPES[type] for name, type in spec.fields.items()},
            spec.primary_key,
        )
        self.spec: Final = spec

    def make_error(
        self, message: str, action: str | None = None, columns: Sequence[str] = ()
    ) -> InvalidTableFieldError:
        return InvalidTableFieldError(message, action, table=self.spec.table, fields=columns)

    def check_column(self, column: str) -> None:
        self._get_type(column)

    def _get_type(self, field: str) -> FieldType:
        try:
            return self.spec.fields[field]
        except (KeyError, TypeError):
            raise self.make_error(
                f"Field {field} is not part of the schema of table {self.spec.table}",
                f"Use one of: {', '.join(self.spec.fields)}.",
                [str(field)],
            ) from None

    def check_value(self, column: str, value: Any) -> Any:
        expected = self._get_type(column)
        if value is None:
            if column in self.key:
                raise self.make_error(
                    f"Field {column} of table {self.spec.table} is a primary key but the value is null",
                    columns=[column],
                )
            return None
        actual = FieldType.of(value)
        if not expected.accepts(actual):
            raise self.make_error(
                f"Wrong type for field {column} in table {self.spec.table}. "
                f"Expected {expected}, actual {actual or type(value).__name__}",
                columns=[column],
            )
        return value

    def check_values(self, field: str, values: Collection[Any]) -> None:
        """Check many values of one field in a few passes of built-in functions; see :meth:`check_value`."""
        kinds = set(map(type, values))
        if type(None) in kinds and field not in self.key:
            kinds.discard(type(None))
            values = [value for value in values if value is not None]
        expected = self._get_type(field)
        if kinds == {_EXACT.get(expected)}:
            if (bits := _BITS.get(expected)) is not None:
                if -(2**bits) <= min(values) and max(values) < 2**bits:
                    return
            elif expected is not FieldType.STRING or all(map(str.isascii, values)):
                return
        for value in values:
            self.check_value(field, value)

    def check_number(self, column: str) -> int:
        type = self._get_type(column)
        if type is not FieldType.LONG or column in self.key:
            raise self.make_error(
                f"Field {column} of table {self.spec.table} cannot be incremented: it must be a LONG that "
                f"is not a primary key, and is a {type}"
                + (" of the key" if column in self.key else ""),
                columns=[column],
            )
        return 64

    def check_rows(self, rows: Sequence[dict[str, Any]], *, whole: bool) -> list[dict[str, Any]]:
        if len(rows) == 1:
            self.check_row(rows[0])
        else:
            groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
            for row in rows:
                groups.setdefault(tuple(row), []).append(row)
            for fields, group in groups.items():
                for name in fields:
                    self.check_values(name, [row[name] for row in group])
                self._require_whole_key(fields)
        if whole:
            return [{name: row.get(name) for name in self.columns} for row in rows]
        return list(rows)

    def check_row(self, row: Mapping[str, Any]) -> KeyValues:
        """Return the key of a row, which has the whole primary key and only fields of the table."""
        for field, value in row.items():
            self.check_value(field, value)
        self._require_whole_key(row)
        return tuple(row[name] for name in self.key)

    def _require_whole_key(self, fields: Collection[str]) -> None:
        missing = [name for name in self.key if name not in fields]
        if missing:
            raise self.make_error(
                f"Fields {', '.join(missing)} of the primary key of table {self.spec.table} are missing",
                columns=missing,
            )

    def check_order(self, column: str) -> None:
        self.check_column(column)  # all types of fields have an order

    # -- rules of the methods of StructuredTable -------------------------------------------------

    def check_scan_range(self, range: Range) -> None:
        """Check a range to scan; begin and end must start with the first field of the primary key."""
        for fields, _ in self.check_range(range):
            if fields and fields[0] != self.key[0]:
                raise self.make_error(
                    f"Given Range fields {', '.join(fields)} do not start with the first primary key of "
                    f"table {self.spec.table}, {self.key[0]}",
                    columns=fields,
                )

    def check_prefix_range(self, range: Range) -> None:
        """Check a range to change; begin and end must be prefixes of the primary key."""
        self.check_range(range)
        for point in (range.begin, range.end):
            self.check_key_prefix(point)

    def check_indexes(self, fields: Iterable[str]) -> None:
        """Reject fields that are not indexes."""
        for field in fields:
            self.check_column(field)
            if field not in self.spec.indexes:
                raise self.make_error(
                    f"Field {field} of table {self.spec.table} is not an indexed column",
                    f"Use one of: {', '.join(self.spec.indexes) or 'none'}.",
                    [field],
                )


def find_specification(
    specifications: Mapping[str, StructuredTableSpecification], table: str
) -> StructuredTableSpecification:
    """Return the specification of a table.

    :raises NotFoundError: when it is not among the specifications; the message lists them.
    """
    spec = specifications.get(table)
    if spec is None:
        raise NotFoundError(
            f"There is no structured table '{table}'; available: "
            f"{format_available(table, sorted(specifications))}."
        )
    return spec


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
_INTEGER_BITS: Final = {Type.INT: 32, Type.LONG: 64}
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
        if (
            schema.type not in _INTEGER_BITS
            or schema.logical_type is not None
            or column in self.key
        ):
            raise self.make_error(
                f"Column '{column}' of table '{self.ref.table}' cannot be incremented: it must be of "
                f"type int or long, and not the key; it is {schema.display_name}."
            )
        return _INTEGER_BITS[schema.type]

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
    to_stored, bits = _CONVERSIONS.get(inner.type, _check_text), _INTEGER_BITS.get(inner.type)

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
