"""Runs Wrangler: compiles its recipe to Spark, and handles failing records as the on-error mode says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from localcdap.api import (
    NamedPlugins,
    PluginConfig,
    Schema,
    SparkContext,
    StageConfigurer,
    Transform,
    field,
    plugin,
)
from localcdap.plugin_lib.spark.columns import get_column
from localcdap.plugin_lib.wrangler.files.spark_rows import FAILED, build_made_schema
from localcdap.plugin_lib.wrangler.language.model import DirectiveCall
from localcdap.plugin_lib.wrangler.recipe.builder import (
    ALL_FIELDS,
    WHOLE_RECORD,
    BuiltRecipe,
    DirectiveBuilder,
    RecipeStep,
    find_row_schema,
    list_precondition,
    load_recipe,
)
from localcdap.plugin_lib.wrangler.recipe.compiler import (
    CompiledRecipe,
    CompileInput,
    compile_recipe,
)
from localcdap.plugin_lib.wrangler.recipe.propagation import propagate, to_columns
from localcdap.plugin_lib.wrangler.recipe.spark_frame import (
    ERROR,
    FAILURE,
    INPUT,
    format_failure_prefix,
)

from .configuration import (
    DEFAULT_MODE,
    FAIL,
    SEND,
    WranglerConfig,
    fails_for_errors,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


_MAX_SOURCE: Final = 100
"""Characters of a directive in a failure."""


def build_compile_input(
    context: SparkContext,
    recipe: BuiltRecipe,
    steps: Sequence[RecipeStep],
    *,
    row_schema: Schema,
    declared: Schema,
    record_schema: Schema | None,
    keeps_record: bool = False,
) -> CompileInput:
    """Return what the compiler needs of a recipe that configure has accepted.

    :param steps: those of the recipe, and any before them.
    """
    find = context.find_plugin
    loaded = [load.name for load in recipe.recipe.loads]
    calls = [step.call for step in steps]
    directives = [step.directive for step in steps if step.directive is not None]
    tables = dict.fromkeys(name for each in directives for name in each.tables())
    lookups = {name: context.lookup(name) for name in tables}
    shapes = {name: lookup.shape for name, lookup in lookups.items()}
    found = propagate(steps, to_columns(row_schema, shapes.get))
    assert len(found.directives) == len(steps)  # configure has rejected other recipes
    return CompileInput(
        directives=found.directives,
        sources=[call.source for call in calls],
        columns=[*found.before, found.after],
        row_schema=row_schema,
        declared=declared,
        make_builder=lambda first, last: DirectiveBuilder(calls[first:last], loaded, find),
        arguments=context.arguments,
        lookups=lookups,
        keeps_record=keeps_record,
        record_schema=record_schema,
    )


_REFUSING = ("parse-as-csv", "parse-as-fixed-length")
"""The directives that send what they cannot read to error."""


class Execution:
    """The stage in one run."""

    def __init__(self, config: WranglerConfig, context: SparkContext) -> None:
        self._config = config
        self._context = context
        self._mode = config.on_error or context.arguments.get(DEFAULT_MODE) or FAIL
        self._calls: list[DirectiveCall] = []

    def run(self, df: DataFrame) -> DataFrame:
        """Return the DataFrame of the stage's output. Nothing is read."""
        from pyspark.sql import functions as f

        declared = self._context.output_schema
        assert declared is not None
        if self._config.is_sql:
            df = df.where(f.expr(self._config.precondition_sql or "true"))
        row_schema = find_row_schema(self._config.input_field, self._context.input_schema)
        assert row_schema is not None
        compiled = compile_recipe(
            self._select_input(df),
            self._build_input(row_schema, declared),
            self._context.in_batches,
        )
        self._explain(compiled)
        return self._handle_errors(compiled, declared)

    def _select_input(self, df: DataFrame) -> DataFrame:
        """Select the columns of the rows, and the whole record if error records are wanted."""
        from pyspark.sql import functions as f

        names = self._context.input_schema.field_names
        field = self._config.input_field
        if field == WHOLE_RECORD:
            members = (get_column(name).alias(name) for name in names)
            selected = [f.struct(*members).alias(WHOLE_RECORD)]
        else:
            selected = [get_column(name) for name in (names if field == ALL_FIELDS else [field])]
        if self._context.wants_errors:
            fields = [get_column(name).alias(f"f{i}") for i, name in enumerate(names)]
            selected.append(f.struct(*fields).alias(INPUT))
        return df.select(*selected)

    def _build_input(self, row_schema: Schema, declared: Schema) -> CompileInput:
        recipe = load_recipe(self._config.directives, self._config.udd, self._context.find_plugin)
        self._calls = [step.call for step in recipe.steps]
        precondition = () if self._config.is_sql else list_precondition(self._config.precondition)
        return build_compile_input(
            self._context,
            recipe,
            [*precondition, *recipe.steps],
            row_schema=row_schema,
            declared=declared,
            record_schema=self._context.input_schema if self._context.wants_errors else None,
            keeps_record=self._mode == FAIL,
        )

    def _explain(self, compiled: CompiledRecipe) -> None:
        for placement in compiled.placements:
            kind = "native" if placement.is_native else "batch "
            reason = "" if placement.is_native else f"  ({placement.reason})"
            self._context.explain(f"{kind}  {placement.source}{reason}")

    def _handle_errors(self, compiled: CompiledRecipe, declared: Schema) -> DataFrame:
        """Return the records in the columns of the output schema; failing ones as the mode says."""
        from pyspark.sql import functions as f

        df = compiled.frame
        names = [get_column(name) for name in declared.field_names]
        if ERROR not in compiled.carried:
            return df.select(*names)
        error = f.col(ERROR)
        is_failure = f.coalesce(error["kind"] == FAILURE, f.lit(False))
        if self._mode not in (FAIL, SEND):
            df = df.where(~is_failure)
        message = error["message"]
        if self._mode == FAIL:
            # The error is raised in a column: Spark might drop the rows of a separate filter before it.
            fails_all = fails_for_errors(self._context.arguments)
            fails = error.isNotNull() if fails_all else is_failure
            raised = self._context.raising(
                self._format_failure(is_failure, message), error["record"]
            )
            message = f.when(fails, raised.cast("string")).otherwise(message)
        record = self._rebuild_record() if self._context.wants_errors else f.lit(None)
        made = self._context.without_errors(
            df,
            code=error["code"],
            message=message,
            record=record,
            dropped=self._find_dropped(error, is_failure),
        )
        return made.select(*names)

    def _find_dropped(self, error: Column, is_failure: Column) -> Column | bool:
        """Return which error rows a run reports as dropped where no stage collects them.

        Not those that the recipe sends to error, and none when the stage is to skip failing rows.
        """
        if self._mode not in (FAIL, SEND):
            return False
        if not any(call.name in _REFUSING for call in self._calls):
            return is_failure if self._mode == SEND else False
        is_refused = error["message"].rlike(rf"directive: ({'|'.join(_REFUSING)})\)$")
        return is_failure | is_refused if self._mode == SEND else is_refused

    def _format_failure(self, is_failure: Column, message: Column) -> Column:
        """Return why a row fails the run, in the wording of CDAP, with the lines of its directive."""
        from pyspark.sql import functions as f

        failed = f"Stage:{self._context.stage_name} - Failing pipeline due to error : "
        sent = f"{failed}Errors in Wrangler Transformation - "
        reason = f.concat(f.when(is_failure, f.lit(failed)).otherwise(f.lit(sent)), message)
        places = describe_places(self._calls)
        if not places:
            return reason
        directive = f.regexp_extract(message, format_failure_prefix("([^']+)"), 1)
        found = f.create_map(*(f.lit(text) for place in places.items() for text in place))[
            directive
        ]
        return f.concat(reason, f.coalesce(found, f.lit("")))

    def _rebuild_record(self) -> Column:
        """Return the input record, with the names of its fields."""
        from pyspark.sql import functions as f

        names = self._context.input_schema.field_names
        members = [f.col(INPUT)[f"f{i}"].alias(name) for i, name in enumerate(names)]
        return f.struct(*members)


