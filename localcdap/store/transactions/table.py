"""A table as operations see it: its columns and key, the checks of arguments, and parts of SQL.

:class:`~localcdap.store.transactions.structured_table.StructuredTableInfo` and
:class:`~localcdap.store.transactions.structured_table.DatasetTable` differ in the values that columns take,
the layout of the key, the order of rows, and the classes and words of errors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.app.table import Key, Range
from localcdap.api.dataset.rows import RowComparison, RowCondition
from localcdap.api.errors import BadRequestError
from localcdap.api.sql_names import quote_identifier
from localcdap.store.transactions.sql import NONE, SqlCondition, build_comparison

if TYPE_CHECKING:
    from localcdap.api.arrow import RecordCodec

StoredRow = tuple[Any, ...]
"""The values of a row in the order of the table's columns."""
KeyValues = tuple[Any, ...]
"""The values of a whole key."""
Point = tuple[tuple[str, ...], tuple[Any, ...]]
"""Columns and their values, in the order of comparison."""
_LARGEST_LIMIT: Final = 2**63 - 1


class TableRef(msgspec.Struct, frozen=True):
    """The table of a dataset, or a structured table, which has no namespace and no dataset."""

    namespace: str
    dataset: str
    table: str
    """Of a dataset: its name, or one that begins with it and a dot."""

    @classmethod
    def of_structured(cls, table: str) -> TableRef:
        """Return the reference of a structured table."""
        return cls("", "", table)

    @property
    def is_structured(self) -> bool:
        """Whether it is a structured table."""
        return not self.dataset

    @property
    def id(self) -> str:
        """The name under which conflicts are detected; no structured table has one with a dot."""
        return self.table if self.is_structured else f"{self.namespace}.{self.table}"


