"""The GCSText sink, a former sink of text files in Cloud Storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

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
from localcdap.api.rules import check_reference_name
from localcdap.files.formats import FORMER_JSON
from localcdap.plugin_lib.files.sink import FilesSink
from localcdap.plugin_lib.json_texts import former_form_field

from ..account import GoogleKeyFileConfig
from .paths import SCHEME, check_storage_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FORMATS: Final = {
    "text comma separated": {"format": "csv"},
    "text tab separated": {"format": "tsv"},
    "text pipe separated": {"format": "delimited", "delimiter": "|"},
    "text ctrl+a separated": {"format": "delimited", "delimiter": "\x01"},
    "json": {"format": "json"},
}


@plugin(name="GCSText", description="Local: writes text files into the local folder of a bucket.")
@capability(Capabilities.Mode.NATIVE)
class GcsText(BatchSink):
    class Config(GoogleKeyFileConfig, macros=True):
        reference_name: str | None = field(
            "Name of this sink in lineage and metadata: letters, digits, '_', '-', '.', '$'.",
            default=None,
            name="referenceName",
            macro=False,
        )
        bucket: str = field("The bucket to write into.")
        path: str = field(
            "Folder in the bucket. With the suffix appended, it must not exist or must be empty."
        )
        suffix: str | None = field(
            "Folder inside the path, named after the logical start time by a Java time pattern.",
            default=None,
        )
        type: str = field(
            "Format of the files: Text Comma Separated, Text Tab Separated, Text Pipe Separated, "
            "Text Ctrl+A Separated, or Json.",
            default="Json",
        )
        schema: Schema | None = field("The fields of the input.", default=None)
        former_json: bool = former_form_field()

        @property
        def place(self) -> str:
            """The folder as a path of Cloud Storage."""
            return f"{SCHEME}{self.bucket.removeprefix(SCHEME).strip('/')}/{self.path.strip('/')}"

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        check_reference_name(stage, config.reference_name)
        check_storage_path(stage, config, "bucket", config.bucket)
        if config.contains_macro("type"):
            return
        if config.type.strip().lower() not in _FORMATS:
            stage.failures.add(
                f"Invalid file type '{config.type}'.", f"Use one of {', '.join(_FORMATS)}."
            ).with_config_property("type")
        else:
            self._make_files_sink("").configure(stage)

    def write(self, df: DataFrame, context: SinkContext) -> None:
        self._make_files_sink(self.config.place).write(df, context)

    def preview(self, df: DataFrame, context: SinkContext) -> None:
        self.write(df, context)

    def _make_files_sink(self, path: str) -> FilesSink:
        properties = {"path": path, **_FORMATS[self.config.type.strip().lower()]}
        if self.config.suffix:
            properties["suffix"] = self.config.suffix
        properties[FORMER_JSON] = str(self.config.former_json).lower()
        return FilesSink.create(properties)
