"""Avro files, read record by record in Spark's Python workers."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from localcdap.api import Schema, SourceContext
from localcdap.files.avro import read_avro_batches
from localcdap.plugin_lib.files.inputs import require_file_system
from localcdap.plugin_lib.files.readers.lines import PathField

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def read_avro_files(
    context: SourceContext,
    files: Sequence[str],
    schema: Schema,
    path: PathField,
) -> DataFrame:
    """Read the fields of the schema from Avro files; fields that a file lacks are null."""
    require_file_system(context, files)
    tasks = [(file, path.format_path(file)) for file in files]
    read = functools.partial(_read_avro, schema=str(schema), path_field=path.name)
    return context.generate(schema, tasks, read)


def _read_avro(
    task: tuple[str, str], schema: str, path_field: str | None
) -> Iterator[pa.RecordBatch]:
    """Yield the records of a file in batches.

    :param task: the file, and the value of the path field.
    :raises StageError: as :func:`.read_avro_batches`.
    """
    file, shown = task
    constants = {} if path_field is None else {path_field: shown}
    return read_avro_batches(file, Schema.parse(schema), constants)
