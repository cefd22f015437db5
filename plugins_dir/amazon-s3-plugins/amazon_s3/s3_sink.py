"""The S3 sink."""

from __future__ import annotations

from localcdap.api import Capabilities, StageConfigurer, capability, field, plugin
from localcdap.plugin_lib.files.sink import FilesSink
from localcdap.plugin_lib.files.sink_config import FileSinkConfig

from .account import AmazonAccountConfig, check_path


class S3SinkConfig(AmazonAccountConfig, FileSinkConfig):
    path: str = field(
        "Folder of S3 to write into: s3a://bucket/folder. With the suffix appended it must not exist, or be "
        "empty; its files appear when the whole run has succeeded. Where the bucket lies on this machine "
        'is set under [locations] in localcdap.toml: "s3a://bucket" = "data/bucket".',
        macro=True,
    )
    enable_encryption: bool = field(
        "Of no effect here: files are written as they are.",
        default=False,
        name="enableEncryption",
        group="more",
    )


@plugin(
    type="batchsink",
    name="S3",
    description="Stand-in: writes files of Amazon S3 into the folder that stands for the bucket.",
)
@capability(Capabilities.Mode.NATIVE)
class S3Sink(FilesSink):
    Config = S3SinkConfig
    config: S3SinkConfig

    def configure(self, stage: StageConfigurer) -> None:
        super().configure(stage)
        check_path(stage, self.config, self.config.path)
