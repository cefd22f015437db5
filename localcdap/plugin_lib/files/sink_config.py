"""The properties of the File sink."""

from __future__ import annotations

from typing import Final

from localcdap.api import PluginConfig, Schema, field

FORMATS: Final = ("avro", "csv", "delimited", "json", "orc", "parquet", "tsv")
DELIMITED: Final = {"csv": ",", "tsv": "\t", "delimited": ","}
TYPED: Final = ("avro", "orc", "parquet")
"""Formats whose files carry a schema."""
CODECS: Final = {
    "avro": ("none", "bzip2", "deflate", "snappy", "xz"),
    "orc": ("none", "lz4", "snappy", "zlib", "zstd"),
    "parquet": ("none", "gzip", "lz4", "snappy", "zstd"),
}
DEFAULT_CODECS: Final = {"avro": "none", "orc": "zlib", "parquet": "snappy"}


class FileSinkConfig(PluginConfig):
    reference_name: str | None = field(
        "Name of this sink in lineage and metadata: letters, digits, '_', '-', '.', '$'.",
        default=None,
        name="referenceName",
    )
    path: str = field(
        "Folder to write into. With the suffix appended it must not exist, or be empty; its files "
        "appear when the whole run has succeeded. A relative path is relative to the instance's folder.",
        macro=True,
    )
    suffix: str | None = field(
        "Folder inside the path, named after the logical start time of the run in UTC by a Java time "
        "pattern: yyyy-MM-dd-HH-mm gives 2015-01-01-20-42. Without it files go into the path itself.",
        default=None,
        macro=True,
    )
    format: str = field(
        "Format of the files: avro, csv, delimited, json (an object on each line), orc, parquet or tsv.",
        macro=True,
        form="{format:" + "|".join(FORMATS) + "}",
    )
    schema: Schema | None = field(
        "Schema of the files (avro, orc, parquet): all fields of the input or some of them. Other "
        "formats write the input as it is.",
        default=None,
        macro=True,
    )
    delimiter: str | None = field(
        "What stands between two values when the format is 'delimited', a comma by default. Other "
        "formats ignore it.",
        default=None,
        macro=True,
        group="format of the files",
    )
    write_header: bool = field(
        "Whether the first line of each file has the field names (csv, tsv, delimited).",
        default=False,
        macro=True,
        name="writeHeader",
        group="format of the files",
    )
    enable_quoted_values: bool = field(
        "Whether values that contain the delimiter, a quote or a line end are put in quotes (csv, tsv, "
        "delimited). Otherwise they are written as they are.",
        default=False,
        macro=True,
        name="enableQuotedValues",
        group="format of the files",
    )
    compression_codec: str | None = field(
        "Compression of avro (none, deflate, snappy, bzip2, xz; none by default), orc (none, zlib, "
        "snappy, lz4, zstd; zlib by default) and parquet files (none, snappy, gzip, lz4, zstd; snappy "
        "by default).",
        default=None,
        macro=True,
        name="compressionCodec",
        form="{codec:none|snappy|zlib|lz4|zstd|gzip|deflate|bzip2|xz}",
        group="format of the files",
    )
    file_system_properties: str | None = field(
        "Hadoop properties as a JSON object of texts; without effect on this machine.",
        default=None,
        macro=True,
        name="fileSystemProperties",
        syntax="json",
        group="more",
    )

    @property
    def format_name(self) -> str:
        return self.format.strip().lower()

    @property
    def codec(self) -> str:
        """The compression of a format that has one."""
        chosen = (self.compression_codec or DEFAULT_CODECS[self.format_name]).strip().lower()
        return "none" if chosen == "uncompressed" else chosen

    @property
    def value_delimiter(self) -> str:
        """What separates the values of a line; empty for a format without one."""
        if self.format_name == "delimited" and self.delimiter:
            return self.delimiter
        return DELIMITED.get(self.format_name, "")
