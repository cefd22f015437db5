"""The Trash sink."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from localcdap.api import BatchSink, PluginConfig, SinkContext, StageConfigurer, field, plugin

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NAME: Final = re.compile(r"[$.a-zA-Z0-9_-]+")


@plugin(
    type="batchsink",
    name="Trash",
    description="Computes and counts all records, and keeps none of them.",
)
class Trash(BatchSink):
    class Config(PluginConfig):
        reference_name: str | None = field(
            "Name of this sink in lineage and metadata: letters, digits, '_', '-', '.', '$'.",
            default=None,
            name="referenceName",
        )

    def configure(self, stage: StageConfigurer) -> None:
        name = self.config.reference_name
        if name is not None and _NAME.fullmatch(name) is None:
            # The rule of CDAP 6 IdUtils, in its words.
            stage.failures.add(
                f"Invalid reference name '{name}'.",
                "Supported characters are: letters, numbers, and '_', '-', '.', or '$'.",
            ).with_config_property("referenceName")

    def write(self, df: DataFrame, context: SinkContext) -> None:
        df.write.format("noop").mode("overwrite").save()
