"""The File source."""

from __future__ import annotations

from localcdap.api import plugin
from localcdap.plugin_lib.files.source import FilesSource


@plugin(
    name="File",
    description="Reads files: delimited text, JSON, Avro, Parquet, ORC, lines of text, or whole files.",
)
class FileSource(FilesSource):
    pass
