"""One directive on the rows of a workspace, by column.

A directive gets rows with the columns that its arguments name, and a mark behind them. What it makes of these
rows says what becomes of all columns: the others stay as they are, or follow their rows where a directive
drops or repeats rows. Columns before the mark stay in place, those behind it are appended. A row without the
mark is a new one, which has nothing of the other columns. The results are those of
:class:`~localcdap.plugin_lib.wrangler.recipe.batch.RecipeExecutor`.

Both give the same columns as rows would, many times faster.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

import msgspec

from localcdap.api.directive import Directive
from localcdap.api.directive.rows import Row, RowContext
from localcdap.api.garbage_collection import pause_collection
from localcdap.plugin_lib.wrangler.directives.cases import FillNullOrEmpty
from localcdap.plugin_lib.wrangler.directives.columns import (
    Copy,
    Drop,
    Keep,
    Rename,
    RenameDirective,
    SetHeaders,
    Swap,
)
from localcdap.plugin_lib.wrangler.directives.digests import Hash
from localcdap.plugin_lib.wrangler.directives.masks import FindAndReplace, MaskNumber
from localcdap.plugin_lib.wrangler.recipe.base_directives import ColumnMap
from localcdap.plugin_lib.wrangler.recipe.batch import (
    RowFailure,
    describe_failure,
    find_calls,
    make_row_context,
)
from localcdap.plugin_lib.wrangler.recipe.propagation import list_named_columns
from localcdap.plugin_lib.wrangler.recipe.registry import load_shipped_directives
from localcdap.plugin_lib.wrangler.workspaces.tables import (
    Column,
    ColumnTable,
    make_columns,
)

_NAMING: Final = (Copy, Drop, Keep, Rename, RenameDirective, SetHeaders, Swap)
"""The directives that look at no value. Each changes a row of columns as it changes a row of values."""

_MAPS_UNLESS_MISSING: Final = (FillNullOrEmpty, Hash, MaskNumber)
"""The directives that do something else only where the column is missing."""
_FORM_CHUNK: Final = 16
"""Values between two looks at the clock: a regular expression may take its time limit of 2 s for each."""


def run_on_columns(
    directive: Directive, table: ColumnTable
) -> Generator[int, None, ColumnTable | None]:
    """Return the rows after a directive; None when rows must be made for it.

    So it is where a row fails, or lacks one of the columns: what then happens differs from row to row.
    Yields from time to time how many rows are done.
    """
    if isinstance(directive, _NAMING):
        return _rename_columns(directive, table)
    mapped = copy.copy(directive)
    change = _find_map(mapped)
    if change is None:
        return None
    return (yield from _map_column(change[0], change[1], mapped, table))


def _rename_columns(directive: Directive, table: ColumnTable) -> ColumnTable | None:
    if not len(table) or any(column.has_missing for column in table.columns.values()):
        return None
    row = Row(table.columns)
    try:
        directive.change(row, make_row_context())
    except Exception:
        return None  # each row fails
    return ColumnTable(row, table.origins, table.variables)


def _find_map(directive: Directive) -> tuple[str, Callable[[Any], Any]] | None:
    """Return the column whose values a directive maps, and how; None when it does something else."""
    cls = type(directive)
    if isinstance(directive, ColumnMap) and (
        cls.change is ColumnMap.change or cls in _MAPS_UNLESS_MISSING
    ):
        return directive.column, directive.map
    if isinstance(directive, FindAndReplace) and len(directive.column) == 1:
        return directive.column[0], directive.map
    return None


def _map_column(
    name: str, change: Callable[[Any], Any], directive: Directive, table: ColumnTable
) -> Generator[int, None, ColumnTable | None]:
    found = Row(table.columns).find(name)
    if found is None or table.columns[found].has_missing:
        return None
    column = table.columns[found]
    directive.start(make_row_context())
    values: list[Any] = []
    try:
        for start in range(0, len(table), _FORM_CHUNK):
            values += map(change, column.values[start : start + _FORM_CHUNK])
            yield len(values)
    except Exception:
        return None  # a row fails
    directive.end()
    made = column if column.is_same(values) else Column(values, is_full=True)
    return ColumnTable({**table.columns, found: made}, table.origins, table.variables)


_MARK: Final = "\0"
"""The name of the mark; no column of a recipe can have it."""
_CHUNK: Final = 4
"""Rows between two looks at the clock."""
MOST_ROWS: Final = 500_000
"""Rows after a step: a process that has more may take too much memory."""


class StepFailure(msgspec.Struct, frozen=True):
    """Why a record of the sample is not among the rows any more."""

    record: int
    """Its index in the sample, from 0."""
    failure: RowFailure


class StepStoppedError(Exception):
    """A directive is not run to its end; the message is a clause that says why."""


class StepResult(msgspec.Struct, frozen=True):
    """The rows after a directive."""

    table: ColumnTable
    failures: tuple[StepFailure, ...] = ()


def run_step(
    directive: Directive, table: ColumnTable, context: RowContext | None = None
) -> StepResult:
    """Run a directive on all rows; see :func:`run_gradually`.

    :raises StepStoppedError: when the rows become too many.
    """
    running = run_gradually(directive, table, context)
    with pause_collection():
        while True:
            try:
                next(running)
            except StopIteration as end:
                result: StepResult = end.value
                return result


def run_gradually(
    directive: Directive, table: ColumnTable, context: RowContext | None = None
) -> Generator[int, None, StepResult]:
    """Run a directive on all rows; yields after every few of them how many are done.

    :param context: what the directive gets with each row; None: neither arguments nor tables.
    :param directive: as :func:`~localcdap.plugin_lib.wrangler.recipe.propagation.propagate` has left it; it
        stays as it is.
    :raises StepStoppedError: when the rows become too many.
    """
    context = context or make_row_context()
    by_column = yield from run_on_columns(directive, table)
    if by_column is not None:
        return StepResult(by_column)
    used = _list_used(directive, table)
    while used is not None:
        run = _Run(directive, table, used, has_mark=True)
        yield from run.call(context)
        more = run.find_touched()
        if more is None:
            return run.finish()
        used = None if not more else used + more
    run = _Run(directive, table, list(table.columns), has_mark=False)
    yield from run.call(context)
    return run.finish()


def _list_used(directive: Directive, table: ColumnTable) -> list[str] | None:
    """Return the columns that a directive names; None when it may use any, as those of users do."""
    name = directive.directive_name()
    shipped = load_shipped_directives()
    named = list_named_columns(directive)
    if named is None or name not in shipped or not isinstance(directive, shipped[name]):
        return None
    lower = {each.lower() for each in named}
    return [name for name in table.columns if name.lower() in lower]


class _Run:
    """A directive on rows with some of the columns.

    :param has_mark: whether the rows have the mark; without it, they have all columns.
    """

    def __init__(
        self, directive: Directive, table: ColumnTable, used: Sequence[str], *, has_mark: bool
    ) -> None:
        self._table = table
        self._used = list(used)
        self._has_mark = has_mark
        self._rows: list[Row] = []
        self._index: list[int] = []
        """For each row, that of the table from which it comes."""
        self._failures: dict[int, RowFailure] = {}
        """By the index of the record."""
        self._variables = table.variables
        self._directive: Final = copy.copy(directive)
        self._made: dict[str, Column] = {}
        self._names: list[str] = []

    def call(self, context: RowContext) -> Iterator[int]:
        """Call the directive for all rows."""
        directive = self._directive
        directive.start(context)
        given = self._table.make_rows(self._used, *([(_MARK, None)] if self._has_mark else []))
        sets = any(directive.sets_variables())
        has_variables = sets or self._variables is not None
        after = self._copy_variables() if sets else self._variables or {}
        for start in range(0, len(given), _CHUNK):
            part = given[start : start + _CHUNK]
            if has_variables:
                self._call_with_variables(directive, part, start, context, after, sets=sets)
            else:
                self._call_plainly(directive, part, start, context)
            if len(self._rows) > max(MOST_ROWS, len(given)):
                raise StepStoppedError(f"makes more than {MOST_ROWS:,} rows")
            yield start + len(part)
        if has_variables:
            self._variables = after
        directive.end()
        self._drop_failed()
        self._made = make_columns(self._rows)
        self._names = list(self._made)

    def _copy_variables(self) -> dict[int, dict[str, Any]]:
        return {record: dict(each) for record, each in (self._variables or {}).items()}

    def _call_plainly(
        self, directive: Directive, given: Sequence[Row], start: int, context: RowContext
    ) -> None:
        name, change, expand = find_calls(directive)
        rows, index = self._rows, self._index
        for position, row in enumerate(given, start):
            try:
                if change is not None:
                    change(row, context)
                    rows.append(row)
                    index.append(position)
                else:
                    made = list(islice(expand(row, context), MOST_ROWS + 1))
                    rows += made
                    index += [position] * len(made)
            except (Exception, SystemExit) as error:
                self._fail(position, error, name)

    def _call_with_variables(
        self,
        directive: Directive,
        given: Sequence[Row],
        start: int,
        context: RowContext,
        after: dict[int, dict[str, Any]],
        *,
        sets: bool,
    ) -> None:
        """Call the directive for rows with the transient variables of their records.

        :param after: the variables by record; ``sets``: whether the directive changes them.
        """
        name, _, expand = find_calls(directive)
        origins = self._table.origins
        for position, row in enumerate(given, start):
            variables = after.setdefault(origins[position], {})
            context.variables.clear()
            context.variables.update(variables)
            try:
                made = list(islice(expand(row, context), MOST_ROWS + 1))
            except (Exception, SystemExit) as error:
                self._fail(position, error, name)
                continue
            self._rows += made
            self._index += [position] * len(made)
            if sets:
                variables.update(context.variables)

    def _fail(self, position: int, error: BaseException, name: str) -> None:
        record = self._table.origins[position]
        self._failures.setdefault(record, describe_failure(error, name))

    def _drop_failed(self) -> None:
        """Drop the rows of records of which another row fails."""
        if not self._failures:
            return
        origins, failed = self._table.origins, self._failures
        kept = [n for n, position in enumerate(self._index) if origins[position] not in failed]
        if len(kept) == len(self._index):
            return
        self._rows = [self._rows[n] for n in kept]
        self._index = [self._index[n] for n in kept]

    def find_touched(self) -> list[str] | None:
        """Return the other columns of the table that the directive would have found; None without any.

        An empty list says that it needs all of them: it has made rows of its own.
        """
        if any(_MARK not in row for row in self._rows):
            return []
        made = {name.lower() for name in self._names if name != _MARK}
        used = set(self._used)
        touched = [n for n in self._table.columns if n not in used and n.lower() in made]
        return touched or None

    def finish(self) -> StepResult:
        """Return the result."""
        table, index = self._table, self._index
        is_same = len(index) == len(table) and index == list(range(len(table)))
        own = {name: self._make_column(name, is_same) for name in self._names if name != _MARK}
        columns: dict[str, Column] = {}
        for name in self._order():
            made = own.get(name)
            if made is None:
                column = table.columns[name]
                made = column if is_same else column.take(index)
            columns[name] = made
        origins = table.origins if is_same else [table.origins[each] for each in index]
        failures = (StepFailure(record, each) for record, each in self._failures.items())
        return StepResult(ColumnTable(columns, origins, self._variables), tuple(failures))

    def _make_column(self, name: str, is_same: bool) -> Column:
        made, before = self._made[name], self._table.columns.get(name)
        return before if is_same and before is not None and before.is_same(made.values) else made

    def _order(self) -> Iterable[str]:
        """Return the names of all columns in order."""
        names = self._names
        if not self._has_mark:
            return names
        if not self._rows:
            return [name for name in self._table.columns if name not in self._used] + names
        end = names.index(_MARK)
        first, appended = names[:end], names[end + 1 :]
        renamed = (
            dict(zip(self._used, first, strict=False)) if len(first) == len(self._used) else {}
        )
        order: dict[str, None] = {}
        for name in self._table.columns:
            if name not in self._used:
                order[name] = None
            elif renamed:
                order[renamed[name]] = None
            elif name in first:
                order[name] = None
        return [*order, *(each for each in [*first, *appended] if each not in order)]
