"""The rows of a file, one after the other; a row that cannot be read is one of them, too."""

from __future__ import annotations

import bisect
import codecs
import contextlib
import csv
import datetime
import io
import itertools
import os
import re
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api import Schema, StageError
from localcdap.api.arrow import RecordCodec
from localcdap.files.documents import decode_document, decode_documents
from localcdap.files.formulas import count_formulas_without_result
from localcdap.files.schemas import (
    read_avro_schema,
    read_orc_schema,
    read_parquet_schema,
)
from localcdap.files.titles import count_title_rows
from localcdap.files.workbooks import format_cell, read_sheet
from localcdap.java import commons_csv
from localcdap.plugin_lib.files.readers.avro import AvroFile, read_avro
from localcdap.plugin_lib.files.readers.line_format import open_input
from localcdap.plugin_lib.files.readers.lines import COMPRESSED
from localcdap.plugin_lib.files.readers.sheets import get_column_letters, make_safe_names
from localcdap.plugin_lib.wrangler.files.formats import (
    BLOB,
    BODY,
    DOCUMENT,
    TEXT,
    FileFormat,
    FileInput,
)
from localcdap.text import plural

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH: Final = 4096
"""Rows of a Parquet file that are decoded at once."""
_LARGEST_VALUE: Final = 64 * 2**20
"""Characters of a line, or of a value of delimited text: a process has 1 GB by default, and a directive may
make several copies."""
_LARGEST_DOCUMENT: Final = 256 * 2**20
"""Bytes of a file that is read in one piece."""
_LOOKED_AT: Final = 100
"""Rows at the beginning of a sheet that may stand above the table."""
_SHOWN: Final = 200
"""Characters of a line that a message shows."""


class UnreadableRow(msgspec.Struct, frozen=True):
    """A row of a file that is not as its format says."""

    message: str
    text: str = ""


Item = dict[str, Any] | UnreadableRow