def describe_places(calls: Iterable[DirectiveCall]) -> dict[str, str]:
    """Return where the recipe has each directive, by name, as the end of a sentence."""
    places: dict[str, list[DirectiveCall]] = {}
    for call in calls:
        places.setdefault(call.name, []).append(call)
    return {name: f" ({_describe_place(found)})" for name, found in places.items()}


def _describe_place(calls: Sequence[DirectiveCall]) -> str:
    if len(calls) == 1:
        text = " ".join(calls[0].source.split())
        shown = text if len(text) <= _MAX_SOURCE else f"{text[: _MAX_SOURCE - 1]}…"
        return f"line {calls[0].line} of the recipe: {shown}"
    return f"line {' or '.join(str(call.line) for call in calls)} of the recipe"


_NUMBERED = "f0"
"""The number in the carried record; fields of it go by position."""


@plugin(
    name="RecipeRows",
    description="Applies a recipe to numbered rows, and says which fail: 'localcdap prep apply' runs it.",
)
class RecipeRows(Transform):
    class Config(PluginConfig, macros=True, rename="camel"):
        number_field: str = field(
            "The input field with the number of the row, which the recipe does not see.",
            macro=False,
        )
        directives: str = field(
            "The recipe: one directive a line, or ended by semicolons.",
            default="",
            syntax="wrangler",
            uses=NamedPlugins("directive", after="#pragma load-directives"),
        )
        udd: list[str] = field(
            "The user-defined directives that the recipe uses.",
            default=[],
            form="{plugin:directive},",
            macro=False,
        )
        schema: Schema = field(
            "The schema of the rows that the recipe makes. The output has their values by position: c0, "
            "c1, …"
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        config, given = self.config, stage.input_schema
        if given is not None and given.field(config.number_field) is None:
            stage.failures.add(
                f"Field '{config.number_field}' must be present in input schema.",
                f"Choose one of: {', '.join(given.field_names)}.",
            ).with_config_property("numberField")
        recipe = load_recipe(config.directives, config.udd, stage.find_plugin)
        for problem in recipe.errors:
            stage.failures.add(
                f"Recipe, line {problem.line}, column {problem.column}: {problem.message}"
            ).with_config_property("directives", element=str(problem.line))
        if not config.contains_macro("schema"):
            stage.output_schema = build_made_schema(config.number_field, config.schema)

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        from pyspark.sql import functions as f

        number, result = self.config.number_field, self.config.schema
        fields = [(each.name, each.schema) for each in context.input_schema if each.name != number]
        carried = f.struct(get_column(number).cast("bigint").alias(_NUMBERED)).alias(INPUT)
        recipe = load_recipe(self.config.directives, self.config.udd, context.find_plugin)
        given = build_compile_input(
            context,
            recipe,
            recipe.steps,
            row_schema=Schema.record("row", fields),
            declared=result,
            record_schema=Schema.record("input", [("number", Schema.LONG)]),
        )
        selected = df.select(*(get_column(name) for name, _ in fields), carried)
        compiled = compile_recipe(selected, given, context.in_batches)
        for placement in compiled.placements:
            context.explain(f"{'native' if placement.is_native else 'batch '}  {placement.source}")
        values = [f"c{index}" for index in range(len(result.field_names))]
        made = compiled.frame.toDF(*values, *compiled.carried)
        failed = f.col(ERROR).isNotNull() if ERROR in compiled.carried else f.lit(False)
        return made.select(
            f.col(INPUT)[_NUMBERED].alias(number), failed.alias(FAILED), *map(f.col, values)
        )
