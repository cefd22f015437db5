"""The format of a file in the words of CDAP's file sources, and the properties that such a guess sets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from localcdap.api.config import PluginProperty
from localcdap.files import detection
from localcdap.files.delimited import get_format_of_delimiter
from localcdap.files.detection import FileFacts
from localcdap.files.encodings import get_java_name
from localcdap.files.formats import FORMATS_OF_SOURCES, FileFormat, build_source_properties

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


_SET: Final = (
    *("format", "delimiter", "fileEncoding", "enableQuotedValues", "enableMultilineSupport"),
    *("skipHeader", "copyHeader"),
)
_WORDS: Final = re.compile(r"\{format:([^{}]*)\}")


def build_properties(
    guess: FormatGuess, declared: Mapping[str, PluginProperty]
) -> dict[str, str | None]:
    """Return the values by property, None where the property is to be removed.

    Only properties that the plugin declares are named, and none when it has no property ``format`` or does
    not read the format. The names are those of CDAP's file sources (``FileSourceProperties``).
    """
    format = declared.get("format")
    if format is None or not _allows(format, guess.format):
        return {}
    properties = build_source_properties(
        FileFormat(
            FORMATS_OF_SOURCES.get(guess.format, guess.format),
            guess.delimiter or ",",
            guess.has_header,
            guess.encoding,
            is_quoted=guess.is_quoted,
            is_multiline=guess.is_multiline,
        )
    )
    values: dict[str, str | None] = dict.fromkeys(_SET)
    values |= {name: value for name, value in properties.items() if value != "false"}  # the default
    # A source that skips the header needs no copy of it.
    if "skipHeader" not in declared:
        values["copyHeader"] = values["skipHeader"]
    return {name: value for name, value in values.items() if name in declared}


def _allows(declared: PluginProperty, format: str) -> bool:
    """Return whether a format is among the words that the property offers; any is where it offers none."""
    listed = _WORDS.search(declared.form or "")
    words = listed[1].split("|") if listed is not None else declared.choices
    return not words or format in (word.lower() for word in words)
