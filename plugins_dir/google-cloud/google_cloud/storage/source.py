"""The GCSFile source."""

from __future__ import annotations

from localcdap.api import Capabilities, StageConfigurer, capability, field, plugin
from localcdap.plugin_lib.files.source import FilesSource
from localcdap.plugin_lib.files.source_config import FileSourceConfig

from ..account import WITHOUT_EFFECT, GoogleAccountConfig
from .paths import add_scheme, check_storage_path


class GcsSourceConfig(GoogleAccountConfig, FileSourceConfig, macros=True):
    """The properties of the GCSFile source."""

    reference_name: str | None = field(  # type: ignore[assignment]
        "Name of this source in lineage and metadata: letters, digits, '_', '-', '.', '$'.",
        default=None,
        name="referenceName",
        macro=False,
    )
    path: str = field(
        "Object or folder of Cloud Storage to read, or a pattern: gs://bucket/folder/*.csv. [locations] in "
        'localcdap.toml names the local folder of the bucket: "gs://bucket" = "data/bucket".',
        form="{path}",
    )
    encrypted: bool = field(
        "Must be false: encrypted objects are not decrypted here.", default=False
    )
    encrypted_suffix: str | None = field(
        "End of the names of the files that say how objects are encrypted.",
        default=None,
        name="encryptedMetadataSuffix",
        group=WITHOUT_EFFECT,
    )
    least_split_size: str | None = field(
        "Smallest number of bytes of a file that one task reads.",
        default=None,
        name="minSplitSize",
        group=WITHOUT_EFFECT,
    )


@plugin(
    name="GCSFile",
    description="Local: reads files from the local folder of a bucket of Cloud Storage.",
)
@capability(Capabilities.Mode.NATIVE)
class GcsSource(FilesSource):
    Config = GcsSourceConfig
    config: GcsSourceConfig

    def configure(self, stage: StageConfigurer) -> None:
        super().configure(stage)
        check_storage_path(stage, self.config, "path", self.config.path)
        if self.config.encrypted and not self.config.contains_macro("encrypted"):
            stage.failures.add(
                "Encrypted objects cannot be read here.",
                "Put decrypted files into the folder of the bucket, and set 'encrypted' to false.",
            ).with_config_property("encrypted")

    def get_path(self) -> str:
        return add_scheme(self.config.path)
