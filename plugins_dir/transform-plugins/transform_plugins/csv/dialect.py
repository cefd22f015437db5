r"""The CSV dialects of Apache Commons CSV, which CDAP parses with.

Rules of its ``Lexer`` and ``CSVFormat`` classes (version 1.x): quotes count only at the start of a
value, blanks may follow a closing quote, ``\r``, ``\n`` and ``\r\n`` end a record.
"""

from __future__ import annotations

import csv
import io
from typing import Final, NamedTuple

_BLANKS: Final = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2008\u2009\u200a\u2028\u2029\u205f\u3000"
)
"""What Java's ``Character.isWhitespace`` accepts; no-break spaces are not among them."""

Row = list[str | None]


class CsvError(ValueError):
    """A text is not CSV of the dialect. The message says line and problem."""


class Dialect(NamedTuple):
    """How values and records are told apart."""

    delimiter: str
    quote: str | None = '"'
    escape: str | None = None
    trims_blanks: bool = False
    """Whether blanks around an unquoted value are dropped."""
    skips_empty_lines: bool = False
    null: str | None = None
    """The text of a value that is null."""

    def rows(self, text: str) -> list[Row]:
        """All records of a text, each a list of values; none for an empty text.

        :raises CsvError: for a quote that is not closed or is followed by text, or an escape
            character at the very end.
        """
        if not text:
            return []
        if self._is_plain(text):
            return [self._plain_row(text)]
        if self._is_standard:
            rows = self._standard_rows(text)
            if rows is not None:
                return rows
        return _Lexer(self, text).rows()

    def _is_plain(self, text: str) -> bool:
        """Whether the text is one record without quotes and escapes, by far the most frequent."""
        return not (
            "\n" in text
            or "\r" in text
            or (self.quote is not None and self.quote in text)
            or (self.escape is not None and self.escape in text)
        )

    def _plain_row(self, text: str) -> Row:
        values = text.split(self.delimiter)
        if self.trims_blanks:
            blanks = _BLANKS.replace(self.delimiter, "")
            return [value.strip(blanks) for value in values]
        return list(values)

    @property
    def _is_standard(self) -> bool:
        """Whether Python's own parser reads valid texts the same way."""
        return self.quote == '"' and self.escape is None and not self.trims_blanks

    def _standard_rows(self, text: str) -> list[Row] | None:
        """The records as Python's parser reads them; None when it finds the text invalid.

        It is stricter than Commons CSV (blanks after a closing quote), never more lenient.
        """
        lines = io.StringIO(text, newline="")
        reader = csv.reader(lines, delimiter=self.delimiter, doublequote=True, strict=True)
        rows: list[Row] = []
        try:
            for row in reader:
                if row:
                    rows.append(list(row))
                elif not self.skips_empty_lines:
                    rows.append([""])
        except csv.Error:
            return None
        return rows


DEFAULT: Final = Dialect(",", skips_empty_lines=True)
EXCEL: Final = Dialect(",")
RFC4180: Final = Dialect(",")
MYSQL: Final = Dialect("\t", quote=None, escape="\\", null="\\N")
TAB_DELIMITED: Final = Dialect("\t", trims_blanks=True, skips_empty_lines=True)


def unquoted(delimiter: str) -> Dialect:
    """The dialect of ``Pipe Delimited`` and ``Custom``: backslash escapes, no quotes."""
    return Dialect(delimiter, quote=None, escape="\\", trims_blanks=True)


_ESCAPES: Final = {"r": "\r", "n": "\n", "t": "\t", "b": "\b", "f": "\f"}
_ESCAPED_AS_THEMSELVES: Final = frozenset("\r\n\f\t\b")


class _Lexer:
    """One pass over one text, character by character."""

    def __init__(self, dialect: Dialect, text: str) -> None:
        self._dialect = dialect
        self._text = text
        self._at = 0
        self._line = 1

    def rows(self) -> list[Row]:
        rows: list[Row] = []
        while self._at < len(self._text):
            if self._dialect.skips_empty_lines and self._text[self._at] in "\r\n":
                self._end_line()
                continue
            rows.append(self._row())
        return rows

    def _row(self) -> Row:
        row: Row = [self._value()]
        while self._at < len(self._text):
            if self._text[self._at] != self._dialect.delimiter:
                self._end_line()
                return row
            self._at += 1
            row.append(self._value())
        return row

    def _end_line(self) -> None:
        pair = self._text.startswith("\r\n", self._at)
        self._at += 2 if pair else 1
        self._line += 1

    def _value(self) -> str | None:
        """The value at the current place; what stands there afterwards ends it."""
        if self._dialect.trims_blanks:
            self._skip_blanks()
        if self._dialect.quote is not None and self._peek() == self._dialect.quote:
            return self._quoted()
        value = self._simple()
        return None if value == self._dialect.null else value

    def _peek(self) -> str:
        return self._text[self._at] if self._at < len(self._text) else ""

    def _skip_blanks(self) -> None:
        while (c := self._peek()) and c in _BLANKS and c not in "\r\n" + self._dialect.delimiter:
            self._at += 1

    def _simple(self) -> str:
        parts: list[str] = []
        while (c := self._peek()) and c != self._dialect.delimiter and c not in "\r\n":
            self._at += 1
            parts.append(self._escaped() if c == self._dialect.escape else c)
        value = "".join(parts)
        return value.rstrip(_BLANKS) if self._dialect.trims_blanks else value

    def _escaped(self) -> str:
        c = self._peek()
        if not c:
            raise CsvError(f"(line {self._line}) the text ends after the escape character.")
        meta = {self._dialect.delimiter, self._dialect.escape, self._dialect.quote}
        if c in _ESCAPES:
            self._at += 1
            return _ESCAPES[c]
        if c in _ESCAPED_AS_THEMSELVES or c in meta:
            self._at += 1
            return c
        # Not an escape at all: the escape character stands for itself, as in MySQL's \N.
        return self._dialect.escape or ""

    def _quoted(self) -> str:
        start, quote = self._line, self._dialect.quote or ""
        self._at += 1
        parts: list[str] = []
        while True:
            end = self._text.find(quote, self._at)
            if end < 0:
                raise CsvError(f"(line {start}) a quoted value is not closed before the text ends.")
            chunk = self._text[self._at : end]
            self._line += chunk.count("\n")
            parts.append(chunk)
            self._at = end + 1
            if self._peek() != quote:
                break
            parts.append(quote)
            self._at += 1
        self._skip_blanks()
        if (c := self._peek()) and c != self._dialect.delimiter and c not in "\r\n":
            raise CsvError(
                f"(line {self._line}) '{c}' follows a closing quote where '{self._dialect.delimiter}' "
                "or the end of the line must stand."
            )
        return "".join(parts)
