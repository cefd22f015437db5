"""The rows of a file, one after the other; a row that cannot be read is one of them, too."""

from __future__ import annotations

import datetime
import io
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api import Schema, StageError
from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import describe_reason
from localcdap.files import limits
from localcdap.files.arrow_files import ArrowFile, read_file_batches
from localcdap.files.avro import read_avro_batches
from localcdap.files.delimited import DelimitedRecords, UnreadableRow
from localcdap.files.encodings import COMPRESSED, FallbackDecoder, open_input, open_text
from localcdap.files.formats import BLOB, BODY, DOCUMENT, TEXT, FileFormat, FileInput
from localcdap.files.json_records import limit_lines, read_json_records
from localcdap.files.schemas import read_schema
from localcdap.files.titles import count_title_rows, get_column_letters, make_safe_names
from localcdap.files.workbooks import count_formulas_without_result, format_cell, read_sheet
from localcdap.text import plural

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH: Final = 4096
"""Rows of a Parquet file that are decoded at once."""
_LOOKED_AT: Final = 100
"""Rows at the beginning of a sheet that may stand above the table."""

Item = dict[str, Any] | UnreadableRow


class RowReader:
    """The rows of one file, once. Empty values of delimited text and of sheets are null.

    :raises StageError: when the file cannot be read; iterating raises it, too.
    """

    def __init__(self, file: FileInput, format: FileFormat) -> None:
        self.format = format
        """How the file is read; of a workbook, with the rows above the table as soon as it is open."""
        self._file = file
        self._stream: io.TextIOWrapper | None = None
        self._decoder: FallbackDecoder | None = None
        self._share: float | None = 0.0
        self._size = os.stat(file.path).st_size  # noqa: PTH116
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
        if self._file.path.lower().endswith(COMPRESSED) or not self._size:
            return None
        if self._stream.closed:
            return 1.0
        raw: Any = getattr(self._stream.buffer, "raw", self._stream.buffer)
        return float(min(1.0, raw.tell() / self._size))

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
        encoding, errors = self.format.encoding, "replace"
        self._decoder = FallbackDecoder()
        if self._file.encoding is None and not encoding.startswith("utf-16"):
            # What is not UTF-8 in a file may be a part of it that another program wrote.
            encoding, errors = "utf-8", self._decoder.register()
        text = open_text(self._file.path, encoding, errors)
        self._stream = text
        for _ in range(self.format.skip_lines):
            text.readline()
        return text

    def _read_lines(self) -> Iterator[Item]:
        first = self.format.skip_lines + 1
        for number, line in enumerate(limit_lines(self._open_text()), first):
            if isinstance(line, UnreadableRow):
                yield msgspec.structs.replace(line, message=f"Line {number}: {line.message}")
            else:
                yield {BODY: line.rstrip("\r\n")}

    def _read_whole(self, format: str) -> Iterator[Item]:
        if self._size > limits.LARGEST_DOCUMENT:
            raise StageError(
                f"'{self._file.path}' has {self._size / 2**20:,.0f} MB; a file that is read in one piece "
                f"may have {limits.LARGEST_DOCUMENT // 2**20}.",
                "Split it, or read its lines.",
            )
        if format == DOCUMENT:
            yield {BODY: self._open_text().read()}
        else:
            with open_input(self._file.path) as stream:
                yield {BODY: stream.read()}
        self._share = 1.0

    def _open_delimited(self) -> Iterator[Item]:
        format = self.format
        records = DelimitedRecords(self._open_text(), format.delimiter, format.skip_lines)
        first = next(records, None)
        if first is None:
            return iter(())
        if isinstance(first, UnreadableRow):
            raise StageError(f"'{self._file.path}': {first.message}", "Correct the first line.")
        names = [f"{BODY}_{index + 1}" for index in range(len(first))]
        if self.format.header:
            names = make_safe_names(first)
        self.schema = _make_text_schema(names)
        return self._read_delimited(names, None if self.format.header else first, records)

    def _read_delimited(
        self, names: list[str], first: list[str] | None, records: DelimitedRecords
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
        try:
            yield from read_json_records(self._open_text(), keeps_literals=True)
        except ValueError as error:
            raise StageError(
                f"'{self._file.path}': {describe_reason(error)}.",
                "Correct the file, or choose another format.",
            ) from None

    # -- files with types -------------------------------------------------------------------

    def _open_typed(self, format: str) -> Iterator[Item]:
        path = self._file.path
        try:
            self.schema = read_schema(path, format)
        except (OSError, ValueError, EOFError, StageError) as error:
            raise StageError(
                f"'{path}' cannot be read as {format}: {describe_reason(error)}.",
                "Choose another format.",
            ) from None
        codec = RecordCodec(self.schema)
        if format == "avro":
            self._share = None
            return _decode(codec, read_avro_batches(path, self.schema, {}))
        return _decode(codec, self._read_batches(format, self.schema))

    def _read_batches(self, format: str, schema: Schema) -> Iterator[pa.RecordBatch]:
        path, done = self._file.path, 0
        with ArrowFile(path, format) as file:
            total = file.rows
        for batch in read_file_batches(path, format, schema, _BATCH):
            done += batch.num_rows
            self._share = done / max(total, 1)
            yield batch
        self._share = 1.0

    def _open_sheet(self) -> Iterator[Item]:
        name, cells, merged, number = read_sheet(self._file.path, self._file.sheet)
        unknown = count_formulas_without_result(self._file.path, number)
        if unknown:
            self.warnings.append(
                f"The sheet '{name}' has {plural(unknown, 'formula')} without a stored result: their cells "
                "are empty. Save it in a program that calculates."
            )
        count = self._file.skip_lines
        if count is None:
            texts = [[format_cell(cell) for cell in row] for row in cells[:_LOOKED_AT]]
            may = self._file.header is not False
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
