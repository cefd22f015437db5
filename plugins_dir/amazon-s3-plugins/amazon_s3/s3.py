"""The source, sinks and connector of Amazon S3: folders of this machine stand for buckets.

The properties by which CDAP's plugins access S3 have no effect here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final

from localcdap.api import (
    BatchSink,
    BrowseDetail,
    BrowseRequest,
    Capabilities,
    Connector,
    ConnectorContext,
    ConnectorSpec,
    PluginConfig,
    RecordStream,
    SampleRequest,
    Schema,
    SinkContext,
    SpecificationRequest,
    StageConfigurer,
    capability,
    field,
    plugin,
)
from localcdap.api.rules import check_reference_name, check_subset
from localcdap.plugin_lib.connectors.file_records import Buckets, SamplingConfig
from localcdap.plugin_lib.files.sink import FileSinkConfig, FilesSink, find_unwritable, join_suffix
from localcdap.plugin_lib.files.source import FilesSource
from localcdap.plugin_lib.files.source_config import FileSourceConfig

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_GROUP = "Amazon S3, without effect here"
_PATH: Final = re.compile(r"s3[an]?://[^/]+(/.*)?", re.DOTALL)


class AmazonCredentialsConfig(PluginConfig, macros=True, rename="camel"):
    """Credentials, which all plugins of S3 have."""

    authentication_method: str | None = field(
        "Authentication method: Access Credentials or IAM.", default=None, group=_GROUP
    )
    access_id: str | None = field(
        "Access ID. It is not used here.", default=None, name="accessID", group=_GROUP
    )
    access_key: str | None = field(
        "Access key. It is not used here.", default=None, secret=True, group=_GROUP
    )


class AmazonRegionConfig(AmazonCredentialsConfig, macros=True, rename="camel"):
    """Credentials and region."""

    session_token: str | None = field(
        "Session token. It is not used here.", default=None, secret=True, group=_GROUP
    )
    region: str | None = field("Region.", default=None, group=_GROUP)


class AmazonAccountConfig(AmazonRegionConfig, macros=True, rename="camel"):
    """Credentials and region, which a connection can supply."""

    use_connection: bool = field(
        "Whether a connection of the instance supplies the account.",
        default=False,
        group=_GROUP,
        macro=False,
    )
    connection: str | None = field("The connection, as ${conn(name)}.", default=None, group=_GROUP)


def check_path(
    stage: StageConfigurer, config: PluginConfig, path: str | None, name: str = "path"
) -> None:
    """Check that the path is a path of S3, and that a local folder stands for its bucket.

    :param name: the property's name.
    """
    if not path or config.contains_macro(name):
        return
    if _PATH.fullmatch(path.strip()) is None:
        stage.failures.add(
            f"Invalid path '{path}'.", "Write s3://bucket/folder or s3a://bucket/folder."
        ).with_config_property(name)
    else:
        stage.requires_location(name, path)


class S3SourceConfig(AmazonAccountConfig, FileSourceConfig):
    """The properties of the S3 source."""

    path: str = field(
        "Object or folder of S3 to read, or a pattern: s3a://bucket/folder/*.csv. [locations] in "
        'localcdap.toml names the local folder of the bucket: "s3a://bucket" = "data/bucket".',
        macro=True,
        form="{path}",
    )
    verify_credentials: bool = field(
        "Without effect.", default=True, name="verifyCredentials", group="more"
    )


@plugin(name="S3", description="Local: reads files from the local folder of a bucket of S3.")
@capability(Capabilities.Mode.NATIVE)
class S3Source(FilesSource):
    Config = S3SourceConfig
    config: S3SourceConfig

    def configure(self, stage: StageConfigurer) -> None:
        super().configure(stage)
        check_path(stage, self.config, self.config.path)


class S3SinkConfig(AmazonAccountConfig, FileSinkConfig):
    """The properties of the S3 sink."""

    path: str = field(
        "Folder of S3 to write into: s3a://bucket/folder. With the suffix appended, it must not exist or "
        "must be empty. The files appear when the whole run has succeeded. [locations] in localcdap.toml "
        'names the local folder of the bucket: "s3a://bucket" = "data/bucket".',
        macro=True,
        form="{folder}",
    )
    enable_encryption: bool = field(
        "Without effect: files are not encrypted here.",
        default=False,
        name="enableEncryption",
        group="more",
    )


@plugin(name="S3", description="Local: writes files into the local folder of a bucket of S3.")
@capability(Capabilities.Mode.NATIVE)
class S3Sink(FilesSink):
    Config = S3SinkConfig
    config: S3SinkConfig

    def configure(self, stage: StageConfigurer) -> None:
        super().configure(stage)
        check_path(stage, self.config, self.config.path)


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
        if not config.macros & {"basePath", "pathFormat"}:
            stage.replaces_folder("basePath", join_suffix(config.base_path, config.path_format))
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


_SCHEMES = ("s3a", "s3n", "s3")


@plugin(name="S3", description="Local: browses the local folders of buckets of S3.")
@capability(Capabilities.Mode.NATIVE)
class S3Connector(Connector):
    class Config(SamplingConfig, AmazonRegionConfig):
        """How files are read, and the account."""

    config: Config

    def test(self, context: ConnectorContext) -> None:
        Buckets(context, *_SCHEMES).check()

    def browse(self, context: ConnectorContext, request: BrowseRequest) -> BrowseDetail:
        return Buckets(context, *_SCHEMES).browse(request.path or "/", request.search)

    def read(self, context: ConnectorContext, request: SampleRequest) -> RecordStream:
        return Buckets(context, *_SCHEMES).read(
            request.path or "/", self.config.add_defaults(request.properties)
        )

    def specify(self, context: ConnectorContext, request: SpecificationRequest) -> ConnectorSpec:
        properties = self.config.add_defaults(request.properties)
        return Buckets(context, *_SCHEMES).specify("S3", request.path or "", properties)
