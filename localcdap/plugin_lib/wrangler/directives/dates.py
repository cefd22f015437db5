"""Directives that read, find, format and subtract dates and timestamps.

Spark itself reads dates in patterns of numbers only.
"""

from __future__ import annotations

import datetime
import re
from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

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
from localcdap.java.dates.simple_date_format import (
    MAX_VALUES,
    check_simple_date,
    expand_year,
    is_number,
    parse_pattern,
    parse_simple_date,
)
from localcdap.java.dates.zones import parse_zone
from localcdap.java.unix_time import (
    OUT_OF_YEARS,
    UNITS,
    from_epoch_micros,
    parse_whole_number,
    to_epoch_millis,
)
from localcdap.plugin_lib.spark.conversion import read_whole
from localcdap.plugin_lib.wrangler.directives.datetimes import (
    PatternDirective,
    TimestampMap,
    is_timestamp,
)
from localcdap.plugin_lib.wrangler.recipe.base_directives import (
    WHOLE_NUMBERS,
    find_column,
    format_error_record,
    format_type_mismatch,
    is_text,
    make_error_row,
    make_text_schema_like,
    make_type_error,
    report_missing_column,
    require_column,
    require_text_column,
)

if TYPE_CHECKING:
    from pyspark.sql import Column


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
    "<column>_1, <column>_2 and so on. Of alternatives such as 'next wed or thurs' the first one is taken. "
    "A date without a time is midnight; a text without a date, or with one that lacks its year, is an error.",
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
        if not value.strip():
            return
        from localcdap.plugin_lib.wrangler.natural_dates import UnreadableDateError, read_dates

        try:
            found = read_dates(value, _read_clock(self._zone))
        except UnreadableDateError as error:
            raise DirectiveError(f"column '{self.column}' {error}") from None
        except (OverflowError, ValueError):
            raise DirectiveError(
                f"column '{self.column}' has a date that is {OUT_OF_YEARS}"
            ) from None
        for number, alternatives in enumerate(found, 1):
            row.add(f"{self.column}_{number}", alternatives[0])


def _read_clock(zone: datetime.tzinfo) -> datetime.datetime:
    return datetime.datetime.now(zone)


YEARS: Final = (-62_135_596_800_000_000, 253_402_300_799_999_999)
"""The microseconds of the Unix epoch at both ends of the years 1 to 9999."""
_READ: Final = "yMdHmsS"


def read_simple_date_micros(text: Column, pattern: str) -> Column:
    """Return microseconds of the Unix epoch for texts in a pattern of ``SimpleDateFormat``, in UTC; null for
    texts that :func:`localcdap.java.dates.simple_date_format.parse_simple_date` rejects.

    :raises NoNativeFormError: for a pattern with names, zones or fields that stand twice.
    """
    from pyspark.sql import functions as f

    regex, letters = _build_regex(pattern)
    values = {
        letter: f.regexp_extract(text, regex, group).try_cast("bigint")
        for group, letter in enumerate(letters, 1)
    }
    is_in = text.rlike(regex)
    for letter, value in values.items():
        is_in = is_in & value.between(-MAX_VALUES[letter], MAX_VALUES[letter])
    if any(item in parse_pattern(pattern) for item in (("y", 1), ("y", 2))):
        shown = f.regexp_extract(text, regex, letters.index("y") + 1)
        values["y"] = _expand_two_digits(values["y"], shown)
    micros = _compute_micros(values)
    return f.when(is_in & micros.between(*YEARS), micros)


def _build_regex(pattern: str) -> tuple[str, list[str]]:
    """Return the pattern as a regular expression of Java without backtracking, and the letters of groups."""
    parts = ["\\A"]
    letters: list[str] = []
    found = parse_pattern(pattern)
    for index, item in enumerate(found):
        if isinstance(item, str):
            parts.append(re.escape(item))
            continue
        letter, width = item
        if letter not in _READ or not is_number(item) or letter in letters:
            raise NoNativeFormError(f"Spark does not read '{letter * width}' in the same way")
        letters.append(letter)
        is_followed = index + 1 < len(found) and is_number(found[index + 1])
        number = (
            f"(?=(?s:.{{{width}}}))([0-9]{{1,{width}}}+)" if is_followed else "(-?+[0-9]{1,18}+)"
        )
        parts.append(f"[ \\t]*+{number}")
    return "".join(parts), letters


def _expand_two_digits(year: Column, shown: Column) -> Column:
    from pyspark.sql import functions as f

    oldest = min(expand_year(short) for short in range(100))
    short = year - oldest % 100
    near = f.lit(oldest).cast("bigint") + f.pmod(short, f.lit(100).cast("bigint"))
    return f.when(f.length(shown) == 2, near).otherwise(year)


