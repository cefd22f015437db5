"""The properties of a source that a guess of its files' format sets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from localcdap.api.config import PluginProperty
from localcdap.files.formats import FORMATS_OF_SOURCES, FileFormat, build_source_properties
from localcdap.pipeline.paths.format_guess import FormatGuess

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
