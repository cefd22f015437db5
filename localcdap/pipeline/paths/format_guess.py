"""The format of a file in the words of CDAP's file sources."""

from __future__ import annotations

from typing import Final

import msgspec

from localcdap.files import detection
from localcdap.files.delimited import get_format_of_delimiter
from localcdap.files.detection import FileFacts
from localcdap.files.encodings import get_java_name

_FORMATS: Final = {
    detection.JSON_LINES: "json",
    detection.JSON_DOCUMENT: "text",
    detection.WORKBOOK: "xls",
}
"""Formats by those of detection, where their names differ."""


class FormatGuess(msgspec.Struct, frozen=True):
    """What the first bytes of a file say of its format."""

    format: str
    """As in the property ``format`` of CDAP's file sources: ``csv``, ``json``, ``blob`` and so on."""
    reason: str
    """What the guess rests on; completes "The file is FORMAT: …"."""
    delimiter: str = ""
    """The text between two values of a line; empty for a format without one."""
    has_header: bool = False
    """Whether the first line has the names of the columns."""
    is_quoted: bool = False
    """Whether quotes enclose values."""
    is_multiline: bool = False
    """Whether a quoted value contains a line end."""
    encoding: str = "UTF-8"
    """The name in Java."""
    columns: list[str] = []
    """The texts of the header."""

    @property
    def is_binary(self) -> bool:
        """Whether the file is not a text."""
        return self.format in ("avro", "blob", "orc", "parquet", "xls")


def guess_format(facts: FileFacts) -> FormatGuess:
    """Return the format with which a file source reads a file.

    The format ``json`` of CDAP reads a JSON object on each line. Another JSON document is ``text``; the
    reason says why.
    """
    reason = facts.reason
    if facts.format == detection.JSON_DOCUMENT:
        reason += "; the format json of a source reads one object on each line"
    elif facts.title_lines:
        reason += ", which a source does not leave out"
    is_delimited = facts.format == detection.DELIMITED
    return FormatGuess(
        get_format_of_delimiter(facts.delimiter)
        if is_delimited
        else _FORMATS.get(facts.format, facts.format),
        reason,
        facts.delimiter,
        facts.has_header,
        facts.is_quoted,
        facts.is_multiline,
        get_java_name(facts.encoding),
        list(facts.columns) if facts.has_header else [],
    )
