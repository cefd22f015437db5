"""A recipe applied to a file, in short steps, so that a caller sees progress and can stop between them."""

from __future__ import annotations

import contextlib
import pickle
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

from localcdap.api import Schema
from localcdap.api.directive import Directive, DirectiveError
from localcdap.api.directive.rows import Columns
from localcdap.api.errors import BadRequestError, SessionLostError
from localcdap.api.record_json import encode_json_record
from localcdap.expectations.results import RuleResult
from localcdap.files.delimited import UnreadableRow
from localcdap.files.formats import describe_format
from localcdap.files.rows import Item
from localcdap.files.writers import OutputFile
from localcdap.plugin_lib.wrangler.files.formats import (
    detect_recipe_format,
    find_first_directive,
    find_output_format,
)
from localcdap.plugin_lib.wrangler.files.spark_rows import (
    MadeRows,
    RowFinder,
    RowsFile,
    SparkWork,
    plan_work,
)
from localcdap.plugin_lib.wrangler.files.tasks import FileProgress, FileTask, RowProblem, StageRules
from localcdap.plugin_lib.wrangler.files.totals import OutputRules, TotalsCounter
from localcdap.plugin_lib.wrangler.recipe.batch import RecipeExecutor, RowFailure
from localcdap.plugin_lib.wrangler.recipe.builder import (
    ALL_FIELDS,
    BuiltRecipe,
    find_row_schema,
    select_row,
)
from localcdap.plugin_lib.wrangler.recipe.input import InputRows
from localcdap.plugin_lib.wrangler.recipe.output import OutputConverter
from localcdap.plugin_lib.wrangler.recipe.propagation import propagate, propose_schema, to_columns
from localcdap.plugin_lib.wrangler.recipe.registry import load_shipped_directives
from localcdap.plugin_lib.wrangler.recipe.samples import SchemaInference
from localcdap.plugin_lib.wrangler.recipe.spark_frame import SENT
from localcdap.plugin_lib.wrangler.workspaces.tables import SampleTables


class ErrorFile:
    """The file of rows that are left out; it is there only when the job is done."""

    def __init__(self, path: str | None) -> None:
        schema = Schema.record("error", [("row", Schema.LONG)])
        self._file = None if path is None else OutputFile(path, "json", schema)

    def add(self, problem: RowProblem, record: Any) -> None:
        """Append a row that is left out, and why."""
        if self._file is not None:
            shown = record if isinstance(record, str) else encode_json_record(record)
            line = {"row": problem.row, "message": problem.message, "code": problem.code}
            self._file.write([{**line, "record": shown}])

    def list_unfinished(self) -> list[str]:
        """See :meth:`.files.writers.OutputFile.list_unfinished`."""
        return [] if self._file is None else self._file.list_unfinished()

    def finish(self) -> None:
        """Give the file its name."""
        if self._file is not None:
            self._file.finish()
            self._file = None

    def discard(self) -> None:
        """Remove what is written, unless the file is finished."""
        if self._file is not None:
            self._file.discard()
            self._file = None


_CHUNK: Final = 2000
"""Rows between two looks at the clock."""
_READING: Final = "reading"
_WRITING: Final = "writing"
_MOST_PROBLEMS: Final = 10
"""Problems that an answer lists; all are counted, and written to the file of errors."""


