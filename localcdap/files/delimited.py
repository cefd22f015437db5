"""The records of delimited text, with what is wrong with those that cannot be read."""

from __future__ import annotations

import bisect
import contextlib
import csv
import itertools
import re
from collections.abc import Iterable, Iterator
from typing import IO, Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.files import limits
from localcdap.java import commons_csv
from localcdap.text import plural

DELIMITED: Final = {"csv": ",", "tsv": "\t", "delimited": ","}
"""Default delimiters by format; a property can change the delimiter of ``delimited``."""


OPEN_QUOTE: Final = (
    "Found a line with an unenclosed quote. Ensure that all values are properly quoted, or disable quoted "
    "values."
)
_ENCLOSED: Final = re.compile(' *"(.*)" *', re.DOTALL)


class UnreadableRow(msgspec.Struct, frozen=True):
    """A row of a file that is not as its format says."""

    message: str
    text: str = ""


def read_named_records(text: IO[str], where: str, delimiter: str = ",") -> Iterator[dict[str, str]]:
    """Yield the records of a text whose first line has names, without empty lines.

    Every line has a value for each name, which records that people write by hand should; the readers of whole
    files take missing ones as null (:class:`.rows.RowReader`). Blanks around names are left out.

    :param where: what a message calls the text.
    :raises BadRequestError: for a first line that does not name every column once, for a record with another
        number of values, and for one that cannot be read; it has the line.
    """
    records = DelimitedRecords(text, delimiter)
    header = _require_record(next(records, []), where)
    names = [name.strip() for name in header]
    if not names or "" in names or len(set(names)) < len(names):
        listed = f" It has {', '.join(names)}." if names else ""
        raise BadRequestError(
            f"{where}:1: the first line must name every column once.{listed}",
            "Name every column once in the first line.",
        )
    for values in records:
        record = _require_record(values, where)
        if record and len(record) != len(names):
            raise BadRequestError(
                f"{where}:{records.line}: {len(record)} values, but {len(names)} columns.",
                "Write a value for each column in every line; put quotes around a value with a comma.",
            )
        if record:
            yield dict(zip(names, record, strict=True))


def _require_record(record: list[str] | UnreadableRow, where: str) -> list[str]:
    if isinstance(record, UnreadableRow):
        raise BadRequestError(f"{where}: {record.message}", "Correct the line.")
    return record


class DelimitedRecords:
    """The records of delimited text, with the lines of the last one.

    :param skipped: the lines before the text.
    """

    def __init__(self, text: IO[str], delimiter: str, skipped: int = 0) -> None:
        csv.field_size_limit(limits.LARGEST_VALUE)
        self._skipped = skipped
        self._delimiter = delimiter
        self._lines: list[str] = []
        self._text = text
        self._reader = csv.reader(self._keep_lines(), delimiter=delimiter, strict=True)
        self._format = commons_csv.DEFAULT._replace(delimiter=delimiter)

    @property
    def line(self) -> int:
        """The number of the last line of the record, from 1."""
        return self._skipped + self._reader.line_num

    @property
    def text(self) -> str:
        """The beginning of the record."""
        return "".join(self._lines)[: limits.SHOWN].rstrip("\r\n")

    def __iter__(self) -> Iterator[list[str] | UnreadableRow]:
        return self

    def __next__(self) -> list[str] | UnreadableRow:
        self._lines.clear()
        try:
            return next(self._reader)
        except csv.Error as error:
            return self._read_again(str(error))

    def _keep_lines(self) -> Iterator[str]:
        keep = self._lines.append
        for line in self._text:
            keep(line)
            yield line

    def _read_again(self, reason: str) -> list[str] | UnreadableRow:
        """Return a record that Python's reader refuses, such as one with blanks after a quote, or why."""
        first = self.line - len(self._lines) + 1
        if reason == "unexpected end of data":
            return UnreadableRow(self._describe_open_quote(first), self.text)
        if "field limit" in reason:
            line, value = self._find_open_quote()
            reason = f"has more than {limits.LARGEST_VALUE:,} characters; is a quote not closed?"
            return UnreadableRow(f"Line {first + line}: value {value} {reason}", self.text)
        for text in self._list_readings():
            with contextlib.suppress(commons_csv.CsvError):
                found = self._format.parse_texts(text)
                if len(found) == 1:
                    return found[0]
        if "expected after" in reason:
            reason = f"text follows the closing quote of value {self._find_open_quote()[1]}"
        if self.line > first:
            message = f"Lines {first} to {self.line}: {reason}; is a quote not closed?"
            return UnreadableRow(message, self.text)
        return UnreadableRow(
            f"Line {first}: {reason}. A quote within quotes is written twice.", self.text
        )

    def _list_readings(self) -> list[str]:
        """Return how a record may be meant: as it is, or, in a single line, with quotes that a backslash
        escapes, as MySQL writes them.
        """
        text = "".join(self._lines)
        escaped = len(self._lines) == 1 and '\\"' in text
        return [text, text.replace('\\"', '""')] if escaped else [text]

    def _describe_open_quote(self, first: int) -> str:
        """Say where the quote opens that the text does not close, and how much that takes along."""
        line, value = self._find_open_quote()
        lost = len(self._lines) - line - 1
        taken = f", so that the {plural(lost, 'line')} after it cannot be read" if lost > 1 else ""
        return (
            f"Line {first + line}: the quote at the beginning of value {value} is not closed{taken}. "
            "Close it or remove it."
        )

    def _find_open_quote(self) -> tuple[int, int]:
        """Return where the quote opens that is not closed: the line of the record, from 0, and the value in
        the record, from 1.
        """
        delimiter = re.escape(self._delimiter)
        plain = f'[^"{delimiter}\\r\\n][^{delimiter}\\r\\n]*+'
        closed = re.compile(f'(?:"[^"]*+(?:""[^"]*+)*+"|{plain}|){delimiter}')
        text = "".join(self._lines)
        place, value = 0, 1
        while found := closed.match(text, place):
            place, value = found.end(), value + 1
        ends = list(itertools.accumulate(map(len, self._lines)))
        return bisect.bisect_right(ends[:-1], place), value


