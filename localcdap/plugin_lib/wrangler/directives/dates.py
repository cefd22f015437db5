"""Directives that find dates in texts, format times, and subtract timestamps."""

from __future__ import annotations

import datetime
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Final

from localcdap.api.directive import (
    Columns,
    Directive,
    DirectiveError,
    Frame,
    NoNativeFormError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Schema
from localcdap.java.dates.zones import parse_zone
from localcdap.java.unix_time import (
    OUT_OF_YEARS,
    UNITS,
    from_epoch_micros,
    parse_whole_number,
    to_epoch_millis,
)
from localcdap.plugin_lib.wrangler.directives.columns import find_column, report_missing_column
from localcdap.plugin_lib.wrangler.directives.datetime_bases import PatternDirective, is_timestamp
from localcdap.plugin_lib.wrangler.directives.error_messages import (
    format_type_mismatch,
    make_error_row,
    make_type_error,
)
from localcdap.plugin_lib.wrangler.directives.native_helpers import require_column
from localcdap.plugin_lib.wrangler.recipe.base_directives import make_text_schema_like

_FIRST_MILLIS: Final = 10**11
"""Smaller numbers are Unix time in seconds, up to 5138; in milliseconds they would end in 1973."""


class _FormatDirective(PatternDirective):
    """A directive that formats times by a pattern; null stays null."""

    column: str

    @abstractmethod
    def read_time(self, value: Any) -> datetime.datetime:
        """Return the time of a value.

        :raises DirectiveError: for a value that is not a time.
        """

    def propagate(self, columns: Columns) -> None:
        if not report_missing_column(columns, self.column, "format"):
            columns.put(self.column, make_text_schema_like(columns, self.column))

    def change(self, row: Row, context: RowContext) -> None:
        found = find_column(row, self.column)
        value = row[found]
        if value is not None:
            row[found] = self.pattern.format(self.read_time(value))


@plugin(name="format-date", description="Formats timestamps and dates by a pattern.")
class FormatDate(_FormatDirective):
    categories = ("date", "format")
    examples = ("format-date :date 'MM/dd/yyyy'",)
    column: str = argument.column("The column with timestamps or dates; null stays null.")
    format: str = argument.text("A pattern of Java's DateTimeFormatter.")

    def read_time(self, value: Any) -> datetime.datetime:
        if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
            return datetime.datetime.combine(value, datetime.time(), datetime.UTC)
        if is_timestamp(value):
            return value
        is_datetime = isinstance(value, datetime.datetime)
        hint = "use format-datetime" if is_datetime else "make it a date with parse-as-simple-date"
        raise make_type_error(self.column, value, hint)


@plugin(
    name="format-unix-timestamp",
    description="Formats Unix time by a pattern, in UTC. CDAP documents this directive but no longer has it: "
    "there, use parse-timestamp and format-date.",
)
class FormatUnixTimestamp(_FormatDirective):
    categories = ("date", "format")
    examples = ("format-unix-timestamp :at 'yyyy-MM-dd HH:mm:ss'",)
    column: str = argument.column(
        "The column with whole numbers or their texts; null stays null. Numbers of up to 11 digits are "
        "seconds, longer ones milliseconds."
    )
    format: str = argument.text("A pattern of Java's DateTimeFormatter.")

    def read_time(self, value: Any) -> datetime.datetime:
        number = parse_whole_number(value)
        if number is None:
            raise DirectiveError(
                f"column '{self.column}' is not a whole number, but Unix time is one"
            )
        unit = UNITS["SECONDS" if abs(number) < _FIRST_MILLIS else "MILLISECONDS"]
        try:
            return from_epoch_micros(number * unit)
        except OverflowError:
            raise DirectiveError(f"column '{self.column}' is {OUT_OF_YEARS}") from None


@plugin(
    name="diff-date",
    description="Subtracts two timestamps: milliseconds, positive when the second is earlier.",
)
class DiffDate(Directive):
    categories = ("date",)
    examples = ("diff-date :end :start :duration", "diff-date :now :start :age")
    makes = ("destination",)
    column1: str = argument.column("A timestamp; 'now' is the time at which the run began.")
    column2: str = argument.column("The timestamp to subtract, or 'now'.")
    destination: str = argument.column("The column for the difference.")

    def reads_columns(self) -> Iterable[str]:
        return tuple(name for name in (self.column1, self.column2) if name.lower() != "now")

    def propagate(self, columns: Columns) -> None:
        for name in self.reads_columns():
            report_missing_column(columns, name, "subtract")
        columns.put(self.destination, Schema.LONG.as_nullable)

    def start(self, context: RowContext) -> None:
        self._now = datetime.datetime.now(datetime.UTC)

    def change(self, row: Row, context: RowContext) -> None:
        one, other = self._find_time(row, self.column1), self._find_time(row, self.column2)
        difference = None
        if one is not None and other is not None:
            difference = to_epoch_millis(one) - to_epoch_millis(other)
        row.put(self.destination, difference)

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        if "now" in (self.column1.lower(), self.column2.lower()):
            raise NoNativeFormError("each task has a present of its own")
        schemas = [require_column(frame, name) for name in (self.column1, self.column2)]
        difference = f.lit(None).cast("bigint")
        if all(schema.non_nullable == Schema.TIMESTAMP for schema in schemas):
            one, other = frame.column(self.column1), frame.column(self.column2)
            difference = f.unix_millis(one) - f.unix_millis(other)
        frame.put(self.destination, difference, Schema.LONG.as_nullable)

    def _find_time(self, row: Row, name: str) -> datetime.datetime | None:
        if name.lower() == "now":
            return self._now
        value = row[find_column(row, name)]
        return value if is_timestamp(value) else None


@plugin(
    name="parse-as-date",
    description="Finds the dates in a text, in any notation, and puts them into the columns "
    "<column>_1, <column>_2 and so on. Of alternatives such as 'next wed or thurs' the first one is taken.",
)
class ParseAsDate(Directive):
    categories = ("parser", "date")
    examples = ("parse-as-date :created", "parse-as-date :created 'US/Eastern'")
    drops_rows = True
    column: str = argument.column("The column to read; null and timestamps are ignored.")
    timezone: str = argument.text(
        "The time zone of the dates; UTC for an unknown one.", default="UTC"
    )

    def propagate(self, columns: Columns) -> None:
        if not columns.is_missing(self.column):
            columns.add(f"{self.column}_1", Schema.TIMESTAMP.as_nullable)
            columns.open_for(f"{self.column}_")

    def start(self, context: RowContext) -> None:
        try:
            self._zone = parse_zone(self.timezone)
        except ValueError:
            self._zone = datetime.UTC

    def change(self, row: Row, context: RowContext) -> None:
        value = row.value(self.column)
        if value is None or is_timestamp(value):
            return
        if not isinstance(value, str):
            raise make_error_row(format_type_mismatch(self.column, value), 1, self.directive_name())
        from localcdap.plugin_lib.wrangler.natural_dates import find_dates

        try:
            found = find_dates(value, _read_clock(self._zone))
        except (OverflowError, ValueError):
            raise DirectiveError(
                f"column '{self.column}' has a date that is {OUT_OF_YEARS}"
            ) from None
        for number, alternatives in enumerate(found, 1):
            row.add(f"{self.column}_{number}", alternatives[0])


def _read_clock(zone: datetime.tzinfo) -> datetime.datetime:
    return datetime.datetime.now(zone)
