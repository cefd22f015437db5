"""Timestamps: read from texts, written as texts, subtracted. A timestamp is a datetime with a zone."""

from __future__ import annotations

import datetime
from functools import cached_property

from localcdap.api.directive import (
    Columns,
    Directive,
    DirectiveError,
    ErrorRow,
    Frame,
    NoNativeFormError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Schema
from localcdap.java.date_time import PatternError, TimeFormat
from localcdap.java.simple_date import check_simple_date, read_simple_date
from localcdap.java.zones import zone_of
from localcdap.wrangler.directives.columns import needed, no_column
from localcdap.wrangler.directives.date_columns import YEARS, simple_date_micros
from localcdap.wrangler.directives.forms import WHOLE, WHOLE_NUMBERS, is_text, need_text, present
from localcdap.wrangler.recipe.declaration import text_like

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICRO = datetime.timedelta(microseconds=1)
_FIRST_MILLIS = 10**11
"""What is less than this is Unix time in seconds, till the year 5138; as milliseconds it is of 1973."""
_UNITS = {"SECONDS": 1_000_000, "MILLISECONDS": 1000, "MICROSECONDS": 1}


def sent(directive: str, message: str, code: int) -> ErrorRow:
    """What sends a row to the error port, with its code and directive in the message as the original."""
    return ErrorRow(f"{message} (ecode: {code}, directive: {directive})", code)


def is_moment(value: object) -> bool:
    """Whether a value is a timestamp."""
    return isinstance(value, datetime.datetime) and value.tzinfo is not None


def put_like(columns: Columns, name: str, schema: Schema) -> None:
    """Give a column a schema that is null where the column was."""
    before = columns.schema(name)
    is_certain = before is not None and not before.is_nullable
    columns.put(name, schema if is_certain else schema.as_nullable)


@plugin(
    type="directive",
    name="parse-as-simple-date",
    description="Reads a text in a pattern as a timestamp; times without a zone are in UTC.",
)
class ParseAsSimpleDate(Directive):
    categories = ("parser", "date")
    examples = ("parse-as-simple-date :date 'MM/dd/yyyy'",)
    column: str = argument.column("The column to read; null and timestamps stay as they are.")
    format: str = argument.text("A pattern of Java's SimpleDateFormat.")

    def problem(self) -> str | None:
        try:
            check_simple_date(self.format)
        except ValueError as error:
            return f"'{self.format}' is no pattern of dates: {error}"
        return None

    def propagate(self, columns: Columns) -> None:
        if not columns.is_missing(self.column):
            put_like(columns, self.column, Schema.TIMESTAMP)

    def change(self, row: Row, context: RowContext) -> None:
        found = row.find(self.column)
        if found is None or row[found] is None or is_moment(row[found]):
            return
        value = row[found]
        name = self.directive_name()
        if not isinstance(value, str):
            kind = type(value).__name__
            raise sent(name, f"column '{self.column}' is a {kind}; a text is needed", 2)
        try:
            row[found] = read_simple_date(value, self.format).astimezone(datetime.UTC)
        except (ValueError, OverflowError):
            raise sent(name, f"'{value}' is not in the pattern '{self.format}'", 1) from None

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        schema = frame.columns.schema(self.column)
        if schema is None or schema.non_nullable == Schema.TIMESTAMP:
            return
        need_text(frame, self.column)
        value = frame.column(self.column)
        micros = simple_date_micros(value, self.format)
        told = (
            f"' is not in the pattern '{self.format}' (ecode: 1, directive: parse-as-simple-date)"
        )
        frame.error_where(
            value.isNotNull() & micros.isNull(), f.concat(f.lit("'"), value, f.lit(told)), 1
        )
        frame.put(self.column, f.timestamp_micros(micros), Schema.TIMESTAMP.as_nullable)


@plugin(type="directive", name="parse-timestamp", description="Reads Unix time as a timestamp.")
class ParseTimestamp(Directive):
    categories = ("parser", "date")
    examples = ("parse-timestamp :at", "parse-timestamp :at 'seconds'")
    column: str = argument.column("The column with whole numbers or their texts.")
    timeunit: str = argument.text("seconds, milliseconds or microseconds.", default="milliseconds")

    def problem(self) -> str | None:
        if self.timeunit.upper() in _UNITS:
            return None
        return f"'{self.timeunit}' is no unit of time; use seconds, milliseconds or microseconds"

    def propagate(self, columns: Columns) -> None:
        if not columns.is_missing(self.column):
            put_like(columns, self.column, Schema.TIMESTAMP)

    def change(self, row: Row, context: RowContext) -> None:
        found = row.find(self.column)
        if found is None or row[found] is None or is_moment(row[found]):
            return
        name = self.directive_name()
        number = _whole(row[found])
        if number is None:
            shown = str(row[found])[:80]
            raise sent(name, f"column '{self.column}' is '{shown}', not a whole number", 2)
        micros = number * _UNITS[self.timeunit.upper()]
        try:
            row[found] = _EPOCH + datetime.timedelta(microseconds=micros)
        except OverflowError:
            raise sent(name, f"column '{self.column}' is out of the years 1 to 9999", 2) from None

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        if frame.columns.find(self.column) is None:
            return
        schema = present(frame, self.column)
        value = frame.column(self.column)
        if schema.non_nullable == Schema.TIMESTAMP:
            return
        if is_text(schema):
            whole = f.when(value.rlike(WHOLE), value.try_cast("bigint"))
        elif schema.non_nullable in WHOLE_NUMBERS:
            whole = value.cast("bigint")
        else:
            raise NoNativeFormError(f"column '{self.column}' is neither text nor whole number")
        unit = f.lit(_UNITS[self.timeunit.upper()]).cast("bigint")
        micros = f.try_multiply(whole, unit)
        is_here = f.coalesce(micros.between(*YEARS), f.lit(False))
        told = (
            f"column '{self.column}' is no whole number, or out of the years 1 to 9999 "
            "(ecode: 2, directive: parse-timestamp)"
        )
        frame.error_where(value.isNotNull() & ~is_here, told, 2)
        made = f.timestamp_micros(f.when(is_here, micros))
        frame.put(self.column, made, Schema.TIMESTAMP.as_nullable)


def _whole(value: object) -> int | None:
    """A whole number, or one that a text holds as Java reads it."""
    from localcdap.java.numbers import NumberFormatError, parse_long

    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        return parse_long(value) if isinstance(value, str) else None
    except NumberFormatError:
        return None


@plugin(
    type="directive", name="format-date", description="Writes timestamps and dates in a pattern."
)
class FormatDate(Directive):
    categories = ("date", "format")
    examples = ("format-date :date 'MM/dd/yyyy'",)
    column: str = argument.column("The column with timestamps or dates; null stays null.")
    format: str = argument.text("A pattern of Java's DateTimeFormatter.")

    @cached_property
    def _format(self) -> TimeFormat:
        return TimeFormat(self.format)

    def problem(self) -> str | None:
        return pattern_problem(self.format)

    def propagate(self, columns: Columns) -> None:
        if not no_column(columns, self.column, "format"):
            columns.put(self.column, text_like(columns, self.column))

    def change(self, row: Row, context: RowContext) -> None:
        found = needed(row, self.column)
        value = row[found]
        if value is None:
            return
        if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
            value = datetime.datetime.combine(value, datetime.time(), datetime.UTC)
        if not is_moment(value):
            kind = type(value).__name__
            raise DirectiveError(
                f"column '{self.column}' is a {kind}; make it a date with parse-as-simple-date"
            )
        row[found] = self._format.write(value)


@plugin(
    type="directive",
    name="format-unix-timestamp",
    description="Writes Unix time in a pattern, in UTC. CDAP describes this directive but has it no more: "
    "there it is parse-timestamp and format-date.",
)
class FormatUnixTimestamp(Directive):
    categories = ("date", "format")
    examples = ("format-unix-timestamp :at 'yyyy-MM-dd HH:mm:ss'",)
    column: str = argument.column(
        "The column with whole numbers or their texts; null stays null. Numbers of up to 11 digits are "
        "seconds, longer ones milliseconds."
    )
    format: str = argument.text("A pattern of Java's DateTimeFormatter.")

    @cached_property
    def _format(self) -> TimeFormat:
        return TimeFormat(self.format)

    def problem(self) -> str | None:
        return pattern_problem(self.format)

    def propagate(self, columns: Columns) -> None:
        if not no_column(columns, self.column, "format"):
            columns.put(self.column, text_like(columns, self.column))

    def change(self, row: Row, context: RowContext) -> None:
        found = needed(row, self.column)
        if row[found] is None:
            return
        number = _whole(row[found])
        if number is None:
            raise DirectiveError(f"column '{self.column}' is no whole number, but Unix time is one")
        unit = _UNITS["SECONDS" if abs(number) < _FIRST_MILLIS else "MILLISECONDS"]
        try:
            moment = _EPOCH + datetime.timedelta(microseconds=number * unit)
        except OverflowError:
            raise DirectiveError(f"column '{self.column}' is out of the years 1 to 9999") from None
        row[found] = self._format.write(moment)


def pattern_problem(pattern: str) -> str | None:
    """What is wrong with a pattern of Java's ``DateTimeFormatter``."""
    try:
        TimeFormat(pattern)
    except PatternError as error:
        return f"'{pattern}' is no pattern of dates: {error}"
    return None


@plugin(
    type="directive",
    name="diff-date",
    description="Subtracts two timestamps: milliseconds, positive when the second is earlier.",
)
class DiffDate(Directive):
    categories = ("date",)
    examples = ("diff-date :end :start :duration", "diff-date :now :start :age")
    column1: str = argument.column("A timestamp; 'now' is the moment when the run began.")
    column2: str = argument.column("What is subtracted; 'now' as well.")
    destination: str = argument.column("The column that gets the difference.")

    def propagate(self, columns: Columns) -> None:
        for name in (self.column1, self.column2):
            if name.lower() != "now":
                no_column(columns, name, "subtract")
        columns.put(self.destination, Schema.LONG.as_nullable)

    def start(self, context: RowContext) -> None:
        self._now = datetime.datetime.now(datetime.UTC)

    def change(self, row: Row, context: RowContext) -> None:
        one, other = self._moment(row, self.column1), self._moment(row, self.column2)
        difference = None
        if one is not None and other is not None:
            difference = _millis(one) - _millis(other)
        row.put(self.destination, difference)

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        if "now" in (self.column1.lower(), self.column2.lower()):
            raise NoNativeFormError("the present is that of each task")
        schemas = [present(frame, name) for name in (self.column1, self.column2)]
        difference = f.lit(None).cast("bigint")
        if all(schema.non_nullable == Schema.TIMESTAMP for schema in schemas):
            one, other = frame.column(self.column1), frame.column(self.column2)
            difference = f.unix_millis(one) - f.unix_millis(other)
        frame.put(self.destination, difference, Schema.LONG.as_nullable)

    def _moment(self, row: Row, name: str) -> datetime.datetime | None:
        if name.lower() == "now":
            return self._now
        value = row[needed(row, name)]
        return value if is_moment(value) else None


def _millis(moment: datetime.datetime) -> int:
    return (moment - _EPOCH) // _MICRO // 1000


@plugin(
    type="directive",
    name="parse-as-date",
    description="Finds the dates in a text, in whatever way they are written, and puts them into the columns "
    "<column>_1, <column>_2 and so on.",
)
class ParseAsDate(Directive):
    categories = ("parser", "date")
    examples = ("parse-as-date :created", "parse-as-date :created 'US/Eastern'")
    column: str = argument.column("The column to read; null and timestamps are passed over.")
    timezone: str = argument.text("Whose time it is; UTC for an unknown one.", default="UTC")

    def propagate(self, columns: Columns) -> None:
        if not columns.is_missing(self.column):
            columns.add(f"{self.column}_1", Schema.TIMESTAMP.as_nullable)
            columns.open = True

    def start(self, context: RowContext) -> None:
        try:
            self._zone = zone_of(self.timezone)
        except ValueError:
            self._zone = datetime.UTC

    def change(self, row: Row, context: RowContext) -> None:
        value = row.value(self.column)
        if value is None or is_moment(value):
            return
        if not isinstance(value, str):
            kind = type(value).__name__
            message = f"column '{self.column}' is a {kind}; a text is needed"
            raise sent(self.directive_name(), message, 1)
        from localcdap.wrangler.values.natural_dates import natural_dates

        found = natural_dates(value, datetime.datetime.now(self._zone))
        for number, moment in enumerate(found, 1):
            row.add(f"{self.column}_{number}", moment)
