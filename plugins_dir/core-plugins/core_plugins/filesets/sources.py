"""The sources of file sets: TPFSAvro, TPFSParquet, TPFSOrc, SnapshotAvro, SnapshotParquet, SnapshotText."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from localcdap.api import (
    BatchSource,
    PluginConfig,
    Schema,
    SourceContext,
    StageConfigurer,
    field,
    plugin,
)
from localcdap.plugin_lib.files.inputs import FilesNotFoundError, find_input_files
from localcdap.plugin_lib.files.readers.records import read_files
from localcdap.plugin_lib.files.source_config import FileSourceConfig

from . import partitions
from .partitions import Partition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NAME: Final = "Name of the file set: a folder in 'filesets/NAMESPACE' of the instance's folder."
_BASE: Final = "Folder of the file set, instead of the one named after it."
_SOURCES: Final = ("schema", "name")
"""The properties that decide on the schema."""
_TEXT: Final = Schema.record("textfile", [("offset", Schema.LONG), ("body", Schema.STRING)])


class FilesetSourceConfig(PluginConfig, macros=True, rename="camel"):
    """The properties of all sources of file sets."""

    name: str = field(_NAME)
    base_path: str | None = field(
        _BASE,
        default=None,
        form="{folder}",
    )
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
        place = partitions.resolve_folder(context, self.config.name, self.config.base_path)
        found = partitions.list_partitions(context, self.config.name, self.config.base_path)
        if not found:
            raise context.fail(
                f"file set '{self.config.name}' has no partitions in '{place}'.",
                "Run the pipeline that writes it, or create folders whose names end with a time, such as "
                "2015-01-20/20-42.1421786520000.",
            )
        chosen = self.choose_partitions(found, context)
        context.logger.info("Reading %d of %d partitions in '%s'", len(chosen), len(found), place)
        files = [file for each in chosen for file in _list_files(each.directory)]
        config = FileSourceConfig.build(
            {"path": place, "format": self.format}, partitions.ignore_failures()
        )
        return read_files(context, config, files, schema) if files else context.empty(schema)


class TimedSource(FilesetSource):
    """Reads the partitions of a time range."""

    Config = TimedSourceConfig

    def configure(self, stage: StageConfigurer) -> None:
        super().configure(stage)
        partitions.check_duration(stage, "duration", self.config.duration)
        partitions.check_duration(stage, "delay", self.config.delay)

    def choose_partitions(
        self, found: Sequence[Partition], context: SourceContext
    ) -> list[Partition]:
        first, end = get_time_range(self.config.duration, self.config.delay, context)
        return [each for each in found if first <= each.time_ms < end]


def get_time_range(duration: str, delay: str, context: SourceContext) -> tuple[int, int]:
    """Return the time range that a source reads, in milliseconds since 1970, without its end."""
    end = context.logical_start_time
    if delay:
        end -= partitions.parse_duration(delay)
    return partitions.to_milliseconds(
        end - partitions.parse_duration(duration)
    ), partitions.to_milliseconds(end)


def _list_files(directory: str) -> list[str]:
    try:
        return find_input_files(directory, recursive=True)
    except FilesNotFoundError:
        return []


def _describe(what: str, format: str) -> str:
    return f"Reads {what} of a file set in {format}, as CDAP 3 to 5 did."


@plugin(name="TPFSAvro", description=_describe("partitions by time", "Avro"))
class TimedAvroSource(TimedSource):
    format = "avro"


@plugin(name="TPFSParquet", description=_describe("partitions by time", "Parquet"))
class TimedParquetSource(TimedSource):
    format = "parquet"


@plugin(name="TPFSOrc", description=_describe("partitions by time", "ORC"))
class TimedOrcSource(TimedSource):
    format = "orc"


@plugin(name="SnapshotAvro", description=_describe("the latest snapshot", "Avro"))
class SnapshotAvroSource(FilesetSource):
    format = "avro"


@plugin(name="SnapshotParquet", description=_describe("the latest snapshot", "Parquet"))
class SnapshotParquetSource(FilesetSource):
    format = "parquet"


@plugin(name="SnapshotText", description=_describe("the latest snapshot", "lines of text"))
class SnapshotTextSource(FilesetSource):
    format = "text"
