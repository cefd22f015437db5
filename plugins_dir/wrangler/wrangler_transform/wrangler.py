"""The Wrangler transform: a recipe of directives on every record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localcdap.api import SparkContext, StageConfigurer, Transform, plugin, plugin_method
from localcdap.plugin_lib.wrangler.recipe.registry import DirectiveInfo, load_shipped_directives

from .config import WranglerConfig
from .configuration import ConfigurationCheck
from .execution import Execution
from .methods import (
    RecipeAnswer,
    RecipeRequest,
    RecipeSampleRequest,
    SampleAnswer,
    check_recipe,
    sample_recipe,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@plugin(
    type="transform",
    name="Wrangler",
    description="Cleans and reshapes records with a recipe of directives.",
)
class Wrangler(Transform):
    """The recipe is compiled: directives become Spark expressions where Spark has equivalent ones, and the
    rest runs in batches. ``localcdap run --explain`` shows where each directive runs.
    """

    Config = WranglerConfig
    config: WranglerConfig

    def configure(self, stage: StageConfigurer) -> None:
        ConfigurationCheck(self.config, stage).check()

    def configure_connected(self, stage: StageConfigurer) -> None:
        ConfigurationCheck(self.config, stage).check_tables()

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        return Execution(self.config, context).run(df)

    @plugin_method("directives", "The directives that recipes can use, with usage and categories.")
    def list_directives(self) -> list[DirectiveInfo]:
        return load_shipped_directives().describe()

    @plugin_method("check", "Reads a recipe, and lists its problems with their positions.")
    def check_recipe(self, request: RecipeRequest) -> RecipeAnswer:
        return check_recipe(request)

    @plugin_method(
        "propose-schema", "Runs the recipe on sampled records, and proposes the output schema."
    )
    def propose_schema(self, request: RecipeSampleRequest) -> SampleAnswer:
        return sample_recipe(self.config, request)
