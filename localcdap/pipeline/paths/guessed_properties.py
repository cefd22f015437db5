"""The properties of a source that a guess of its files' format sets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from localcdap.api.config import PluginProperty
from localcdap.pipeline.paths.format_guess import FormatGuess

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
    is_delimited = bool(guess.delimiter)
    values: dict[str, str | None] = {
        "format": guess.format,
        "delimiter": guess.delimiter if guess.format == "delimited" else None,
        "fileEncoding": guess.encoding if guess.encoding != "UTF-8" else None,
        "enableQuotedValues": _to_text(guess.is_quoted) if is_delimited else None,
        "enableMultilineSupport": _to_text(guess.is_multiline) if is_delimited else None,
    }
    # A source that skips the header needs no copy of it.
    header, other = ("skipHeader", "copyHeader")[:: 1 if "skipHeader" in declared else -1]
    values |= {header: _to_text(guess.has_header) if is_delimited else None, other: None}
    return {name: value for name, value in values.items() if name in declared}


def _to_text(value: bool) -> str | None:
    """Return the text of a switch; None for the default, which is off."""
    return "true" if value else None


def _allows(declared: PluginProperty, format: str) -> bool:
    """Return whether a format is among the words that the property offers; any is where it offers none."""
    listed = _WORDS.search(declared.form or "")
    words = listed[1].split("|") if listed is not None else declared.choices
    return not words or format in (word.lower() for word in words)
