"""Bases of directives for times: a timestamp is a Python datetime with a zone, a datetime has none."""

from __future__ import annotations

import datetime
from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar, TypeGuard

from localcdap.api.directive import Columns, Directive, ErrorRow
from localcdap.api.schema import Schema
from localcdap.java.dates.date_time_format import DateTimeFormat, PatternError
from localcdap.java.dates.zones import parse_zone
from localcdap.plugin_lib.wrangler.directives.error_messages import make_error_row
from localcdap.plugin_lib.wrangler.recipe.base_directives import ColumnMap, make_schema_like


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
