"""A guess of the format of a file from its first bytes."""

from __future__ import annotations

import codecs
import csv
import json
import re
from collections.abc import Sequence
from typing import Final

import msgspec

_MAGIC: Final = {
    b"PAR1": "parquet",
    b"Obj\x01": "avro",
    b"ORC": "orc",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "xls",
}
"""Formats by the first bytes of their files."""
_WORKBOOKS: Final = (".xlsx", ".xlsm", ".xls")
_EXTENSIONS: Final = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".tsv": "tsv",
}
"""Formats of texts by the file's extension, for files whose contents say nothing."""
_DELIMITERS: Final = (",", "\t", ";", "|")
_FORMATS: Final = {",": "csv", "\t": "tsv"}
"""Formats with a delimiter of their own; the others are ``delimited``."""
_NAMES: Final = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "vertical bars"}
_BINARY_SHARE: Final = 0.1
"""Of control characters in a text; in more, the file is binary."""
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_VALUE: Final = re.compile(
    r"[+-]?[0-9][0-9.,:/ +TZeE-]*|true|false|null|n/?a|", re.IGNORECASE
)  # numbers, dates and times; the empty text
_MOST_LINES: Final = 200


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
    columns: list[str] = []
    """The texts of the header."""

    @property
    def is_binary(self) -> bool:
        """Whether the file is not a text."""
        return self.format in ("avro", "blob", "orc", "parquet", "xls")


def guess_format(head: bytes, name: str, *, is_whole: bool) -> FormatGuess:
    """Return the format of a file whose contents begin with ``head``.

    The contents decide, and where they leave the format open, the extension does as in CDAP
    (``FileTypeDetector.java`` of hydrator-plugins): a text of another extension is ``text``, anything else
    ``blob``.

    :param name: the file's name, without the extension of a compression.
    :param is_whole: whether ``head`` is the whole file; otherwise its last line may be cut.
    """
    for magic, format in _MAGIC.items():
        if head.startswith(magic):
            return FormatGuess(format, f"it begins as files of {format} do")
    if head.startswith(b"PK\x03\x04") and name.lower().endswith(_WORKBOOKS):
        return FormatGuess("xls", "it is a workbook")
    text, encoding = decode_head(head)
    if text is None:
        return FormatGuess("blob", "its contents are binary")
    lines = split_lines(text, is_whole=is_whole)
    return _guess_text(lines, name, encoding)


def decode_head(head: bytes) -> tuple[str | None, str]:
    """Return the text and the encoding of the first bytes of a file; None for binary contents.

    UTF-16 is recognized by its byte order mark, and what is not UTF-8 counts as ISO-8859-1.
    """
    encoding, text = "UTF-8", ""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding, text = "UTF-16", head.decode("utf-16", "replace")
    else:
        try:  # incremental, because the end of the bytes may cut a character
            text = codecs.getincrementaldecoder("utf-8-sig")().decode(head)
        except UnicodeDecodeError:
            encoding, text = "ISO-8859-1", head.decode("latin-1")
    controls = len(_CONTROLS.findall(text))
    is_binary = "\x00" in text or controls > _BINARY_SHARE * len(text)
    return (None if is_binary else text), encoding


def split_lines(text: str, *, is_whole: bool) -> list[str]:
    """Return the first lines that have a text, without one that is cut."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not is_whole and len(lines) > 1:
        lines.pop()
    return [line for line in lines if line.strip()][:_MOST_LINES]


def _guess_text(lines: Sequence[str], name: str, encoding: str) -> FormatGuess:
    if lines and all(_is_json_object(line) for line in lines):
        return FormatGuess("json", "each line is a JSON object", encoding=encoding)
    named = _EXTENSIONS.get(name[name.rfind(".") :].lower() if "." in name else "")
    delimiter, width = find_delimiter(lines)
    if named in ("csv", "tsv") and not delimiter:
        delimiter = "," if named == "csv" else "\t"
    if delimiter and (named != "json"):
        return _describe_delimited(lines, delimiter, width, encoding)
    if named is not None and not lines:
        return FormatGuess(named, f"its name ends with .{named}", encoding=encoding)
    return FormatGuess("text", "its lines have no columns", encoding=encoding)


def _describe_delimited(
    lines: Sequence[str], delimiter: str, width: int, encoding: str
) -> FormatGuess:
    rows = list(csv.reader(lines, delimiter=delimiter))
    has_header = _has_header(rows)
    many = f"{width} values between {_NAMES[delimiter]}" if width > 1 else "a single value"
    reason = f"each line has {many}" if lines else "its name says so"
    return FormatGuess(
        _FORMATS.get(delimiter, "delimited"),
        reason + (", the first line their names" if has_header else ""),
        delimiter,
        has_header,
        is_quoted=any('"' in line for line in lines),
        is_multiline=len(rows) < len(lines),
        encoding=encoding,
        columns=rows[0] if has_header else [],
    )


def find_delimiter(lines: Sequence[str]) -> tuple[str, int]:
    """Return the delimiter that splits each line into equally many values, and their number.

    Of several the one with the most values is taken. The delimiter is empty, and the number 1, when none
    does: then the lines have no columns.
    """
    best, most = "", 1
    for delimiter in _DELIMITERS:
        widths = {len(row) for row in csv.reader(lines, delimiter=delimiter)}
        width = min(widths, default=1)
        if len(widths) == 1 and width > most:
            best, most = delimiter, width
    return best, most


def _has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row has names: different texts, none of which is a value.

    A single row counts as data. Where all columns hold texts, none of the names may be among the values of
    its column.
    """
    if len(rows) < 2:
        return False
    first, others = rows[0], rows[1:]
    names = [name.strip() for name in first]
    if len(set(names)) < len(names) or any(_VALUE.fullmatch(name) for name in names):
        return False
    columns = [
        [row[place].strip() for row in others if place < len(row)] for place in range(len(names))
    ]
    if any(column and all(map(_VALUE.fullmatch, column)) for column in columns):
        return True
    return all(name not in column for name, column in zip(names, columns, strict=True)) and all(
        re.fullmatch(r"[A-Za-z_][\w .()/#-]*", name) for name in names
    )


def _is_json_object(line: str) -> bool:
    if not line.lstrip().startswith("{"):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
