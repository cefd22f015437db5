"""The plugin methods that front ends call while a recipe is written."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import msgspec

from localcdap.api import Emitter, Record, Schema, StageError
from localcdap.api.config import NamedPlugins
from localcdap.api.errors import BadRequestError
from localcdap.api.methods import MethodContext
from localcdap.api.record_json import decode_json_records, encode_json_record
from localcdap.api.stage import SampleContext
from localcdap.files.formats import FileInput
from localcdap.files.rows import RowReader
from localcdap.plugin_lib.wrangler.files.formats import detect_recipe_format, find_first_directive
from localcdap.plugin_lib.wrangler.files.jobs import continue_job, end_job, start_job
from localcdap.plugin_lib.wrangler.files.tasks import FileProgress, FileTask, StageRules
from localcdap.plugin_lib.wrangler.language.grammar import SourcePositions, find_macros
from localcdap.plugin_lib.wrangler.recipe.builder import (
    ALL_FIELDS,
    BuiltRecipe,
    RecipeStep,
    find_row_schema,
    list_precondition,
    load_precondition,
    load_recipe,
    select_row,
)
from localcdap.plugin_lib.wrangler.recipe.input import make_widener
from localcdap.plugin_lib.wrangler.recipe.propagation import propagate, to_columns
from localcdap.plugin_lib.wrangler.recipe.registry import DirectiveInfo, load_shipped_directives
from localcdap.plugin_lib.wrangler.recipe.samples import RecipeSampleResult, run_sample
from localcdap.plugin_lib.wrangler.recipe.spark_frame import FAILURE
from localcdap.plugin_lib.wrangler.scripts.export import Language, write_program
from localcdap.plugin_lib.wrangler.workspaces.examples import Example
from localcdap.plugin_lib.wrangler.workspaces.execution import WorkspaceRows, execute
from localcdap.plugin_lib.wrangler.workspaces.tables import FailingLookup, SampleTables, list_tables
from localcdap.plugin_lib.wrangler.workspaces.workspace import (
    SampleSource,
    cluster_values,
    export_records,
    find_by_example,
    match_columns,
    open_workspace,
    view_workspace,
)
from localcdap.workspace_views import (
    CandidateList,
    ClusterView,
    MatchList,
    RecipeProblem,
    SampleRecords,
    ViewRequest,
    WorkspaceView,
)

from .configuration import DEFAULT_MODE, FAIL, SEND, WranglerConfig, fails_for_errors

DIRECTIVE: Final = "directive"
"""The plugin type of user-defined directives."""
_PRAGMA: Final = re.compile(r"\s*#pragma\s+load-directives\s")
LOADED_BY_PRAGMA: Final = NamedPlugins(DIRECTIVE, after="#pragma load-directives")


class RecipeRequest(msgspec.Struct):
    """A recipe to check."""

    recipe: str


class RecipeAnswer(msgspec.Struct):
    """The directives and problems of a recipe."""

    directives: list[str]
    """The text of each valid directive."""
    problems: list[RecipeProblem]


class RecipeSampleRequest(msgspec.Struct):
    """Records on which to run the recipe of the stage's properties."""

    schema: Schema
    """The schema of the records."""
    records: list[Any]
    """As JSON, see :mod:`localcdap.api.record_json`."""


class SampleFailure(msgspec.Struct):
    """A record for which the recipe fails, or that it sends to the error port."""

    record: int
    """The index of the record among the given ones, from 0."""
    code: int
    message: str


class SampleAnswer(msgspec.Struct):
    """The output of the recipe for the records."""

    schema: Schema | None
    """The output schema that the records propose; None if there are no columns."""
    records: list[Any]
    errors: list[SampleFailure]


class ExecutionRequest(msgspec.Struct):
    """A recipe, and the sample of a workspace."""

    directives: list[str]
    """The user-defined ones need no pragma; pragmas that load them are left out."""
    schema: Schema
    """The schema of the records."""
    records: list[Any]
    """As JSON, see :mod:`localcdap.api.record_json`."""
    limit: int = 1000
    """How many rows are shown."""


class ApplicationRequest(msgspec.Struct):
    """A step of the application of the recipe to a file."""

    job: str
    """The name of the job in its session."""
    task: FileTask | None = None
    """What begins the job; None to continue it."""
    seconds: float = 1.0
    """How long the step may take, approximately."""
    has_made_rows: bool = False
    """Whether Spark has done what the job waits for."""
    ends: bool = False
    """Whether the job ends, and what it has not completed is removed."""


