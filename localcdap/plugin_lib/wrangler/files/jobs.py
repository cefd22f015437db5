"""A recipe applied to a file, in short steps, so that a caller sees progress and can stop between them."""

from __future__ import annotations

import contextlib
import pickle
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from localcdap.api import Schema
from localcdap.api.directive import Directive, DirectiveError
from localcdap.api.directive.rows import Columns
from localcdap.api.errors import BadRequestError
from localcdap.api.record_json import encode_json_record
from localcdap.expectations.results import RuleResult
from localcdap.expectations.rules import Expectation
from localcdap.plugin_lib.wrangler.files.formats import (
    FileFormat,
    FileInput,
    detect_format,
    find_first_directive,
    find_output_format,
)
from localcdap.plugin_lib.wrangler.files.output_rules import OutputRules
from localcdap.plugin_lib.wrangler.files.readers import Item, RowReader, UnreadableRow
from localcdap.plugin_lib.wrangler.files.totals import ColumnTotals, TotalsCounter
from localcdap.plugin_lib.wrangler.files.writers import OutputFile
from localcdap.plugin_lib.wrangler.recipe.batch import RecipeExecutor, RowFailure
from localcdap.plugin_lib.wrangler.recipe.builder import BuiltRecipe
from localcdap.plugin_lib.wrangler.recipe.output import OutputConverter
from localcdap.plugin_lib.wrangler.recipe.propagation import (
    propagate,
    propose_schema,
    to_columns,
)
from localcdap.plugin_lib.wrangler.recipe.samples import SchemaInference
from localcdap.plugin_lib.wrangler.recipe.spark_frame import SENT

_CHUNK: Final = 2000
"""Rows between two looks at the clock."""
_MOST_PROBLEMS: Final = 10
"""Problems that an answer lists; all are counted, and written to the file of errors."""


class FileTask(msgspec.Struct):
    """A recipe to apply to a file."""

    input: FileInput
    output: str | None = None
    """None to count the rows only."""
    output_format: str | None = None
    """By default that of the name."""
    errors: str | None = None
    """A file for the rows that are left out: JSON lines with row, message, code and record."""
    skips_failures: bool = False
    """Whether rows for which the recipe fails are left out; otherwise the first one ends the job."""
    counts: bool = False
    """Whether it is counted what the columns of the result are like."""
    expectations: list[Expectation] = []
    """The rules for the rows of the output."""


class RowProblem(msgspec.Struct):
    """Why a row of the input is not in the output."""

    row: int
    """Its number, from 1, without a line of names."""
    message: str
    code: int = 0
    is_sent: bool = False
    """Whether a directive sent it to the error port; otherwise it failed."""


class FileProgress(msgspec.Struct):
    """How far a job is."""

    is_done: bool = False
    share: float | None = None
    """From 0 to 1; None when it is not known."""
    rows_in: int = 0
    rows_out: int = 0
    failed: int = 0
    """Rows that are left out because the recipe failed, or they could not be read."""
    sent: int = 0
    """Rows that a directive sent to the error port."""
    problems: list[RowProblem] = []
    """The first ones."""
    replaced_bytes: int = 0
    """Bytes that do not belong to UTF-8, and were read as Windows-1252."""
    format: str = ""
    """How the input was read, such as ``csv with ';', names in the first line``."""
    schema: Schema | None = None
    """Of the output, when it is done."""
    warnings: list[str] = []
    columns: list[ColumnTotals] = []
    """What the columns of the result are like, when it is done and was asked for."""
    expectations: list[RuleResult] = []
    """The results of the rules, when it is done."""


