"""The S3 source."""

from __future__ import annotations

from localcdap.api import Capabilities, StageConfigurer, capability, field, plugin
from localcdap.plugin_lib.files.source import FilesSource
from localcdap.plugin_lib.files.source_config import FileSourceConfig

from .account import AmazonAccountConfig, check_path


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
