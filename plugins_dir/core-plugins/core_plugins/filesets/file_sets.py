"""The sources and sinks of file sets, which CDAP 3 to 5 had: TPFS and Snapshot plugins for each format.

Their datasets have the properties that CDAP gives them (hydrator-plugins ``TimePartitionedFileSetSink``,
``SnapshotFileBatchSink``, ``SnapshotFileSet``), with ``format`` in place of Hadoop's classes.

A pipeline that writes makes the file set a dataset, which lists its partitions. A folder without a dataset,
such as one copied from CDAP, has the partitions that the names of its folders tell.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from localcdap.api import (
    BatchSink,
    BatchSource,
    FailureCollector,
    NotFoundError,
    PluginConfig,
    Schema,
    SinkContext,
    SourceContext,
    SparkContext,
    StageConfigurer,
    field,
    plugin,
)
from localcdap.api.app.transactions import TransactionContext, TransactionKind
from localcdap.api.dataset.classes.file_sets import PartitionedFileSet
from localcdap.api.dataset.partition_fields import list_partition_folders
from localcdap.api.errors import HostError
from localcdap.java.dates.simple_date_format import format_simple_date
from localcdap.java.dates.zones import parse_zone
from localcdap.plugin_lib.files.inputs import FilesNotFoundError, find_input_files
from localcdap.plugin_lib.files.readers.records import read_files
from localcdap.plugin_lib.files.sink import FilesSink
from localcdap.plugin_lib.files.source_config import FileSourceConfig

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_DURATION: Final = re.compile(r"\s*(\d+)\s*([smhd])\s*")
_TIME_FIELDS: Final = ("year", "month", "day", "hour", "minute")
SNAPSHOT: Final = "snapshot"
"""The field of the key of a snapshot: its time in milliseconds since 1970 (CDAP ``SnapshotFileSet``)."""
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
DURATION_ACTION: Final = "Write an integer and s, m, h or d, such as 30m or 1d."


class Partition(NamedTuple):
    """A partition of a file set."""

    time_ms: int
    """Milliseconds since 1970."""
    directory: str


def parse_duration(text: str) -> datetime.timedelta:
    """Parse a duration such as ``30m``.

    :raises ValueError: for any other text.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return datetime.timedelta(seconds=int(match[1]) * _SECONDS[match[2]])


def check_duration(stage: StageConfigurer, name: str, text: str | None) -> None:
    """Add a failure for a property that is set but is not a duration."""
    if text:
        try:
            parse_duration(text)
        except ValueError:
            stage.failures.add(
                f"'{text}' is not a duration.", DURATION_ACTION
            ).with_config_property(name)


def resolve_folder(context: SparkContext, name: str, base_path: str | None) -> str:
    """Return the folder of a file set without a dataset.

    :param base_path: is relative to the folder of the namespace's file sets, as in CDAP.
    :raises StageError: when the base path is not on this machine.
    """
    written = base_path or name
    if not written.startswith("/") and "://" not in written:
        written = f"filesets/{context.namespace}/{written}"
    return context.resolve_path(written).rstrip("/")


def to_milliseconds(moment: datetime.datetime) -> int:
    return int(moment.timestamp() * 1000)


def make_timed_key(moment: datetime.datetime) -> dict[str, str | int]:
    """Return the key of a partition in a dataset of the type ``timePartitionedFileSet``."""
    utc = moment.astimezone(datetime.UTC)
    values = (utc.year, utc.month, utc.day, utc.hour, utc.minute)
    return dict(zip(_TIME_FIELDS, values, strict=True))


def read_time(key: Mapping[str, str | int]) -> int:
    """Return the time of a key, of a timed partition or a snapshot, in milliseconds since 1970."""
    if SNAPSHOT in key:
        return int(key[SNAPSHOT])
    values = [int(key[name]) for name in _TIME_FIELDS]
    return to_milliseconds(datetime.datetime(*values, tzinfo=datetime.UTC))  # type: ignore[arg-type, misc]


def list_partitions(context: SparkContext, name: str, base_path: str | None) -> list[Partition]:
    """Return the partitions of a file set, oldest first, of the dataset if there is one."""
    try:
        found = context.transactions.run(
            lambda tx: _read_partitions(tx, name), kind=TransactionKind.READ_ONLY
        )
    except (NotFoundError, HostError):
        folder = resolve_folder(context, name, base_path)
        return [
            Partition(time_ms, str(path)) for time_ms, path in list_partition_folders(Path(folder))
        ]
    if found is None:
        raise context.fail(
            f"dataset '{name}' has no partitions by time, or snapshots.",
            "Use the name of a file set that a TPFS or Snapshot sink writes.",
        )
    return sorted(found)


def _read_partitions(tx: TransactionContext, name: str) -> list[Partition] | None:
    dataset = tx.dataset(name)
    if not isinstance(dataset, PartitionedFileSet):
        return None
    if list(dataset.partitioning) not in (list(_TIME_FIELDS), [SNAPSHOT]):
        return None
    return [Partition(read_time(each.key), each.location) for each in dataset.get_partitions()]