class RowReader:
    """The rows of one file, once. Empty values of delimited text and of sheets are null.

    :raises StageError: when the file cannot be read; iterating raises it, too.
    """

    def __init__(self, given: FileInput, format: FileFormat) -> None:
        self.format = format
        """How the file is read; of a workbook, with the rows above the table as soon as it is open."""
        self._given = given
        self._stream: IO[bytes] | None = None
        self._decoder: _FallbackDecoder | None = None
        self._share: float | None = 0.0
        self._size = os.stat(given.path).st_size  # noqa: PTH116
        self.schema: Schema | None = None
        """The columns as far as the file says them before its rows; None when only the rows say them."""
        self.warnings: list[str] = []
        """What the file does not tell, though it seems to."""
        self._items = self._open()

    def __iter__(self) -> Iterator[Item]:
        return self._items

    @property
    def share(self) -> float | None:
        """How much of the file is read, from 0 to 1; None when that is not known."""
        if self._stream is None:
            return self._share
        if self._given.path.lower().endswith(COMPRESSED) or not self._size:
            return None
        raw = getattr(self._stream, "raw", self._stream)
        return min(1.0, raw.tell() / self._size) if not raw.closed else 1.0

    @property
    def replaced(self) -> int:
        """How many bytes do not belong to UTF-8, and were read as Windows-1252."""
        return 0 if self._decoder is None else self._decoder.replaced

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()

    def _open(self) -> Iterator[Item]:
        match self.format.format:
            case "csv" | "tsv":
                return self._open_delimited()
            case "json":
                return self._read_json()
            case "parquet" | "orc" | "avro" as format:
                return self._open_typed(format)
            case "excel":
                return self._open_sheet()
            case format:
                type = Schema.BYTES if format == BLOB else Schema.STRING
                self.schema = Schema.record("line", [(BODY, type)])
                return self._read_lines() if format == TEXT else self._read_whole(format)

    # -- text -------------------------------------------------------------------------------

    def _open_text(self) -> io.TextIOWrapper:
        self._stream = open_input(self._given.path)
        encoding = self.format.encoding
        self._decoder = _FallbackDecoder()
        is_default = self._given.encoding is None and encoding == "utf-8-sig"
        errors = self._decoder.register() if is_default else "replace"
        text = io.TextIOWrapper(self._stream, encoding=encoding, errors=errors, newline="")
        for _ in range(self.format.skip_lines):
            text.readline()
        return text

    def _read_lines(self) -> Iterator[Item]:
        first = self.format.skip_lines + 1
        for number, line in enumerate(_limit_lines(self._open_text()), first):
            if isinstance(line, UnreadableRow):
                yield msgspec.structs.replace(line, message=f"Line {number}: {line.message}")
            else:
                yield {BODY: line.rstrip("\r\n")}

    def _read_whole(self, format: str) -> Iterator[Item]:
        if self._size > _LARGEST_DOCUMENT:
            raise StageError(
                f"'{self._given.path}' has {self._size / 2**20:,.0f} MB; a file that is read in one piece "
                f"may have {_LARGEST_DOCUMENT // 2**20}.",
                "Split it, or read its lines.",
            )
        if format == DOCUMENT:
            yield {BODY: self._open_text().read()}
        else:
            with open_input(self._given.path) as stream:
                yield {BODY: stream.read()}
        self._share = 1.0

    def _open_delimited(self) -> Iterator[Item]:
        csv.field_size_limit(_LARGEST_VALUE)
        format = self.format
        records = _DelimitedRecords(self._open_text(), format.delimiter, format.skip_lines)
        first = next(records, None)
        if first is None:
            return iter(())
        if isinstance(first, UnreadableRow):
            raise StageError(f"'{self._given.path}': {first.message}", "Correct the first line.")
        names = [f"{BODY}_{index + 1}" for index in range(len(first))]
        if self.format.header:
            names = make_safe_names(first)
        self.schema = _make_text_schema(names)
        return self._read_delimited(names, None if self.format.header else first, records)

    def _read_delimited(
        self, names: list[str], first: list[str] | None, records: _DelimitedRecords
    ) -> Iterator[Item]:
        count = len(names)
        nulls: list[None] = [None] * count
        if first is not None:
            yield {name: text or None for name, text in zip(names, first, strict=True)}
        for record in records:
            if isinstance(record, UnreadableRow):
                yield record
            elif len(record) == count:
                yield {name: text or None for name, text in zip(names, record, strict=True)}
            elif len(record) < count:
                if record or count == 1:
                    texts = [text or None for text in record]
                    yield dict(zip(names, [*texts, *nulls[len(record) :]], strict=True))
            elif any(record[count:]):
                yield UnreadableRow(
                    f"Line {records.line}: there are {len(record)} values, but {count} columns.",
                    records.text,
                )
            else:  # delimiters at the end, as sheets write them
                yield dict(zip(names, [text or None for text in record[:count]], strict=True))

    # -- JSON -------------------------------------------------------------------------------

    def _read_json(self) -> Iterator[Item]:
        lines = _limit_lines(self._open_text())
        first = next(
            (line for line in lines if isinstance(line, UnreadableRow) or line.strip()), ""
        )
        is_lines = isinstance(first, UnreadableRow) or isinstance(_parse_json(first), dict)
        if not first:
            return
        if not is_lines:
            yield from self._read_json_document()
            return
        number = 1
        yield _to_row(first, number)
        for number, line in enumerate(lines, 2):
            if isinstance(line, UnreadableRow) or line.strip():
                yield _to_row(line, number)

    def _read_json_document(self) -> Iterator[Item]:
        """Yield the objects of a file that is one array, or one object."""
        self.close()
        whole = next(self._read_whole(DOCUMENT))
        assert isinstance(whole, dict)
        try:
            documents = decode_documents(whole[BODY])
        except (msgspec.DecodeError, RecursionError) as error:
            raise StageError(
                f"'{self._given.path}' holds neither lines of JSON objects nor JSON documents: {error}.",
                "Correct the file, or choose another format.",
            ) from None
        for number, each in enumerate(documents, 1):
            if isinstance(each, dict):
                yield each
            else:
                shown = str(each)[:_SHOWN]
                yield UnreadableRow(f"Element {number} is not a JSON object.", shown)

    # -- files with types -------------------------------------------------------------------

    def _open_typed(self, format: str) -> Iterator[Item]:
        path = self._given.path
        readers = {
            "parquet": read_parquet_schema,
            "orc": read_orc_schema,
            "avro": read_avro_schema,
        }
        try:
            self.schema = readers[format](path)
        except (OSError, ValueError, EOFError, StageError) as error:
            raise StageError(
                f"'{path}' cannot be read as {format}: {error}.", "Choose another format."
            ) from None
        codec = RecordCodec(self.schema)
        if format == "avro":
            self._share = None
            return _decode(codec, read_avro(AvroFile(path, ""), str(self.schema), None))
        return _decode(codec, self._read_batches(format, codec))

    def _read_batches(self, format: str, codec: RecordCodec) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.parquet as pq
        from pyarrow import orc

        done = 0
        if format == "parquet":
            file = pq.ParquetFile(self._given.path)
            total, batches = file.metadata.num_rows, file.iter_batches(_BATCH)
        else:
            stripes = orc.ORCFile(self._given.path)
            total = stripes.nrows
            batches = (stripes.read_stripe(index) for index in range(stripes.nstripes))
        for batch in batches:
            done += batch.num_rows
            self._share = done / max(total, 1)
            yield from pa.Table.from_batches([batch]).cast(codec.arrow).to_batches(_BATCH)

    def _open_sheet(self) -> Iterator[Item]:
        name, cells, merged, number = read_sheet(self._given.path, self._given.sheet)
        unknown = count_formulas_without_result(self._given.path, number)
        if unknown:
            self.warnings.append(
                f"The sheet '{name}' has {plural(unknown, 'formula')} without a stored result: their cells "
                "are empty. Save it in a program that calculates."
            )
        count = self._given.skip_lines
        if count is None:
            texts = [[format_cell(cell) for cell in row] for row in cells[:_LOOKED_AT]]
            may = self._given.header is not False
            count = count_title_rows(texts, may_have_names=may, is_padded=True, merged=merged)
        self.format = msgspec.structs.replace(self.format, skip_lines=count)
        rows = [row for row in cells[count:] if any(cell != "" for cell in row)]
        width = max(map(len, rows), default=0)
        names = [get_column_letters(index) for index in range(width)]
        if self.format.header and rows:
            titles = [format_cell(cell) for cell in rows.pop(0)]
            names = make_safe_names([*titles, *[""] * (width - len(titles))])
            if not rows:
                self.schema = _make_text_schema(names)
        return self._read_cells(names, rows)

    def _read_cells(self, names: list[str], rows: Sequence[Sequence[Any]]) -> Iterator[Item]:
        timed = {
            name
            for row in rows
            for name, cell in zip(names, row, strict=False)
            if isinstance(cell, datetime.datetime)
        }
        for number, row in enumerate(rows, 1):
            self._share = number / len(rows)
            yield {
                name: _convert_cell(cell, has_time=name in timed)
                for name, cell in zip(names, row, strict=False)
            }