class ProgramRequest(msgspec.Struct):
    """A recipe as a program of Spark, for the rows of a file or of a schema."""

    language: Language
    input: FileInput | None = None
    """The file that the program reads; None for other rows."""
    schema: Schema | None = None
    """The columns of the rows; by default those that the file says."""
    result: Schema | None = None
    """The columns of the result; by default those that the recipe makes."""
    skips_failures: bool = False
    """Whether rows for which the recipe fails are left out; otherwise they end the program."""


class WorkspaceRequest(msgspec.Struct):
    """Rows of a workspace after the recipe of the stage's properties."""

    workspace: str
    """The name of the workspace in its session."""
    source: SampleSource | None = None
    """Opens the workspace; None for one that is open."""
    view: ViewRequest = ViewRequest()


class ClusterRequest(msgspec.Struct):
    """A column of the rows of a workspace after the recipe of the stage's properties."""

    workspace: str
    column: str
    method: str
    """fingerprint, ngram-fingerprint, cologne-phonetic or distance."""


class ExampleRequest(msgspec.Struct):
    """What is wanted of some values of a column."""

    workspace: str
    column: str
    examples: list[Example]


class RecordsRequest(msgspec.Struct):
    """The first records of a workspace."""

    workspace: str
    limit: int


class MatchRequest(msgspec.Struct):
    """Another workspace of the session, and its recipe."""

    workspace: str
    other: str
    directives: list[str]


def list_directives(context: MethodContext) -> list[DirectiveInfo]:
    """Return the shipped directives, and the user-defined ones of the namespace."""
    names = context.list_plugins(DIRECTIVE)
    loaded = [cls for name in names if (cls := context.find_plugin(DIRECTIVE, name)) is not None]
    return load_shipped_directives().describe(loaded)


def check_recipe(
    config: WranglerConfig, request: RecipeRequest, context: MethodContext
) -> RecipeAnswer:
    """Return the directives of a recipe, and its problems."""
    recipe = load_recipe(request.recipe, config.udd, context.find_plugin)
    sources = [step.call.source for step in recipe.steps]
    return RecipeAnswer(sources, list(recipe.problems))


def sample_recipe(
    config: WranglerConfig, request: RecipeSampleRequest, context: MethodContext
) -> SampleAnswer:
    """Run the stage's precondition and recipe on records.

    :raises BadRequestError: for a recipe with errors, or records that do not match their schema.
    """
    records = decode_json_records(request.schema, request.records, "records")
    recipe = load_recipe(_read_recipe(config), config.udd, context.find_plugin)
    _require_complete(recipe)
    tables = _open_tables(recipe, context)
    sampled = _run_recipe(
        config, recipe, records, request.schema, tables=tables, arguments=context.arguments
    )
    failures = [SampleFailure(index, each.code, each.message) for index, each in sampled.failures]
    rows = [encode_json_record(row) for row in sampled.rows]
    return SampleAnswer(sampled.schema, rows, failures)


def execute_recipe(request: ExecutionRequest, context: MethodContext) -> WorkspaceRows:
    """Run a recipe on the sample of a workspace.

    :raises BadRequestError: for a recipe with errors, or records that do not match their schema.
    """
    names = context.list_plugins(DIRECTIVE)
    text = "\n".join(each for each in request.directives if not _PRAGMA.match(each))
    recipe = load_recipe(text, names, context.find_plugin)
    _require_complete(recipe)
    records = decode_json_records(request.schema, request.records, "records")
    tables = _open_tables(recipe, context)
    columns = to_columns(request.schema, tables.find_shape)
    return execute(
        recipe, records, columns, request.limit, tables.lookups, arguments=context.arguments
    )


def apply_to_file(
    config: WranglerConfig, request: ApplicationRequest, context: MethodContext
) -> FileProgress:
    """Begin, continue or end the application of the recipe to a file, in the way of the stage.

    :raises BadRequestError: for a recipe with errors, a row that fails, or a file that cannot be read or
        written.
    """
    try:
        if request.ends:
            end_job(request.job)
            return FileProgress()
        if request.task is not None:
            recipe = _load_complete(config, context)
            rules = _find_stage_rules(config, context.arguments)
            if _find_mode(config, context.arguments) != FAIL:
                request.task.skips_failures = True
            start_job(request.job, request.task, recipe, _open_tables(recipe, context), rules)
        return continue_job(request.job, request.seconds, has_made_rows=request.has_made_rows)
    except StageError as error:
        raise BadRequestError(error.message, error.corrective_action) from None