def split_values(
    line: str, delimiter: str, *, quoted: bool, doubled: bool = False, bare: bool = True
) -> list[str]:
    r"""Return the values of a line as CDAP has them (hydrator-plugins ``SplitQuotesIterator``).

    A delimiter between quotes is part of the value. Quotes are left out wherever they stand, and blanks stay.

    >>> split_values('a,"b,c", "d""e" ', ",", quoted=True)
    ['a', 'b,c', ' de ']

    :param quoted: whether quotes enclose values; otherwise a quote is an ordinary character.
    :param doubled: whether two quotes within a value in quotes stand for one, and blanks around it are left
        out. CDAP does not have this.
    :param bare: whether to leave quotes out.
    :raises ValueError: when the last quote is not closed.
    """
    if not quoted:
        return line.split(delimiter)
    parts = line.split('"')
    if len(parts) % 2 == 0:
        raise ValueError(OPEN_QUOTE)
    values = [""]
    for number, part in enumerate(parts):
        if number and (doubled or not bare):
            values[-1] += '"'
        begin, *others = [part] if number % 2 else part.split(delimiter)
        values[-1] += begin
        values += others
    return [_unquote(value) for value in values] if doubled else values


def _unquote(value: str) -> str:
    enclosed = _ENCLOSED.fullmatch(value)
    return value.replace('"', "") if enclosed is None else enclosed[1].replace('""', '"')


def join_quoted_lines(lines: Iterable[str], *, doubled: bool = False) -> Iterator[str]:
    """Yield lines, each with those after it that a quote which it does not close takes along.

    Every line end becomes a line feed.

    :param doubled: as for :func:`split_values`. Without it an empty line may not follow an open quote, which
        CDAP takes for the end of the text (hydrator-plugins ``SplitQuotesIterator.appendNextLineIfNeeded``).
    :raises ValueError: when the last quote is not closed.
    """
    remaining = iter(lines)
    for line in remaining:
        record = [line]
        is_open = line.count('"') % 2 == 1
        while is_open:
            following = next(remaining, None)
            if following is None or not (following or doubled):
                raise ValueError(OPEN_QUOTE)
            record.append(following)
            is_open = following.count('"') % 2 == 0
        yield "\n".join(record)


def get_format_of_delimiter(delimiter: str) -> str:
    r"""Return the format whose values a delimiter separates: ``csv``, ``tsv`` or ``delimited``.

    >>> get_format_of_delimiter("\t"), get_format_of_delimiter(";")
    ('tsv', 'delimited')
    """
    return {",": "csv", "\t": "tsv"}.get(delimiter, "delimited")


def find_delimiter(format_name: str, delimiter: str | None) -> str:
    """Return the text between two values of a line; empty for a format without a delimiter.

    :param delimiter: that of the property, which counts for the format ``delimited`` only.
    """
    if format_name == "delimited" and delimiter:
        return delimiter
    return DELIMITED.get(format_name, "")
