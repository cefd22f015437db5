"""Parquet and ORC files as records of a schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from localcdap.api import Schema, SourceContext
from localcdap.plugin_lib.files.readers.lines import FILE, file_uri, spark_paths
from localcdap.plugin_lib.spark.conversion import conformed_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def columnar_records(
    context: SourceContext, files: Sequence[str], schema: Schema, format: str
) -> DataFrame:
    """The fields of the schema from files of ``format``, and the URI in ``file``."""
    reader = context.spark.read.format(format).option("recursiveFileLookup", "true")
    # Without merging, the first file alone would decide which fields there are.
    reader = reader.option("mergeSchema", str(len(files) > 1).lower())
    read = reader.load(spark_paths(files))
    return read.select(file_uri().alias(FILE), *conformed_columns(context, read, schema))
