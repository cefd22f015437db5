"""The plugins GCSFile, GCS and GCSText, and the local files that stand for objects of Cloud Storage."""

from __future__ import annotations

import glob
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from localcdap.api import (
    BatchSink,
    BrowseDetail,
    BrowseEntity,
    BrowseRequest,
    Capabilities,
    Connector,
    ConnectorContext,
    ConnectorSpec,
    ControlContext,
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
from localcdap.api.rules import check_reference_name
from localcdap.files.formats import FORMER_JSON
from localcdap.plugin_lib.connectors.file_records import Buckets, SamplingConfig
from localcdap.plugin_lib.files.inputs import is_remote
from localcdap.plugin_lib.files.sink import FileSinkConfig, FilesSink, join_suffix
from localcdap.plugin_lib.files.source import FilesSource
from localcdap.plugin_lib.files.source_config import FileSourceConfig
from localcdap.plugin_lib.json_texts import former_form_field

from ..account import WITHOUT_EFFECT, GoogleAccountConfig, GoogleKeyFileConfig, GoogleProjectConfig

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


SCHEME: Final = "gs://"
_BUCKET: Final = re.compile(r"[a-z0-9._-]{1,222}")


def add_scheme(written: str) -> str:
    """Return a path with its scheme, which is optional in CDAP: ``bucket/folder``."""
    text = written.strip()
    return text if text.startswith(SCHEME) else SCHEME + text.lstrip("/")


def check_storage_path(
    stage: StageConfigurer, config: PluginConfig, name: str, written: str | None
) -> None:
    """Check that the bucket name of a property's path is valid, and that a local folder stands for it."""
    if not written or config.contains_macro(name):
        return
    bucket = add_scheme(written)[len(SCHEME) :].partition("/")[0]
    if _BUCKET.fullmatch(bucket) is None:
        stage.failures.add(
            f"Invalid bucket name in path '{written}'.",
            "Write gs://bucket/folder; bucket names have lower-case letters, digits, '-', '_' and '.'.",
        ).with_config_property(name)
    else:
        stage.requires_location(name, add_scheme(written))


_WILDCARD: Final = "*"


class StorageObjects(msgspec.Struct, frozen=True):
    """The local files that a path of Cloud Storage stands for."""

    written: str
    """The path in the document, with its scheme: ``gs://bucket/name``."""
    place: Path
    """The local path; its name may be a pattern."""

    @property
    def name(self) -> str:
        """The path inside the bucket, without slashes at its ends; empty for the bucket itself."""
        return self.written[len(SCHEME) :].partition("/")[2].strip("/")

    @property
    def is_pattern(self) -> bool:
        return _WILDCARD in self.name

    @property
    def is_folder(self) -> bool:
        """Whether the path is a folder: an existing one, or a path that ends with '/'."""
        return self.written.endswith("/") or self.place.is_dir()

    def list_paths(self) -> list[Path]:
        """Return the existing files and folders, sorted."""
        if not self.is_pattern:
            return [self.place] if self.place.exists() or self.place.is_symlink() else []
        literal = glob.escape(str(self.place)).replace("[*]", _WILDCARD)
        return [Path(path) for path in sorted(glob.glob(literal, include_hidden=True))]  # noqa: PTH207


def resolve_objects(context: ControlContext, path: str) -> StorageObjects:
    """Return the local files of a path.

    :raises StageError: for a path that is not on this machine.
    """
    written = add_scheme(path)
    place = context.resolve_path(written)
    if context.is_remote or is_remote(place):
        raise context.fail(
            f"'{written}' is not on this machine; actions can only access local files.",
            "Map it to a local folder under [locations] in localcdap.toml, and run the pipeline here.",
        )
    return StorageObjects(written, Path(place))


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
        if not config.macros & {"bucket", "path", "suffix"}:
            stage.replaces_folder("path", join_suffix(config.place, config.suffix))

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


@plugin(name="GCS", description="Local: browses the local folders of buckets of Cloud Storage.")
@capability(Capabilities.Mode.NATIVE)
class GcsConnector(Connector):
    class Config(SamplingConfig, GoogleProjectConfig, rename="camel"):
        root_bucket: str | None = field(
            "The bucket that the connection shows; by default, all buckets.",
            default=None,
            form="{bucket}",
        )

    config: Config

    def test(self, context: ConnectorContext) -> None:
        Buckets(context, "gs").check()

    def browse(self, context: ConnectorContext, request: BrowseRequest) -> BrowseDetail:
        root, path = self.config.root_bucket, request.path or "/"
        if root and not path.strip("/"):
            return BrowseDetail([BrowseEntity(root, f"/{root}", "bucket", can_browse=True)], 1)
        return Buckets(context, "gs").browse(path, request.search)

    def read(self, context: ConnectorContext, request: SampleRequest) -> RecordStream:
        return Buckets(context, "gs").read(
            request.path or "/", self.config.add_defaults(request.properties)
        )

    def specify(self, context: ConnectorContext, request: SpecificationRequest) -> ConnectorSpec:
        properties = self.config.add_defaults(request.properties)
        return Buckets(context, "gs").specify("GCSFile", request.path or "", properties)