class OpenedTable(ABC):
    """A table that operations are checked against.

    :param identifier: its quoted name in DuckDB.
    :param types: the DuckDB type of each column, in the order of the columns.
    :param key: the columns that identify a row; empty for a table to which rows are only added.
    """

    is_ordered_by_key = False
    """Whether rows come in the order of the key, after the columns to sort by."""
    codec: RecordCodec | None = None
    """Converts rows from and to Arrow; None when DuckDB takes and returns all values as rows have them."""

    def __init__(
        self, ref: TableRef, identifier: str, types: Mapping[str, str], key: Sequence[str]
    ) -> None:
        self.ref: Final = ref
        self.id: Final = ref.id
        self.identifier: Final = identifier
        self.types: Final = types
        self.columns: Final = tuple(types)
        self.key: Final = tuple(key)

    # -- what kinds of tables differ in ----------------------------------------------------------

    @abstractmethod
    def make_error(
        self, message: str, action: str | None = None, columns: Sequence[str] = ()
    ) -> BadRequestError:
        """Return the error of a wrong argument."""

    @abstractmethod
    def check_column(self, column: str) -> None:
        """Check that there is a column; the error lists the columns."""

    @abstractmethod
    def check_value(self, column: str, value: Any) -> Any:
        """Return a value as the column holds it.

        :raises BadRequestError: when there is no such column, or it cannot hold the value.
        """

    @abstractmethod
    def check_number(self, column: str) -> int:
        """Check that a column can be incremented, and return the bits of its values."""

    @abstractmethod
    def check_rows(self, rows: Sequence[dict[str, Any]], *, whole: bool) -> list[dict[str, Any]]:
        """Return rows to write, as the columns hold their values.

        :param whole: whether columns that a row lacks are null; it is returned with all columns then.
        :raises BadRequestError: when a row has an unknown column, a value of a wrong type, or no whole key.
        """

    @abstractmethod
    def check_order(self, column: str) -> None:
        """Check that the values of a column can be compared with ``<``."""

    # -- arguments ---------------------------------------------------------------------------------

    def require_key(self) -> tuple[str, ...]:
        """Return the columns that identify a row.

        :raises BadRequestError: when there are none.
        """
        if not self.key:
            raise self.make_error(
                f"Table '{self.ref.table}' has no key: its rows are only added.",
                "Select rows by conditions, or declare the property 'schema.row.field' of a new dataset.",
            )
        return self.key

    def check_key(self, key: Key) -> KeyValues:
        """Return the values of a whole key."""
        self.require_key()
        return self.check_key_prefix(key, whole=True)[1]

    def check_key_prefix(self, key: Key, *, whole: bool = False) -> Point:
        """Return a prefix of the key with its values.

        :param whole: require the whole key.
        """
        columns, values = self.check_point(key)
        if columns != self.key[: len(columns)] or (whole and len(columns) < len(self.key)):
            part = "all of" if whole else "the first of"
            raise self.make_error(
                f"Fields {', '.join(columns) or 'none'} are not {part} the primary key of table "
                f"{self.ref.table}",
                f"Give {part} these, in this order: {', '.join(self.key)}.",
                columns,
            )
        return columns, values

    def check_point(self, key: Key) -> Point:
        """Return columns and their values; a sequence holds values of the first columns of the key."""
        if isinstance(key, Mapping):
            columns, values = tuple(key), tuple(key.values())
        elif isinstance(key, Sequence) and not isinstance(key, str | bytes):
            values = tuple(key)
            columns = self.key[: len(values)]
            if len(values) > len(columns):
                raise self.make_error(
                    f"{len(values)} values are more than the primary key of table {self.ref.table} has "
                    "fields",
                    f"Give at most: {', '.join(self.key)}.",
                    columns,
                )
        else:
            raise self.make_error(
                f"A key of table {self.ref.table} cannot be a {type(key).__name__}",
                f"Give a tuple or a dict of: {', '.join(self.key)}.",
            )
        return columns, tuple(map(self.check_value, columns, values))

    def check_range(self, range: Range) -> tuple[Point, Point]:
        """Return begin and end of a range of any columns."""
        return self.check_point(range.begin), self.check_point(range.end)

    def check_condition(self, condition: RowCondition) -> RowCondition:
        """Return a condition with values as the column holds them."""
        column, comparison, value = condition.column, condition.comparison, condition.value
        self.check_column(column)
        if comparison is not RowComparison.EQUAL:
            self.check_order(column)
        if comparison is not RowComparison.ONE_OF:
            return RowCondition(column, comparison, self.check_value(column, value))
        if not isinstance(value, (list, tuple)):
            raise self.make_error(
                f"Column '{column}' must be compared with a list of values, not with "
                f"{show_value(value)}.",
                columns=[column],
            )
        return RowCondition(column, comparison, [self.check_value(column, each) for each in value])

    def check_not_key(self, columns: Iterable[str]) -> None:
        """Reject columns of the key, whose values never change."""
        for column in columns:
            self.check_column(column)
            if column in self.key:
                raise self.make_error(
                    f"Field {column} of table {self.ref.table} is a primary key, which cannot be changed",
                    columns=[column],
                )

    def check_columns(self, columns: Sequence[str] | None) -> tuple[str, ...]:
        """Return the columns to read, in the order of the table: those that are asked for, and the key."""
        if columns is None:
            return self.columns
        if not columns:
            raise self.make_error("No columns are specified to read")
        for column in columns:
            self.check_column(column)
        return tuple(name for name in self.columns if name in columns or name in self.key)

    def check_limit(self, limit: int | None) -> int | None:
        """Return a limit of rows, reduced to the largest number that the database can hold."""
        if limit is None:
            return None
        if not isinstance(limit, int) or limit < 0:
            raise self.make_error(f"The limit of rows must be 0 or more, not {limit}.")
        return min(limit, _LARGEST_LIMIT)

    # -- parts of SQL --------------------------------------------------------------------------------

    @cached_property
    def positions(self) -> dict[str, int]:
        """The positions of the columns in a stored row."""
        return {name: position for position, name in enumerate(self.columns)}

    @cached_property
    def all_columns(self) -> str:
        return quote_all(self.columns)

    @cached_property
    def key_columns(self) -> str:
        return quote_all(self.key)

    @cached_property
    def has_key(self) -> str:
        """A condition that selects the row whose key is in the parameters."""
        return " AND ".join(
            f"{quote_identifier(name)} = {self.build_placeholder(name)}" for name in self.key
        )

    def build_placeholder(self, column: str) -> str:
        """Return the placeholder of a value.

        A FLOAT is cast, because a comparison needs its rounding; DuckDB must know the type of lists and maps.
        """
        type = self.types[column]
        return f"?::{type}" if type == "FLOAT" or not type.isalpha() else "?"

    def build_assignments(self, columns: Iterable[str]) -> str:
        """Return the assignments of a SET clause."""
        return ", ".join(
            f"{quote_identifier(name)} = {self.build_placeholder(name)}" for name in columns
        )

    def build_unnest(self, columns: Iterable[str]) -> str:
        """Return a select list that turns parameters, one list per column, into rows."""
        return ", ".join(f"unnest(?::{self.types[name]}[])" for name in columns)

    def build_order(self, order_by: Sequence[str], descending: bool) -> str:
        """Return an ORDER BY clause, empty when there is no order; nulls come last."""
        direction = " DESC" if descending else ""
        terms = [f"{quote_identifier(name)}{direction} NULLS LAST" for name in order_by]
        if self.is_ordered_by_key:
            direction = "" if order_by else direction
            terms += [f"{quote_identifier(name)}{direction}" for name in self.key]
        return f" ORDER BY {', '.join(terms)}" if terms else ""

    def build_equality(self, column: str, value: Any) -> SqlCondition:
        """Return the condition that a column has a value, which may be null."""
        if value is None:
            return SqlCondition(f"{quote_identifier(column)} IS NULL")
        return SqlCondition(
            f"{quote_identifier(column)} = {self.build_placeholder(column)}", (value,)
        )

    def build_keys(self, keys: Collection[KeyValues]) -> SqlCondition:
        """Return the condition that a row has one of some keys."""
        if not keys:
            return NONE
        if len(keys) == 1:
            return SqlCondition(self.has_key, next(iter(keys)))
        sql = f"({self.key_columns}) IN (SELECT {self.build_unnest(self.key)})"
        return SqlCondition(sql, transpose(keys))

    def build_tuple_comparison(
        self, point: Point, operator: str, *, inclusive: bool
    ) -> SqlCondition:
        """Return the condition that columns, as a tuple, compare with values; a null matches nothing."""
        columns, values = point
        if None in values:
            return NONE
        sql, indexes = build_comparison(
            tuple(map(quote_identifier, columns)),
            tuple(map(self.build_placeholder, columns)),
            operator,
            inclusive,
        )
        return SqlCondition(sql, tuple(values[index] for index in indexes))

    def build_condition(self, condition: RowCondition) -> SqlCondition:
        """Return the SQL of a condition; it may be null for rows that do not fulfil it."""
        column = quote_identifier(condition.column)
        if condition.comparison is RowComparison.ONE_OF:
            sql = f"{column} IN (SELECT {self.build_unnest([condition.column])})"
            return SqlCondition(sql, (list(condition.value),))
        placeholder = self.build_placeholder(condition.column)
        return SqlCondition(f"{column} {condition.comparison} {placeholder}", (condition.value,))


def quote_all(columns: Iterable[str]) -> str:
    """Return quoted identifiers, separated by commas."""
    return ", ".join(map(quote_identifier, columns))


def transpose(rows: Iterable[Sequence[Any]]) -> tuple[list[Any], ...]:
    """Return the values of each column."""
    return tuple(map(list, zip(*rows, strict=True)))


def show_value(value: Any) -> str:
    """Return a value for a message, at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
