"""Datetimes: dates with times and without a zone."""

from __future__ import annotations

import datetime
from functools import cached_property

from localcdap.api.directive import (
    Columns,
    Directive,
    Frame,
    NoNativeFormError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Schema
from localcdap.java.date_time import TimeFormat
from localcdap.java.text import java_text
from localcdap.java.zones import zone_of
from localcdap.wrangler.directives.dates import is_moment, pattern_problem, put_like, sent
from localcdap.wrangler.directives.forms import present
from localcdap.wrangler.recipe.declaration import text_like


def _is_datetime(value: object) -> bool:
    return isinstance(value, datetime.datetime) and value.tzinfo is None


def _zone_problem(name: str | None) -> str | None:
    try:
        zone_of(name or "UTC")
    except ValueError as error:
        return str(error)
    return None


@plugin(
    type="directive", name="current-datetime", description="Puts the present time into a column."
)
class CurrentDatetime(Directive):
    categories = ("datetime",)
    examples = ("current-datetime :loaded_at", "current-datetime :loaded_at 'Europe/Paris'")
    column: str = argument.column("The column, new or not.")
    timezone: str | None = argument.text("Whose time it is; UTC when left out.", default=None)

    def problem(self) -> str | None:
        return _zone_problem(self.timezone)

    def propagate(self, columns: Columns) -> None:
        columns.put(self.column, Schema.DATETIME)

    def start(self, context: RowContext) -> None:
        self._zone = zone_of(self.timezone or "UTC")

    def change(self, row: Row, context: RowContext) -> None:
        row.put(self.column, datetime.datetime.now(self._zone).replace(tzinfo=None))


class _OnDatetime(Directive):
    column: str

    def _value(self, row: Row) -> tuple[str, datetime.datetime] | None:
        """The name of the column as the row has it, and its value; None when there is nothing to do."""
        found = row.find(self.column)
        if found is None or row[found] is None:
            return None
        value = row[found]
        if not _is_datetime(value):
            raise sent(
                self.directive_name(),
                f"column '{self.column}' is '{java_text(value)[:80]}', a {type(value).__name__}; a datetime "
                "is needed",
                2,
            )
        return found, value


@plugin(
    type="directive", name="datetime-to-timestamp", description="Makes timestamps of datetimes."
)
class DatetimeToTimestamp(_OnDatetime):
    categories = ("datetime",)
    examples = ("datetime-to-timestamp :at", "datetime-to-timestamp :at 'America/New_York'")
    column: str = argument.column("The column to change.")
    timezone: str | None = argument.text("Whose time it is; UTC when left out.", default=None)

    def problem(self) -> str | None:
        return _zone_problem(self.timezone)

    def propagate(self, columns: Columns) -> None:
        if not columns.is_missing(self.column):
            put_like(columns, self.column, Schema.TIMESTAMP)

    def start(self, context: RowContext) -> None:
        self._zone = zone_of(self.timezone or "UTC")

    def change(self, row: Row, context: RowContext) -> None:
        given = self._value(row)
        if given is not None:
            found, value = given
            row[found] = value.replace(tzinfo=self._zone)

    def native(self, frame: Frame) -> None:
        if frame.columns.find(self.column) is None:
            return
        schema = present(frame, self.column)
        if zone_of(self.timezone or "UTC") is not datetime.UTC:
            raise NoNativeFormError("Spark's session is in UTC")
        if schema.non_nullable != Schema.DATETIME:
            raise NoNativeFormError(f"column '{self.column}' is no datetime")
        made = Schema.TIMESTAMP.as_nullable if schema.is_nullable else Schema.TIMESTAMP
        frame.put(self.column, frame.column(self.column).cast("timestamp"), made)


@plugin(
    type="directive",
    name="timestamp-to-datetime",
    description="Makes datetimes of timestamps, which lose their zone.",
)
class TimestampToDatetime(Directive):
    categories = ("datetime",)
    examples = ("timestamp-to-datetime :at",)
    column: str = argument.column("The column to change.")

    def propagate(self, columns: Columns) -> None:
        if not columns.is_missing(self.column):
            put_like(columns, self.column, Schema.DATETIME)

    def change(self, row: Row, context: RowContext) -> None:
        found = row.find(self.column)
        if found is None or row[found] is None or _is_datetime(row[found]):
            return
        value = row[found]
        if not is_moment(value):
            raise sent(
                self.directive_name(),
                f"column '{self.column}' is '{java_text(value)[:80]}', a {type(value).__name__}; a "
                "timestamp is needed",
                2,
            )
        row[found] = value.replace(tzinfo=None)

    def native(self, frame: Frame) -> None:
        if frame.columns.find(self.column) is None:
            return
        schema = present(frame, self.column)
        if schema.non_nullable == Schema.DATETIME:
            return
        if schema.non_nullable != Schema.TIMESTAMP:
            raise NoNativeFormError(f"column '{self.column}' is no timestamp")
        made = Schema.DATETIME.as_nullable if schema.is_nullable else Schema.DATETIME
        frame.put(self.column, frame.column(self.column).cast("timestamp_ntz"), made)


@plugin(
    type="directive",
    name="parse-as-datetime",
    description="Reads a text in a pattern as a datetime.",
)
class ParseAsDatetime(Directive):
    categories = ("parser", "datetime")
    examples = ("parse-as-datetime :at \"yyyy-MM-dd'T'HH:mm:ss\"",)
    column: str = argument.column("The column to read; null and datetimes stay as they are.")
    format: str = argument.text("A pattern of Java's DateTimeFormatter.")

    @cached_property
    def _format(self) -> TimeFormat:
        return TimeFormat(self.format)

    def problem(self) -> str | None:
        return pattern_problem(self.format)

    def propagate(self, columns: Columns) -> None:
        if not columns.is_missing(self.column):
            put_like(columns, self.column, Schema.DATETIME)

    def change(self, row: Row, context: RowContext) -> None:
        found = row.find(self.column)
        if found is None or row[found] is None or _is_datetime(row[found]):
            return
        text = java_text(row[found])
        try:
            row[found] = self._format.read(text)
        except ValueError as error:
            raise sent(self.directive_name(), f"column '{self.column}': {error}", 2) from None


@plugin(type="directive", name="format-datetime", description="Writes datetimes in a pattern.")
class FormatDatetime(_OnDatetime):
    categories = ("format", "datetime")
    examples = ("format-datetime :at 'MM/dd/yyyy HH:mm'",)
    column: str = argument.column("The column with datetimes; null stays null.")
    format: str = argument.text("A pattern of Java's DateTimeFormatter.")

    @cached_property
    def _format(self) -> TimeFormat:
        return TimeFormat(self.format)

    def problem(self) -> str | None:
        return pattern_problem(self.format)

    def propagate(self, columns: Columns) -> None:
        if not columns.is_missing(self.column):
            columns.put(self.column, text_like(columns, self.column))

    def change(self, row: Row, context: RowContext) -> None:
        given = self._value(row)
        if given is None:
            return
        found, value = given
        try:
            row[found] = self._format.write(value)
        except ValueError as error:
            raise sent(self.directive_name(), f"column '{self.column}': {error}", 2) from None
