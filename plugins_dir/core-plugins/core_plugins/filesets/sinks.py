"""The sinks of file sets: TPFSAvro, TPFSParquet, TPFSOrc, SnapshotAvro, SnapshotParquet, SnapshotText.

Their datasets have the properties that CDAP gives them (hydrator-plugins ``TimePartitionedFileSetSink``,
``SnapshotFileBatchSink``, ``SnapshotFileSet``), with ``format`` in place of Hadoop's classes.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

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

from . import partitions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_DEFAULT_PATH: Final = "yyyy-MM-dd/HH-mm"
_ANY: Final = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
_ZERO: Final = datetime.timedelta()
_FORMATS: Final = {"delimited": "csv"}
"""The formats of datasets whose names differ from those of files."""
_NAME: Final = "Name of the file set: a folder in 'filesets/NAMESPACE' of the instance's folder."
_BASE: Final = (
    "Folder of the file set, instead of one of its name; absolute, or in 'filesets/NAMESPACE'."
)
_CLEAN: Final = (
    "Age of partitions that are removed when the run succeeds, as 30d; by default, none are."
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


class SnapshotSinkConfig(FilesetSinkConfig, macros=True, rename="camel"):
    """The properties of sinks of snapshots."""

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


class TextSinkConfig(
    SnapshotSinkConfig,
    additions={
        "schema": "CDAP's sink writes all fields of the input.",
        "compressionCodec": "CDAP's sink of text does not compress; text has no codec here either.",
    },
):
    """The properties of the sink of delimited text."""

    delimiter: str = field("Text between two values.", default=",", macro=True)


class FilesetSink(BatchSink):
    """Writes one partition of a file set; its files appear when the whole run has succeeded."""

    Config: ClassVar[type[FilesetSinkConfig]] = SnapshotSinkConfig
    config: Any
    format: str

    dataset_type: ClassVar[str] = "partitionedFileSet"

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        partitions.check_duration(stage, "cleanPartitionsOlderThan", config.clean)
        if config.contains_macro("schema"):
            return
        self._make_files_sink("").configure(stage)
        macros = (config.contains_macro(name) for name in ("name", "basePath", "delimiter"))
        # Only the run knows the folder that stands for a path such as gs://sales.
        if not stage.failures and not any(macros) and not _is_url(config.base_path):
            properties = self._make_properties(stage.input_schema, config.base_path)
            stage.create_dataset(config.name, self.dataset_type, properties, config_property="name")

    def name_partition(self, at: datetime.datetime) -> tuple[Mapping[str, str | int], str]:
        """Return the key of a run's partition, and the path of its folder in the file set."""
        time_ms = partitions.to_milliseconds(at)
        return {partitions.SNAPSHOT: time_ms}, str(time_ms)

    def make_partitioning(self) -> dict[str, str]:
        """Return the properties of the dataset that declare the key."""
        field = f"partitioning.field.{partitions.SNAPSHOT}"
        return {"partitioning.fields.": partitions.SNAPSHOT, field: "LONG"}

    def write(self, df: DataFrame, context: SinkContext) -> None:
        if context.is_remote:
            raise context.fail(
                "file sets are folders of this machine.", "Use a File sink on a cluster."
            )
        config = self.config
        base = (
            context.resolve_path(config.base_path)
            if _is_url(config.base_path)
            else config.base_path
        )
        files = context.create_dataset(
            config.name, self.dataset_type, self._make_properties(context.input_schema, base)
        )
        key, path = self.name_partition(context.logical_start_time)
        if files is None:
            folder, held = partitions.resolve_folder(context, config.name, config.base_path), []
        else:
            folder, held = files.folder, [each.key for each in files.partitions]
        if key in held:
            raise context.fail(
                f"dataset '{config.name}' already has a partition with the key: {_show(key)}",
                f"Run it later, or drop that partition: localcdap datasets partitions {config.name}",
            )
        self._make_files_sink(f"{folder}/{path}").write_files(df, context)
        context.add_partition(config.name, key, path)
        self._drop_old_partitions(held, context)

    def _drop_old_partitions(
        self, keys: Iterable[Mapping[str, str | int]], context: SinkContext
    ) -> None:
        if not self.config.clean:
            return
        limit = context.logical_start_time - partitions.parse_duration(self.config.clean)
        old = [key for key in keys if partitions.read_time(key) < partitions.to_milliseconds(limit)]
        for key in old:
            context.drop_partition(self.config.name, key)
        context.logger.info("%d old partitions of '%s' are removed", len(old), self.config.name)

    def _make_properties(self, given: Schema | None, base_path: str | None) -> dict[str, str]:
        """Return the properties of the dataset.

        :param given: the schema of the input.
        """
        schema = self.config.schema or given
        properties = {"format": _FORMATS.get(self.format, self.format), **self.make_partitioning()}
        if schema is not None:
            properties["schema"] = str(schema)
        if base_path:
            properties["base.path"] = base_path
        if isinstance(self.config, TextSinkConfig):
            properties["explore.format.property.delimiter"] = self.config.delimiter
        return properties

    def preview(self, df: DataFrame, context: SinkContext) -> None:
        # Unlike write, without a dataset.
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
        return FilesSink.create(properties)


class TimedSink(FilesetSink):
    """Writes the partition of the run's time."""

    Config = TimedSinkConfig
    dataset_type: ClassVar[str] = "timePartitionedFileSet"

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

    def name_partition(self, at: datetime.datetime) -> tuple[Mapping[str, str | int], str]:
        before = partitions.parse_duration(self.config.offset) if self.config.offset else _ZERO
        moment = at - before
        key = partitions.make_timed_key(moment)
        in_zone = moment.astimezone(parse_zone(self.config.time_zone))
        if self.config.path_format:
            return key, format_simple_date(in_zone, self.config.path_format)
        name = format_simple_date(in_zone, _DEFAULT_PATH)
        return key, f"{name}.{partitions.to_milliseconds(moment)}"

    def make_partitioning(self) -> dict[str, str]:
        return {}


def _is_url(path: str | None) -> bool:
    return path is not None and "://" in path


def _show(key: Mapping[str, str | int]) -> str:
    return "{" + ", ".join(f"{name}={value}" for name, value in key.items()) + "}"


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
