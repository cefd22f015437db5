"""Writers of files of rows: each takes records of one schema, and leaves a whole file or none.

Delimited text of this module is that of sinks: a null and an empty text are the same. That of
:mod:`localcdap.files.result_files` tells them apart.
"""

from __future__ import annotations

import base64
import contextlib
import csv
import datetime
import io
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Self

import msgspec

from localcdap.api import LogicalType, Schema, StageError, Type
from localcdap.api.arrow import RecordCodec
from localcdap.api.record_json import encode_json_record
from localcdap.files.arrow_files import note_schema
from localcdap.files.atomic import FileReplacement
from localcdap.java.strings import format_float, narrow_to_float, to_java_string

if TYPE_CHECKING:
    import pyarrow.parquet as pq

Records = Sequence[dict[str, Any]]
_MOST_SHEET_ROWS: Final = 2**20
_MOST_CELL: Final = 32_767
"""Characters of a cell in a workbook."""
_MOST_WHOLE: Final = 2**53
"""Doubles hold all whole numbers below this one."""
_FIRST_DAY: Final = datetime.datetime(1900, 3, 1)
"""The first day after the 29 February 1900 that programs of sheets count, and that has not been."""


class _Writer:
    def write(self, records: Records) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Write what ends the file."""

    def discard(self) -> None:
        """Release what the file would have needed."""


class OutputFile:
    """A file that appears under its name when it is complete.

    :param path: where it will be; a file that is there is replaced, see :class:`.atomic.FileReplacement`.
        It is not synchronized, since its rows can be computed again.
    :param format: ``csv``, ``tsv``, ``json``, ``parquet`` or ``excel``.
    :raises StageError: when it cannot be written.
    """

    def __init__(self, path: str, format: str, schema: Schema, delimiter: str = ",") -> None:
        self._path = path
        try:
            self._replacement = FileReplacement(Path(path), is_synced=False)
            stream = self._replacement.new_file.open("wb")
        except OSError as error:
            raise self._make_error(error) from None
        self._stream: IO[bytes] = stream
        self._writer: _Writer | None = None
        try:
            self._writer = _make_writer(stream, format, schema, delimiter)
        except BaseException:
            self.discard()
            raise

    def write(self, records: Records) -> None:
        """Append records."""
        assert self._writer is not None
        try:
            self._writer.write(records)
        except OSError as error:
            raise self._make_error(error) from None

    def list_unfinished(self) -> list[str]:
        """Return the path of the hidden file that stays when this process is killed, if one does."""
        left = self._replacement.left_when_killed
        return [] if left is None else [str(left)]

    def finish(self) -> None:
        """Complete the file, and give it its name."""
        assert self._writer is not None
        try:
            self._writer.close()
            self._stream.close()
            self._replacement.finish()
        except OSError as error:
            self.discard()
            raise self._make_error(error) from None

    def discard(self) -> None:
        """Remove what is written."""
        if self._writer is not None:
            self._writer.discard()
        self._stream.close()
        self._replacement.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.discard()

    def _make_error(self, error: OSError) -> StageError:
        return StageError(f"'{self._path}' cannot be written: {error.strerror or error}.")


def _make_writer(stream: IO[bytes], format: str, schema: Schema, delimiter: str) -> _Writer:
    match format:
        case "csv":
            return _DelimitedWriter(stream, schema, delimiter)
        case "tsv":
            return _DelimitedWriter(stream, schema, "\t")
        case "json":
            return _JsonWriter(stream, schema)
        case "parquet":
            return _ParquetWriter(stream, schema)
        case _:
            return _SheetWriter(stream, schema)


class _DelimitedWriter(_Writer):
    """A line of names, and a line for each record; null is an empty text."""

    def __init__(self, stream: IO[bytes], schema: Schema, delimiter: str) -> None:
        self._stream = stream
        self._formats = [(field.name, make_text_format(field.schema)) for field in schema]
        self._lines = DelimitedLines(self._write_text, delimiter)
        self._lines.append([schema.field_names])

    def write(self, records: Records) -> None:
        formats = self._formats
        self._lines.append(
            [None if row[name] is None else format(row[name]) for name, format in formats]
            for row in records
        )

    def _write_text(self, line: str) -> None:
        self._stream.write(line.encode("utf-8", "replace"))


class DelimitedLines:
    r"""Writes rows as lines of delimited text (RFC 4180) that end with a line feed.

    A null is an empty value, as an empty text is. Values with the delimiter, a quote, a carriage return or a
    line feed are quoted, and so is a single empty value, whose line readers would skip.

    :param write: is called with each line.
    """

    def __init__(self, write: Callable[[str], object], delimiter: str = ",") -> None:
        self._write = write
        # The characters of the line terminator are quoted, in Python 3.11 and 3.12 only these.
        self._csv = csv.writer(self, delimiter=delimiter, lineterminator="\r\n")

    def append(self, rows: Iterable[Sequence[Any]]) -> None:
        """Write a line for each row."""
        self._csv.writerows(rows)

    def write(self, line: str) -> None:
        """Take a line from ``csv``."""
        self._write(line[:-2] + "\n")


def format_delimited(rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as comma-separated lines, see :class:`DelimitedLines`."""
    text = io.StringIO()
    DelimitedLines(text.write).append(rows)
    return text.getvalue()


