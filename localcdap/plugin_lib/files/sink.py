"""The base class of sinks that write files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from localcdap.api import BatchSink, Schema, SinkContext, SinkSampleContext, StageConfigurer
from localcdap.api.rules import check_reference_name
from localcdap.java.dates.simple_date_format import format_simple_date
from localcdap.plugin_lib.files.inputs import is_remote
from localcdap.plugin_lib.files.sink_checks import check_sink, get_written_schema
from localcdap.plugin_lib.files.sink_config import FileSinkConfig
from localcdap.plugin_lib.files.writers.avro import write_avro
from localcdap.plugin_lib.files.writers.delimited import write_delimited
from localcdap.plugin_lib.sink_samples import are_certain
from localcdap.plugin_lib.spark.checks import require_value
from localcdap.plugin_lib.spark.columns import get_column

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
        if schema is None or not is_written_here or config.format_name == "avro":
            return False
        self._find_final(context, self.get_path())
        return are_certain(batch, given, schema)

    def write_files(self, df: DataFrame, context: SinkContext) -> str:
        """Write the records. Return the directory that holds the files until the run has succeeded."""
        schema = get_written_schema(self.config, context.input_schema)
        assert schema is not None
        return self.write_folder(df, context, self.get_path(), schema)

    def write_folder(self, df: DataFrame, context: SinkContext, path: str, schema: Schema) -> str:
        """:meth:`write_files` with the fields of a schema, into a folder as the document has it."""
        final = self._find_final(context, path)
        if is_remote(final) and self.config.format_name == "avro":
            raise context.fail(
                f"Avro is written by Python, which does not reach '{final}'.",
                "Write to a path that all workers see, or in another format.",
            )
        # Avro is written by Python.
        directory = context.staging_directory(
            final, written_by_spark=self.config.format_name != "avro"
        )
        columns = [
            require_value(context, get_column(f.name), f.name, f.schema).alias(f.name)
            for f in schema
        ]
        self._write(df.select(columns), schema, directory)
        if not context.is_remote:
            _remove_markers(Path(directory))
        return directory

    def _find_final(self, context: SinkContext | SinkSampleContext, path: str) -> str:
        """Return the folder that the files are for, with the suffix."""
        final = context.resolve_path(path)
        if not self.config.suffix:
            return final
        at = context.logical_start_time
        return f"{final.rstrip('/')}/{format_simple_date(at, self.config.suffix)}"

    def _write(self, df: DataFrame, schema: Schema, directory: str) -> None:
        config = self.config
        # The staging directory already exists and is empty.
        writer = df.write.mode("append")
        match config.format_name:
            case "avro":
                write_avro(df, schema, directory, config.codec)
            case "json":
                writer.options(
                    ignoreNullFields="false",
                    timeZone="UTC",
                    timestampFormat="yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
                    timestampNTZFormat="yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
                ).json(directory)
            case "parquet" | "orc" as format:
                codec = "uncompressed" if config.codec == "none" else config.codec
                writer.format(format).option("compression", codec).save(directory)
            case _:
                write_delimited(
                    df,
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
