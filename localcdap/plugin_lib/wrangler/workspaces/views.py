"""A part of the rows of a workspace as a screen shows it, with the counts of the steps and the problems."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from localcdap.api import Schema
from localcdap.api.directive.rows import Columns
from localcdap.api.errors import BadRequestError
from localcdap.api.record_json import decode_json_records
from localcdap.plugin_lib.wrangler.files.formats import (
    FileFormat,
    FileInput,
    detect_format,
    find_first_directive,
)
from localcdap.plugin_lib.wrangler.files.readers import RowReader, UnreadableRow
from localcdap.plugin_lib.wrangler.language import RecipeProblem
from localcdap.plugin_lib.wrangler.recipe.builder import BuiltRecipe
from localcdap.plugin_lib.wrangler.recipe.propagation import propagate, to_columns
from localcdap.plugin_lib.wrangler.recipe.spark_frame import SENT
from localcdap.plugin_lib.wrangler.values.clusters import METHODS, find_clusters
from localcdap.plugin_lib.wrangler.workspaces.engine import StepCounts, WorkspaceEngine
from localcdap.plugin_lib.wrangler.workspaces.profiles import (
    ValueCount,
    ValueSummary,
    describe_type,
    format_value,
    summarize_column,
)
from localcdap.plugin_lib.wrangler.workspaces.tables import ColumnTable

_MOST_FAILURES: Final = 200
_MOST_RECORDS: Final = 100_000
_MOST_CLUSTERS: Final = 200


class SampleSource(msgspec.Struct):
    """Where the records of a sample come from: a file, or records that the caller has."""

    file: FileInput | None = None
    schema: Schema | None = None
    records: list[Any] = []
    """As JSON, see :mod:`localcdap.api.record_json`."""
    total: int | None = None
    """Of how many records these are a sample; None when that is not known."""
    limit: int = 1000
    seed: int | None = None
    """Takes random records of the whole file; None takes the first ones."""


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


class WorkspaceView(msgspec.Struct):
    """A part of the rows of a workspace."""

    is_open: bool = True
    """Whether the workspace is open; the process that had it may be lost, and then nothing else counts."""
    is_complete: bool = True
    """Whether all known steps ran; another call goes on."""
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
    schema: Schema | None = None
    """Of the rows after the step; None without columns."""
    steps: list[StepCounts] = []
    problems: list[RecipeProblem] = []
    failures: list[FailureView] = []
    """At most 200."""
    unreadable: list[str] = []
    """Why records of the source are not in the sample."""


class ValueCluster(msgspec.Struct):
    """Values that are probably meant to be the same."""

    values: list[ValueCount]
    """The most frequent one first."""


class ClusterView(msgspec.Struct):
    """The clusters of the values of a column, those of most rows first."""

    is_open: bool = True
    is_complete: bool = True
    clusters: list[ValueCluster] = []


class Workspace:
    """An open workspace.

    :raises BadRequestError: when the source cannot be read.
    :raises StageError: when a file cannot be read.
    """

    def __init__(self, source: SampleSource, first: tuple[str, bool] | None = None) -> None:
        self._unreadable: list[str] = []
        self._format: FileFormat | None = None
        self._total = source.total
        if source.file is not None:
            rows, columns = self._read_file(source, source.file, first)
        elif source.schema is not None:
            rows = decode_json_records(source.schema, source.records, "records")
            columns = to_columns(source.schema)
        else:
            raise BadRequestError("A sample needs a file, or records with their schema.")
        self._columns = columns
        self._engine = WorkspaceEngine(rows, columns)

    def view(self, recipe: BuiltRecipe, request: ViewRequest) -> WorkspaceView:
        """Run what has changed of a recipe, and return a part of the rows."""
        is_complete = self._engine.run(recipe)
        problems = list(recipe.problems)
        if not recipe.errors:
            problems += propagate(recipe.steps, self._columns).problems
        table = self._engine.get_table(request.step)
        schema = self._engine.find_schema(request.step)
        return WorkspaceView(
            is_complete=is_complete,
            columns=_describe_columns(table, schema, request),
            column_count=len(table.columns),
            rows=_show_rows(table, request),
            row_count=len(table),
            record_count=len(self._engine.sample),
            total_count=self._total,
            format=self._format,
            schema=schema,
            steps=self._engine.counts,
            problems=problems,
            failures=self._show_failures(),
            unreadable=self._unreadable,
        )

    def cluster(self, recipe: BuiltRecipe, column: str, method: str) -> list[ValueCluster] | None:
        """Return the clusters of the texts of a column after a recipe; None while the recipe takes longer.

        :raises BadRequestError: when there is no such column, or no such method.
        """
        if method not in METHODS:
            raise BadRequestError(
                f"The method '{method}' is unknown.", f"Choose one of: {', '.join(METHODS)}."
            )
        if not self._engine.run(recipe):
            return None
        found = self._engine.get_table().columns.get(column)
        if found is None:
            raise BadRequestError(f"The rows have no column '{column}'.", "Choose another one.")
        counts = Counter(each for each in found.values if isinstance(each, str))
        return [
            ValueCluster([ValueCount(value, counts[value]) for value in cluster])
            for cluster in find_clusters(counts, method)[:_MOST_CLUSTERS]
        ]

    def _read_file(
        self, source: SampleSource, file: FileInput, first: tuple[str, bool] | None
    ) -> tuple[list[dict[str, Any]], Columns]:
        limit = min(source.limit, _MOST_RECORDS)
        format = detect_format(file, first)
        reader = RowReader(file, format)
        rows: list[dict[str, Any]] = []
        count = 0
        chance = None if source.seed is None else random.Random(source.seed)  # noqa: S311
        for item in reader:
            if isinstance(item, UnreadableRow):
                self._unreadable.append(item.message)
                continue
            count += 1
            if len(rows) < limit:
                rows.append(item)
            elif chance is None:
                break
            elif (place := chance.randrange(count)) < limit:
                rows[place] = item  # reservoir sampling: each record has the same chance
        else:
            self._total = count
        reader.close()
        self._format = format
        return rows, to_columns(reader.schema) if reader.schema else Columns(open=True)

    def _show_failures(self) -> list[FailureView]:
        columns = self._engine.sample.columns
        return [
            FailureView(
                step,
                each.record + 1,
                each.failure.message,
                each.failure.kind == SENT,
                {name: format_value(c.values[each.record]) for name, c in columns.items()},
            )
            for step, each in itertools.islice(self._engine.failures, _MOST_FAILURES)
        ]


def _describe_columns(
    table: ColumnTable, schema: Schema | None, request: ViewRequest
) -> list[ColumnView]:
    profiles = request.profiles
    shown = list(schema or ())[_choose_columns(request)]
    return [
        ColumnView(
            field.name,
            describe_type(field.schema),
            summarize_column(table.columns[field.name], field.name)
            if profiles is None or field.name in profiles
            else None,
        )
        for field in shown
    ]


def _choose_columns(request: ViewRequest) -> slice:
    first = max(0, request.first_column)
    return slice(first, first + max(0, request.most_columns))


def _show_rows(table: ColumnTable, request: ViewRequest) -> list[list[str | None]]:
    order: Sequence[int] = range(len(table))
    if request.sort in table.columns:
        order = _sort(table, request.sort, is_descending=request.is_descending)
    shown = order[max(0, request.offset) :][: max(0, request.limit)]
    columns = [column.values for column in list(table.columns.values())[_choose_columns(request)]]
    return [[format_value(values[index]) for values in columns] for index in shown]


def _sort(table: ColumnTable, name: str, *, is_descending: bool) -> list[int]:
    import pyarrow as pa
    import pyarrow.compute as pc

    array = table.columns[name].array
    if pa.types.is_nested(array.type):
        array = pa.array([format_value(each) for each in table.columns[name].values], pa.string())
    order = "descending" if is_descending else "ascending"
    found: list[int] = pc.sort_indices(array, sort_keys=[("", order)]).to_pylist()
    return found


_OPEN: Final[dict[str, Workspace]] = {}
"""The workspaces of this process, by the names that callers chose."""
_MOST_OPEN: Final = 4


def open_workspace(name: str, source: SampleSource, recipe: BuiltRecipe) -> None:
    """Open a workspace, also one that is open. The one that was opened first is closed beyond some."""
    _OPEN.pop(name, None)
    _OPEN[name] = Workspace(source, find_first_directive(recipe))
    while len(_OPEN) > _MOST_OPEN:
        del _OPEN[next(iter(_OPEN))]


def view_workspace(name: str, recipe: BuiltRecipe, request: ViewRequest) -> WorkspaceView:
    """Return a part of the rows of a workspace, which may not be open any more."""
    workspace = _OPEN.get(name)
    return WorkspaceView(is_open=False) if workspace is None else workspace.view(recipe, request)


def cluster_values(name: str, recipe: BuiltRecipe, column: str, method: str) -> ClusterView:
    """Return the clusters of the values of a column of a workspace, which may not be open any more."""
    workspace = _OPEN.get(name)
    if workspace is None:
        return ClusterView(is_open=False)
    found = workspace.cluster(recipe, column, method)
    return ClusterView(is_complete=False) if found is None else ClusterView(clusters=found)
