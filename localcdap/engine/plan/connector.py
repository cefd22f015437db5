"""What carries records across a condition: they are computed in front of it and kept for its branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localcdap.api.plugin import BatchSink
from localcdap.api.stage import SinkContext

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Connector(BatchSink):
    """The end of a phase at a condition."""

    def write(self, df: DataFrame, context: SinkContext) -> None:
        df.write.format("noop").mode("overwrite").save()
