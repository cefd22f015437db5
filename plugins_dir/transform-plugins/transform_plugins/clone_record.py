"""The CloneRecord transform: emits every record several times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from localcdap.api import (
    LineageRecorder,
    PluginConfig,
    SparkContext,
    StageConfigurer,
    Transform,
    field,
    plugin,
)
from localcdap.plugin_lib.spark.columns import get_column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LARGEST: Final = 2**31 - 1


@plugin(name="CloneRecord", description="Makes copies of every record.")
class CloneRecord(Transform):
    class Config(PluginConfig):
        copies: int = field(
            "How many times each record is emitted; 1 passes records through unchanged.", macro=True
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        copies = self.config.copies
        is_known = copies is not None and not self.config.contains_macro("copies")
        if is_known and not 0 < copies <= _LARGEST:
            stage.failures.add(
                "Number of copies must be a positive number.",
                f"Use an integer from 1 to {_LARGEST}.",
            ).with_config_property("copies")
        stage.output_schema = stage.input_schema

    def record_lineage(self, lineage: LineageRecorder) -> None:
        """Record nothing: all fields keep their values."""

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812

        copy = F.explode(F.sequence(F.lit(1), F.lit(self.config.copies)))
        names = context.input_schema.field_names
        numbered = df.select(*map(get_column, names), copy.alias("".join(names) + "#"))
        return numbered.select(*map(get_column, names))
