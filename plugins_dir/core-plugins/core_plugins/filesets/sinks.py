"""The sinks of file sets: TPFSAvro, TPFSParquet, TPFSOrc, SnapshotAvro, SnapshotParquet, SnapshotText."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any, Final

from localcdap.api import (
    BatchSink,
    PluginConfig,
    Schema,
    SinkContext,
    StageConfigurer,
    field,
    plugin,
)
from localcdap.java.dates.simple_date_format import format_simple_date
from localcdap.java.dates.zones import parse_zone
from localcdap.plugin_lib.files.sink import FilesSink
from localcdap.plugin_lib.files.sink_config import FileSinkConfig

from . import partitions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_DEFAULT_PATH: Final = "yyyy-MM-dd/HH-mm"
_ANY: Final = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
_ZERO: Final = datetime.timedelta()
_NAME: Final = "Name of the file set: a folder in 'filesets/NAMESPACE' of the instance's folder."
_BASE: Final = "Folder of the file set, instead of the one named after it."
_CLEAN: Final = (
    "Age of partitions that are removed before a new one is written, as 30d; by default, none are."
)


class FilesetSinkConfig(PluginConfig, macros=True, rename="camel"):
    """The properties of all sinks of file sets."""

    name: str = field(_NAME)
    base_path: str | None = field(
        _BASE,
        default=None,
        form="{folder}",
    )
    schema: Schema | None = field(
        "Fields that are written: some or all fields of the input.", default=None
    )
    clean: str | None = field(_CLEAN, default=None, name="cleanPartitionsOlderThan")
    codec: str | None = field(
        "Compression of the format, such as None, Snappy, GZip or Deflate.",
        default=None,
        name="compressionCodec",
    )
    file_properties: str | None = field(
        "Hadoop properties; without effect on this machine.", default=None, syntax="json"
    )


class TimedSinkConfig(FilesetSinkConfig, macros=True):
    """The properties of sinks of partitions by time."""

    path_format: str = field(
        "Folder of the partition in the file set, as a Java time pattern. By default it is yyyy-MM-dd/HH-mm "
        "followed by the time in milliseconds.",
        default="",
        name="filePathFormat",
    )
    time_zone: str = field("Time zone of the folder's name.", default="UTC", name="timeZone")
    offset: str = field(
        "Duration between the partition's time and the later logical start time, as 1h.",
        default="",
        name="partitionOffset",
    )


class TimedOrcSinkConfig(TimedSinkConfig, rename="camel"):
    """The properties of the sink of ORC files, whose storage Spark arranges here."""

    chunk_size: str | None = field(
        "Bytes of a compressed chunk; without effect here.",
        default=None,
        name="compressionChunkSize",
    )
    stripe_size: str | None = field("Bytes of a stripe; without effect here.", default=None)
    index_stride: str | None = field(
        "Rows between two entries of the index; without effect here.", default=None
    )
    create_index: str | None = field(
        "Whether files have an index; without effect here.", default=None
    )


class TextSinkConfig(FilesetSinkConfig):
    """The properties of the sink of delimited text."""

    delimiter: str = field("Text between two values.", default=",", macro=True)


class FilesetSink(BatchSink):
    """Writes one partition of a file set; its files appear when the whole run has succeeded."""

    Config = FilesetSinkConfig
    config: Any
    format: str

    def configure(self, stage: StageConfigurer) -> None:
        partitions.check_duration(stage, "cleanPartitionsOlderThan", self.config.clean)
        if not self.config.contains_macro("schema"):
            self._make_files_sink("").configure(stage)

    def name_partition(self, at: datetime.datetime) -> tuple[datetime.datetime, str]:
        """Return the time of a run's partition, and the name of its folder."""
        return at, str(partitions.to_milliseconds(at))

    def write(self, df: DataFrame, context: SinkContext) -> None:
        if context.is_remote:
            raise context.fail(
                "file sets are folders of this machine.", "Use a File sink on a cluster."
            )
        folder = partitions.resolve_folder(context, self.config.name, self.config.base_path)
        at, name = self.name_partition(context.logical_start_time)
        if self.config.clean:
            limit = context.logical_start_time - partitions.parse_duration(self.config.clean)
            removed = partitions.remove_older(folder, partitions.to_milliseconds(limit))
            context.logger.info("Removed %d old partitions of '%s'", removed, self.config.name)
        written = self._make_files_sink(f"{folder}/{name}").write_files(df, context)
        partitions.write_mark(written, partitions.to_milliseconds(at))

    def preview(self, df: DataFrame, context: SinkContext) -> None:
        # Unlike write, without removing old partitions.
        self._make_files_sink("preview").write_files(df, context)

    def _make_files_sink(self, path: str) -> FilesSink:
        """Return the sink that writes the files of the partition."""
        properties = {"path": path, "format": self.format}
        if self.config.schema is not None:
            properties["schema"] = str(self.config.schema)
        if self.config.codec:
            properties["compressionCodec"] = self.config.codec
        if isinstance(self.config, TextSinkConfig):
            properties["delimiter"] = self.config.delimiter
        return FilesSink(FileSinkConfig.build(properties, partitions.ignore_failures()))


class TimedSink(FilesetSink):
    """Writes the partition of the run's time."""

    Config = TimedSinkConfig

    def configure(self, stage: StageConfigurer) -> None:
        super().configure(stage)
        partitions.check_duration(stage, "partitionOffset", self.config.offset)
        macros = (self.config.contains_macro(name) for name in ("filePathFormat", "timeZone"))
        if any(macros):
            return
        for name, check in (
            ("timeZone", lambda: parse_zone(self.config.time_zone)),
            ("filePathFormat", lambda: format_simple_date(_ANY, self.config.path_format)),
        ):
            try:
                check()
            except ValueError as error:
                stage.failures.add(f"Invalid '{name}': {error}.").with_config_property(name)

    def name_partition(self, at: datetime.datetime) -> tuple[datetime.datetime, str]:
        before = partitions.parse_duration(self.config.offset) if self.config.offset else _ZERO
        moment = at - before
        in_zone = moment.astimezone(parse_zone(self.config.time_zone))
        if self.config.path_format:
            return moment, format_simple_date(in_zone, self.config.path_format)
        return (
            moment,
            f"{format_simple_date(in_zone, _DEFAULT_PATH)}.{partitions.to_milliseconds(moment)}",
        )


def _describe(what: str, format: str) -> str:
    return f"Writes {what} of a file set in {format}, as CDAP 3 to 5 did."


@plugin(name="TPFSAvro", description=_describe("a partition by time", "Avro"))
class TimedAvroSink(TimedSink):
    format = "avro"


@plugin(name="TPFSParquet", description=_describe("a partition by time", "Parquet"))
class TimedParquetSink(TimedSink):
    format = "parquet"


@plugin(name="TPFSOrc", description=_describe("a partition by time", "ORC"))
class TimedOrcSink(TimedSink):
    Config = TimedOrcSinkConfig
    format = "orc"


@plugin(name="SnapshotAvro", description=_describe("a snapshot", "Avro"))
class SnapshotAvroSink(FilesetSink):
    format = "avro"


@plugin(name="SnapshotParquet", description=_describe("a snapshot", "Parquet"))
class SnapshotParquetSink(FilesetSink):
    format = "parquet"


@plugin(name="SnapshotText", description=_describe("a snapshot", "delimited text"))
class SnapshotTextSink(FilesetSink):
    Config = TextSinkConfig
    format = "delimited"
