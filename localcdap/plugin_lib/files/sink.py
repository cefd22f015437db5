"""Sinks that write files: their base class, properties and validation."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from localcdap.api import (
    BatchSink,
    FailureCollector,
    Field,
    FormatContext,
    LogicalType,
    NamedPlugins,
    OutputFormat,
    PluginConfig,
    Schema,
    SinkContext,
    SinkSampleContext,
    SparkFormat,
    StageConfigurer,
    Type,
    field,
)
from localcdap.api.formats import OUTPUT_FORMAT
from localcdap.api.rules import check_reference_name, check_subset
from localcdap.files.delimited import DELIMITED, find_delimiter
from localcdap.java.dates.simple_date_format import format_simple_date
from localcdap.plugin_lib.files.formats import (
    find_format_plugin,
    require_format,
    write_format_files,
)
from localcdap.plugin_lib.files.inputs import is_remote
from localcdap.plugin_lib.files.writers import (
    build_file_column,
    count_altered,
    count_moved_dates,
    write_avro,
    write_delimited,
    write_json,
)
from localcdap.plugin_lib.json_texts import former_form_field
from localcdap.plugin_lib.sink_samples import are_certain

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


FORMATS: Final = ("avro", "csv", "delimited", "json", "orc", "parquet", "tsv")
TYPED: Final = ("avro", "orc", "parquet")
"""Formats whose files contain a schema."""
CODECS: Final = {
    "avro": ("none", "bzip2", "deflate", "snappy", "xz"),
    "orc": ("none", "lz4", "snappy", "zlib", "zstd"),
    "parquet": ("none", "gzip", "lz4", "snappy", "zstd"),
}
DEFAULT_CODECS: Final = {"avro": "none", "orc": "zlib", "parquet": "snappy"}


class FileSinkConfig(PluginConfig, macros=True, rename="camel"):
    """The properties of a sink that writes files."""

    reference_name: str | None = field(
        "Name of this sink in lineage and metadata: letters, digits, '_', '-', '.', '$'.",
        default=None,
        macro=False,
    )
    path: str = field(
        "Folder to write into. With the suffix appended, it must not exist or must be empty. The files "
        "appear when the whole run has succeeded. A relative path is relative to the instance's folder.",
        form="{folder}",
    )
    suffix: str | None = field(
        "Folder inside the path, named after the logical start time of the run in UTC by a Java time "
        "pattern: yyyy-MM-dd-HH-mm gives 2015-01-01-20-42. If not set, files go into the path itself.",
        default=None,
    )
    format: str = field(
        "Format of the files: avro, csv, delimited, json (an object on each line), orc, parquet, tsv, or "
        "the name of a plugin of the type validatingOutputFormat.",
        form="{format:" + "|".join(FORMATS) + "}",
        uses=NamedPlugins(OUTPUT_FORMAT, shares_properties=True),
    )
    schema: Schema | None = field(
        "Schema of the files (avro, orc, parquet, plugins): some or all fields of the input. Other formats "
        "write all fields of the input.",
        default=None,
    )
    delimiter: str | None = field(
        "Text between two values in the format 'delimited', by default a comma. Other formats ignore it.",
        default=None,
        group="format of the files",
    )
    write_header: bool = field(
        "Whether the first line of each file contains the field names (csv, tsv, delimited).",
        default=False,
        group="format of the files",
    )
    enable_quoted_values: bool = field(
        "Whether values that contain the delimiter, a quote or a line end are quoted (csv, tsv, "
        "delimited). Otherwise they are written as they are, and the run warns of their number. A source "
        "reads quoted values with 'enableQuotedValues' and 'doubledQuotes'.",
        default=False,
        group="format of the files",
        addition="CDAP writes values without quotes.",
    )
    compression_codec: str | None = field(
        "Compression of avro (none, deflate, snappy, bzip2, xz; none by default), orc (none, zlib, "
        "snappy, lz4, zstd; zlib by default) and parquet files (none, snappy, gzip, lz4, zstd; snappy "
        "by default).",
        default=None,
        form="{codec:none|snappy|zlib|lz4|zstd|gzip|deflate|bzip2|xz}",
        group="format of the files",
    )
    former_json: bool = former_form_field()
    file_system_properties: str | None = field(
        "Hadoop properties as a JSON object of texts; without effect on this machine.",
        default=None,
        syntax="json",
        group="more",
    )

    @property
    def format_name(self) -> str:
        return self.format.strip().lower()

    @property
    def format_plugin(self) -> str | None:
        """The name of a format that is a plugin; None for one of :data:`FORMATS`."""
        return None if self.format_name in FORMATS else self.format.strip()

    @property
    def codec(self) -> str:
        """The compression codec of a format that supports compression."""
        chosen = (self.compression_codec or DEFAULT_CODECS[self.format_name]).strip().lower()
        return "none" if chosen == "uncompressed" else chosen

    @property
    def value_delimiter(self) -> str:
        """The text between two values of a line; empty for a format without a delimiter."""
        return find_delimiter(self.format_name, self.delimiter)


_TEXTS: Final[dict[LogicalType | Type, str]] = {
    Type.FLOAT: ".",
    Type.DOUBLE: ".",
    LogicalType.DATE: "-",
    LogicalType.TIME_MILLIS: ":",
    LogicalType.TIME_MICROS: ":",
    LogicalType.TIMESTAMP_MILLIS: "-T:Z",
    LogicalType.TIMESTAMP_MICROS: "-T:Z",
    LogicalType.DATETIME: "-T:",
}
"""By type, the characters that each text has."""
_AVRO_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_sink(stage: StageConfigurer, config: FileSinkConfig) -> None:
    """Add a failure for each property that is invalid, alone or for the input schema."""
    if not check_format(stage, config) or config.contains_macro("schema"):
        return
    schema = get_written_schema(config, stage.input_schema)
    if schema is None:
        return
    if stage.input_schema is not None:
        check_subset(stage, stage.input_schema, schema)
    format = _find_format(stage, config)
    if format is not None:
        format.validate(FormatContext(stage.failures, schema))
    for each in schema:
        _check_field(stage, config.format_name, each)
    if not (config.enable_quoted_values or config.contains_macro("enableQuotedValues")):
        _check_delimiter(stage, config, schema)


def check_format(stage: StageConfigurer, config: FileSinkConfig) -> bool:
    """Add a failure for each property that is invalid alone. Return whether the format is known."""
    _check_suffix(stage, config.suffix)
    _check_json(stage, config.file_system_properties)
    if config.contains_macro("format") or config.format is None:
        return False
    if config.format_plugin is not None:
        return _find_format(stage, config) is not None
    _check_codec(stage, config)
    return True


def _find_format(stage: StageConfigurer, config: FileSinkConfig) -> OutputFormat | None:
    """Return the format if it is a plugin, and add failures if it is invalid."""
    name = config.format_plugin
    if name is None:
        return None
    found = find_format_plugin(stage, config, OUTPUT_FORMAT, name, FORMATS)
    return cast("OutputFormat | None", found)


def join_suffix(path: str, suffix: str | None) -> str:
    """Return a folder with the time pattern of the folder inside it, for :meth:`.replaces_folder`."""
    return f"{path.rstrip('/')}/{suffix}" if suffix else path


def get_written_schema(config: FileSinkConfig, given: Schema | None) -> Schema | None:
    """Return the schema of the written files; None when it is not known.

    :param given: the input schema.
    """
    is_typed = config.format_name in TYPED or config.format_plugin is not None
    if is_typed and config.schema is not None:
        return config.schema
    return given


def _check_suffix(stage: StageConfigurer, suffix: str | None) -> None:
    try:
        format_simple_date(datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC), suffix or "")
    except ValueError as error:
        stage.failures.add(
            f"Invalid suffix: {error}.", "Ensure provided suffix is valid."
        ).with_config_property("suffix")


def _check_json(stage: StageConfigurer, text: str | None) -> None:
    try:
        valid = isinstance(json.loads(text or "{}"), dict)
    except ValueError:
        valid = False
    if not valid:
        stage.failures.add("File system properties must be a valid json.").with_config_property(
            "fileSystemProperties"
        )


def _check_codec(stage: StageConfigurer, config: FileSinkConfig) -> None:
    codecs = CODECS.get(config.format_name)
    if codecs is not None and config.codec not in codecs:
        stage.failures.add(
            f"Format '{config.format_name}' has no compression '{config.compression_codec}'.",
            f"Use one of {', '.join(codecs)}.",
        ).with_config_property("compressionCodec")


def _check_field(stage: StageConfigurer, format: str, field: Field) -> None:
    problem = find_unwritable(format, field)
    if problem is not None:
        stage.failures.add(
            f"Field '{field.name}' {problem}, which the '{format}' format cannot hold.",
            "Change or drop the field before this sink, or use another format.",
        ).with_input_field(field.name)


def _check_delimiter(stage: StageConfigurer, config: FileSinkConfig, schema: Schema) -> None:
    """Warn of fields whose texts all contain the delimiter."""
    delimiter = config.value_delimiter
    if not delimiter or config.contains_macro("delimiter"):
        return
    for each in schema:
        inner = each.schema.non_nullable
        if delimiter in _TEXTS.get(inner.logical_type or inner.type, ""):
            stage.warnings.add(
                f"Each value of field '{each.name}' contains the delimiter '{delimiter}', and is written "
                "without quotes.",
                "Use another delimiter.",
            ).with_config_property("delimiter")


def find_unwritable(format: str, field: Field) -> str | None:
    """Return why a format cannot hold a field, as a text that follows the field's name; None if it can."""
    inner = field.schema.non_nullable
    is_simple = inner.type.is_simple or inner.type is Type.ENUM
    if format in DELIMITED and not is_simple:
        return f"is of type '{inner.display_name}'"
    if format in TYPED:
        for part in _list_parts(field.schema):
            reason = _find_unsupported(format, part)
            if reason is not None:
                return reason if part == inner else f"{reason} inside"
    if format == "avro" and _AVRO_NAME.fullmatch(field.name) is None:
        return "has a name with characters other than letters, digits and '_'"
    return None


def _find_unsupported(format: str, schema: Schema) -> str | None:
    if schema.type is Type.NULL:
        return "is of type 'null'"
    keys = schema.keys.non_nullable if schema.keys is not None else Schema.STRING
    if format == "avro" and keys.type is not Type.STRING:
        return f"is a map with keys of type '{keys.display_name}'"
    return None


def _list_parts(schema: Schema) -> list[Schema]:
    """Return the non-nullable schema and all schemas nested in it."""
    inner = schema.non_nullable
    children = [s for s in (inner.items, inner.keys, inner.values) if s is not None]
    children += [f.schema for f in inner]
    children += [m for m in inner.members if m.type is not Type.NULL]
    return [inner, *(part for child in children for part in _list_parts(child))]


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
        if self.config.path and not self.config.macros & {"path", "suffix"}:
            stage.replaces_folder("path", join_suffix(self.get_path(), self.config.suffix))

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
        if format == "orc":
            df = count_moved_dates(context, df, schema)
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
