"""What stands in for plugins that are not installed, where the user of a pipeline says so."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from localcdap.api import (
    Action,
    ActionContext,
    PluginConfig,
    Schema,
    SparkContext,
    StageConfigurer,
    Transform,
    field,
    plugin,
)
from localcdap.plugin_lib.spark.columns import get_column, to_ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LOG: Final = logging.getLogger(__name__)


@plugin(
    name="Placeholder",
    description="Passes records on in place of a plugin that is not installed; fields that it would add "
    "are null.",
)
class PlaceholderTransform(Transform):
    one_to_one = True

    class Config(PluginConfig):
        schema: Schema | None = field(
            "Output schema of the plugin. Fields that the input has pass as they are; the others are null. "
            "By default, the output is the input.",
            default=None,
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        given, wanted = stage.input_schema, self.config.schema
        if wanted is None or given is None:
            stage.output_schema = wanted if given is None else given
            return
        fields = [given.field(f.name) or (f.name, f.schema.as_nullable) for f in wanted]
        stage.output_schema = Schema.record(wanted.name or "record", fields)

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812

        schema = context.output_schema
        assert schema is not None
        return df.select(
            [
                get_column(f.name)
                if f.name in df.columns
                else F.lit(None).cast(to_ddl(f.schema)).alias(f.name)
                for f in schema
            ]
        )


@plugin(
    name="Placeholder",
    type="action",
    description="Does nothing in place of an action that is not installed.",
)
class PlaceholderAction(Action):
    class Config(PluginConfig):
        pass

    def run(self, context: ActionContext) -> None:
        _LOG.warning(
            "This stage is a placeholder; its plugin is not installed, and nothing was done."
        )
