"""The sinks S3Avro, S3Parquet and S3BatchSink of CDAP 3 and 4, each for one format."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

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
from localcdap.api.rules import check_reference_name, check_subset
from localcdap.plugin_lib.files.sink import FilesSink
from localcdap.plugin_lib.files.sink_checks import find_unwritable

from .account import AmazonCredentialsConfig, check_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class FileSetConfig(AmazonCredentialsConfig, macros=True, rename="camel"):
    """The properties of the sinks of CDAP 3 and 4."""

    reference_name: str | None = field(
        "Name of this sink in lineage and metadata: letters, digits, '_', '-', '.', '$'.",
        default=None,
        macro=False,
    )
    base_path: str = field(
        "Folder of S3 to write into: s3n://bucket/folder. [locations] in localcdap.toml names the local "
        'folder of the bucket: "s3n://bucket" = "data/bucket".',
        form="{folder}",
    )
    path_format: str = field(
        "Folder inside the path, named after the run's logical start time in UTC by a Java time pattern.",
        default="yyyy-MM-dd-HH-mm",
    )
    schema: Schema = field("The fields of the files: fields of the input.")
    codec: str | None = field(
        "Compression of the files, such as Snappy, Deflate or GZip.",
        default=None,
        name="compressionCodec",
        macro=False,
    )
    file_system_properties: str | None = field(
        "Hadoop properties as a JSON object of texts; without effect here.",
        default=None,
        syntax="json",
        group="more",
    )
    enable_encryption: bool = field(
        "Without effect: files are not encrypted here.", default=False, group="more", macro=False
    )


class _FileSet(BatchSink):
    """Writes files of one format into ``basePath/pathFormat``."""

    format: ClassVar[str]
    Config = FileSetConfig
    config: FileSetConfig

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        check_reference_name(stage, config.reference_name)
        check_path(stage, config, config.base_path, name="basePath")
        if config.contains_macro("schema"):
            return
        if stage.input_schema is not None:
            check_subset(stage, stage.input_schema, config.schema)
        for each in config.schema:
            problem = find_unwritable(self.format, each)
            if problem is not None:
                stage.failures.add(
                    f"Field '{each.name}' {problem}, which the '{self.format}' format cannot hold.",
                    "Change its type, or remove it.",
                ).with_config_property("schema")

    def write(self, df: DataFrame, context: SinkContext) -> None:
        config = self.config
        properties = {
            "path": config.base_path,
            "suffix": config.path_format,
            "format": self.format,
            "schema": str(config.schema),
        }
        if config.codec:
            properties["compressionCodec"] = config.codec
        FilesSink.create(properties).write(df, context)

    def preview(self, df: DataFrame, context: SinkContext) -> None:
        self.write(df, context)


@plugin(
    name="S3Avro", description="Local: writes Avro files into the local folder of a bucket of S3."
)
@capability(Capabilities.Mode.NATIVE)
class S3Avro(_FileSet):
    format = "avro"


@plugin(name="S3BatchSink", description="Local: the sink S3Avro under its name in CDAP 3.2.")
@capability(Capabilities.Mode.NATIVE)
class S3BatchSink(_FileSet):
    format = "avro"


@plugin(
    name="S3Parquet",
    description="Local: writes Parquet files into the local folder of a bucket of S3.",
)
@capability(Capabilities.Mode.NATIVE)
class S3Parquet(_FileSet):
    format = "parquet"
