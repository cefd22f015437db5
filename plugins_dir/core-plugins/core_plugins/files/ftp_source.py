"""The FTP source, which reads text files of an FTP or SFTP server."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import msgspec

from localcdap.api import (
    BatchSource,
    PluginConfig,
    Schema,
    SourceContext,
    StageConfigurer,
    StageError,
    field,
    plugin,
)
from localcdap.api.rules import check_reference_name
from localcdap.java.regex import RegexError, compile_regex
from localcdap.plugin_lib.files.readers.line_format import (
    LINE,
    OFFSET,
    PATH,
    REPLACED,
    FilePiece,
    LineFormat,
    read_lines,
)
from localcdap.plugin_lib.files.readers.lines import count_replaced

from .remote_files import RemotePath, fetch_file, list_files, parse_path

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_RECORD: Final = Schema.record("text", [("offset", Schema.LONG), ("body", Schema.STRING)])
_LINES: Final = Schema.record(
    "line", [*_RECORD, (PATH, Schema.STRING), (REPLACED, Schema.STRING.as_nullable)]
)
_FORMAT: Final = LineFormat(
    columns=(("offset", OFFSET), ("body", LINE), (PATH, PATH), (REPLACED, REPLACED))
)
_PROPERTIES: Final = "fileSystemProperties"


@plugin(name="FTP", description="Reads the lines of text files of an FTP or SFTP server.")
class FtpSource(BatchSource):
    """Properties and failures are those of CDAP's plugin (hydrator-plugins,
    ``io/cdap/plugin/batch/source/FTPBatchSource.java``).

    The files are copied to this machine one by one, each read when it is complete.
    """

    class Config(PluginConfig, macros=True, rename="camel"):
        reference_name: str = field("Name of this source in lineage and metadata.")
        path: str = field(
            "File, folder, or files that match a pattern in the last part, as "
            "sftp://user:password@host:22/logs/*.txt; ftp:// for FTP.",
            secret=True,
        )
        file_regex: str | None = field(
            "Regular expression of Java that the path of a file on the server must match.",
            default=None,
        )
        file_system_properties: str | None = field(
            "Properties of Hadoop, as a JSON object of texts; without effect here.",
            default=None,
            syntax="json",
            group="more",
        )
        ignore_non_existing_folders: bool = field(
            "Whether a path without files gives no records; otherwise it fails the run.",
            default=False,
            macro=False,
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        check_reference_name(stage, config.reference_name)
        if config.path is not None and not config.contains_macro("path"):
            try:
                parse_path(config.path)
            except StageError as error:
                stage.failures.add(error.message, error.corrective_action).with_config_property(
                    "path"
                )
        try:
            compile_regex(config.file_regex or "")
        except RegexError as error:
            stage.failures.add(f"Invalid regular expression: {error}").with_config_property(
                "fileRegex"
            )
        if config.file_system_properties and not config.contains_macro(_PROPERTIES):
            try:
                msgspec.json.decode(config.file_system_properties, type=dict[str, str])
            except msgspec.DecodeError:
                stage.failures.add(
                    "File system properties must be a valid json."
                ).with_config_property(_PROPERTIES)
        stage.output_schema = _RECORD

    def read(self, context: SourceContext) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812

        try:
            place = parse_path(self.config.path)
            files = list_files(place)
        except StageError as error:
            raise context.fail(error.message, error.corrective_action) from None
        except FileNotFoundError as error:
            if not self.config.ignore_non_existing_folders:
                raise context.fail(
                    f"There are no files at {error}.",
                    "Correct the path, or set 'ignoreNonExistingFolders' to true.",
                ) from None
            context.logger.warning("There are no files at %s", error)
            files = []
        if self.config.file_regex:
            wanted = compile_regex(self.config.file_regex)
            files = [each for each in files if wanted.matches(each)]
        lines = context.generate(_LINES, files, functools.partial(read_remote, place))
        # The copies of the files are gone when their warnings are written.
        remote = F.when(F.col(REPLACED).isNotNull(), F.col(PATH))
        marked = lines.withColumn(REPLACED, remote).drop(PATH)
        return cast("DataFrame", count_replaced(context, marked, _FORMAT))


def read_remote(place: RemotePath, path: str) -> Iterator[pa.RecordBatch]:
    """Yield the lines of a file of a server.

    :raises StageError: when it cannot be fetched or read.
    """
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / Path(path).name
        fetch_file(place, path, target)
        yield from read_lines(FilePiece(str(target), path), format=_FORMAT)