def export_recipe(config: WranglerConfig, request: ProgramRequest, context: MethodContext) -> str:
    """Return the program of the recipe.

    :raises BadRequestError: for a recipe with errors, with each directive for which Spark has no equal, for
        a stage that does more than its recipe, and for a file that cannot be read.
    """
    recipe = _load_complete(config, context)
    rules = _find_stage_rules(config, context.arguments)
    if rules.precondition or rules.field != ALL_FIELDS:
        raise BadRequestError(
            "The stage has a precondition, or gives its recipe one field: a program has neither.",
            "Write the condition as filter-row, and drop the other fields.",
        )
    format, schema = None, request.schema
    try:
        if request.input is not None:
            format = detect_recipe_format(request.input, find_first_directive(recipe))
            with contextlib.closing(RowReader(request.input, format)) as reader:
                schema, format = schema or reader.schema, reader.format
    except StageError as error:
        raise BadRequestError(error.message, error.corrective_action) from None
    if schema is None:
        raise BadRequestError(
            "Only the rows of the input tell its columns.",
            "Export the recipe from the prep area, or convert the input to parquet.",
        )
    return write_program(
        recipe,
        schema,
        request.language,
        declared=request.result or rules.schema,
        skips_failures=request.skips_failures,
        format=format,
    )


def find_value_clusters(
    config: WranglerConfig, request: ClusterRequest, context: MethodContext
) -> ClusterView:
    """Return the clusters of the values of a column.

    :raises BadRequestError: when there is no such column or method.
    """
    recipe = _load_for_workspace(config, context)
    return cluster_values(request.workspace, recipe, request.column, request.method)


def find_directives(
    config: WranglerConfig, request: ExampleRequest, context: MethodContext
) -> CandidateList:
    """Return directives that make the wanted texts of the examples.

    :raises BadRequestError: when there is no such column.
    """
    recipe = _load_for_workspace(config, context)
    return find_by_example(request.workspace, recipe, request.column, request.examples)


def read_records(
    config: WranglerConfig, request: RecordsRequest, context: MethodContext
) -> SampleRecords:
    """Return the first records of a workspace, and what the recipe makes of them.

    :raises BadRequestError: when the recipe has an error, or a macro without a value.
    """
    recipe = _load_complete(config, context)
    return export_records(request.workspace, recipe, request.limit)


def match_workspaces(
    config: WranglerConfig, request: MatchRequest, context: MethodContext
) -> MatchList:
    """Return the columns of two workspaces that have equal values.

    :raises BadRequestError: when one of the recipes has an error, or a macro without a value.
    """
    recipe = _load_complete(config, context)
    names = dict.fromkeys([*config.udd, *context.list_plugins(DIRECTIVE)])
    other = load_recipe("\n".join(request.directives), list(names), context.find_plugin)
    _require_complete(other)
    return match_columns(request.workspace, recipe, request.other, other)


def _open_tables(recipe: BuiltRecipe, context: MethodContext) -> SampleTables:
    """Return the tables for the lookups of a recipe.

    :raises BadRequestError: when one cannot be read.
    """
    tables = SampleTables()
    tables.open(recipe, context.open_tables)
    reasons = [each.reason for each in tables.lookups.values() if isinstance(each, FailingLookup)]
    if reasons:
        raise BadRequestError(
            "The recipe cannot look up: " + "; ".join(reasons) + ".", "Correct the recipe."
        )
    return tables


def _load_for_workspace(config: WranglerConfig, context: MethodContext) -> BuiltRecipe:
    """Return the recipe; the directives with macros that have no value are not known."""
    names = dict.fromkeys([*config.udd, *context.list_plugins(DIRECTIVE)])
    text = config.text_with_macros("directives") or config.directives
    return load_recipe(text, list(names), context.find_plugin)


def _load_complete(config: WranglerConfig, context: MethodContext) -> BuiltRecipe:
    """Return the recipe.

    :raises BadRequestError: when it has an error, or a macro without a value.
    """
    _read_recipe(config)
    recipe = _load_for_workspace(config, context)
    _require_complete(recipe)
    return recipe


_DECIDING: Final = {"directives", "field", "precondition", "preconditionSQL", "schema", "on-error"}
"""The properties that decide what becomes of a record."""


def _read_recipe(config: WranglerConfig) -> str:
    """Return the text of the recipe.

    :raises BadRequestError: when it, or another property that decides what becomes of a record, has a macro
        without a value.
    """
    texts = {name: config.text_with_macros(name) or "" for name in _DECIDING & config.macros}
    if texts:
        listed = [text[start:end] for text in texts.values() for start, end in find_macros(text)]
        shown = ", ".join(dict.fromkeys(listed)) or "a macro that cannot be read"
        raise BadRequestError(
            f"The recipe has macros without values: {shown}.",
            "Give them values with -a NAME=VALUE, or as preferences.",
        )
    return config.directives


