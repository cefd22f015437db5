"""The sink FailPipeline: fails the run as soon as a record reaches it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from localcdap.api import BatchSink, PluginConfig, SinkContext, StageConfigurer, field, plugin
from localcdap.api.rules import check_reference_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MESSAGE: Final = "Received Error records. Failing the pipeline"


@plugin(name="FailPipeline", description="Fails the run when a record reaches it.")
class FailPipeline(BatchSink):
    """Behaves as ``FailPipelineSink`` of CDAP's artifact failpipeline-sink-plugins 1.2."""

    class Config(PluginConfig, rename="camel"):
        reference_name: str = field(
            "Name of this sink in lineage and metadata: letters, digits, '_', '-', '.', '$'."
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        check_reference_name(stage, self.config.reference_name)

    def write(self, df: DataFrame, context: SinkContext) -> None:
        from pyspark.sql import functions as F  # noqa: N812

        failing = df.select(F.raise_error(F.lit(_MESSAGE)).cast("string").alias("failed"))
        failing.write.format("noop").mode("overwrite").save()