class FileJob:
    """A recipe that is applied to a file. One thread uses it at a time.

    The types of the columns are those of all rows. Where directives know the columns before, rows are written
    at once; otherwise they wait in a temporary file until the last one is known.

    :raises BadRequestError: when the recipe has errors, or the formats are unknown.
    :raises StageError: when a file cannot be read or written.
    """

    def __init__(
        self,
        task: FileTask,
        recipe: BuiltRecipe,
        tables: SampleTables | None = None,
        stage: StageRules | None = None,
    ) -> None:
        self._task = task
        self._stage = stage = stage or StageRules()
        tables = tables or SampleTables()
        self._lookups = tables.lookups
        self._output_format = (
            "" if task.output is None else find_output_format(task.output, task.output_format)
        )
        format = detect_recipe_format(task.input, find_first_directive(recipe))
        _check_names(task)
        self._input = InputRows(task.input, format)
        self.progress = FileProgress(format=describe_format(self._input.format))
        self._find_shape = tables.find_shape
        self._errors = ErrorFile(task.errors)
        self._found: list[tuple[RowProblem, Any]] = []
        """Problems that are not reported yet."""
        self._until = 0.0
        """When the step ends; rows that wait for it are few, so that a slow directive does not keep it."""
        self._written = 0
        """The number of the last row of the input whose rows are written."""
        self._recipe = recipe
        self.progress.unfinished = self._errors.list_unfinished()
        self._steps = self._run()

    def work(self, seconds: float) -> FileProgress:
        """Continue for some seconds, and return how far the job is.

        :raises BadRequestError: when a row fails and is not to be left out, or the rows violate a rule with
            the action ``fail``; nothing is written then.
        :raises StageError: when a file cannot be read or written.
        """
        self._until = time.monotonic() + seconds
        try:
            while not self._is_waiting and time.monotonic() < self._until:
                next(self._steps, None)
        except BaseException:
            self.close()
            raise
        self.progress.share = 1.0 if self.progress.is_done else self._find_share()
        self.progress.replaced_bytes = self._input.replaced
        return self.progress

    def take_made_rows(self) -> None:
        """Go on after Spark has done what the job waits for."""
        self.progress.waits_for = None

    @property
    def _is_waiting(self) -> bool:
        return self.progress.is_done or self.progress.waits_for is not None

    def _find_share(self) -> float | None:
        if self.progress.phase == _WRITING:
            return self._written / max(1, self.progress.rows_in)
        return self._input.share

    def close(self) -> None:
        """End the job; what is not complete is removed."""
        self._steps.close()
        self._input.close()
        self._errors.discard()

    def _run(self) -> Generator[None]:
        yield from self._input.find_types()
        yield from self._apply(*self._propagate())

    def _propagate(self) -> tuple[Sequence[Directive], Columns]:
        """Return the directives, and the columns after them, for the rows of the input.

        :raises BadRequestError: when the recipe cannot run on such rows.
        """
        stage = self._stage
        row_schema = find_row_schema(stage.field, self._input.schema)
        if row_schema is not None and not row_schema.field_names:
            raise BadRequestError(
                f"The input has no column '{stage.field}', which the recipe gets.",
                "Change the property 'field' of the stage.",
            )
        columns = to_columns(row_schema, self._find_shape)
        found = propagate([*stage.precondition, *self._recipe.steps], columns)
        if found.errors:
            raise BadRequestError(
                "; ".join(each.text for each in found.errors), "Correct the recipe."
            )
        self.progress.warnings = [*self._input.warnings, *(each.text for each in found.problems)]
        return found.directives, found.after

    def _apply(self, directives: Sequence[Directive], after: Columns) -> Generator[None]:
        executor = RecipeExecutor(directives, self._stage.arguments, lookups=self._lookups)
        executor.start()
        known = self._stage.schema or propose_schema(after)
        if self._task.spark_folder is not None:
            reason = self._find_obstacle(known)
            if self._input.schema is not None and known is not None and not reason:
                yield from self._run_with_spark(executor, self._input.schema, known)
                return
            self._refuse_spark(reason)
        if known is not None:
            output = self._open_output(known)
            with output.file:
                for rows in self._make_rows(executor):
                    output.write(rows)
                    self._report_problems()
                    yield
                executor.end()
                self._finish(output)
            return
        inference = SchemaInference(after)
        with tempfile.TemporaryFile() as stream:
            for rows in self._make_rows(executor):
                inference.add([row for _, row in rows])
                pickle.dump(rows, stream, pickle.HIGHEST_PROTOCOL)
                self._report_problems()
                yield
            executor.end()
            stream.seek(0)
            schema = inference.find_schema()
            if schema is None:
                if not self.progress.rows_in:
                    raise BadRequestError(
                        "The input is empty: it has neither rows nor names of columns."
                    )
                raise BadRequestError(
                    "The result has no columns.",
                    "Look at the recipe, and at how the input is read.",
                )
            output = self._open_output(schema)
            with output.file:
                for rows in _load_rows(stream):
                    output.write(rows)
                    self._report_problems()
                    yield
                self._finish(output)

    def _find_obstacle(self, known: Schema | None) -> str:
        """Return why Spark cannot run the recipe, as a clause; "" when it can."""
        if self._input.schema is None or known is None:
            return "only the data tell the columns of the recipe"
        if self._stage.precondition or self._stage.field != ALL_FIELDS:
            return "its stage has a precondition, or gives it one field"
        return ""

    def _refuse_spark(self, obstacle: str) -> None:
        """Say why Spark does not run the recipe.

        :raises BadRequestError: when it has to.
        """
        reason = f"Spark cannot run the recipe: {obstacle}."
        if self._task.needs_spark:
            raise BadRequestError(reason, "Run it without Spark: --no-spark.")
        self.progress.warnings.append(f"{reason} It ran here.")

    def _run_with_spark(
        self, executor: RecipeExecutor, row_schema: Schema, known: Schema
    ) -> Generator[None]:
        """Store the rows, wait until Spark has made those of the result, and write these."""
        assert self._task.spark_folder is not None
        work = plan_work(
            self._task.spark_folder, row_schema, known, _list_user_directives(self._recipe)
        )
        output = self._open_output(known)
        with output.file:
            self.progress.phase = _READING
            unreadable: dict[int, UnreadableRow] = {}
            yield from self._store_rows(work, unreadable)
            self.progress.waits_for = work
            yield
            self.progress.phase = _WRITING
            made, finder = MadeRows(work), RowFinder(work)
            for each in made.merge(sorted([*unreadable, *made.list_failed()])):
                if isinstance(each, int):
                    item = unreadable.get(each) or finder.find(each)
                    self._run_again(executor, output, each, item)
                    self._written = each
                else:
                    output.add(*each)
                    self._written = each[0][-1]
                self._report_problems()
                yield
            executor.end()
            self._finish(output)

    def _store_rows(self, work: SparkWork, unreadable: dict[int, UnreadableRow]) -> Generator[None]:
        waiting: list[tuple[int, dict[str, Any]]] = []
        with contextlib.closing(RowsFile(work)) as file:
            for number, item in enumerate(self._input, 1):
                self.progress.rows_in = number
                if isinstance(item, UnreadableRow):
                    unreadable[number] = item
                    if not self._task.skips_failures:
                        self._add_failure(number, item, None, 0)
                        self._report_problems()
                else:
                    waiting.append((number, item))
                if len(waiting) >= _CHUNK:
                    file.write(waiting)
                    waiting = []
                    yield
            file.write(waiting)

    def _run_again(
        self, executor: RecipeExecutor, output: _Output, number: int, item: Item
    ) -> None:
        """Take a row out for which Spark says that the recipe fails, with the message that it has here."""
        answer = None if isinstance(item, UnreadableRow) else executor.run(self._input.widen(item))
        if isinstance(answer, list):  # the conversion of one of its rows fails
            output.write([(number, row) for row in answer])
        else:
            self._add_failure(number, item, answer, executor.position)

    def _make_rows(self, executor: RecipeExecutor) -> Iterator[list[tuple[int, Any]]]:
        """Yield the rows that the recipe makes, each with the number of its row of the input."""
        made: list[tuple[int, Any]] = []
        progress, run = self.progress, executor.run
        select = None if self._stage.field == ALL_FIELDS else self._select
        for number, item in enumerate(self._input, 1):
            progress.rows_in = number
            answer = None
            if not isinstance(item, UnreadableRow):
                answer = run(item if select is None else select(item))
            if isinstance(answer, list):
                made += [(number, row) for row in answer]
            else:
                self._add_failure(number, item, answer, executor.position)
            if not number % _CHUNK or len(made) > _CHUNK or time.monotonic() > self._until:
                yield made
                made = []
        yield made

    def _select(self, item: Mapping[str, Any]) -> Mapping[str, Any]:
        return select_row(self._stage.field, self._input.schema, item)

    def _add_failure(
        self, number: int, item: Item, failure: RowFailure | None, position: int
    ) -> None:
        if isinstance(item, UnreadableRow):
            self._add_problem(RowProblem(number, item.message), item.text)
            return
        assert failure is not None
        is_sent = failure.kind == SENT
        number_in_recipe = position - len(self._stage.precondition)
        where = f"directive {number_in_recipe}, " if number_in_recipe > 0 and not is_sent else ""
        problem = RowProblem(number, where + failure.message, failure.code, is_sent)
        self._add_problem(problem, item)

    def _add_problem(self, problem: RowProblem, record: Any) -> None:
        """Take a row out: ``record`` is the row of the input, or of the output if that is wrong."""
        self._found.append((problem, record))

    def _report_problems(self) -> None:
        """Count and store the problems of the rows so far, in the order of the rows.

        :raises BadRequestError: for the first row that fails, when such rows are not to be left out.
        """
        for problem, record in sorted(self._found, key=lambda each: each[0].row):
            is_failing = self._stage.fails_for_errors if problem.is_sent else True
            if is_failing and not self._task.skips_failures:
                raise BadRequestError(
                    f"Row {problem.row}: {problem.message}",
                    "Correct the recipe or the row, or leave out rows that fail.",
                )
            if problem.is_sent:
                self.progress.sent += 1
            else:
                self.progress.failed += 1
            if len(self.progress.problems) < _MOST_PROBLEMS:
                self.progress.problems.append(problem)
            self._errors.add(problem, record)
        self._found.clear()

    def _open_output(self, schema: Schema) -> _Output:
        output = _Output(self._task, self._output_format, schema, self._add_problem)
        self.progress.unfinished += output.file.list_unfinished()
        return output

    def _finish(self, output: _Output) -> None:
        self.progress.expectations = output.get_results()
        self._errors.finish()
        output.file.finish()
        self.progress.rows_out = output.rows
        if output.totals is not None:
            self.progress.columns = output.totals.find_totals()
        self.progress.schema = output.schema
        self.progress.unfinished = []
        self.progress.is_done = True