def ignore_failures() -> FailureCollector:
    """Return a collector whose failures nobody reads, for properties that were already validated."""
    return FailureCollector("")


_NAME: Final = "Name of the file set: a folder in 'filesets/NAMESPACE' of the instance's folder."
_SOURCE_BASE: Final = "Folder of the file set, instead of the one named after it."
_SOURCES: Final = ("schema", "name")
"""The properties that decide on the schema."""
_TEXT: Final = Schema.record("textfile", [("offset", Schema.LONG), ("body", Schema.STRING)])


class FilesetSourceConfig(PluginConfig, macros=True, rename="camel"):
    """The properties of all sources of file sets."""

    name: str = field(_NAME)
    base_path: str | None = field(_SOURCE_BASE, default=None, form="{folder}")
    schema: Schema | None = field(
        "Schema of the records; without one, that of the dataset.", default=None
    )


class SnapshotSourceConfig(FilesetSourceConfig, macros=True, rename="camel"):
    """The properties of sources of snapshots."""

    file_properties: str | None = field(
        "Hadoop properties; without effect on this machine.", default=None, syntax="json"
    )


class TimedSourceConfig(FilesetSourceConfig, macros=True):
    """The properties of sources of partitions by time."""

    duration: str = field(
        "Length of the time range of the partitions to read, as 1d. It ends at the logical start time."
    )
    delay: str = field(
        "Duration from the end of this time range to the logical start time, as 1h.", default=""
    )


class FilesetSource(BatchSource):
    """Reads the latest partition of a file set."""

    Config: ClassVar[type[FilesetSourceConfig]] = SnapshotSourceConfig
    config: Any
    format: str

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = _TEXT if self.format == "text" else self.config.schema

    def configure_connected(self, stage: StageConfigurer) -> None:
        if stage.output_schema is not None or any(map(self.config.contains_macro, _SOURCES)):
            return
        stage.output_schema = stage.find_dataset_schema(self.config.name)
        if stage.output_schema is None:
            stage.failures.add(
                f"Schema must be specified, because there is no dataset '{self.config.name}' that has one.",
                "Set it to the fields to read, or run the pipeline that writes the dataset.",
            ).with_config_property("schema")

    def choose_partitions(
        self, found: Sequence[Partition], context: SourceContext
    ) -> list[Partition]:
        """Return the partitions to read, by default the latest one."""
        return list(found[-1:])

    def read(self, context: SourceContext) -> DataFrame:
        schema = context.output_schema
        assert schema is not None
        if context.is_remote:
            raise context.fail(
                "file sets are folders of this machine.", "Use a File source on a cluster."
            )
        place = resolve_folder(context, self.config.name, self.config.base_path)
        found = list_partitions(context, self.config.name, self.config.base_path)
        if not found:
            raise context.fail(
                f"file set '{self.config.name}' has no partitions in '{place}'.",
                "Run the pipeline that writes it, or create folders whose names end with a time, such as "
                "2015-01-20/20-42.1421786520000.",
            )
        chosen = self.choose_partitions(found, context)
        context.logger.info("Reading %d of %d partitions in '%s'", len(chosen), len(found), place)
        files = [file for each in chosen for file in _list_files(each.directory)]
        config = FileSourceConfig.build({"path": place, "format": self.format}, ignore_failures())
        return read_files(context, config, files, schema) if files else context.empty(schema)


class TimedSource(FilesetSource):
    """Reads the partitions of a time range."""

    Config = TimedSourceConfig

    def configure(self, stage: StageConfigurer) -> None:
        super().configure(stage)
        check_duration(stage, "duration", self.config.duration)
        check_duration(stage, "delay", self.config.delay)

    def choose_partitions(
        self, found: Sequence[Partition], context: SourceContext
    ) -> list[Partition]:
        first, end = get_time_range(self.config.duration, self.config.delay, context)
        return [each for each in found if first <= each.time_ms < end]


def get_time_range(duration: str, delay: str, context: SourceContext) -> tuple[int, int]:
    """Return the time range that a source reads, in milliseconds since 1970, without its end."""
    end = context.logical_start_time
    if delay:
        end -= parse_duration(delay)
    return to_milliseconds(end - parse_duration(duration)), to_milliseconds(end)


def _list_files(directory: str) -> list[str]:
    try:
        return find_input_files(directory, recursive=True)
    except FilesNotFoundError:
        return []


def _describe_source(what: str, format: str) -> str:
    return f"Reads {what} of a file set in {format}, as CDAP 3 to 5 did."


@plugin(name="TPFSAvro", description=_describe_source("partitions by time", "Avro"))
class TimedAvroSource(TimedSource):
    format = "avro"


@plugin(name="TPFSParquet", description=_describe_source("partitions by time", "Parquet"))
class TimedParquetSource(TimedSource):
    format = "parquet"


