"""Exports of the rows of a structured table, which the database computes and writes."""

from __future__ import annotations

from typing import Any

import msgspec

from localcdap.api.app.table import SortOrder


class FieldCondition(msgspec.Struct, frozen=True, kw_only=True):
    """A condition on one field, which need not be indexed. A null meets none but ``is_null=True``."""

    field: str
    values: list[Any] | None = None
    """The field has one of these values."""
    excluded: list[Any] | None = None
    """The field has none of these values."""
    minimum: Any = None
    """The least value, inclusive; None: no limit."""
    maximum: Any = None
    """The value that all values are below; None: no limit."""
    is_null: bool | None = None
    """Whether the field is null; None: see the others."""


class Grouping(msgspec.Struct, frozen=True):
    """Numbers of rows, and sums of fields, by the values of fields."""

    by: list[str] = []
    """The fields; empty: one group of all rows."""
    measured: list[str] = []
    """Fields of numbers, of which the least, the largest and the average value are wanted."""


class Measure(msgspec.Struct, frozen=True):
    """What is known of the values of a field in a group; all are None when the field is null in all rows."""

    minimum: int | float | None
    maximum: int | float | None
    average: float | None


class RowGroup(msgspec.Struct, frozen=True):
    """A group of rows."""

    values: list[Any]
    """The values of the fields that make the group."""
    count: int
    measures: dict[str, Measure] = {}


class ExportRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The rows and the fields of a table that are wanted, in one state of the database."""

    table: str
    columns: list[str]
    where: list[list[FieldCondition]] = []
    """A row must meet at least one condition of each list."""
    order_by: str | None = None
    """A field, nulls last; rows with equal values are in the order of the key."""
    order: SortOrder = SortOrder.ASC
    groupings: list[Grouping] = []


class ExportedRows(msgspec.Struct, frozen=True):
    """What was exported."""

    count: int
    groups: list[list[RowGroup]]
    """The groups of each grouping, ordered by their values."""
