"""What a job with a recipe and a file is asked for, and what it answers."""

from __future__ import annotations

import msgspec

from localcdap.api import Schema
from localcdap.expectations.results import RuleResult
from localcdap.expectations.rules import Expectation
from localcdap.files.formats import FileInput
from localcdap.plugin_lib.wrangler.files.spark_rows import SparkWork
from localcdap.plugin_lib.wrangler.recipe.builder import ALL_FIELDS, RecipeStep
from localcdap.workspace_views import ColumnTotals


class RowProblem(msgspec.Struct):
    """Why a row of the input is not in the output."""

    row: int
    """Its number, from 1, without a line of names."""
    message: str
    code: int = 0
    is_sent: bool = False
    """Whether a directive sent it to the error port; otherwise it failed."""


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
    spark_folder: str | None = None
    """An empty folder for the files of Spark, which then runs the recipe; None to run it here."""
    needs_spark: bool = False
    """Whether it is an error when Spark cannot run the recipe; otherwise it runs here, with a warning."""


class StageRules(msgspec.Struct, frozen=True):
    """What a Wrangler stage does besides its recipe, which a file of directives has not."""

    precondition: tuple[RecipeStep, ...] = ()
    """Drops rows before the recipe."""
    field: str = ALL_FIELDS
    """What the recipe gets of a row, see :func:`.builder.select_row`."""
    schema: Schema | None = None
    """Of the result; None: that which the recipe makes."""
    arguments: dict[str, str] = {}
    """The runtime arguments, which directives may read."""
    fails_for_errors: bool = False
    """Whether a row that the recipe sends to the error port ends the job."""


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
    phase: str = ""
    """What a job with Spark does: ``reading`` or ``writing``; else empty."""
    unfinished: list[str] = []
    """The paths of the files that a lost process leaves behind."""
    waits_for: SparkWork | None = None
    """What Spark has to do before the job goes on, see :func:`continue_job`."""
