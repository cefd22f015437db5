"""The properties of connectors of files that say how files are read."""

from __future__ import annotations

from collections.abc import Mapping

from localcdap.api import PluginConfig, field

_GROUP = "reading of files"
_NAMES = {
    "skipHeader": ("header", "skipHeader", "copyHeader"),
    "fileEncoding": ("encoding", "fileEncoding"),
}
"""By property, its names in requests."""


class SamplingConfig(PluginConfig, macros=True, rename="camel"):
    """How files are read where a request does not say it; what is not set either is detected.

    Properties as CDAP's (the widgets of its connectors File, GCS and S3).
    """

    format: str | None = field(
        "Format of the files, as in file sources; by default, it is detected.",
        default=None,
        group=_GROUP,
    )
    delimiter: str | None = field(
        "Text between two values of a line in the format 'delimited'.", default=None, group=_GROUP
    )
    skip_header: bool | None = field(
        "Whether the first line of a file has the names of its columns; by default, it is detected.",
        default=None,
        group=_GROUP,
    )
    file_encoding: str | None = field(
        "Character encoding of the files; by default, it is detected.", default=None, group=_GROUP
    )

    def add_defaults(self, properties: Mapping[str, str]) -> dict[str, str]:
        """Return the properties of a request with those that only the connection has."""
        skips = None if self.skip_header is None else str(self.skip_header).lower()
        defaults = {
            "format": self.format,
            "delimiter": self.delimiter,
            "skipHeader": skips,
            "fileEncoding": self.file_encoding,
        }
        missing = {
            name: value
            for name, value in defaults.items()
            if value and not any(properties.get(other) for other in _NAMES.get(name, (name,)))
        }
        return dict(properties) | missing
