"""Rows of structured tables on their way to a cluster and back, through this process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import StageError
from localcdap.engine.driver.tables import TableFiles, size_of
from localcdap.engine.plan.spark_types import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MOST_BYTES: Final = 1024**3
"""Of a table that is sent: it is in the memory of this process and of Spark's driver."""


def uploaded(spark: SparkSession, snapshot: TableFiles) -> DataFrame:
    """The rows of a snapshot as a DataFrame of a cluster.

    :raises StageError: (without a stage) when they are too many; the message goes on from the table's name.
    """
    import pyarrow.parquet as pq

    from localcdap.api.arrow import to_arrow_schema

    size = size_of(snapshot)
    if size > _MOST_BYTES:
        raise StageError(
            f"has {size / 1024**3:.1f} GiB of rows; through this machine at most "
            f"{_MOST_BYTES // 1024**3} GiB go to a cluster.",
            "Write the table to files that the cluster can read, and read those.",
        )
    rows = pq.read_table(snapshot.files).cast(to_arrow_schema(snapshot.schema))
    return spark.createDataFrame(rows, spark_schema(snapshot.schema))


def download(rows: DataFrame, directory: Path) -> None:
    """Write rows that a cluster computes into a Parquet file here, batch by batch."""
    import pyarrow.parquet as pq

    directory.mkdir(parents=True)
    writer: Any = None
    remote: Any = rows
    client = remote._session.client
    # Like toArrow, but without all rows in memory at once.
    plan = remote._plan.to_proto(client)
    try:
        for part in client.to_table_as_iterator(plan, remote._plan.observations):
            if not hasattr(part, "num_rows"):
                continue
            writer = writer or pq.ParquetWriter(directory / "rows.parquet", part.schema)
            writer.write_table(part)
    finally:
        if writer is not None:
            writer.close()
