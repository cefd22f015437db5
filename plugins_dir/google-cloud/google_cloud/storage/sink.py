"""The GCS sink."""

from __future__ import annotations

from localcdap.api import Capabilities, StageConfigurer, capability, field, plugin
from localcdap.plugin_lib.files.sink import FilesSink
from localcdap.plugin_lib.files.sink_config import FileSinkConfig

from ..account import WITHOUT_EFFECT, GoogleAccountConfig
from .paths import add_scheme, check_storage_path


class GcsSinkConfig(GoogleAccountConfig, FileSinkConfig, macros=True, rename="camel"):
    """The properties of the GCS sink."""

    path: str = field(
        "Folder of Cloud Storage to write into: gs://bucket/folder. With the suffix appended, it must not "
        "exist or must be empty. The files appear when the whole run has succeeded. [locations] in "
        'localcdap.toml names the local folder of the bucket: "gs://bucket" = "data/bucket".',
        form="{folder}",
    )
    location: str | None = field("Region of the bucket.", default=None, group=WITHOUT_EFFECT)
    content_type: str | None = field(
        "Content type of the objects.", default=None, group=WITHOUT_EFFECT
    )
    custom_content_type: str | None = field(
        "Content type of the objects, if the content type is 'other'.",
        default=None,
        group=WITHOUT_EFFECT,
    )
    cmek_key: str | None = field(
        "Key that encrypts the objects.", default=None, group=WITHOUT_EFFECT
    )
    file_name_base: str | None = field(
        "Beginning of the names of the files; here it is always 'part'.",
        default=None,
        name="outputFileNameBase",
        group=WITHOUT_EFFECT,
    )

    def warn_of_file_names(self, stage: StageConfigurer) -> None:
        """Add a warning if files were to have names that they do not get here."""
        if self.file_name_base and self.file_name_base.strip() != "part":
            stage.warnings.add(
                f"The files are not called '{self.file_name_base}…' here: their names begin with 'part'.",
                "Read the folder, not single files of it.",
            ).with_config_property("outputFileNameBase")


@plugin(
    name="GCS",
    description="Local: writes files into the local folder of a bucket of Cloud Storage.",
)
@capability(Capabilities.Mode.NATIVE)
class GcsSink(FilesSink):
    Config = GcsSinkConfig
    config: GcsSinkConfig

    def configure(self, stage: StageConfigurer) -> None:
        super().configure(stage)
        check_storage_path(stage, self.config, "path", self.config.path)
        self.config.warn_of_file_names(stage)

    def get_path(self) -> str:
        return add_scheme(self.config.path)