class _Output:
    """The output file, and the conversion of rows to its records."""

    def __init__(
        self, task: FileTask, format: str, schema: Schema, fail: Callable[[RowProblem, Any], None]
    ) -> None:
        self.schema = schema
        self.rows = 0
        self._convert = OutputConverter(schema).convert
        self._rules = OutputRules(task.expectations, schema)
        self._fail = fail
        self.file = _NoFile() if task.output is None else OutputFile(task.output, format, schema)
        self.totals = TotalsCounter(schema) if task.counts else None

    def write(self, rows: Sequence[tuple[int, Any]]) -> None:
        """Convert rows, those of the same row of the input after each other, and write them.

        If the conversion of one fails, none of its row of the input is written, as in a run.
        """
        numbers: list[int] = []
        records: list[dict[str, Any]] = []
        failed = 0
        for number, row in rows:
            if number == failed:
                continue
            try:
                record = self._convert(row)
            except DirectiveError as error:
                self._fail(RowProblem(number, str(error)), row)
                failed = number
                while numbers and numbers[-1] == number:
                    numbers.pop()
                    records.pop()
                continue
            numbers.append(number)
            records.append(record)
        self.add(numbers, records)

    def add(self, numbers: Sequence[int], records: Sequence[dict[str, Any]]) -> None:
        """Write records of the output with the numbers of their rows; rules may take some out."""
        kept = []
        for number, record, problem in zip(
            numbers, records, self._rules.check(records), strict=True
        ):
            if problem is None:
                kept.append(record)
            else:
                code, message = problem
                self._fail(RowProblem(number, message, code, is_sent=True), record)
        self.file.write(kept)
        if self.totals is not None:
            self.totals.add(kept)
        self.rows += len(kept)

    def get_results(self) -> list[RuleResult]:
        """Return the results of the rules.

        :raises BadRequestError: when one makes the job fail.
        """
        return self._rules.get_results()


