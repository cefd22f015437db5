"""Directives for datetimes, which have no zone, and the bases that they share with those for timestamps."""

from __future__ import annotations

import datetime
from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar, TypeGuard

from localcdap.api.directive import (
    Columns,
    Directive,
    ErrorRow,
    Frame,
    NoNativeFormError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Schema
from localcdap.java.dates.date_time_format import DateTimeFormat, PatternError
from localcdap.java.dates.zones import parse_zone
from localcdap.java.strings import to_java_string
from localcdap.plugin_lib.wrangler.recipe.base_directives import (
    ColumnMap,
    make_error_row,
    make_schema_like,
    make_text_schema_like,
    require_column,
)


def is_timestamp(value: object) -> TypeGuard[datetime.datetime]:
    return isinstance(value, datetime.datetime) and value.tzinfo is not None


def is_datetime(value: object) -> TypeGuard[datetime.datetime]:
    return isinstance(value, datetime.datetime) and value.tzinfo is None


class TimeMap(ColumnMap):
    """A directive that converts values to times; null, and values that are times already, stay."""

    drops_rows = True

    made: ClassVar[Schema]

    @abstractmethod
    def is_converted(self, value: object) -> bool:
        """Whether a value is already a time of the kind."""

    @abstractmethod
    def convert(self, value: Any) -> datetime.datetime:
        """Return the time of a value.

        :raises ErrorRow: for a value that cannot be converted; see :meth:`make_error_row`.
        """

    def propagate(self, columns: Columns) -> None:
        if not columns.is_missing(self.column):
            columns.put(self.column, make_schema_like(columns, self.column, self.made))

    def map(self, value: Any) -> Any:
        return value if value is None or self.is_converted(value) else self.convert(value)

    def make_error_row(self, message: str, code: int) -> ErrorRow:
        return make_error_row(message, code, self.directive_name())


class TimestampMap(TimeMap):
    made = Schema.TIMESTAMP

    def is_converted(self, value: object) -> bool:
        return is_timestamp(value)


class DatetimeMap(TimeMap):
    made = Schema.DATETIME

    def is_converted(self, value: object) -> bool:
        return is_datetime(value)


class PatternDirective(Directive):
    """A directive with a pattern of Java's ``DateTimeFormatter``."""

    format: str

    @cached_property
    def pattern(self) -> DateTimeFormat:
        return DateTimeFormat(self.format)

    def problem(self) -> str | None:
        try:
            DateTimeFormat(self.format)
        except PatternError as error:
            return f"'{self.format}' is not a pattern of dates: {error}"
        return None


class TimeZoneDirective(Directive):
    """A directive with a time zone; the default is UTC."""

    timezone: str | None

    @cached_property
    def zone(self) -> datetime.tzinfo:
        return parse_zone(self.timezone or "UTC")

    def problem(self) -> str | None:
        try:
            parse_zone(self.timezone or "UTC")
        except ValueError as error:
            return str(error)
        return None


def _describe_mismatch(column: str, value: object, wanted: str) -> str:
    """Return the message for a value of another type than the wanted one."""
    kind = type(value).__name__
    return f"column '{column}' is '{to_java_string(value)[:80]}', a {kind}; a {wanted} is needed"


class _DatetimeChange(ColumnMap):
    """A directive that converts datetimes to something else; null stays null."""

    drops_rows = True

    @abstractmethod
    def convert(self, value: datetime.datetime) -> Any:
        """Return the new value.

        :raises ErrorRow: for a datetime that cannot be converted.
        """

    def map(self, value: Any) -> Any:
        if value is None:
            return None
        if not is_datetime(value):
            raise make_error_row(
                _describe_mismatch(self.column, value, "datetime"), 2, self.directive_name()
            )
        return self.convert(value)


@plugin(name="current-datetime", description="Puts the present time into a column.")
class CurrentDatetime(TimeZoneDirective):
    categories = ("datetime",)
    examples = ("current-datetime :loaded_at", "current-datetime :loaded_at 'Europe/Paris'")
    makes = ("column",)
    column: str = argument.column("The column, new or existing.")
    timezone: str | None = argument.text("The time zone; UTC by default.", default=None)

    def propagate(self, columns: Columns) -> None:
        columns.put(self.column, Schema.DATETIME)

    def change(self, row: Row, context: RowContext) -> None:
        row.put(self.column, datetime.datetime.now(self.zone).replace(tzinfo=None))


@plugin(name="datetime-to-timestamp", description="Converts datetimes to timestamps.")
class DatetimeToTimestamp(TimeZoneDirective, _DatetimeChange):
    categories = ("datetime",)
    examples = ("datetime-to-timestamp :at", "datetime-to-timestamp :at 'America/New_York'")
    column: str = argument.column("The column to change.")
    timezone: str | None = argument.text("The time zone; UTC by default.", default=None)

    def propagate(self, columns: Columns) -> None:
        if not columns.is_missing(self.column):
            made = make_schema_like(columns, self.column, Schema.TIMESTAMP)
            columns.put(self.column, made)

    def convert(self, value: datetime.datetime) -> datetime.datetime:
        return value.replace(tzinfo=self.zone)

    def native(self, frame: Frame) -> None:
        if frame.columns.find(self.column) is None:
            return
        if self.zone is not datetime.UTC:
            raise NoNativeFormError("Spark's session is in UTC")
        if require_column(frame, self.column).non_nullable != Schema.DATETIME:
            raise NoNativeFormError(f"column '{self.column}' is not a datetime")
        made = make_schema_like(frame.columns, self.column, Schema.TIMESTAMP)
        frame.put(self.column, frame.column(self.column).cast("timestamp"), made)


@plugin(
    name="timestamp-to-datetime", description="Converts timestamps to datetimes, without the zone."
)
class TimestampToDatetime(DatetimeMap):
    categories = ("datetime",)
    examples = ("timestamp-to-datetime :at",)
    column: str = argument.column("The column to change.")

    def convert(self, value: Any) -> datetime.datetime:
        if not is_timestamp(value):
            raise self.make_error_row(_describe_mismatch(self.column, value, "timestamp"), 2)
        return value.replace(tzinfo=None)

    def native(self, frame: Frame) -> None:
        if frame.columns.find(self.column) is None:
            return
        given = require_column(frame, self.column).non_nullable
        if given == Schema.DATETIME:
            return
        if given != Schema.TIMESTAMP:
            raise NoNativeFormError(f"column '{self.column}' is not a timestamp")
        made = make_schema_like(frame.columns, self.column, Schema.DATETIME)
        frame.put(self.column, frame.column(self.column).cast("timestamp_ntz"), made)


@plugin(name="parse-as-datetime", description="Reads a text as a datetime by a pattern.")
class ParseAsDatetime(PatternDirective, DatetimeMap):
    categories = ("parser", "datetime")
    examples = ("parse-as-datetime :at \"yyyy-MM-dd'T'HH:mm:ss\"",)
    column: str = argument.column("The column to read; null and datetimes stay as they are.")
    format: str = argument.text("A pattern of Java's DateTimeFormatter.")

    def convert(self, value: Any) -> datetime.datetime:
        try:
            return self.pattern.parse(to_java_string(value))
        except ValueError as error:
            raise self.make_error_row(f"column '{self.column}': {error}", 2) from None


@plugin(name="format-datetime", description="Formats datetimes by a pattern.")
class FormatDatetime(PatternDirective, _DatetimeChange):
    categories = ("format", "datetime")
    examples = ("format-datetime :at 'MM/dd/yyyy HH:mm'",)
    column: str = argument.column("The column with datetimes; null stays null.")
    format: str = argument.text("A pattern of Java's DateTimeFormatter.")

    def propagate(self, columns: Columns) -> None:
        if not columns.is_missing(self.column):
            columns.put(self.column, make_text_schema_like(columns, self.column))

    def convert(self, value: datetime.datetime) -> str:
        try:
            return self.pattern.format(value)
        except ValueError as error:
            message = f"column '{self.column}': {error}"
            raise make_error_row(message, 2, self.directive_name()) from None