def _compute_micros(values: dict[str, Column]) -> Column:
    from pyspark.sql import functions as f

    def get_value(letter: str, default: int) -> Column:
        return values.get(letter, f.lit(default).cast("bigint"))

    months = get_value("y", 1970) * 12 + get_value("M", 1) - 1
    year = f.floor(months / 12).cast("int")
    is_year = year.between(1, 9999)
    first = f.make_date(
        f.when(is_year, year), (f.pmod(months, f.lit(12)) + 1).cast("int"), f.lit(1)
    )
    days = f.unix_date(first).cast("bigint") + get_value("d", 1) - 1
    seconds = ((days * 24 + get_value("H", 0)) * 60 + get_value("m", 0)) * 60 + get_value("s", 0)
    return f.try_add(f.try_multiply(seconds, f.lit(1_000_000)), get_value("S", 0) * 1000)


@plugin(
    name="parse-as-simple-date",
    description="Reads a text as a timestamp by a pattern; times without a zone are in UTC.",
)
class ParseAsSimpleDate(TimestampMap):
    categories = ("parser", "date")
    examples = ("parse-as-simple-date :date 'MM/dd/yyyy'",)
    column: str = argument.column("The column to read; null and timestamps stay as they are.")
    format: str = argument.text("A pattern of Java's SimpleDateFormat.")

    def problem(self) -> str | None:
        try:
            check_simple_date(self.format)
        except ValueError as error:
            return f"'{self.format}' is not a pattern of dates: {error}"
        return None

    def convert(self, value: Any) -> datetime.datetime:
        if not isinstance(value, str):
            raise self.make_error_row(format_type_mismatch(self.column, value), 2)
        try:
            return parse_simple_date(value, self.format).astimezone(datetime.UTC)
        except (ValueError, OverflowError):
            raise self.make_error_row(f"'{value}'{self._explain()}", 1) from None

    def _explain(self) -> str:
        return f" is not in the pattern '{self.format}'"

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        schema = frame.columns.schema(self.column)
        if schema is None or schema.non_nullable == Schema.TIMESTAMP:
            return
        require_text_column(frame, self.column)
        value = frame.column(self.column)
        micros = read_simple_date_micros(value, self.format)
        message = format_error_record(f"'{self._explain()}", 1, self.directive_name())
        frame.error_where(
            value.isNotNull() & micros.isNull(), f.concat(f.lit("'"), value, f.lit(message)), 1
        )
        frame.put(self.column, f.timestamp_micros(micros), Schema.TIMESTAMP.as_nullable)


@plugin(name="parse-timestamp", description="Reads Unix time as a timestamp.")
class ParseTimestamp(TimestampMap):
    categories = ("parser", "date")
    examples = ("parse-timestamp :at", "parse-timestamp :at 'seconds'")
    column: str = argument.column("The column with whole numbers or their texts.")
    timeunit: str = argument.text("seconds, milliseconds or microseconds.", default="milliseconds")

    def problem(self) -> str | None:
        if self.timeunit.upper() in UNITS:
            return None
        return f"'{self.timeunit}' is not a unit of time; use seconds, milliseconds or microseconds"

    def convert(self, value: Any) -> datetime.datetime:
        number = parse_whole_number(value)
        if number is None:
            shown = str(value)[:80]
            raise self.make_error_row(f"column '{self.column}' is '{shown}', not a whole number", 2)
        try:
            return from_epoch_micros(number * UNITS[self.timeunit.upper()])
        except OverflowError:
            raise self.make_error_row(f"column '{self.column}' is {OUT_OF_YEARS}", 2) from None

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        if frame.columns.find(self.column) is None:
            return
        schema = require_column(frame, self.column)
        value = frame.column(self.column)
        if schema.non_nullable == Schema.TIMESTAMP:
            return
        if is_text(schema):
            whole = read_whole(value)
        elif schema.non_nullable in WHOLE_NUMBERS:
            whole = value.cast("bigint")
        else:
            raise NoNativeFormError(f"column '{self.column}' is neither text nor whole number")
        unit = f.lit(UNITS[self.timeunit.upper()]).cast("bigint")
        micros = f.try_multiply(whole, unit)
        is_here = f.coalesce(micros.between(*YEARS), f.lit(False))
        reason = f"column '{self.column}' is not a whole number, or {OUT_OF_YEARS}"
        message = format_error_record(reason, 2, self.directive_name())
        frame.error_where(value.isNotNull() & ~is_here, message, 2)
        made = f.timestamp_micros(f.when(is_here, micros))
        frame.put(self.column, made, Schema.TIMESTAMP.as_nullable)
