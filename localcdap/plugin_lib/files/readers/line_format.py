"""Lines of text files with their byte offsets, read in Spark's Python workers.

A line ends with a line feed, a carriage return, or both (Hadoop ``LineReader``).
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, Final

from localcdap.api import StageError
from localcdap.api.errors import describe_reason
from localcdap.files.encodings import MARK, MARKING, open_input, wrap_text

if TYPE_CHECKING:
    import pyarrow as pa

OFFSET: Final = "offset"
LINE: Final = "line"
PATH: Final = "path"
REPLACED: Final = "file of the malformed line"
"""The file of a line with malformed bytes, each of which became U+FFFD; null for other lines."""
_BLOCK: Final = 4 * 1024 * 1024
_ROWS: Final = 16_384
BOM: Final = b"\xef\xbb\xbf"


@dataclasses.dataclass(frozen=True)
class FilePiece:
    """A part of a file: the lines that start in bytes ``start`` to ``end``."""

    file: str
    path: str
    """The value of the path field of its records."""
    start: int = 0
    end: int | None = None
    """None for the rest of the file."""


@dataclasses.dataclass(frozen=True)
class LineFormat:
    """The format of the lines of a file, and the columns that are made of them."""

    columns: tuple[tuple[str, str], ...]
    """Name and content (offset, line, path or replaced) of each column."""
    encoding: str = "utf-8"
    separator: str | None = None
    """The text that ends a record, instead of the line end."""
    skip_header: bool = False

    @property
    def splittable(self) -> bool:
        """Whether several tasks can read different parts of one file."""
        return self.encoding == "utf-8" and self.separator is None


def read_lines(piece: FilePiece, format: LineFormat) -> Iterator[pa.RecordBatch]:
    """Yield the lines of a piece in batches.

    :raises StageError: when the file cannot be read.
    """
    with _explain_errors(piece.file), open_input(piece.file) as stream:
        for offsets, texts, replaced in _read_parts(stream, piece, format):
            skipped = 1 if format.skip_header and piece.start == 0 and offsets[0] == 0 else 0
            for first in range(skipped, len(texts), _ROWS):
                taken = slice(first, first + _ROWS)
                yield _make_batch(format, piece, offsets[taken], texts[taken], replaced[taken])


def read_lines_with_header(
    pieces: Sequence[FilePiece], files: Sequence[str], format: LineFormat
) -> Iterator[pa.RecordBatch]:
    """Yield the first line of the first file that is not empty, then the lines of the pieces except the first
    line of each file (``copyHeader``; CDAP 6 ``PathTrackingTextInputFormat``).

    :raises StageError: when a file cannot be read.
    """
    import pyarrow as pa

    plain = dataclasses.replace(format, skip_header=False, columns=(("line", LINE),))
    for file in files:
        first = next((b for b in read_lines(FilePiece(file, ""), plain) if b.num_rows), None)
        if first is not None:
            header = pa.array([first.column(0)[0].as_py()])
            yield _make_batch(format, pieces[0], [0], header, [])
            break
    for piece in pieces:
        yield from read_lines(piece, dataclasses.replace(format, skip_header=True))


@contextlib.contextmanager
def _explain_errors(file: str) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, UnicodeError) as error:
        raise StageError(f"File '{file}' cannot be read: {describe_reason(error)}.") from error


def _make_batch(
    format: LineFormat, piece: FilePiece, offsets: Any, texts: pa.Array, replaced: Sequence[bool]
) -> pa.RecordBatch:
    """Return lines as a batch with the columns of the format.

    :param replaced: by line; empty when no line has malformed bytes.
    """
    import pyarrow as pa

    def list_replaced() -> pa.Array:
        files = [piece.file if is_replaced else None for is_replaced in replaced]
        return pa.array(files, pa.string()) if files else pa.nulls(len(texts), pa.string())

    values = {
        OFFSET: lambda: pa.array(offsets, pa.int64()),
        LINE: lambda: texts,
        PATH: lambda: pa.array([piece.path] * len(texts)),
        REPLACED: list_replaced,
    }
    return pa.RecordBatch.from_arrays(
        [values[content]() for _, content in format.columns],
        names=[name for name, _ in format.columns],
    )


def _read_parts(
    stream: IO[bytes], piece: FilePiece, format: LineFormat
) -> Iterator[tuple[Any, pa.Array, list[bool]]]:
    """Yield the offsets and texts of consecutive lines, at least one line at a time.

    The third part says of each line whether it has malformed bytes; it is empty when none has.
    """
    if not format.splittable:
        yield from _read_decoded_parts(stream, format)
        return
    position = piece.start
    if position > 0:
        stream.seek(position - 1)
        position += len(stream.readline()) - 1
    for data in _read_blocks(stream, position, piece.end):
        yield _split(data, position)
        position += len(data)


def _read_blocks(stream: IO[bytes], position: int, end: int | None) -> Iterator[bytes]:
    """Yield blocks of whole lines; the last line of the file may lack its line feed."""
    while end is None or position < end:
        data = stream.read(_BLOCK if end is None else min(_BLOCK, end - position))
        if not data:
            return
        if not data.endswith(b"\n"):
            data += stream.readline()
        yield data
        position += len(data)


def _split(data: bytes, position: int) -> tuple[Any, pa.Array, list[bool]]:
    """Return what :func:`_read_parts` yields of the lines in a block that starts at ``position``."""
    import numpy as np
    import pyarrow as pa

    mark = len(BOM) if position == 0 and data.startswith(BOM) else 0
    content = np.frombuffer(data, np.uint8)[mark:]
    ends_line = content == ord("\n")
    dropped = ends_line
    if b"\r" in data:
        is_return = content == ord("\r")
        before_feed = np.append(ends_line[1:], False)
        dropped = ends_line | is_return
        ends_line = ends_line | (is_return & ~before_feed)
    ends = np.flatnonzero(ends_line) + 1
    if len(ends) == 0 or ends[-1] != len(content):
        ends = np.append(ends, len(content))
    starts = np.append(0, ends[:-1])
    kept = content[~dropped]
    kept_starts = starts - np.searchsorted(np.flatnonzero(dropped), starts)
    limits = np.append(kept_starts, len(kept)).astype(np.int32)
    texts = pa.StringArray.from_buffers(len(starts), pa.py_buffer(limits), pa.py_buffer(kept))
    replaced = []
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        lines = texts.cast(pa.binary()).to_pylist()
        decoded = [line.decode("utf-8", "replace") for line in lines]
        replaced = [text.encode() != line for text, line in zip(decoded, lines, strict=True)]
        texts = pa.array(decoded, pa.string())
    offsets = starts + (position + mark)
    offsets[0] = position
    return offsets, texts, replaced


def _read_decoded_parts(
    stream: IO[bytes], format: LineFormat
) -> Iterator[tuple[list[int], pa.Array, list[bool]]]:
    """Yield what :func:`_read_parts` yields, line by line, for any encoding and separator."""
    import itertools

    import pyarrow as pa

    lines = _read_decoded_lines(stream, format)
    while chunk := list(itertools.islice(lines, _ROWS)):
        offsets, texts = zip(*chunk, strict=True)
        replaced = [MARK in text for text in texts]
        cleaned = [text.replace(MARK, "\ufffd") for text in texts]
        yield list(offsets), pa.array(cleaned, pa.string()), replaced


def _read_decoded_lines(stream: IO[bytes], format: LineFormat) -> Iterator[tuple[int, str]]:
    reader = wrap_text(stream, format.encoding, MARKING)
    width = _get_character_width(format.encoding)
    offset = 0
    ended = _split_records(reader, format.separator) if format.separator else reader
    for line in ended:
        separator = format.separator
        yield offset, line.removesuffix(separator) if separator else line.rstrip("\r\n")
        offset += len(line) * width if width > 1 else len(line.encode(format.encoding, "replace"))


def _split_records(reader: io.TextIOWrapper, separator: str) -> Iterator[str]:
    """Yield records that end with the separator; the last one may lack it."""
    rest = ""
    while block := reader.read(_BLOCK):
        records = (rest + block).split(separator)
        rest = records.pop()
        for record in records:
            yield record + separator
    if rest:
        yield rest


def _get_character_width(encoding: str) -> int:
    """Return the bytes of a character; 1 for encodings of variable width."""
    return 4 if encoding.startswith("utf-32") else 2 if encoding.startswith("utf-16") else 1