class _DelimitedRecords:
    """The records of delimited text, with the lines of the last one.

    :param skipped: the lines before the text.
    """

    def __init__(self, text: io.TextIOWrapper, delimiter: str, skipped: int) -> None:
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
        return "".join(self._lines)[:_SHOWN].rstrip("\r\n")

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
            reason = f"has more than {_LARGEST_VALUE:,} characters; is a quote not closed?"
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


class _FallbackDecoder:
    """Decodes bytes that do not belong to UTF-8 as Windows-1252, and counts them."""

    def __init__(self) -> None:
        self.replaced = 0

    def register(self) -> str:
        """Return the name of the error handler for codecs."""
        name = f"localcdap-windows-1252-{id(self)}"
        codecs.register_error(name, self._decode)
        return name

    def _decode(self, error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeDecodeError):
            raise error
        wrong = error.object[error.start : error.end]
        self.replaced += len(wrong)
        return wrong.decode("cp1252", "replace"), error.end


def _limit_lines(text: io.TextIOWrapper) -> Iterator[str | UnreadableRow]:
    """Yield the lines; of one that is too long, what follows the limit is not kept."""
    while line := text.readline(_LARGEST_VALUE):
        if len(line) < _LARGEST_VALUE or line.endswith(("\n", "\r")):
            yield line
            continue
        while (rest := text.readline(_LARGEST_VALUE)) and not rest.endswith(("\n", "\r")):
            pass
        yield UnreadableRow(f"it has more than {_LARGEST_VALUE:,} characters.", line[:_SHOWN])


def _to_row(line: str | UnreadableRow, number: int) -> Item:
    if isinstance(line, UnreadableRow):
        return msgspec.structs.replace(line, message=f"Line {number}: {line.message}")
    row = _parse_json(line)
    if isinstance(row, dict):
        return row
    return UnreadableRow(f"Line {number} is not a JSON object.", line[:_SHOWN].rstrip())


def _parse_json(text: str) -> Any:
    try:
        return decode_document(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def _make_text_schema(names: Sequence[str]) -> Schema:
    return Schema.record("row", [(name, Schema.STRING.as_nullable) for name in names])


def _decode(codec: RecordCodec, batches: Iterator[pa.RecordBatch]) -> Iterator[Item]:
    for batch in batches:
        yield from codec.decode(batch)


def _convert_cell(cell: Any, *, has_time: bool) -> Any:
    """Return the value of a cell: null for an empty one, whole numbers without a fraction.

    :param has_time: whether a date is a time at midnight, which a sheet does not tell apart; it is one if its
        column has other times.
    """
    if cell == "":
        return None
    if has_time and isinstance(cell, datetime.date) and not isinstance(cell, datetime.datetime):
        return datetime.datetime.combine(cell, datetime.time())
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return int(cell)
    return format_cell(cell) if isinstance(cell, datetime.timedelta) else cell