@plugin(name="TPFSOrc", description=_describe_source("partitions by time", "ORC"))
class TimedOrcSource(TimedSource):
    format = "orc"


@plugin(name="SnapshotAvro", description=_describe_source("the latest snapshot", "Avro"))
class SnapshotAvroSource(FilesetSource):
    format = "avro"


@plugin(name="SnapshotParquet", description=_describe_source("the latest snapshot", "Parquet"))
class SnapshotParquetSource(FilesetSource):
    format = "parquet"


@plugin(name="SnapshotText", description=_describe_source("the latest snapshot", "lines of text"))
class SnapshotTextSource(FilesetSource):
    format = "text"


_DEFAULT_PATH: Final = "yyyy-MM-dd/HH-mm"
_ANY: Final = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
_ZERO: Final = datetime.timedelta()
_FORMATS: Final = {"delimited": "csv"}
"""The formats of datasets whose names differ from those of files."""

_BASE: Final = (
    "Folder of the file set, instead of one of its name; absolute, or in 'filesets/NAMESPACE'."
)
_CLEAN: Final = (
    "Age of partitions that are removed when the run succeeds, as 30d; by default, none are."
)


class FilesetSinkConfig(PluginConfig, macros=True, rename="camel"):
    """The properties of all sinks of file sets."""

    name: str = field(_NAME)
    base_path: str | None = field(_BASE, default=None, form="{folder}")
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
        check_duration(stage, "cleanPartitionsOlderThan", config.clean)
        if config.contains_macro("schema"):
            return
        self._make_files_sink("").configure(stage)
        macros = (config.contains_macro(name) for name in ("name", "basePath", "delimiter"))
        # Only the run knows the folder that stands for a path such as gs://sales.
        if not stage.failures and not any(macros) and not _is_url(config.base_path):
            properties = self._make_properties(stage.input_schema, config.base_path)
            stage.create_dataset(config.name, self.dataset_type, properties, config_property="name")
        if not config.macros & {"name", "partitionOffset"}:
            key = getattr(config, "offset", "")  # the time of the run, or before it
            stage.replaces_folder("name", f"dataset://{config.name}/partition-{key}")

    def name_partition(self, at: datetime.datetime) -> tuple[Mapping[str, str | int], str]:
        """Return the key of a run's partition, and the path of its folder in the file set."""
        time_ms = to_milliseconds(at)
        return {SNAPSHOT: time_ms}, str(time_ms)

    def make_partitioning(self) -> dict[str, str]:
        """Return the properties of the dataset that declare the key."""
        field = f"partitioning.field.{SNAPSHOT}"
        return {"partitioning.fields.": SNAPSHOT, field: "LONG"}

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
            folder, held = resolve_folder(context, config.name, config.base_path), []
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
        limit = context.logical_start_time - parse_duration(self.config.clean)
        old = [key for key in keys if read_time(key) < to_milliseconds(limit)]
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
        check_duration(stage, "partitionOffset", self.config.offset)
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
        before = parse_duration(self.config.offset) if self.config.offset else _ZERO
        moment = at - before
        key = make_timed_key(moment)
        in_zone = moment.astimezone(parse_zone(self.config.time_zone))
        if self.config.path_format:
            return key, format_simple_date(in_zone, self.config.path_format)
        name = format_simple_date(in_zone, _DEFAULT_PATH)
        return key, f"{name}.{to_milliseconds(moment)}"

    def make_partitioning(self) -> dict[str, str]:
        return {}


def _is_url(path: str | None) -> bool:
    return path is not None and "://" in path


def _show(key: Mapping[str, str | int]) -> str:
    return "{" + ", ".join(f"{name}={value}" for name, value in key.items()) + "}"


def _describe_sink(what: str, format: str) -> str:
    return f"Writes {what} of a file set in {format}, as CDAP 3 to 5 did."


@plugin(name="TPFSAvro", description=_describe_sink("a partition by time", "Avro"))
class TimedAvroSink(TimedSink):
    format = "avro"


@plugin(name="TPFSParquet", description=_describe_sink("a partition by time", "Parquet"))
class TimedParquetSink(TimedSink):
    format = "parquet"


@plugin(name="TPFSOrc", description=_describe_sink("a partition by time", "ORC"))
class TimedOrcSink(TimedSink):
    Config = TimedOrcSinkConfig
    format = "orc"


@plugin(name="SnapshotAvro", description=_describe_sink("a snapshot", "Avro"))
class SnapshotAvroSink(FilesetSink):
    format = "avro"


@plugin(name="SnapshotParquet", description=_describe_sink("a snapshot", "Parquet"))
class SnapshotParquetSink(FilesetSink):
    format = "parquet"


@plugin(name="SnapshotText", description=_describe_sink("a snapshot", "delimited text"))
class SnapshotTextSink(FilesetSink):
    Config = TextSinkConfig
    format = "delimited"
