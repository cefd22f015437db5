"""A part of the rows of a workspace as a screen asks for it and shows it."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import msgspec

from localcdap.api import Schema
from localcdap.expectations.rules import Expectation
from localcdap.files.formats import FileFormat
from localcdap.plugin_lib.wrangler.language import RecipeProblem
from localcdap.plugin_lib.wrangler.workspaces.engine import StepCounts
from localcdap.plugin_lib.wrangler.workspaces.facets import Facet, FacetView
from localcdap.plugin_lib.wrangler.workspaces.profiles import (
    ValueSummary,
    describe_type,
    find_summary,
    format_shown_value,
    summarize_column,
)
from localcdap.plugin_lib.wrangler.workspaces.rules import RuleCheck
from localcdap.plugin_lib.wrangler.workspaces.tables import ColumnTable


class ViewRequest(msgspec.Struct, frozen=True):
    """Which rows and columns are shown."""

    step: int | None = None
    """The rows after which step, from 1; 0 for the sample, None for the last one."""
    offset: int = 0
    limit: int = 100
    sort: str | None = None
    """The column by which the rows are sorted; null values come last."""
    is_descending: bool = False
    first_column: int = 0
    most_columns: int = 300
    profiles: list[str] | None = None
    """The columns with profiles; None for all that are shown."""
    nearest: int = 0
    """The place of the column, among those that are shown, from which on profiles are made."""
    profile_seconds: float | None = None
    """How long the profiles may take; later ones have to wait for another call. None for all at once."""
    seconds: float = 5.0
    """How long the steps may take; the rest has to wait for another call."""
    facets: list[Facet] = []
    """Keep some of the rows, and count them."""
    compares: bool = False
    """Whether the rows before the step are shown, too."""
    rules: list[Expectation] = []
    """Rules for the rows after all steps."""


class ColumnView(msgspec.Struct):
    """A column as its header shows it."""

    name: str
    type: str
    profile: ValueSummary | None = None


class FailureView(msgspec.Struct):
    """A record that is left out."""

    step: int
    """The number of the directive, from 1."""
    record: int
    """The number of the record in the sample, from 1."""
    message: str
    is_sent: bool
    values: dict[str, str | None]
    """The record as it came."""


class RowChange(msgspec.Struct):
    """What a step did to a row."""

    kind: str
    """same, changed, dropped, or new."""
    before: list[tuple[int, str | None]] = []
    """The values that the step has changed, each with the place of its column."""


class WorkspaceView(msgspec.Struct):
    """A part of the rows of a workspace."""

    is_open: bool = True
    """Whether the workspace is open; the process that had it may be lost, and then nothing else counts."""
    is_complete: bool = True
    """Whether all known steps ran, and all profiles are there; another call goes on."""
    share: float = 1.0
    """How much of the recipe ran."""
    head_count: int | None = None
    """The rows are those of so many first records, while the recipe runs on the others; None for all."""
    has_rows: bool = True
    """Whether the recipe came far enough to show rows."""
    columns: list[ColumnView] = []
    """At most :attr:`ViewRequest.most_columns`."""
    column_count: int = 0
    rows: list[list[str | None]] = []
    row_count: int = 0
    """Of all rows after the step."""
    record_count: int = 0
    """Of the sample."""
    total_count: int | None = None
    """Of the data from which the sample comes; None when it is not known."""
    format: FileFormat | None = None
    """How the file was read; None for records."""
    description: str = ""
    """What the caller said of its records, as :attr:`SampleSource.description` and ``reading``."""
    reading: dict[str, str] = {}
    schema: Schema | None = None
    """Of the rows after the step; None without columns."""
    steps: list[StepCounts] = []
    problems: list[RecipeProblem] = []
    failures: list[FailureView] = []
    """At most 200."""
    unreadable: list[str] = []
    """Why records of the source are not in the sample."""
    facets: list[FacetView] = []
    kept_count: int | None = None
    """The rows that the facets keep; None without a chosen bin."""
    facet_kinds: dict[str, list[str]] = {}
    """The kinds of facets of each column that is shown."""
    checks: list[RuleCheck] = []
    """What was found for each rule; empty before all steps ran."""
    changes: list[RowChange] = []
    """For each row of a comparison, what the step did to it; ``rows`` has the rows before it, too."""


def describe_columns(
    table: ColumnTable, schema: Schema | None, request: ViewRequest
) -> list[ColumnView]:
    """Return the columns that are shown, those with profiles for which the time suffices."""
    shown = list(schema or ())[choose_columns(request)]
    seconds = request.profile_seconds
    until = math.inf if seconds is None else time.monotonic() + seconds
    found: dict[str, ValueSummary | None] = {}
    is_first = True
    for field in [*shown[request.nearest :], *shown[: request.nearest]]:
        if request.profiles is not None and field.name not in request.profiles:
            continue
        column = table.columns[field.name]
        summary = find_summary(column, field.name)
        if summary is None and (is_first or time.monotonic() < until):
            summary = summarize_column(column, field.name)
            is_first = False
        found[field.name] = summary
    return [
        ColumnView(each.name, describe_type(each.schema), found.get(each.name)) for each in shown
    ]


def choose_columns(request: ViewRequest) -> slice:
    """Return which columns are shown."""
    first = max(0, request.first_column)
    return slice(first, first + max(0, request.most_columns))


def show_rows(
    table: ColumnTable, request: ViewRequest, kept: Sequence[int] | None
) -> list[list[str | None]]:
    """Return the cells of the rows that are shown.

    :param kept: the indices of the rows that facets keep; None for all.
    """
    order: Sequence[int] = range(len(table)) if kept is None else kept
    if request.sort in table.columns:
        order = _sort(table, request.sort, is_descending=request.is_descending)
        if kept is not None:
            wanted = set(kept)
            order = [each for each in order if each in wanted]
    shown = order[max(0, request.offset) :][: max(0, request.limit)]
    columns = [column.values for column in list(table.columns.values())[choose_columns(request)]]
    return [[format_shown_value(values[index]) for values in columns] for index in shown]


def _sort(table: ColumnTable, name: str, *, is_descending: bool) -> list[int]:
    import pyarrow as pa
    import pyarrow.compute as pc

    array = table.columns[name].array
    if pa.types.is_nested(array.type):
        array = pa.array(
            [format_shown_value(each) for each in table.columns[name].values], pa.string()
        )
    order = "descending" if is_descending else "ascending"
    found: list[int] = pc.sort_indices(array, sort_keys=[("", order)]).to_pylist()
    return found