def _find_mode(config: WranglerConfig, arguments: Mapping[str, str]) -> str:
    return config.on_error or arguments.get(DEFAULT_MODE) or FAIL


def _find_stage_rules(config: WranglerConfig, arguments: Mapping[str, str]) -> StageRules:
    """Return what the stage does besides the recipe.

    :raises BadRequestError: when Spark has to do it, or it has an error.
    """
    if config.is_sql:
        raise BadRequestError(
            "The stage has a precondition in SQL, which Spark evaluates.",
            "Run the pipeline, or write the precondition in JEXL.",
        )
    return StageRules(
        _load_precondition(config),
        config.input_field,
        config.schema,
        dict(arguments),
        fails_for_errors=_find_mode(config, arguments) == FAIL and fails_for_errors(arguments),
    )


def _load_precondition(config: WranglerConfig) -> tuple[RecipeStep, ...]:
    """Return the step of the precondition.

    :raises BadRequestError: when it has an error.
    """
    text = (config.precondition or "").strip()
    steps = list_precondition(text)
    if steps:
        _require_complete(load_precondition(text))
    return steps


def view_rows(
    config: WranglerConfig, request: WorkspaceRequest, context: MethodContext
) -> WorkspaceView:
    """Run what has changed of the recipe on the sample of a workspace, and return some of the rows.

    :raises BadRequestError: when the sample cannot be read.
    """
    recipe = _load_for_workspace(config, context)
    try:
        if request.source is not None:
            # The method begins again when these have been written, and opening reads the sample.
            context.open_tables(list_tables(recipe))
            memory = context.session_memory_mb * 2**20
            open_workspace(request.workspace, request.source, recipe, memory)
        view = view_workspace(
            request.workspace, recipe, request.view, context.open_tables, context.arguments
        )
        view.problems += _list_macro_problems(config)
        return view
    except StageError as error:
        raise BadRequestError(error.message, error.corrective_action) from None


def _list_macro_problems(config: WranglerConfig) -> list[RecipeProblem]:
    """Return a problem for each macro of the recipe that has no value."""
    if not config.contains_macro("directives"):
        return []
    text = config.text_with_macros("directives") or ""
    positions, advice = SourcePositions(text), "Give it a value: an argument, or a preference."
    found = [
        RecipeProblem(
            f"the macro {text[start:end]} has no value",
            *positions.locate(start),
            corrective_action=advice,
        )
        for start, end in find_macros(text)
    ]
    return found or [RecipeProblem("the recipe has a macro that cannot be read", 1, 1)]


def transform_sample(
    config: WranglerConfig, records: Sequence[Record], emit: Emitter, context: SampleContext
) -> None:
    """Run the stage's precondition and recipe on records as a run does.

    :raises BadRequestError: for a recipe with errors.
    :raises StageError: for a record that fails the run.
    """
    recipe = load_recipe(_read_recipe(config), config.udd, context.find_plugin)
    _require_complete(recipe)
    sampled = _run_recipe(
        config,
        recipe,
        records,
        context.input_schema,
        context.output_schema,
        arguments=context.arguments,
    )
    for row in sampled.rows:
        emit(row)
    mode = _find_mode(config, context.arguments)
    for index, failure in sampled.failures:
        is_failure = failure.kind == FAILURE
        if is_failure and mode == FAIL:
            raise StageError(f"Record {index + 1}: {failure.message}", "Correct the recipe.")
        if not is_failure or mode == SEND:
            emit.error(records[index], failure.code, failure.message)


def _run_recipe(
    config: WranglerConfig,
    recipe: BuiltRecipe,
    records: Sequence[Record],
    schema: Schema,
    output: Schema | None = None,
    tables: SampleTables | None = None,
    arguments: Mapping[str, str] = MappingProxyType({}),
) -> RecipeSampleResult:
    tables = tables or SampleTables()
    rules = _find_stage_rules(config, arguments)
    columns = to_columns(find_row_schema(rules.field, schema), tables.find_shape)
    found = propagate([*rules.precondition, *recipe.steps], columns)
    rows = [select_row(rules.field, schema, each) for each in map(make_widener(schema), records)]
    return run_sample(found.directives, rows, found.after, arguments, output, tables.lookups)


def _require_complete(recipe: BuiltRecipe) -> None:
    if recipe.errors or not recipe.is_complete:
        reason = "; ".join(problem.text for problem in recipe.errors)
        raise BadRequestError(
            f"The recipe cannot run: {reason or 'it contains macros.'}", "Correct it first."
        )
