"""Text files: a record for each line. Blobs: a record for each file."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from localcdap.api import Schema, SourceContext

from .line_reading import LINE, OFFSET, PATH, LineFormat, read_lines
from .lines import VALUE, file_uri, pieces_of, shown_column, shown_path, spark_paths
from .spark_ddl import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def text_records(
    context: SourceContext,
    files: Sequence[str],
    schema: Schema,
    format: LineFormat,
    *,
    path_field: str | None,
    filename_only: bool,
    split_size: int,
) -> DataFrame:
    """Lines as ``body``, with ``offset`` and the path field where the schema has them."""
    needs_python = schema.field("offset") is not None or format.skip_header or not format.splittable
    if needs_python:
        contents = {"offset": OFFSET, "body": LINE}
        columns = tuple((f.name, contents.get(f.name, PATH)) for f in schema)
        asked = dataclasses.replace(format, columns=columns)
        pieces = [
            piece
            for file in files
            for piece in pieces_of(
                file, shown_path(file, filename_only=filename_only), asked, split_size
            )
        ]
        return context.generate(schema, pieces, functools.partial(read_lines, format=asked))
    read = context.spark.read.text(spark_paths(files))
    path = shown_column(file_uri(), filename_only=filename_only)
    return read.select(
        [(path if f.name == path_field else read[VALUE]).alias(f.name) for f in schema]
    )


def blob_records(
    context: SourceContext,
    files: Sequence[str],
    schema: Schema,
    *,
    path_field: str | None,
    filename_only: bool,
) -> DataFrame:
    """The bytes of whole files as ``body``, with the path field where the schema has it."""
    read = context.spark.read.format("binaryFile").load(spark_paths(files))
    path = shown_column(file_uri(), filename_only=filename_only)
    return read.select(
        [(path if f.name == path_field else read[quoted("content")]).alias(f.name) for f in schema]
    )
