"""CSV as Apache Commons CSV reads it by default: fields may be quoted, a quote within is doubled, spaces
count, empty lines do not.
"""

from __future__ import annotations

import functools
import re
from typing import Final

MALFORMED: Final = (
    "the text is no CSV: a quoted field has no end, or text before the next delimiter"
)

BLANKS: Final = r" \t\x0b\f\x1c-\x1f\u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000"
"""What may stand behind a quoted field, as the inside of a class: Java's whitespace but for line ends."""

_LINE_ENDS: Final = re.compile(r"[\r\n]*")


class CsvError(ValueError):
    """A text is no CSV."""


def records(text: str, delimiter: str) -> list[list[str]]:
    """The records of a text, mostly one; a record has at least one field.

    :param delimiter: one character, neither a quote nor the end of a line.
    :raises CsvError: with :data:`MALFORMED`.
    """
    if '"' not in text and "\n" not in text and "\r" not in text:
        return [text.split(delimiter)] if text else []
    found = []
    at = _line_start(text, 0)
    while at < len(text):
        fields, at = _record(text, at, delimiter)
        found.append(fields)
        at = _line_start(text, at)
    return found


def _line_start(text: str, at: int) -> int:
    match = _LINE_ENDS.match(text, at)
    return match.end() if match else at


def _record(text: str, at: int, delimiter: str) -> tuple[list[str], int]:
    quoted = _quoted_before(delimiter)
    plain = _plain_before(delimiter)
    fields = []
    while True:
        if text.startswith('"', at):
            match = quoted.match(text, at)
            if match is None:
                raise CsvError(MALFORMED)
            fields.append(match[1].replace('""', '"'))
        else:
            match = plain.match(text, at)
            assert match is not None
            fields.append(match[0])
        at = match.end()
        if not text.startswith(delimiter, at):
            break
        at += 1
    if at < len(text) and text[at] not in "\r\n":
        raise CsvError(MALFORMED)
    return fields, at


@functools.cache
def _quoted_before(delimiter: str) -> re.Pattern[str]:
    """A delimiter that is itself blank ends the blanks behind a quoted field."""
    return re.compile(rf'"([^"]*(?:""[^"]*)*)"(?:(?!{re.escape(delimiter)})[{BLANKS}])*')


@functools.cache
def _plain_before(delimiter: str) -> re.Pattern[str]:
    return re.compile(rf"[^\r\n{re.escape(delimiter)}]*")


_SPECIAL: Final = re.compile(r'[\r\n",]')


def written(fields: list[str]) -> str:
    """Fields as a line without its end (commons-csv ``CSVFormat.DEFAULT``)."""
    return ",".join(_field(text, is_first=not index) for index, text in enumerate(fields))


def _field(text: str, *, is_first: bool) -> str:
    if not text:
        return '""' if is_first else ""
    needs_quotes = (
        text[0] <= "#"
        or text[-1] <= " "
        or _SPECIAL.search(text) is not None
        or (is_first and not (text[0].isascii() and text[0].isalnum()))
    )
    return '"' + text.replace('"', '""') + '"' if needs_quotes else text
