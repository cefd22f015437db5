r"""CSV as Apache Commons CSV 1.x reads and writes it, which CDAP's plugins and directives use.

The rules are those of its ``Lexer``, ``CSVFormat`` and ``CSVPrinter``: a quote counts only at the start of a
value, blanks may follow a closing quote, and ``\r``, ``\n`` and ``\r\n`` end a record.
"""

from __future__ import annotations

import csv
import functools
import io
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

WHITESPACE: Final = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2008\u2009\u200a\u2028\u2029\u205f\u3000"
)
"""The characters that Java's ``Character.isWhitespace`` accepts; no-break spaces are not among them."""
BLANKS: Final = WHITESPACE.translate({ord("\n"): None, ord("\r"): None})
"""The whitespace that may follow a closing quote."""

_ESCAPES: Final = {"r": "\r", "n": "\n", "t": "\t", "b": "\b", "f": "\f"}
_ESCAPED_CONTROLS: Final = frozenset("\r\n\f\t\b")


class CsvError(ValueError):
    """A text is not CSV of the format. The message names the line and the problem."""


class CsvFormat(NamedTuple):
    """A ``CSVFormat`` of Commons CSV. A format has either a quote or an escape character, never both."""

    delimiter: str
    """One character, which is not a line end."""
    quote: str | None = '"'
    escape: str | None = None
    ignore_surrounding_spaces: bool = False
    """Whether whitespace around an unquoted value is dropped."""
    ignore_empty_lines: bool = False
    null_string: str | None = None
    """The text of null; if None, no text is read as null, and null is written as nothing."""
    record_separator: str = "\r\n"
    """The line end that a writer puts after a row."""

    def parse(self, text: str) -> Sequence[Sequence[str | None]]:
        """Return the rows of a text with null where a value equals :attr:`null_string`.

        :raises CsvError: see :meth:`parse_texts`.
        """
        rows = self.parse_texts(text)
        null = self.null_string
        if null is None:
            return rows
        return [
            [None if value == null else value for value in row] if null in row else row
            for row in rows
        ]

    def parse_texts(self, text: str) -> list[list[str]]:
        """Return the rows of a text, each a list of at least one value; no row for an empty text.

        :raises CsvError: for a quote that is never closed or that text follows, and for an escape
            character at the end of the text.
        """
        quote, escape = self.quote, self.escape
        if (
            (quote is None or quote not in text)
            and "\n" not in text
            and "\r" not in text
            and (escape is None or escape not in text)
        ):
            return [self._split(text)] if text else []
        # Python's parser reads valid texts of this kind in the same way, and 3 times as fast.
        if quote == '"' and escape is None and not self.ignore_surrounding_spaces:
            rows = self._parse_standard(text)
            if rows is not None:
                return rows
        return _Lexer(self, text).read_rows()

    def format_row(self, values: Iterable[str | None]) -> str:
        """Return values as a line without its :attr:`record_separator`.

        As ``CSVPrinter`` does with ``QuoteMode.MINIMAL``, the first value of a line is quoted also when it
        is empty or begins with a character that is neither an ASCII letter nor a digit.
        """
        null = self.null_string or ""
        if self.quote is None:
            table = _escape_table(self.delimiter, self.escape or "\\")
            texts = [null if value is None else value.translate(table) for value in values]
        else:
            search = _special_pattern(self.delimiter).search
            texts = [
                null if value is None else _quote(value, not index, search)
                for index, value in enumerate(values)
            ]
        return self.delimiter.join(texts)

    def _split(self, line: str) -> list[str]:
        values = line.split(self.delimiter)
        if self.ignore_surrounding_spaces:
            blanks = BLANKS.replace(self.delimiter, "")
            return [value.strip(blanks) for value in values]
        return values

    def _parse_standard(self, text: str) -> list[list[str]] | None:
        """Return the rows as Python's parser reads them; None if it rejects the text.

        It is stricter than Commons CSV (blanks after a closing quote), never more lenient.
        """
        lines = io.StringIO(text, newline="")
        reader = csv.reader(lines, delimiter=self.delimiter, doublequote=True, strict=True)
        try:
            if self.ignore_empty_lines:
                return [row for row in reader if row]
            return [row or [""] for row in reader]
        except csv.Error:
            return None


DEFAULT: Final = CsvFormat(",", ignore_empty_lines=True)
EXCEL: Final = CsvFormat(",")
RFC4180: Final = CsvFormat(",")
MYSQL: Final = CsvFormat("\t", quote=None, escape="\\", null_string="\\N", record_separator="\n")
TDF: Final = CsvFormat("\t", ignore_surrounding_spaces=True, ignore_empty_lines=True)


