"""The S3 source."""

from __future__ import annotations

from localcdap.api import Capabilities, StageConfigurer, capability, field, plugin
from localcdap.plugin_lib.files.source import FilesSource
from localcdap.plugin_lib.files.source_config import FileSourceConfig

from .account import AmazonAccountConfig, check_path


class S3SourceConfig(AmazonAccountConfig, FileSourceConfig):
    path: str = field(
        "Object or folder of S3 to read, or a pattern: s3a://bucket/folder/*.csv. Where the bucket lies on "
        'this machine is set under [locations] in localcdap.toml: "s3a://bucket" = "data/bucket".',
        macro=True,
    )
    verify_credentials: bool = field(
        "Of no effect here.", default=True, name="verifyCredentials", group="more"
    )


@plugin(
    type="batchsource",
    name="S3",
    description="Stand-in: reads files of Amazon S3 from the folder that stands for the bucket.",
)
@capability(Capabilities.Mode.NATIVE)
class S3Source(FilesSource):
    Config = S3SourceConfig
    config: S3SourceConfig

    def configure(self, stage: StageConfigurer) -> None:
        super().configure(stage)
        check_path(stage, self.config, self.config.path)