class FileJob:
    """A recipe that is applied to a file. One thread uses it at a time.

    The types of the columns are those of all rows. Where directives know the columns before, rows are written
    at once; otherwise they wait in a temporary file until the last one is known.

    :raises BadRequestError: when the recipe has errors, or the formats are unknown.
    :raises StageError: when a file cannot be read or written.
    """

    def __init__(self, task: FileTask, recipe: BuiltRecipe) -> None:
        self._task = task
        self._output_format = (
            "" if task.output is None else find_output_format(task.output, task.output_format)
        )
        format = detect_format(task.input, find_first_directive(recipe))
        _check_names(task)
        self._reader = RowReader(task.input, format)
        self.progress = FileProgress(format=_describe_format(format))
        columns = to_columns(self._reader.schema) if self._reader.schema else Columns(open=True)
        found = propagate(recipe.steps, columns)
        if found.errors:
            raise BadRequestError(
                "; ".join(each.text for each in found.errors), "Correct the recipe."
            )
        self.progress.warnings = [each.text for each in found.problems]
        self._errors = _ErrorFile(task.errors)
        self._until = 0.0
        """When the step ends; rows that wait for it are few, so that a slow directive does not keep it."""
        self._steps = self._run(found.directives, found.after)

    def work(self, seconds: float) -> FileProgress:
        """Continue for some seconds, and return how far the job is.

        :raises BadRequestError: when a row fails and is not to be left out, or the rows violate a rule with
            the action ``fail``; nothing is written then.
        :raises StageError: when a file cannot be read or written.
        """
        self._until = time.monotonic() + seconds
        try:
            while not self.progress.is_done and time.monotonic() < self._until:
                next(self._steps, None)
        except BaseException:
            self.close()
            raise
        self.progress.share = 1.0 if self.progress.is_done else self._reader.share
        self.progress.replaced_bytes = self._reader.replaced
        return self.progress

    def close(self) -> None:
        """End the job; what is not complete is removed."""
        self._steps.close()
        self._reader.close()
        self._errors.discard()

    def _run(self, directives: Sequence[Directive], after: Columns) -> Generator[None]:
        executor = RecipeExecutor(directives, {})
        executor.start()
        known = propose_schema(after)
        if known is not None:
            output = _Output(self._task, self._output_format, known, self._add_problem)
            with output.file:
                for rows in self._make_rows(executor):
                    output.write(rows)
                    yield
                executor.end()
                self._finish(output)
            return
        inference = SchemaInference(after)
        with tempfile.TemporaryFile() as stream:
            for rows in self._make_rows(executor):
                inference.add([row for _, row in rows])
                pickle.dump(rows, stream, pickle.HIGHEST_PROTOCOL)
                yield
            executor.end()
            stream.seek(0)
            schema = inference.find_schema()
            if schema is None:
                raise BadRequestError(
                    "The result has no columns.",
                    "Look at the recipe, and at how the input is read.",
                )
            output = _Output(self._task, self._output_format, schema, self._add_problem)
            with output.file:
                for rows in _load_rows(stream):
                    output.write(rows)
                    yield
                self._finish(output)

    def _make_rows(self, executor: RecipeExecutor) -> Iterator[list[tuple[int, Any]]]:
        """Yield the rows that the recipe makes, each with the number of its row of the input."""
        made: list[tuple[int, Any]] = []
        progress, run = self.progress, executor.run
        for number, item in enumerate(self._reader, 1):
            progress.rows_in = number
            answer = None if isinstance(item, UnreadableRow) else run(item)
            if isinstance(answer, list):
                made += [(number, row) for row in answer]
            else:
                self._add_failure(number, item, answer, executor.position)
            if not number % _CHUNK or len(made) > _CHUNK or time.monotonic() > self._until:
                yield made
                made = []
        yield made

    def _add_failure(
        self, number: int, item: Item, failure: RowFailure | None, position: int
    ) -> None:
        if isinstance(item, UnreadableRow):
            self._add_problem(RowProblem(number, item.message), item.text)
            return
        assert failure is not None
        is_sent = failure.kind == SENT
        where = f"directive {position}, " if position and not is_sent else ""
        problem = RowProblem(number, where + failure.message, failure.code, is_sent)
        self._add_problem(problem, item)

    def _add_problem(self, problem: RowProblem, record: Any) -> None:
        """Take a row out: ``record`` is the row of the input, or of the output if that is wrong."""
        if not problem.is_sent and not self._task.skips_failures:
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

    def _finish(self, output: _Output) -> None:
        self.progress.expectations = output.get_results()
        self._errors.finish()
        output.file.finish()
        self.progress.rows_out = output.rows
        if output.totals is not None:
            self.progress.columns = output.totals.find_totals()
        self.progress.schema = output.schema
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
        records: list[tuple[int, dict[str, Any]]] = []
        for number, row in rows:
            try:
                records.append((number, self._convert(row)))
            except DirectiveError as error:
                self._fail(RowProblem(number, str(error)), row)
        kept = []
        for (number, record), problem in zip(
            records, self._rules.check([record for _, record in records]), strict=True
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

    def write(self, records: Sequence[Any]) -> None:
        """Forget records."""

    def finish(self) -> None:
        """Do nothing: there is nothing to complete."""


class _ErrorFile:
    """The file of rows that are left out; it is there only when the job is done."""

    def __init__(self, path: str | None) -> None:
        schema = Schema.record("error", [("row", Schema.LONG)])
        self._file = None if path is None else OutputFile(path, "json", schema)

    def add(self, problem: RowProblem, record: Any) -> None:
        if self._file is not None:
            shown = record if isinstance(record, str) else encode_json_record(record)
            line = {"row": problem.row, "message": problem.message, "code": problem.code}
            self._file.write([{**line, "record": shown}])

    def finish(self) -> None:
        if self._file is not None:
            self._file.finish()
            self._file = None

    def discard(self) -> None:
        if self._file is not None:
            self._file.discard()
            self._file = None


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


def _describe_format(format: FileFormat) -> str:
    name = format.format
    if name not in ("csv", "tsv"):
        return name
    names = "names in the first line" if format.header else "no line of names"
    delimiter = "" if name == "tsv" else f" with '{format.delimiter}'"
    return f"{name}{delimiter}, {names}"


_JOBS: Final[dict[str, FileJob]] = {}
"""The jobs of this process, by the names that callers chose."""


def start_job(name: str, task: FileTask, recipe: BuiltRecipe) -> None:
    """Begin a job."""
    end_job(name)
    _JOBS[name] = FileJob(task, recipe)


def continue_job(name: str, seconds: float) -> FileProgress:
    """Continue a job; one that is done or failed is forgotten.

    :raises BadRequestError: when there is no such job: its process was lost.
    """
    job = _JOBS.get(name)
    if job is None:
        raise BadRequestError(
            "The process of the recipe was lost; nothing is written.",
            "Apply the recipe again; split the input if memory did not suffice.",
        )
    try:
        progress = job.work(seconds)
    except BaseException:
        del _JOBS[name]
        raise
    if progress.is_done:
        job.close()
        del _JOBS[name]
    return progress


def end_job(name: str) -> None:
    """End a job, if there is one, and remove what it has not completed."""
    job = _JOBS.pop(name, None)
    if job is not None:
        job.close()
