"""The directive that reads HL7 messages in texts.

Parses messages of Health Level 7, version 2, to objects of segments, fields and components.
"""

from __future__ import annotations

import re
from typing import Any, Final

from localcdap.api.directive import Columns, DirectiveError, Row, RowContext, argument, plugin
from localcdap.plugin_lib.wrangler.directives.json import FlattenDirective
from localcdap.plugin_lib.wrangler.recipe.base_directives import (
    make_type_error,
    report_missing_column,
)

_LINE_ENDS: Final = re.compile(r"[\r\n]+\s*")
_ESCAPE: Final = re.compile(r"\\([FSTREXZ.]?)([^\\]*)\\")
_DEFAULTS: Final = "^~\\&"
_NAME: Final = re.compile(r"[A-Z][A-Z0-9]{2}")


class Hl7Error(ValueError):
    """A text is not a message."""


def parse_hl7_message(text: str) -> dict[str, Any]:
    """Return the segments of a message by name, repeated ones as an array; each has its fields by number.

    A field is a text, or an object of its components by number if there are several; a component with
    subcomponents is an object too. Empty values are left out. The last value of a repeated field is used, as
    in the original.

    :raises Hl7Error: for a text without a complete MSH segment at its start, or a segment without a name.
    """
    lines = [line for line in _LINE_ENDS.split(text.strip()) if line]
    if not lines or not lines[0].startswith("MSH") or len(lines[0]) < 8:
        raise Hl7Error("a message begins with 'MSH', the separator of fields, and four others")
    separators = _Separators(lines[0])
    segments: dict[str, Any] = {}
    for line in lines:
        name, *fields = line.split(separators.field)
        if not _NAME.fullmatch(name):
            raise Hl7Error(f"'{name[:20]}' is not a name of a segment")
        _add(segments, name, separators.parse_segment(name, fields))
    return segments


def _add(segments: dict[str, Any], name: str, segment: dict[str, Any]) -> None:
    present = segments.get(name)
    if isinstance(present, list):
        present.append(segment)
    else:
        segments[name] = segment if present is None else [present, segment]


class _Separators:
    """The separators that the first segment declares; splits segments by them."""

    def __init__(self, header: str) -> None:
        self.field = header[3]
        declared = header[4:].split(self.field, 1)[0]
        self._declared = declared
        given = declared[:4] + _DEFAULTS[len(declared[:4]) :]
        self._component, self._repetition, self._escape, self._sub = list(given)

    def parse_segment(self, name: str, fields: list[str]) -> dict[str, Any]:
        first = 1
        found: dict[str, Any] = {}
        if name == "MSH":
            found = {"1": self.field, "2": self._declared}
            fields, first = fields[1:], 3
        for number, text in enumerate(fields, first):
            for repeated in text.split(self._repetition):
                value = self._split(repeated, (self._component, self._sub))
                if value is not None:
                    found[str(number)] = value
        return found

    def _split(self, text: str, separators: tuple[str, ...]) -> Any:
        """Return a text, the object of its parts, or None for an empty text."""
        if not separators or not separators[0]:
            return self._unescape(text) or None
        parts = [self._split(part, separators[1:]) for part in text.split(separators[0])]
        found = {str(number): part for number, part in enumerate(parts, 1) if part is not None}
        if len(found) > 1 or (found and "1" not in found):
            return found
        return parts[0]

    def _unescape(self, text: str) -> str:
        if self._escape not in text:
            return text
        known = {
            "F": self.field, "S": self._component, "T": self._sub, "R": self._repetition,
            "E": self._escape,
        }  # fmt: skip
        plain = text.replace(self._escape, "\\") if self._escape != "\\" else text
        return _ESCAPE.sub(lambda found: _replace_escape(found, known), plain)


def _replace_escape(found: re.Match[str], known: dict[str, str]) -> str:
    letter, rest = found.groups()
    if letter in known and not rest:
        return known[letter]
    if letter == "X" and rest:
        try:
            return bytes.fromhex(rest).decode("utf-8", "replace")
        except ValueError:
            return found[0]
    return "\n" if (letter, rest) == (".", "br") else found[0]


@plugin(
    name="parse-as-hl7",
    description="Parses messages of HL7 version 2: fields become columns <column>_hl7_<segment>_<field>, "
    "components <column>_hl7_<segment>_<field>_<component>; repeated segments arrays.",
)
class ParseAsHl7(FlattenDirective):
    categories = ("parser", "hl7")
    examples = ("parse-as-hl7 :body", "parse-as-hl7 :body 1")
    keeps_values = True
    column: str = argument.column("The column with messages; it stays.")
    depth: int | None = argument.number(
        "How many levels become columns: 1 for segments, 2 for fields; all without it.",
        default=None,
    )

    def propagate(self, columns: Columns) -> None:
        if not report_missing_column(columns, self.column, "parse", fails=False):
            columns.open_for(f"{self.column}_hl7")

    def change(self, row: Row, context: RowContext) -> None:
        found = row.find(self.column)
        if found is None:
            return
        text = row[found]
        if not isinstance(text, str):
            raise make_type_error(self.column, text)
        try:
            segments = parse_hl7_message(text)
        except Hl7Error as error:
            raise DirectiveError(f"column '{self.column}': {error}") from None
        self.flatten(segments, f"{self.column}_hl7", row)