class _JsonWriter(_Writer):
    """A JSON object on each line. A 32-bit float is the double that it is, as in files of sinks."""

    def __init__(self, stream: IO[bytes], schema: Schema) -> None:
        self._stream = stream
        self._floats = [each.name for each in schema if each.schema.non_nullable == Schema.FLOAT]

    def write(self, records: Records) -> None:
        if self._floats:
            records = [self._narrow(record) for record in records]
        lines = [encode_json_record(record) for record in records]
        self._stream.write(msgspec.json.Encoder().encode_lines(lines))

    def _narrow(self, record: dict[str, Any]) -> dict[str, Any]:
        values = {name: record[name] for name in self._floats}
        return record | {
            name: None if value is None else narrow_to_float(value)
            for name, value in values.items()
        }


class _ParquetWriter(_Writer):
    def __init__(self, stream: IO[bytes], schema: Schema) -> None:
        import pyarrow.parquet as pq

        self._codec = RecordCodec(schema)
        self._file: pq.ParquetWriter = pq.ParquetWriter(
            stream, note_schema(self._codec.arrow, schema)
        )

    def write(self, records: Records) -> None:
        self._file.write_batch(self._codec.encode(records))

    def close(self) -> None:
        self._file.close()


class _SheetWriter(_Writer):
    """One sheet of a workbook with a row of names. Texts stay texts, also those that look like formulas."""

    def __init__(self, stream: IO[bytes], schema: Schema) -> None:
        try:
            from openpyxl import Workbook
        except ImportError:
            raise StageError(
                "The library openpyxl is missing.",
                "Install it with: pip install 'localcdap[excel]'.",
            ) from None
        self._stream = stream
        self._book = Workbook(write_only=True)
        self._sheet = self._book.create_sheet("Sheet1")
        self._formats = [(field.name, make_text_format(field.schema)) for field in schema]
        self._rows = 0
        self._append(schema.field_names)

    def write(self, records: Records) -> None:
        for record in records:
            self._append([_to_cell(record[name], format) for name, format in self._formats])

    def close(self) -> None:
        self._book.save(self._stream)

    def discard(self) -> None:
        with contextlib.suppress(Exception):
            self._sheet.close()  # else its generator complains when it is collected

    def _append(self, values: Sequence[Any]) -> None:
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.utils.exceptions import IllegalCharacterError

        self._rows += 1
        if self._rows > _MOST_SHEET_ROWS:
            raise StageError(
                f"A sheet has at most {_MOST_SHEET_ROWS:,} rows, that of the names included.",
                "Write csv or parquet.",
            )
        cells = []
        for value in values:
            try:
                cell = WriteOnlyCell(self._sheet, value=value)
            except IllegalCharacterError:
                raise StageError(
                    f"Row {self._rows}: a cell cannot have the text {value!r:.80}.",
                    "Remove its control characters in the recipe, or write csv or parquet.",
                ) from None
            if isinstance(value, str):
                cell.data_type = "s"
            cells.append(cell)
        self._sheet.append(cells)


def _to_cell(value: Any, format: Callable[[Any], str]) -> Any:
    """Return what a cell has for a value: the text of one that the numbers of cells do not hold.

    They are doubles (ECMA-376, 18.18.11), those of dates the days since 1900 with milliseconds.
    """
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value, shown = value.astimezone(datetime.UTC).replace(tzinfo=None), value
    else:
        shown = value
    if value is None or isinstance(value, bool) or _fits_cell(value):
        return value
    text = format(shown)
    if len(text) > _MOST_CELL:
        raise StageError(
            f"A cell of a workbook has at most {_MOST_CELL:,} characters; a value has {len(text):,}.",
            "Write csv or parquet.",
        )
    return text


def _fits_cell(value: Any) -> bool:
    match value:
        case int():
            return abs(value) < _MOST_WHOLE
        case float():
            return math.isfinite(value)
        case datetime.datetime():
            return value >= _FIRST_DAY and value.microsecond % 1000 == 0
        case datetime.date():
            return value >= _FIRST_DAY.date()
    return False


def make_text_format(schema: Schema) -> Callable[[Any], str]:
    """Return what formats a value of a type, not null, as sinks write it in delimited text.

    Bytes are Base64, times ISO 8601, values with parts JSON.
    """
    inner = schema.non_nullable
    match inner.logical_type or inner.type:
        case Type.STRING | Type.ENUM:
            return str
        case Type.BYTES:
            return lambda value: base64.b64encode(value).decode()
        case LogicalType.DATE | LogicalType.TIME_MILLIS | LogicalType.TIME_MICROS:
            return lambda value: value.isoformat()
        case LogicalType.TIMESTAMP_MILLIS | LogicalType.TIMESTAMP_MICROS:
            return _format_instant
        case LogicalType.DATETIME:
            return format_local_time
        case LogicalType.DECIMAL:
            return lambda value: f"{value:f}"
        case Type.ARRAY | Type.MAP | Type.RECORD | Type.UNION:
            return _format_json
        case Type.FLOAT:
            return format_float
    return to_java_string


def _format_instant(value: datetime.datetime) -> str:
    return format_local_time(value.astimezone(datetime.UTC).replace(tzinfo=None)) + "Z"


def format_local_time(value: datetime.datetime) -> str:
    """Return a datetime as Java's ``DateTimeFormatter.ISO_LOCAL_DATE_TIME`` does."""
    text = value.isoformat()
    return text.rstrip("0") if value.microsecond else text


def _format_json(value: Any) -> str:
    return msgspec.json.encode(encode_json_record(value)).decode()
