"""The File sink."""

from __future__ import annotations

from localcdap.api import plugin
from localcdap.plugin_lib.files.sink import FilesSink


@plugin(
    name="File",
    description="Writes files of delimited text, JSON, Avro, Parquet or ORC into a new folder.",
)
class FileSink(FilesSink):
    pass
