"""The base class of sinks that write files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from localcdap.api import (
    BatchSink,
    FailureCollector,
    OutputFormat,
    Schema,
    SinkContext,
    SinkSampleContext,
    SparkFormat,
    StageConfigurer,
)
from localcdap.api.formats import OUTPUT_FORMAT
from localcdap.api.rules import check_reference_name
from localcdap.files.delimited import DELIMITED
from localcdap.java.dates.simple_date_format import format_simple_date
from localcdap.plugin_lib.files.formats import require_format, write_format_files
from localcdap.plugin_lib.files.inputs import is_remote
from localcdap.plugin_lib.files.sink_checks import check_sink, get_written_schema
from localcdap.plugin_lib.files.sink_config import FileSinkConfig
from localcdap.plugin_lib.files.writers.columns import build_file_column
from localcdap.plugin_lib.files.writers.delimited import count_altered, write_delimited
from localcdap.plugin_lib.files.writers.json_lines import write_json
from localcdap.plugin_lib.files.writers.partitions import write_avro
from localcdap.plugin_lib.sink_samples import are_certain

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


class FilesSink(BatchSink):
    """Writes files of many formats into a new folder.

    A plugin derives from this class, and its ``Config`` from :class:`FileSinkConfig`; it may override
    :meth:`get_path`.
    """

    Config = FileSinkConfig
    config: FileSinkConfig

    @classmethod
    def create(cls, properties: Mapping[str, str]) -> FilesSink:
        """Return a sink for another plugin that writes files by it, and has validated what it passes."""
        return cls(FileSinkConfig.build(properties, FailureCollector("")))

    def get_path(self) -> str:
        """Return the folder in the form of the pipeline document, without the suffix."""
        return self.config.path

    def configure(self, stage: StageConfigurer) -> None:
        check_reference_name(stage, self.config.reference_name)
        check_sink(stage, self.config)

    def write(self, df: DataFrame, context: SinkContext) -> None:
        self.write_files(df, context)

    def preview(self, df: DataFrame, context: SinkContext) -> None:
        self.write(df, context)

    def accepts(self, batch: pa.RecordBatch, context: SinkSampleContext) -> bool:
        config, given = self.config, context.input_schema
        schema = get_written_schema(config, given)
        is_written_here = (type(self).write, type(self).preview) == (
            FilesSink.write,
            FilesSink.preview,
        )
        if (
            schema is None
            or not is_written_here
            or config.format_name == "avro"
            or config.format_plugin
        ):
            return False
        self._find_final(context, self.get_path())
        if not are_certain(batch, given, schema):
            return False
        if config.format_name in DELIMITED and not config.enable_quoted_values:
            count_altered(context, batch, schema, config.value_delimiter)
        return True

    def write_files(self, df: DataFrame, context: SinkContext) -> str:
        """Write the records. Return the directory that holds the files until the run has succeeded."""
        schema = get_written_schema(self.config, context.input_schema)
        assert schema is not None
        return self.write_folder(df, context, self.get_path(), schema)

    def write_folder(self, df: DataFrame, context: SinkContext, path: str, schema: Schema) -> str:
        """:meth:`write_files` with the fields of a schema, into a folder as the document has it."""
        final = self._find_final(context, path)
        by_spark = self._find_spark_format(context)
        by_python = self.config.format_name == "avro" or (
            self.config.format_plugin is not None and by_spark is None
        )
        if is_remote(final) and by_python:
            raise context.fail(
                f"Format '{self.config.format_name}' is written by Python, which does not reach '{final}'.",
                "Write to a path that all workers see, or in another format.",
            )
        directory = context.staging_directory(final, written_by_spark=not by_python)
        format = self.config.format_name
        columns = [build_file_column(context, f.name, f.schema, format) for f in schema]
        selected, name = df.select(columns), self.config.format_plugin
        if by_spark is not None:
            writer = selected.write.mode("append").format(by_spark.name)
            writer.options(**dict(by_spark.options)).save(directory)
        elif name is not None:
            given = self.config.get_given()
            write_format_files(selected, context, name, given, schema, directory)
        else:
            self._write(selected, context, schema, directory)
        if not context.is_remote:
            _remove_markers(Path(directory))
        return directory

    def _find_spark_format(self, context: SinkContext) -> SparkFormat | None:
        """Return the data source of Spark that a format that is a plugin names."""
        name = self.config.format_plugin
        if name is None:
            return None
        format: OutputFormat = require_format(
            context.find_plugin, OUTPUT_FORMAT, name, self.config.get_given()
        )
        return format.get_spark_format()

    def _find_final(self, context: SinkContext | SinkSampleContext, path: str) -> str:
        """Return the folder that the files are for, with the suffix."""
        final = context.resolve_path(path)
        if not self.config.suffix:
            return final
        at = context.logical_start_time
        return f"{final.rstrip('/')}/{format_simple_date(at, self.config.suffix)}"

    def _write(self, df: DataFrame, context: SinkContext, schema: Schema, directory: str) -> None:
        config = self.config
        # The staging directory already exists and is empty.
        writer = df.write.mode("append")
        match config.format_name:
            case "avro":
                write_avro(df, schema, directory, config.codec)
            case "json":
                write_json(df, context, schema, directory, former=config.former_json)
            case "parquet" | "orc" as format:
                codec = "uncompressed" if config.codec == "none" else config.codec
                writer.format(format).option("compression", codec).save(directory)
            case _:
                write_delimited(
                    df,
                    context,
                    schema,
                    directory,
                    config.value_delimiter,
                    header=config.write_header,
                    quoted=config.enable_quoted_values,
                )


def _remove_markers(directory: Path) -> None:
    """Remove the marker and checksum files of Spark and Hadoop; data files remain."""
    for file in directory.iterdir():
        if file.name.startswith(("_", ".")) and file.is_file():
            file.unlink()
