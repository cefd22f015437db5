"""The transform that says of each numbered row what a recipe makes of it, and whether it fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe
from localcdap.plugin_lib.wrangler.recipe.compiler import compile_recipe
from localcdap.plugin_lib.wrangler.recipe.spark_frame import ERROR, INPUT

from .execution import build_compile_input

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
