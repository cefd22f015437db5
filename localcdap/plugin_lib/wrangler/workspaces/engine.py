"""The engine of a workspace: a sample, and the rows after each step of its recipe.

A change of step k runs the directives from k on; what the steps before it made is kept. When the kept rows
take too much memory, those of the oldest steps are given up, and made again when a change needs them.

A watch on directives: one that hangs at a row is ended before its process would be.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any, Final

import msgspec

from localcdap.api import Schema
from localcdap.api.directive import Directive
from localcdap.api.directive.rows import Columns, RowContext
from localcdap.api.garbage_collection import pause_collection
from localcdap.api.schema import Field
from localcdap.plugin_lib.wrangler.recipe.batch import make_failure, make_row_context
from localcdap.plugin_lib.wrangler.recipe.builder import BuiltRecipe, RecipeStep
from localcdap.plugin_lib.wrangler.recipe.propagation import propagate
from localcdap.plugin_lib.wrangler.recipe.spark_frame import SENT
from localcdap.plugin_lib.wrangler.workspaces.steps import (
    StepFailure,
    StepResult,
    StepStoppedError,
    run_gradually,
    run_step,
)
from localcdap.plugin_lib.wrangler.workspaces.tables import (
    Column,
    ColumnTable,
    SampleTables,
)
from localcdap.workspace_views import StepCounts

LIMIT_S: Final = 4.0
"""Seconds that a few rows may take. Processes of plugins are ended after ten, see ``plugin.time_limit_s``."""
_TICK_S: Final = 0.5
_BUSY: Final = 0.5
"""The share of that time in which the process must have run; else it may take twice as long."""


class StuckError(BaseException):
    """A directive has not come further for long. No directive may take it for a failure of its row."""


@contextlib.contextmanager
def watch(get_place: Callable[[], object], limit_s: float = LIMIT_S) -> Iterator[None]:
    """Raise :class:`StuckError` in the code below when the place stays the same for so long.

    On a machine that has other work, twice as long.

    Only the main thread can be watched; elsewhere, and in code that returns to no line of Python, nothing
    happens.

    :param get_place: returns where the work is.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    last, since, used = get_place(), time.monotonic(), time.process_time()

    def look(_signal: int, _frame: FrameType | None) -> None:
        nonlocal last, since, used
        place, now = get_place(), time.monotonic()
        if place != last:
            last, since, used = place, now, time.process_time()
            return
        is_busy = time.process_time() - used >= _BUSY * limit_s
        if now - since >= limit_s * (1 if is_busy else 2):
            raise StuckError

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _TICK_S, _TICK_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


MEMORY: Final = 512 * 2**20
"""Bytes that the kept steps of a workspace may take."""


_START_TIME: Final = "logical.start.time"
"""The argument that is another one in each call; no directive reads it."""


class _KeptStep(msgspec.Struct):
    counts: StepCounts
    failures: tuple[StepFailure, ...]
    table: ColumnTable | None
    """None when the rows were given up."""


class _LastStep(msgspec.Struct, frozen=True):
    """The last step of a recipe, without the records that no record of the output can be made of."""

    step: _KeptStep
    counts: StepCounts
    failures: tuple[StepFailure, ...]
    table: ColumnTable


class _RunningStep:
    """The step after the kept ones, as far as it has come.

    :param number: from 0.
    """

    def __init__(
        self,
        number: int,
        step: RecipeStep,
        directive: Directive,
        before: ColumnTable,
        context: RowContext,
    ) -> None:
        self.number: Final = number
        self.source: Final = step.call.source
        self.rows_in: Final = len(before)
        self.done = 0
        """The rows that are done."""
        self.stopped = ""
        """Why the step will not come to its end, as a sentence; "" while it may."""
        self._rows: Final[Generator[int, None, StepResult]] = run_gradually(
            directive, before, context
        )

    def work(self, until: float) -> StepResult | None:
        """Go on until a time; return the result when there is one."""
        try:
            with pause_collection(), watch(lambda: self.done, LIMIT_S):
                while True:
                    self.done = next(self._rows)
                    if time.monotonic() > until:
                        return None
        except StopIteration as end:
            result: StepResult = end.value
            return result
        except StuckError:
            where = f"row {self.done + 1:,} or just after it"
            self.stopped = f"'{self.source}' takes more than {LIMIT_S:g} s at {where}"
        except StepStoppedError as error:
            self.stopped = f"'{self.source}' {error} of {self.rows_in:,}"
        return None


