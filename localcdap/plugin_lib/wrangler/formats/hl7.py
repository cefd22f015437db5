"""Messages of Health Level 7, version 2, as objects: segments, their fields, and components of these."""

from __future__ import annotations

import re
from typing import Any, Final

_LINE_ENDS: Final = re.compile(r"[\r\n]+\s*")
_ESCAPE: Final = re.compile(r"\\([FSTREXZ.]?)([^\\]*)\\")
_DEFAULTS: Final = "^~\\&"
_NAME: Final = re.compile(r"[A-Z][A-Z0-9]{2}")


class Hl7Error(ValueError):
    """A text is no message."""


def parse_hl7_message(text: str) -> dict[str, Any]:
    """The segments of a message by name, several of one name as an array; in each its fields by number.

    A field is a text, or an object of its components by number where there are several; a component with
    subcomponents is again an object. Empty ones are left out. Of a repeated field the last one counts, as
    in the original.

    :raises Hl7Error: when it does not begin with a whole MSH segment, or a segment has no name.
    """
    lines = [line for line in _LINE_ENDS.split(text.strip()) if line]
    if not lines or not lines[0].startswith("MSH") or len(lines[0]) < 8:
        raise Hl7Error("a message begins with 'MSH', the separator of fields, and four others")
    separators = _Separators(lines[0])
    segments: dict[str, Any] = {}
    for line in lines:
        name, *fields = line.split(separators.field)
        if not _NAME.fullmatch(name):
            raise Hl7Error(f"'{name[:20]}' is no name of a segment")
        _add(segments, name, separators.segment(name, fields))
    return segments


def _add(segments: dict[str, Any], name: str, segment: dict[str, Any]) -> None:
    present = segments.get(name)
    if isinstance(present, list):
        present.append(segment)
    else:
        segments[name] = segment if present is None else [present, segment]


class _Separators:
    """The characters that the first segment declares, and what they part."""

    def __init__(self, header: str) -> None:
        self.field = header[3]
        declared = header[4:].split(self.field, 1)[0]
        self._declared = declared
        given = declared[:4] + _DEFAULTS[len(declared[:4]) :]
        self._component, self._repetition, self._escape, self._sub = list(given)

    def segment(self, name: str, fields: list[str]) -> dict[str, Any]:
        first = 1
        found: dict[str, Any] = {}
        if name == "MSH":
            found = {"1": self.field, "2": self._declared}
            fields, first = fields[1:], 3
        for number, text in enumerate(fields, first):
            for repeated in text.split(self._repetition):
                value = self._parts(repeated, (self._component, self._sub))
                if value is not None:
                    found[str(number)] = value
        return found

    def _parts(self, text: str, separators: tuple[str, ...]) -> Any:
        """A text, the object of its parts, or None for nothing."""
        if not separators or not separators[0]:
            return self._unescaped(text) or None
        parts = [self._parts(part, separators[1:]) for part in text.split(separators[0])]
        found = {str(place): part for place, part in enumerate(parts, 1) if part is not None}
        if len(found) > 1 or (found and "1" not in found):
            return found
        return parts[0]

    def _unescaped(self, text: str) -> str:
        if self._escape not in text:
            return text
        known = {
            "F": self.field, "S": self._component, "T": self._sub, "R": self._repetition,
            "E": self._escape,
        }  # fmt: skip
        plain = text.replace(self._escape, "\\") if self._escape != "\\" else text
        return _ESCAPE.sub(lambda found: _character(found, known), plain)


def _character(found: re.Match[str], known: dict[str, str]) -> str:
    letter, rest = found.groups()
    if letter in known and not rest:
        return known[letter]
    if letter == "X" and rest:
        try:
            return bytes.fromhex(rest).decode("utf-8", "replace")
        except ValueError:
            return found[0]
    return "\n" if (letter, rest) == (".", "br") else found[0]
