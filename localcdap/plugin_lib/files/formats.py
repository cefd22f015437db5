"""Formats that are plugins: finding, checking, reading and writing those that a stage names."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, Final, cast

from localcdap.api import (
    FailureCollector,
    InputFile,
    InputFormat,
    OutputFormat,
    PluginConfig,
    Schema,
    SinkContext,
    SourceContext,
    SparkFormat,
    StageConfigurer,
    StageError,
)
from localcdap.api.formats import INPUT_FORMAT, OUTPUT_FORMAT
from localcdap.api.stage import FindPlugin
from localcdap.files.encodings import open_input
from localcdap.plugin_lib.files.inputs import require_file_system
from localcdap.plugin_lib.files.readers.lines import FILE, PathField, escape_paths, get_file_uri
from localcdap.plugin_lib.files.writers import write_partition
from localcdap.plugin_lib.spark.columns import to_columns_ddl
from localcdap.plugin_lib.spark.conversion import conform_columns

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_Batches = Iterator["pa.RecordBatch"]
_COUNTS: Final = Schema.record("written", [("records", Schema.LONG)])


def find_format_plugin(
    stage: StageConfigurer, config: PluginConfig, type: str, name: str, known: Sequence[str]
) -> InputFormat | OutputFormat | None:
    """Return the format that a property ``format`` names; None, with failures, when it is invalid.

    :param known: the formats that are not plugins.
    """
    cls = stage.find_plugin(type, name)
    if cls is None:
        stage.failures.add(
            f"Invalid format '{name}'. The value must be one of {', '.join(known)}",
            f"Or install an artifact that has the format: a plugin '{name}' of the type {type}.",
        ).with_config_property("format")
        return None
    before = len(stage.failures)
    made = cls(config.build_for(cls.Config, stage.failures))
    return None if len(stage.failures) > before else made


def detect_format_schema(format: InputFormat, file: str) -> Schema:
    """Return the schema of a file.

    :raises StageError: (without a stage) when the format cannot tell it.
    """
    with open_input(file) as content:
        found = format.detect_schema(InputFile(file, content))
    if found is None:
        raise StageError("its format does not tell the schema of a file.", "Set it as 'schema'.")
    return found


def require_format(
    find_plugin: FindPlugin, type: str, name: str, properties: Mapping[str, str]
) -> Any:
    """Return a format in a run.

    :raises StageError: (without a stage) when there is none, or its properties are wrong.
    """
    cls = find_plugin(type, name)
    if cls is None:
        raise StageError(f"There is no format '{name}': no plugin of the type {type}.")
    failures = FailureCollector()
    made = cls(cls.Config.build(properties, failures))
    for failure in failures:
        raise StageError(failure.message, failure.corrective_action)
    return made


# -- reading --------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _File:
    path: str
    shown: str
    """The value of the path field of its records."""


def read_format_files(
    context: SourceContext,
    name: str,
    properties: Mapping[str, str],
    files: Sequence[str],
    schema: Schema,
    path: PathField,
) -> DataFrame:
    """Read files of a format that Python converts.

    :param properties: of the stage.
    """
    require_file_system(context, files)
    tasks = [_File(file, path.format_path(file)) for file in files]
    read = functools.partial(
        _read_file, context.find_plugin, name, dict(properties), str(schema), path.name
    )
    return context.generate(schema, tasks, read)


def read_spark_files(
    context: SourceContext, format: SparkFormat, files: Sequence[str], schema: Schema
) -> DataFrame:
    """Read the fields of the schema with a data source of Spark, and the URI of the file as :data:`FILE`."""
    reader = context.spark.read.format(format.name).options(**dict(format.options))
    read = reader.schema(to_columns_ddl(schema)).load(escape_paths(files))
    return read.select(get_file_uri().alias(FILE), *conform_columns(context, read, schema))


def _read_file(
    find_plugin: FindPlugin,
    name: str,
    properties: Mapping[str, str],
    schema: str,
    path_field: str | None,
    task: _File,
) -> _Batches:
    """Yield the records of a file in batches.

    :raises StageError: with the file, for whatever the format raises.
    """
    wanted = Schema.parse(schema)
    content = [field for field in wanted if field.name != path_field]
    inner = Schema.record(wanted.name or "record", content)
    format: InputFormat = require_format(find_plugin, INPUT_FORMAT, name, properties)
    try:
        with open_input(task.path) as stream:
            for batch in format.read_batches(InputFile(task.path, stream), inner):
                yield _add_path(batch, wanted, path_field, task.shown)
    except StageError as error:
        raise StageError(f"{error.message} File: {task.path}.", error.corrective_action) from error
    except Exception as error:
        raise StageError(
            f"File '{task.path}' cannot be read as {name}: {type(error).__name__}: {error}",
            "Check 'path' and 'format'.",
        ) from error


def _add_path(
    batch: pa.RecordBatch, schema: Schema, path_field: str | None, shown: str
) -> pa.RecordBatch:
    import pyarrow as pa

    if path_field is None or schema.field(path_field) is None:
        return batch
    paths = pa.array([shown] * batch.num_rows, pa.string())
    columns = [paths if name == path_field else batch.column(name) for name in schema.field_names]
    return pa.RecordBatch.from_arrays(columns, names=schema.field_names)


# -- writing --------------------------------------------------------------------------------


def write_format_files(
    df: DataFrame,
    context: SinkContext,
    name: str,
    properties: Mapping[str, str],
    schema: Schema,
    directory: str,
) -> None:
    """Write a file for each partition with records, and at least one, by a format that Python converts."""
    write = functools.partial(
        _write_file, context.find_plugin, name, dict(properties), str(schema), directory
    )
    # mapInArrow takes dots in names of columns for syntax.
    numbered = df.toDF(*(f"c{number}" for number in range(len(df.columns))))
    written = context.in_batches(numbered, cast("Callable[[_Batches], _Batches]", write), _COUNTS)
    written.write.format("noop").mode("overwrite").save()


def _write_file(
    find_plugin: FindPlugin,
    name: str,
    properties: Mapping[str, str],
    schema: str,
    directory: str,
    batches: _Batches,
) -> _Batches:
    format: OutputFormat = require_format(find_plugin, OUTPUT_FORMAT, name, properties)
    wanted = Schema.parse(schema)

    def write(stream: IO[bytes], filled: _Batches) -> None:
        named = (batch.rename_columns(wanted.field_names) for batch in filled)
        format.write_batches(stream, named, wanted)

    yield from write_partition(batches, directory, format.extension, write)