class WorkspaceEngine:
    """A sample, and a recipe on it. One thread uses it at a time.

    :param columns: of the sample, as far as they are known.
    :param tables: those that directives look into; it has all that a recipe names before this runs.
    :param memory: bytes that kept steps may take; those of the newest step and of the sample are always kept.
    """

    def __init__(
        self,
        rows: Sequence[Mapping[str, Any]],
        columns: Columns,
        memory: int = MEMORY,
        tables: SampleTables | None = None,
    ) -> None:
        self._tables: Final = tables or SampleTables()
        columns = columns.copy()
        columns.find_table = self._tables.find_shape
        self.sample: Final = _add_known(ColumnTable.from_rows(rows), columns)
        self._columns = columns
        self._memory = memory
        self._steps: list[_KeptStep] = []
        self._running: _RunningStep | None = None
        self._last: _LastStep | None = None
        self._arguments: dict[str, str] = {}
        self._count = 0
        """Of the steps that are known."""
        self._directives: Sequence[Directive] = ()
        self._known: Sequence[Columns] = (columns,)
        """What is known of the columns of the sample and after each step."""

    def use_arguments(self, arguments: Mapping[str, str]) -> None:
        """Give directives the arguments of a run. All steps run again with other ones than before."""
        wanted = {name: each for name, each in arguments.items() if name != _START_TIME}
        if wanted != self._arguments:
            self._arguments = wanted
            self._steps, self._running = [], None

    def _make_context(self) -> RowContext:
        return make_row_context(self._arguments, lookups=self._tables.lookups)

    @property
    def counts(self) -> list[StepCounts]:
        """The counts of the steps that ran."""
        last = self._find_last()
        counts = [each.counts for each in self._steps]
        return counts if last is None else [*counts[:-1], last.counts]

    @property
    def failures(self) -> list[tuple[int, StepFailure]]:
        """The records that are left out, each with the number of the step, from 1."""
        found = [
            (number, each) for number, step in enumerate(self._steps, 1) for each in step.failures
        ]
        last = self._find_last()
        return found if last is None else [*found, *((len(self._steps), e) for e in last.failures)]

    @property
    def share(self) -> float:
        """How much of the recipe has run, from 0 to 1."""
        running = self._running
        done = len(self._steps)
        part = running.done / max(1, running.rows_in) if running is not None else 0.0
        return min(1.0, (done + part) / max(1, self._count))

    @property
    def stopped(self) -> tuple[int, str] | None:
        """The number from 0 of the step that cannot be run to its end, and why; None without any."""
        running = self._running
        return (running.number, running.stopped) if running and running.stopped else None

    def run(self, recipe: BuiltRecipe, seconds: float = 5.0) -> bool:
        """Make the rows after each step that is known, as far as the time suffices.

        :returns: whether all known steps ran, or one of them cannot. A later call goes on.
        """
        until = time.monotonic() + seconds
        steps = _list_known(recipe)
        self._keep_same(steps)
        found = propagate(steps, self._columns)
        self._directives = found.directives
        self._known = [*found.before, found.after]
        self._count = len(steps)
        is_first = True
        while len(self._steps) < len(steps):
            if not is_first and time.monotonic() > until:
                return False
            is_first = False
            if not self._work(steps, until):
                return self.stopped is not None
        return True

    def _keep_same(self, steps: Sequence[RecipeStep]) -> None:
        """Keep what other steps do not change, also the rows of the one that runs."""
        same = 0
        for kept, step in zip(self._steps, steps, strict=False):
            if kept.counts.directive != step.call.source:
                break
            same += 1
        del self._steps[same:]
        running = self._running
        if running is not None and (
            running.number != same
            or same >= len(steps)
            or running.source != steps[same].call.source
        ):
            self._running = None

    def _work(self, steps: Sequence[RecipeStep], until: float) -> bool:
        """Go on with the next step; return whether it is done."""
        number = len(self._steps)
        running = self._running
        if running is None:
            before = self._require_table(number, self._directives)
            running = _RunningStep(
                number, steps[number], self._directives[number], before, self._make_context()
            )
            self._running = running
        result = None if running.stopped else running.work(until)
        if result is None:
            return False
        self._running = None
        sent = sum(each.failure.kind == SENT for each in result.failures)
        counts = StepCounts(
            running.source, running.rows_in, len(result.table), len(result.failures) - sent, sent
        )
        table = _add_known(result.table, self._known[number + 1])
        self._steps.append(_KeptStep(counts, result.failures, table))
        self._give_up()
        return True

    def find_schema(self, step: int | None = None) -> Schema | None:
        """Return the schema of the rows after a step, see :meth:`get_table`; None without columns.

        Types that the directives know are used; the others are those of the values.
        """
        number = len(self._steps) if step is None else max(0, min(step, len(self._steps)))
        known, table = self._known[number], self.get_table(step)
        fields = [
            (name, known.schema(name) or column.schema) for name, column in table.columns.items()
        ]
        return Schema.record("etlSchemaBody", fields) if fields else None

    def get_table(self, step: int | None = None) -> ColumnTable:
        """Return the rows after a step.

        :param step: the number of the step, from 1; 0 for the sample; None for the last one.
        """
        number = len(self._steps) if step is None else min(step, len(self._steps))
        last = self._find_last() if number == len(self._steps) else None
        return (
            last.table
            if last is not None
            else self._require_table(max(0, number), self._directives)
        )

    def _find_last(self) -> _LastStep | None:
        """Return the last step if records of its rows fail, since their values are not of the columns' types.

        So they do in a run, which converts them (wrangler ``RecordConvertor``). None if there are none, and
        while steps run.
        """
        step = self._steps[-1] if self._steps else None
        if step is None or step.table is None or len(self._steps) < self._count:
            return None
        if self._last is None or self._last.step is not step:
            self._last = self._refuse_unfit(step, step.table)
        return self._last if self._last.failures else None

    def _refuse_unfit(self, step: _KeptStep, table: ColumnTable) -> _LastStep:
        known, unfit = self._known[-1], dict[int, str]()
        for name, column in table.columns.items():
            schema = known.schema(name)
            for index, message in (
                () if schema is None else column.find_unfit(Field(name, schema)).items()
            ):
                unfit.setdefault(table.origins[index], message)
        if not unfit:
            return _LastStep(step, step.counts, (), table)
        failures = tuple(StepFailure(each, make_failure(unfit[each])) for each in sorted(unfit))
        kept, counts = table.without(unfit), step.counts
        counts = msgspec.structs.replace(
            counts, rows_out=len(kept), failed=counts.failed + len(failures)
        )
        return _LastStep(step, counts, failures, kept)

    def _require_table(self, number: int, directives: Sequence[Directive]) -> ColumnTable:
        """Return the rows after so many steps; those that were given up are made again."""
        first = number
        while first and self._steps[first - 1].table is None:
            first -= 1
        table = self._steps[first - 1].table if first else self.sample
        assert table is not None
        for index in range(first, number):
            made = run_step(directives[index], table, self._make_context()).table
            table = _add_known(made, self._known[index + 1])
        if number:
            self._steps[number - 1].table = table
        return table

    def _give_up(self) -> None:
        """Give up the rows of the oldest steps while all take too much memory."""
        while self._measure() > self._memory:
            kept = [each for each in self._steps[:-1] if each.table is not None]
            if not kept:
                return
            kept[0].table = None

    def _measure(self) -> int:
        seen: set[int] = set()
        tables = (each.table for each in self._steps if each.table is not None)
        return sum(table.measure(seen) for table in (self.sample, *tables))


def _add_known(table: ColumnTable, known: Columns) -> ColumnTable:
    """Return a table with the columns that are known if there are no rows, which would have columns."""
    if len(table):
        return table
    columns = {name: Column([], is_full=True) for name, _ in known.items()}
    return ColumnTable(columns, table.origins, table.variables)


def _list_known(recipe: BuiltRecipe) -> list[RecipeStep]:
    """Return the steps before the first one that is wrong, or whose macros have no values."""
    steps: list[RecipeStep] = []
    for step in recipe.known_steps:
        if step.directive is None:
            break
        steps.append(step)
    return steps
