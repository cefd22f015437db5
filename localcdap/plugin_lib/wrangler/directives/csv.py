"""Directives that read tables in texts: CSV, and records of fixed widths."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Final

from localcdap.api.directive import (
    Columns,
    Directive,
    DirectiveError,
    ErrorRow,
    Frame,
    NoNativeFormError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Schema
from localcdap.java import commons_csv
from localcdap.java.regex import compile_regex
from localcdap.java.strings import TRIM_CHARACTERS
from localcdap.java.text_units import replace_halves, to_units
from localcdap.plugin_lib.wrangler.recipe.base_directives import (
    format_error_record,
    make_type_error,
    report_missing_column,
    require_text_column,
)
from localcdap.plugin_lib.wrangler.values.text_edits import find_syntax_problem, unescape_java

if TYPE_CHECKING:
    from pyspark.sql import Column


_MALFORMED: Final = format_error_record(
    "the text is not CSV: a quoted field has no end, or text before the next delimiter",
    1,
    "parse-as-csv",
)
_SPACES: Final = re.compile(r"[ \t\n\x0b\f\r]+")
_PARTS: Final = "__parts"


@plugin(
    name="parse-as-csv",
    description="Parses a text as CSV to the columns <column>_1, <column>_2 and so on, or to the columns "
    "that the first row names.",
)
class ParseAsCsv(Directive):
    drops_rows = True
    categories = ("parser", "csv")
    examples = ("parse-as-csv :body ','", "parse-as-csv :body '\\t' true")
    keeps_values = True
    col: str = argument.column("The column to parse; empty texts and null are ignored.")
    delimiter: str = argument.text(r"One character, or \t or \u0001.", default=",")
    header: bool = argument.boolean(
        "Whether the first row that each task sees holds the names, if all of its fields are words.",
        default=False,
    )

    @cached_property
    def _delimiter(self) -> str:
        text = self.delimiter
        return (unescape_java(text) if text.startswith("\\") else text)[:1]

    @cached_property
    def _format(self) -> commons_csv.CsvFormat:
        return commons_csv.DEFAULT._replace(delimiter=self._delimiter)

    def problem(self) -> str | None:
        if not self._delimiter:
            return "the delimiter is empty"
        if self._delimiter in '"\r\n':
            return "the delimiter must be neither a quote nor the end of a line"
        return None

    def propagate(self, columns: Columns) -> None:
        if not report_missing_column(columns, self.col, "parse", fails=False):
            columns.open_for("" if self.header else f"{self.col}_")

    def start(self, context: RowContext) -> None:
        self._names: list[str] = []
        self._looks_for_names = self.header

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        text = row.value(self.col)
        if text is None or text == "":
            return (row,)
        if not isinstance(text, str):
            raise make_type_error(self.col, text)
        try:
            parsed = self._format.parse_texts(text)
        except commons_csv.CsvError:
            raise ErrorRow(_MALFORMED, 1) from None
        for fields in parsed:
            if self._looks_for_names:
                self._looks_for_names = False
                if _is_header(fields):
                    self._names = [
                        _SPACES.sub("_", field.strip(TRIM_CHARACTERS)) for field in fields
                    ]
                    return ()
            self._add(row, fields)
        return (row,)

    def _add(self, row: Row, fields: list[str]) -> None:
        names: list[str] = self._names or [f"{self.col}_{i}" for i in range(1, len(fields) + 1)]
        if len(fields) > len(names):
            raise DirectiveError(f"there are {len(fields)} fields, but only {len(names)} names")
        for name, field in zip(names, fields, strict=False):
            row.setdefault(name, field)

    def native(self, frame: Frame) -> None:
        if self.header:
            raise NoNativeFormError("the first row that a task sees may hold the names")
        if frame.wanted is None:
            raise NoNativeFormError("only data tell how many columns there are")
        require_text_column(frame, self.col)
        pattern = re.compile(re.escape(f"{self.col}_".lower()) + r"([1-9]\d{0,4})")
        found = sorted({int(m[1]) for m in map(pattern.fullmatch, frame.wanted) if m})
        numbers = [number for number in found if frame.columns.find(f"{self.col}_{number}") is None]
        self._parse(frame, numbers)

    def _parse(self, frame: Frame, numbers: list[int]) -> None:
        from pyspark.sql import functions as f

        text = frame.column(self.col)
        delimiter = self._delimiter
        # contains is many times faster than a pattern, and most texts hold none of these characters.
        is_special = text.contains('"') | text.contains("\n") | text.contains("\r")
        is_simple = ~is_special
        quoted = _QuotedCsv(delimiter)
        frame.error_where(is_special & ~text.rlike(quoted.valid), _MALFORMED, 1)
        simple = f.split(text, re.escape(delimiter), -1)
        parts = (
            f.when(text == "", None).when(is_simple, simple).otherwise(quoted.split_fields(text))
        )
        frame.put(_PARTS, parts, Schema.array(Schema.STRING).as_nullable)
        made = frame.column(_PARTS)
        for number in numbers:
            frame.put(
                f"{self.col}_{number}", f.get(made, f.lit(number - 1)), Schema.STRING.as_nullable
            )
        frame.remove(_PARTS)


class _QuotedCsv:
    """The regular expressions of Java for texts with quotes or several lines."""

    def __init__(self, delimiter: str) -> None:
        quoted = re.escape(delimiter)
        blanks = f"(?:(?!{quoted})[{commons_csv.BLANKS}])*+"
        self._field = f'(?:"[^"]*+(?:""[^"]*+)*+"{blanks}|(?!")[^\\r\\n{quoted}]*+)'
        self._separated = quoted
        self._delimiter = delimiter
        self._record = f"{self._field}(?:{quoted}{self._field})*+"
        self.valid = f"\\A[\\r\\n]*+(?:{self._record}(?:[\\r\\n]++|\\z))*+\\z"

    def split_fields(self, text: Column) -> Column:
        """Return the fields of the first record, and the fields of later records that have more."""
        from pyspark.sql import functions as f

        lines = f.regexp_extract_all(
            f.concat(f.lit("\n"), text), f.lit(f"[\\r\\n]({self._record})"), f.lit(1)
        )
        filled = f.filter(lines, lambda line: line != "")
        several = f.transform(filled, self._split)
        return f.aggregate(
            several,
            f.array().cast("array<string>"),
            lambda before, later: f.concat(
                before, f.slice(later, f.size(before) + 1, f.greatest(f.size(later), f.lit(1)))
            ),
        )

    def _split(self, line: Column) -> Column:
        from pyspark.sql import functions as f

        found = f.regexp_extract_all(
            f.concat(f.lit(self._delimiter), line),
            f.lit(f"{self._separated}({self._field})"),
            f.lit(1),
        )
        return f.transform(found, _unquote_commons_csv)


def _unquote_commons_csv(field: Column) -> Column:
    from pyspark.sql import functions as f

    inner = f.regexp_replace(field, f'\\A"|"[{commons_csv.BLANKS}]*+\\z', "")
    return f.when(field.startswith('"'), f.replace(inner, f.lit('""'), f.lit('"'))).otherwise(field)


def _is_header(fields: list[str]) -> bool:
    """Whether a row holds names: all different, and words rather than numbers, dates or times."""
    return len(set(fields)) == len(fields) and all(map(_is_word, fields))


def _is_word(field: str) -> bool:
    from localcdap.plugin_lib.jexl.functions import data_quality

    return not (
        data_quality.is_empty(field)
        or data_quality.is_boolean(field)
        or data_quality.is_number_text(field)
        or data_quality.is_date(field)
        or data_quality.is_time(field)
    )


_MAX_WIDTH: Final = 100_000


@plugin(
    name="parse-as-fixed-length",
    description="Cuts a text into columns <column>_1, <column>_2 … of fixed widths; each record in "
    "the text becomes a row. A row without the column is dropped, as in the original.",
)
class ParseAsFixedLength(Directive):
    drops_rows = True
    categories = ("parser",)
    examples = ("parse-as-fixed-length :body 2,4,5,3", "parse-as-fixed-length :body 10,5 '#'")
    column: str = argument.column("The column to cut.")
    width: list[int] = argument.numbers("The widths in characters.")
    padding: str | None = argument.text(
        "The padding of fields, a regular expression; it is removed.", default=None
    )

    @cached_property
    def _widths(self) -> list[int]:
        return [int(width) for width in self.width]

    def problem(self) -> str | None:
        invalid = [
            width for width in self.width if width != int(width) or not 0 < width <= _MAX_WIDTH
        ]
        if invalid:
            return f"a width must be a whole number from 1 to {_MAX_WIDTH}, not {invalid[0]}"
        return (
            find_syntax_problem(compile_regex, self.padding) if self.padding is not None else None
        )

    def propagate(self, columns: Columns) -> None:
        report_missing_column(columns, self.column, "cut", fails=False)
        for number in range(1, len(self.width) + 1):
            columns.add(f"{self.column}_{number}", Schema.STRING)

    def start(self, context: RowContext) -> None:
        self._padding = None if self.padding is None else compile_regex(self.padding)

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        found = row.find(self.column)
        if found is None:
            return ()
        text = row[found]
        if not isinstance(text, str):
            raise make_type_error(self.column, text)
        text = to_units(text)
        length = sum(self._widths)
        if len(text) < length:
            raise ErrorRow(
                f"Column '{self.column}' has {len(text)} characters, but a record has {length} "
                "(ecode: 2, directive: parse-as-fixed-length)",
                2,
            )
        starts = range(0, len(text) - length + 1, length)
        return [self._make_row(row, text, start) for start in starts]

    def _make_row(self, row: Row, text: str, start: int) -> Row:
        made = Row(row)
        for number, width in enumerate(self._widths, 1):
            field = replace_halves(text[start : start + width])
            if self._padding is not None:
                field = self._padding.replace(field, "")
            made.add(f"{self.column}_{number}", field)
            start += width
        return made
