"""The Wrangler transform: a recipe of directives on every record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localcdap.api import SparkContext, StageConfigurer, Transform, plugin, plugin_method
from localcdap.plugin_lib.wrangler.recipe.registry import DirectiveInfo, shipped

from .config import WranglerConfig
from .configuration import Configuration
from .execution import Execution
from .methods import (
    RecipeAnswer,
    RecipeRequest,
    SampleAnswer,
    SampleRequest,
    checked,
    sampled,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@plugin(
    type="transform",
    name="Wrangler",
    description="Cleans and reshapes records with a recipe of directives.",
)
class Wrangler(Transform):
    """The recipe is compiled: directives become expressions of Spark where it has equals, and the rest
    runs in batches. ``localcdap run --explain`` shows which is which.
    """

    Config = WranglerConfig
    config: WranglerConfig

    def configure(self, stage: StageConfigurer) -> None:
        Configuration(self.config, stage).check()

    def configure_connected(self, stage: StageConfigurer) -> None:
        Configuration(self.config, stage).check_tables()

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        return Execution(self.config, context).run(df)

    @plugin_method("directives", "The directives that recipes can use, with usage and categories.")
    def directives(self) -> list[DirectiveInfo]:
        return shipped().describe()

    @plugin_method("check", "Reads a recipe, and tells what is wrong with it and where.")
    def check_recipe(self, request: RecipeRequest) -> RecipeAnswer:
        return checked(request)

    @plugin_method(
        "propose-schema", "Tries the recipe on sampled records, and proposes the output schema."
    )
    def propose_schema(self, request: SampleRequest) -> SampleAnswer:
        return sampled(self.config, request)
