"""The sinks GCSMultiFiles, GCSMultiAvro and GCSMultiFormats, which write several folders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final

from localcdap.api import (
    BatchSink,
    Capabilities,
    Schema,
    SinkContext,
    StageConfigurer,
    capability,
    field,
    plugin,
)
from localcdap.api.rules import check_reference_name
from localcdap.java.dates.simple_date_format import format_simple_date
from localcdap.plugin_lib.files.sink import FilesSink, check_format, find_unwritable
from localcdap.plugin_lib.spark.columns import get_column
from localcdap.plugin_lib.spark.conversion import conform_columns

from ..account import WITHOUT_EFFECT, GoogleKeyFileConfig
from ..bigquery.values import convert_rows
from ..multi_sinks import SPLIT, check_split_field, find_destinations, flexible_field
from .files import SCHEME, GcsSinkConfig, add_scheme, check_storage_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class GcsMultiConfig(GcsSinkConfig):
    split_field: str = field(
        "Field that names the folder of a record, inside the path. The run argument 'multisink.NAME' is the "
        "schema of a folder's files; records of other folders are dropped.",
        default="tablename",
        macro=True,
        name=SPLIT,
        form="{input-field}",
    )
    flexible: str = flexible_field()


@plugin(
    name="GCSMultiFiles",
    description="Local: writes records into several local folders of a bucket, by a field's value.",
)
@capability(Capabilities.Mode.NATIVE)
class GcsMultiFiles(FilesSink):
    """Writes the files of a folder, with the fields of its argument, into ``path/NAME/suffix``."""

    Config = GcsMultiConfig
    config: GcsMultiConfig

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        check_reference_name(stage, config.reference_name)
        check_format(stage, config)
        check_storage_path(stage, config, "path", config.path)
        config.warn_of_file_names(stage)
        check_split_field(stage, config, config.split_field)

    def write(self, df: DataFrame, context: SinkContext) -> None:
        config = self.config
        kept = df.persist()  # earlier stages are computed once for all folders
        try:
            schemas = find_destinations(
                kept, context, "folder", config.split_field, config.flexible
            )
            path = add_scheme(config.path).rstrip("/")
            places = {name: f"{path}/{name}" for name in schemas}
            write_folders(self, kept, context, config.split_field, schemas, places)
        finally:
            kept.unpersist()


def write_folders(
    sink: FilesSink,
    df: DataFrame,
    context: SinkContext,
    split_field: str,
    schemas: Mapping[str, Schema],
    places: Mapping[str, str],
) -> None:
    """Write the records of each folder with the fields of its schema.

    :param sink: what writes the files.
    :param split_field: the field that names the folder of a record.
    :param places: by name, the path of the folder in the form of a document.
    :raises StageError: when the format of the files cannot hold a field.
    """
    format = sink.config.format_name
    for name, schema in schemas.items():
        for each in schema:
            problem = find_unwritable(format, each)
            if problem is not None:
                raise context.fail(
                    f"field '{each.name}' of folder '{name}' {problem}, which the '{format}' format cannot "
                    "hold.",
                    f"Change the argument 'multisink.{name}', or use another format.",
                )
    split = get_column(split_field)
    for name, schema in schemas.items():
        files = df.where(split == name)
        rows = convert_rows(context, files, context.input_schema, schema, rounds=False)
        records = rows.select(conform_columns(context, rows, schema))
        sink.write_folder(records, context, places[name], schema)


_FORMATS: Final = ("avro", "orc", "parquet")
_CODECS: Final = {"avro": ("snappy", "deflate"), "parquet": ("snappy", "gzip")}
"""By format, the codecs that it can have; orc and text ignore the property."""


class MultiFormatsConfig(GoogleKeyFileConfig, macros=True, rename="camel"):
    """The properties of the former sinks of several folders."""

    reference_name: str = field(
        "Name of this sink in lineage and metadata: letters, digits, '_', '-', '.', '$'.",
        macro=False,
    )
    path: str = field("Folder of Cloud Storage to write into: gs://bucket/folder.", form="{folder}")
    bucket: str = field(
        "The bucket. It is without effect: the path names it.", group=WITHOUT_EFFECT
    )
    suffix: str | None = field(
        "Beginning of the names of the folders inside the path: the logical start time by a Java time "
        "pattern.",
        default=None,
    )
    output_format: str | None = field(
        "Format of the files: avro, orc, parquet, or text.", default=None
    )
    codec: str | None = field(
        "Compression: none, snappy or deflate of avro; none, snappy or gzip of parquet.",
        default=None,
        macro=False,
    )
    delimiter: str = field(
        "Text between two values in the format text; a tab by default.", default="\t", macro=False
    )
    split_field: str = field(
        "Field that names the table of a record. The run argument 'multisink.NAME' or 'multisink.DB:NAME' is "
        "the schema of a table; records of other tables are dropped.",
        default="tablename",
        name=SPLIT,
        form="{input-field}",
        macro=False,
    )
    schema: Schema | None = field(
        "Schema of the records. It is without effect: the arguments have the schemas.",
        default=None,
        group=WITHOUT_EFFECT,
    )


class MultiFormatsSink(BatchSink):
    """Writes the files of table NAME into ``path/suffix_DB_NAME``, or ``path/suffix_NAME`` (google-cloud
    before 0.12, ``co/cask/gcp/gcs/sink/GCSMultiBatchSink.java``, ``GCSMultiAvroBatchSink.java``).

    There the format is required, and any unknown one is text.
    """

    default: ClassVar[str]
    """The format where the property has none, as in pipelines of the earliest versions."""
    Config = MultiFormatsConfig
    config: MultiFormatsConfig

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        check_reference_name(stage, config.reference_name)
        check_storage_path(stage, config, "path", config.path)
        is_known = config.path and not config.contains_macro("path")
        if is_known and not config.path.startswith(SCHEME):
            stage.failures.add(
                "Path must start with gs://.", f"Write it as {SCHEME}bucket/folder."
            ).with_config_property("path")
        check_split_field(stage, config, config.split_field)
        self._check_codec(stage)
        if not config.contains_macro("suffix"):
            folder = {"path": SCHEME, "format": "csv", "suffix": config.suffix or ""}
            check_format(stage, FilesSink.create(folder).config)

    def _check_codec(self, stage: StageConfigurer) -> None:
        codec = (self.config.codec or "none").strip().lower()
        allowed = _CODECS.get(self._format)
        if allowed is None or self.config.contains_macro("outputFormat"):
            return
        if codec not in ("none", *allowed):
            stage.failures.add(
                f"Codec '{self.config.codec}' cannot be used for the format '{self._format}'.",
                f"Use one of none, {', '.join(allowed)}.",
            ).with_config_property("codec")

    @property
    def _format(self) -> str:
        return (self.config.output_format or self.default).strip().lower()

    def _create_sink(self) -> FilesSink:
        """Return the sink that writes the files of one folder."""
        format, codec = self._format, (self.config.codec or "none").strip().lower()
        properties = {"path": self.config.path or SCHEME, "format": format}
        if format not in _FORMATS:
            properties |= {"format": "delimited", "delimiter": self.config.delimiter}
        elif format in _CODECS:
            properties["compressionCodec"] = codec
        return FilesSink.create(properties)

    def write(self, df: DataFrame, context: SinkContext) -> None:
        config = self.config
        kept = df.persist()  # earlier stages are computed once for all folders
        try:
            found = find_destinations(kept, context, "table", config.split_field)
            at = context.logical_start_time
            start = format_simple_date(at, config.suffix) if config.suffix else ""
            path = config.path.rstrip("/")
            schemas = {name.rpartition(":")[2]: schema for name, schema in found.items()}
            places = {
                name.rpartition(":")[2]: f"{path}/{start}_{name.replace(':', '_')}"
                for name in found
            }
            write_folders(self._create_sink(), kept, context, config.split_field, schemas, places)
        finally:
            kept.unpersist()

    def preview(self, df: DataFrame, context: SinkContext) -> None:
        self.write(df, context)


@plugin(
    name="GCSMultiAvro",
    description="Local: writes records into Avro files in several local folders of a bucket.",
)
@capability(Capabilities.Mode.NATIVE)
class GcsMultiAvro(MultiFormatsSink):
    default = "avro"


@plugin(
    name="GCSMultiFormats",
    description="Local: writes records into files in several local folders of a bucket.",
)
@capability(Capabilities.Mode.NATIVE)
class GcsMultiFormats(MultiFormatsSink):
    default = "text"


@plugin(
    name="GCSMultiFormat",
    description="Local: writes records into files in several local folders of a bucket.",
)
@capability(Capabilities.Mode.NATIVE)
class GcsMultiFormat(MultiFormatsSink):
    """The name of GCSMultiFormats in an early version."""

    default = "text"