def _quote(value: str, is_first: bool, search: Callable[[str], object]) -> str:
    """Quote a value if it must be; ``search`` finds a quote, a delimiter or a line end in it."""
    if not value:
        return '""' if is_first else ""
    needs_quotes = (
        value[0] <= "#"
        or value[-1] <= " "
        or search(value) is not None
        or (is_first and not (value[0].isascii() and value[0].isalnum()))
    )
    return '"' + value.replace('"', '""') + '"' if needs_quotes else value


@functools.cache
def _escape_table(delimiter: str, escape: str) -> dict[int, str]:
    escaped = {"\n": f"{escape}n", "\r": f"{escape}r"}
    escaped |= {special: escape + special for special in (delimiter, escape)}
    return str.maketrans(escaped)


@functools.cache
def _special_pattern(delimiter: str) -> re.Pattern[str]:
    """Return the pattern of the characters for which a value is quoted."""
    return re.compile(f'[\r\n"{re.escape(delimiter)}]')


class _Lexer:
    """Reads one text by all rules of the ``Lexer`` of Commons CSV."""

    def __init__(self, format_: CsvFormat, text: str) -> None:
        self._format = format_
        self._text = text
        self._blanks, self._quoted, self._plain = _value_patterns(format_)

    def read_rows(self) -> list[list[str]]:
        rows: list[list[str]] = []
        at = self._skip_empty_lines(0)
        while at < len(self._text):
            row, at = self._read_row(at)
            rows.append(row)
            at += 2 if self._text.startswith("\r\n", at) else 1
            at = self._skip_empty_lines(at)
        return rows

    def _skip_empty_lines(self, at: int) -> int:
        while self._format.ignore_empty_lines and self._text.startswith(("\r", "\n"), at):
            at += 1
        return at

    def _read_row(self, at: int) -> tuple[list[str], int]:
        row = []
        while True:
            value, at = self._read_value(at)
            row.append(value)
            if not self._text.startswith(self._format.delimiter, at):
                return row, at
            at += 1

    def _read_value(self, at: int) -> tuple[str, int]:
        """Read the value that begins at an offset, up to the delimiter or line end that follows it."""
        text, quote = self._text, self._format.quote
        if self._format.ignore_surrounding_spaces:
            at = _end_of(self._blanks.match(text, at))
        if quote is None or not text.startswith(quote, at):
            return self._read_plain(at)
        found = self._quoted.match(text, at)
        if found is None:
            raise self._error(at, "a quoted value is not closed before the text ends.")
        at = found.end()
        if at < len(text) and text[at] != self._format.delimiter and text[at] not in "\r\n":
            expected = f"'{self._format.delimiter}' or the end of the line"
            raise self._error(
                at, f"'{text[at]}' follows a closing quote where {expected} must stand."
            )
        return found[1].replace(quote * 2, quote), at

    def _read_plain(self, start: int) -> tuple[str, int]:
        at = _end_of(self._plain.match(self._text, start))
        value, escape = self._text[start:at], self._format.escape
        if escape is not None:
            if self._text.startswith(escape, at):
                raise self._error(at, "the text ends after the escape character.")
            if escape in value:
                value = _unescaper(escape, self._format.delimiter)(value)
        if self._format.ignore_surrounding_spaces:
            value = value.rstrip(WHITESPACE)
        return value, at

    def _error(self, at: int, problem: str) -> CsvError:
        line = len(_LINE_END.findall(self._text, 0, at)) + 1
        return CsvError(f"(line {line}) {problem}")


_LINE_END: Final = re.compile(r"\r\n?|\n")


@functools.cache
def _value_patterns(format_: CsvFormat) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of blanks, of a quoted value with the blanks after it, and of an unquoted value."""
    # A delimiter that is itself blank ends the blanks.
    blanks = f"[{BLANKS.replace(format_.delimiter, '')}]*"
    quote, delimiter = re.escape(format_.quote or ""), re.escape(format_.delimiter)
    quoted = (
        f"{quote}([^{quote}]*+(?:{quote}{quote}[^{quote}]*+)*+){quote}{blanks}" if quote else ""
    )
    if format_.escape is None:
        return re.compile(blanks), re.compile(quoted), re.compile(f"[^\r\n{delimiter}]*")
    escape = re.escape(format_.escape)
    plain = f"(?:[^\r\n{delimiter}{escape}]|{escape}[\\s\\S])*+"
    return re.compile(blanks), re.compile(quoted), re.compile(plain)


def _end_of(match: re.Match[str] | None) -> int:
    """Return the end of a match with a pattern that also matches the empty text."""
    assert match is not None
    return match.end()


@functools.cache
def _unescaper(escape: str, delimiter: str) -> Callable[[str], str]:
    r"""Return the function that replaces escapes; before other characters, as in ``\N``, they stay."""

    def replace(found: re.Match[str]) -> str:
        char = found[1]
        if char in _ESCAPES:
            return _ESCAPES[char]
        return char if char in _ESCAPED_CONTROLS or char in (delimiter, escape) else found[0]

    return functools.partial(re.compile(f"{re.escape(escape)}([\\s\\S])").sub, replace)
