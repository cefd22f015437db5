"""The S3 sink."""

from __future__ import annotations

from localcdap.api import Capabilities, StageConfigurer, capability, field, plugin
from localcdap.plugin_lib.files.sink import FilesSink
from localcdap.plugin_lib.files.sink_config import FileSinkConfig

from .account import AmazonAccountConfig, check_path


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
