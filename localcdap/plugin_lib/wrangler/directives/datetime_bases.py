"""What directives on dates and times share. A timestamp is a datetime with a zone, a datetime has none."""

from __future__ import annotations

import datetime
from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar, TypeGuard

from localcdap.api.directive import Columns, Directive, ErrorRow
from localcdap.api.schema import Schema
from localcdap.java.dates.date_time_format import DateTimeFormat, PatternError
from localcdap.java.dates.zones import parse_zone
from localcdap.plugin_lib.wrangler.directives.error_messages import refused
from localcdap.plugin_lib.wrangler.recipe.base_directives import ColumnMap, make_schema_like


def is_timestamp(value: object) -> TypeGuard[datetime.datetime]:
    return isinstance(value, datetime.datetime) and value.tzinfo is not None


def is_datetime(value: object) -> TypeGuard[datetime.datetime]:
    return isinstance(value, datetime.datetime) and value.tzinfo is None


class MomentMap(ColumnMap):
    """A directive that makes moments of what is neither null nor one already."""

    makes: ClassVar[Schema]

    @abstractmethod
    def is_made(self, value: object) -> bool:
        """Whether a value is a moment of the kind already."""

    @abstractmethod
    def made(self, value: Any) -> datetime.datetime:
        """:raises ErrorRow: when the value is none; see :meth:`refused`."""

    def propagate(self, columns: Columns) -> None:
        if not columns.is_missing(self.column):
            columns.put(self.column, make_schema_like(columns, self.column, self.makes))

    def map(self, value: Any) -> Any:
        return value if value is None or self.is_made(value) else self.made(value)

    def refused(self, message: str, code: int) -> ErrorRow:
        return refused(message, code, self.directive_name())


class TimestampMap(MomentMap):
    makes = Schema.TIMESTAMP

    def is_made(self, value: object) -> bool:
        return is_timestamp(value)


class DatetimeMap(MomentMap):
    makes = Schema.DATETIME

    def is_made(self, value: object) -> bool:
        return is_datetime(value)


class InPattern(Directive):
    """A directive with a pattern of Java's ``DateTimeFormatter``."""

    format: str

    @cached_property
    def pattern(self) -> DateTimeFormat:
        return DateTimeFormat(self.format)

    def problem(self) -> str | None:
        try:
            DateTimeFormat(self.format)
        except PatternError as error:
            return f"'{self.format}' is no pattern of dates: {error}"
        return None


class InZone(Directive):
    """A directive with a time zone; UTC when it is left out."""

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
