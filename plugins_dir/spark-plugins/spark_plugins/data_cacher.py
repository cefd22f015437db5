"""The computation DataCacher."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from localcdap.api import (
    LineageRecorder,
    PluginConfig,
    SparkCompute,
    SparkContext,
    StageConfigurer,
    field,
    plugin,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LEVELS: Final = (
    *("DISK_ONLY", "DISK_ONLY_2", "MEMORY_ONLY", "MEMORY_ONLY_2", "MEMORY_ONLY_SER"),
    *("MEMORY_ONLY_SER_2", "MEMORY_AND_DISK", "MEMORY_AND_DISK_2", "MEMORY_AND_DISK_SER"),
    "MEMORY_AND_DISK_SER_2",
)


@plugin(
    name="DataCacher",
    description="Keeps the records for several readers, and outputs them unchanged.",
)
class DataCacher(SparkCompute):
    """Properties and failures are those of CDAP's plugin (hydrator-plugins,
    ``io/cdap/plugin/spark/DataCacher.java``).

    The engine computes records that several stages read only once by itself: nothing is left to do here.
    """

    one_to_one = True

    class Config(PluginConfig):
        level: str = field(
            "The storage level of Spark, such as MEMORY_AND_DISK; without effect here: records with several "
            "readers are always kept once.",
            macro=True,
            name="storageLevel",
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = stage.input_schema
        if (
            not self.config.contains_macro("storageLevel")
            and self.config.level.upper() not in _LEVELS
        ):
            stage.failures.add(
                "Invalid value for Storage Level.",
                f"Please provide one of the following allowed values: {', '.join(_LEVELS)}",
            ).with_config_property("storageLevel")

    def record_lineage(self, lineage: LineageRecorder) -> None:
        for name in lineage.input_fields:
            lineage.keep(name, name)

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        return df
