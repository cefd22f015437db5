"""Directives that read timestamps, from texts by a pattern or from Unix time."""

from __future__ import annotations

import datetime
from typing import Any

from localcdap.api.directive import Frame, NoNativeFormError, argument, plugin
from localcdap.api.schema import Schema
from localcdap.java.dates.simple_date_format import check_simple_date, parse_simple_date
from localcdap.java.unix_time import (
    OUT_OF_YEARS,
    UNITS,
    from_epoch_micros,
    parse_whole_number,
)
from localcdap.plugin_lib.wrangler.directives.date_columns import YEARS, read_simple_date_micros
from localcdap.plugin_lib.wrangler.directives.datetime_bases import TimestampMap
from localcdap.plugin_lib.wrangler.directives.error_messages import (
    format_error_record,
    format_type_mismatch,
)
from localcdap.plugin_lib.wrangler.directives.native_helpers import (
    WHOLE,
    WHOLE_NUMBERS,
    is_text,
    require_column,
    require_text_column,
)


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
            whole = f.when(value.rlike(WHOLE), value.try_cast("bigint"))
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