class _NoFile(contextlib.nullcontext[None]):
    """Takes the place of the output file of a job that only counts."""

    def list_unfinished(self) -> list[str]:
        """Return nothing."""
        return []

    def write(self, records: Sequence[Any]) -> None:
        """Forget records."""

    def finish(self) -> None:
        """Do nothing: there is nothing to complete."""


def _load_rows(stream: IO[bytes]) -> Iterator[list[tuple[int, Any]]]:
    """Yield what this process has written to its own temporary file."""
    while True:
        try:
            yield pickle.load(stream)  # noqa: S301 - written by this process, in a file without a name
        except EOFError:
            return


def _check_names(task: FileTask) -> None:
    """Check that no file is written over the input or over another one.

    :raises BadRequestError: when one would be.
    """
    taken = {Path(task.input.path).resolve(): "input"}
    for path, what in ((task.output, "output"), (task.errors, "file of errors")):
        if path is None:
            continue
        other = taken.setdefault(Path(path).resolve(), what)
        if other is not what:
            raise BadRequestError(
                f"'{path}' is the {other}, too.", f"Choose another name for the {what}."
            )


def _list_user_directives(recipe: BuiltRecipe) -> list[str]:
    shipped = load_shipped_directives()
    return list(dict.fromkeys(step.name for step in recipe.steps if step.name not in shipped))


_jobs: Final[dict[str, FileJob]] = {}
"""The jobs of this process, by the names that callers chose."""


def start_job(
    name: str,
    task: FileTask,
    recipe: BuiltRecipe,
    tables: SampleTables | None = None,
    stage: StageRules | None = None,
) -> None:
    """Begin a job.

    :param tables: those that the recipe names; None: there are none.
    :param stage: what the stage of the recipe does besides; None: nothing.
    """
    end_job(name)
    _jobs[name] = FileJob(task, recipe, tables, stage)


def continue_job(name: str, seconds: float, *, has_made_rows: bool = False) -> FileProgress:
    """Continue a job; one that is done or failed is forgotten.

    :param has_made_rows: whether Spark has done what the job waits for.
    :raises SessionLostError: when there is no such job: its process was lost.
    """
    job = _jobs.get(name)
    if job is None:
        raise SessionLostError(f"This process has no job '{name}'.", "Apply the recipe again.")
    if has_made_rows:
        job.take_made_rows()
    try:
        progress = job.work(seconds)
    except BaseException:
        del _jobs[name]
        raise
    if progress.is_done:
        job.close()
        del _jobs[name]
    return progress


def end_job(name: str) -> None:
    """End a job, if there is one, and remove what it has not completed."""
    job = _jobs.pop(name, None)
    if job is not None:
        job.close()
