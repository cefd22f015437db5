"""The Trash sink."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localcdap.api import BatchSink, PluginConfig, SinkContext, StageConfigurer, field, plugin
from localcdap.api.rules import check_reference_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@plugin(name="Trash", description="Computes and counts all records, and discards them.")
class Trash(BatchSink):
    class Config(PluginConfig):
        reference_name: str | None = field(
            "Name of this sink in lineage and metadata: letters, digits, '_', '-', '.', '$'.",
            default=None,
            name="referenceName",
        )

    def configure(self, stage: StageConfigurer) -> None:
        check_reference_name(stage, self.config.reference_name)

    def write(self, df: DataFrame, context: SinkContext) -> None:
        df.write.format("noop").mode("overwrite").save()
