"""The properties of sinks that write files."""

from __future__ import annotations

from typing import Final

from localcdap.api import NamedPlugins, PluginConfig, Schema, field
from localcdap.api.formats import OUTPUT_FORMAT
from localcdap.files.delimited import find_delimiter
from localcdap.plugin_lib.json_texts import former_form_field

FORMATS: Final = ("avro", "csv", "delimited", "json", "orc", "parquet", "tsv")
TYPED: Final = ("avro", "orc", "parquet")
"""Formats whose files contain a schema."""
CODECS: Final = {
    "avro": ("none", "bzip2", "deflate", "snappy", "xz"),
    "orc": ("none", "lz4", "snappy", "zlib", "zstd"),
    "parquet": ("none", "gzip", "lz4", "snappy", "zstd"),
}
DEFAULT_CODECS: Final = {"avro": "none", "orc": "zlib", "parquet": "snappy"}


class FileSinkConfig(PluginConfig, macros=True, rename="camel"):
    """The properties of a sink that writes files."""

    reference_name: str | None = field(
        "Name of this sink in lineage and metadata: letters, digits, '_', '-', '.', '$'.",
        default=None,
        macro=False,
    )
    path: str = field(
        "Folder to write into. With the suffix appended, it must not exist or must be empty. The files "
        "appear when the whole run has succeeded. A relative path is relative to the instance's folder.",
        form="{folder}",
    )
    suffix: str | None = field(
        "Folder inside the path, named after the logical start time of the run in UTC by a Java time "
        "pattern: yyyy-MM-dd-HH-mm gives 2015-01-01-20-42. If not set, files go into the path itself.",
        default=None,
    )
    format: str = field(
        "Format of the files: avro, csv, delimited, json (an object on each line), orc, parquet, tsv, or "
        "the name of a plugin of the type validatingOutputFormat.",
        form="{format:" + "|".join(FORMATS) + "}",
        uses=NamedPlugins(OUTPUT_FORMAT, shares_properties=True),
    )
    schema: Schema | None = field(
        "Schema of the files (avro, orc, parquet, plugins): some or all fields of the input. Other formats "
        "write all fields of the input.",
        default=None,
    )
    delimiter: str | None = field(
        "Text between two values in the format 'delimited', by default a comma. Other formats ignore it.",
        default=None,
        group="format of the files",
    )
    write_header: bool = field(
        "Whether the first line of each file contains the field names (csv, tsv, delimited).",
        default=False,
        group="format of the files",
    )
    enable_quoted_values: bool = field(
        "Whether values that contain the delimiter, a quote or a line end are quoted (csv, tsv, "
        "delimited). Otherwise they are written as they are, and the run warns of their number. A source "
        "reads quoted values with 'enableQuotedValues' and 'doubledQuotes'.",
        default=False,
        group="format of the files",
        addition="CDAP writes values without quotes.",
    )
    compression_codec: str | None = field(
        "Compression of avro (none, deflate, snappy, bzip2, xz; none by default), orc (none, zlib, "
        "snappy, lz4, zstd; zlib by default) and parquet files (none, snappy, gzip, lz4, zstd; snappy "
        "by default).",
        default=None,
        form="{codec:none|snappy|zlib|lz4|zstd|gzip|deflate|bzip2|xz}",
        group="format of the files",
    )
    former_json: bool = former_form_field()
    file_system_properties: str | None = field(
        "Hadoop properties as a JSON object of texts; without effect on this machine.",
        default=None,
        syntax="json",
        group="more",
    )

    @property
    def format_name(self) -> str:
        return self.format.strip().lower()

    @property
    def format_plugin(self) -> str | None:
        """The name of a format that is a plugin; None for one of :data:`FORMATS`."""
        return None if self.format_name in FORMATS else self.format.strip()

    @property
    def codec(self) -> str:
        """The compression codec of a format that supports compression."""
        chosen = (self.compression_codec or DEFAULT_CODECS[self.format_name]).strip().lower()
        return "none" if chosen == "uncompressed" else chosen

    @property
    def value_delimiter(self) -> str:
        """The text between two values of a line; empty for a format without a delimiter."""
        return find_delimiter(self.format_name, self.delimiter)
