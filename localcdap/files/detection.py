"""What the name and the first bytes of a file say of its format, encoding, delimiter and names."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from localcdap.files.encodings import decode_head, detect_encoding, open_input, strip_compression
from localcdap.files.json_records import decode_document, decode_documents
from localcdap.files.titles import count_title_rows
from localcdap.files.types import YEAR, is_value

HEAD_BYTES: Final = 128 * 1024
"""Bytes at the beginning of a file that detection looks at, after decompression. A value of them is not
longer than what Python's CSV reader allows."""
DELIMITED: Final = "delimited"
JSON_LINES: Final = "JSON lines"
JSON_DOCUMENT: Final = "JSON document"
TEXT: Final = "text"
BINARY: Final = "blob"
PARQUET: Final = "parquet"
ORC: Final = "orc"
AVRO: Final = "avro"
WORKBOOK: Final = "excel"
_SUFFIXES: Final = {
    **dict.fromkeys([".csv", ".tsv", ".tab"], DELIMITED),
    **dict.fromkeys([".json", ".jsonl", ".ndjson"], JSON_LINES),
    **dict.fromkeys([".parquet", ".pq"], PARQUET),
    ".orc": ORC,
    ".avro": AVRO,
    **dict.fromkeys([".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"], WORKBOOK),
    **dict.fromkeys([".log", ".xml", ".hl7"], TEXT),
}
"""Formats by the suffix of a name."""
_TEXTS: Final = (DELIMITED, JSON_LINES, TEXT)
_MAGIC: Final = {
    b"PAR1": PARQUET,
    b"Obj\x01": AVRO,
    b"ORC": ORC,
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": WORKBOOK,
}
"""Formats by the first bytes of their files."""
_ZIP: Final = b"PK\x03\x04"
_WORKBOOK_PARTS: Final = (b"xl/", b"opendocument.spreadsheet")
"""What is found in a ZIP file that is a workbook."""
_DELIMITERS: Final = ",;\t|"
_NAMES: Final = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "vertical bars"}
_BINARY_SHARE: Final = 0.1
"""Of control characters in a text; in more, the file is binary."""
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_REGULAR_SHARE: Final = 0.9
"""Of records that have the usual number of values, in a table that the name of its file does not announce."""
_RECORDS: Final = 200
"""Records, and lines, at the beginning of a file that detection looks at."""
_NAME: Final = re.compile(r"[^\W\d][\w .()/#&%$€'?:+-]*")
_JSON_BEGIN: Final = re.compile(
    r'\s*(?:\{\s*"(?:[^"\\]|\\.)*"\s*:|\[\s*(?:\{\s*"|\[|"|(?:-?[\d.]+|true|false|null)\s*,))'
)
"""The beginning of a JSON object or array whose end is not known."""


class FileFacts(msgspec.Struct, frozen=True):
    """What is known of a file. The formats are the constants of this module."""

    format: str
    reason: str
    """What the format rests on; completes "The file is FORMAT: …"."""
    encoding: str = "utf-8"
    """The name of a codec of Python; of no meaning for a file that is not a text."""
    delimiter: str = ""
    """The character between two values of a line; empty for a format without one."""
    has_header: bool = False
    """Whether the first record, after the lines above the table, has the names of the columns."""
    title_lines: int = 0
    """How many lines stand above a table."""
    is_quoted: bool = False
    """Whether quotes enclose values."""
    is_multiline: bool = False
    """Whether a quoted value contains a line end."""
    columns: tuple[str, ...] = ()
    """The values of the first record of a table, which are names where it has a header."""


class DetectionOptions(msgspec.Struct, frozen=True):
    """What somebody says of a file, so that it is not detected."""

    format: str | None = None
    encoding: str | None = None
    """The name of a codec of Python."""
    delimiter: str | None = None
    header: bool | None = None
    title_lines: int | None = None


class FileHead(msgspec.Struct, frozen=True):
    """The beginning of a file, after decompression."""

    content: bytes
    name: str
    """The name of the file, without the suffix of a compression."""
    is_whole: bool
    """Whether this is all of the file."""

    @property
    def suffix(self) -> str:
        """The suffix of the name in lower case."""
        return Path(self.name).suffix.lower()


def read_head(file: str | Path) -> FileHead:
    """Read the beginning of a file, at most :data:`HEAD_BYTES`.

    :raises OSError: or another of :data:`.encodings.READ_ERRORS`, when the file cannot be read.
    """
    with open_input(file) as stream:
        content = stream.read(HEAD_BYTES + 1)
    name = strip_compression(Path(file).name)
    return FileHead(content[:HEAD_BYTES], name, len(content) <= HEAD_BYTES)


def detect_facts(head: FileHead, options: DetectionOptions = DetectionOptions()) -> FileFacts:  # noqa: B008
    """Return what the beginning of a file says of it. Any bytes have an answer.

    The contents decide: the first bytes of Parquet, ORC, Avro and workbooks, and lines of JSON objects.
    Where they leave the format open, the suffix of the name does, and then whether records have equally many
    values.
    """
    content, named = head.content, _SUFFIXES.get(head.suffix)
    format = options.format or (_find_magic(content, named) if content else named)
    if format in (PARQUET, ORC, AVRO, WORKBOOK):
        return FileFacts(format, "its first bytes say so" if content else "its name says so")
    encoding = options.encoding or detect_encoding(content, is_whole=head.is_whole)
    text = decode_head(content, encoding)
    is_text = format in _TEXTS or named in _TEXTS or options.encoding is not None
    if format == BINARY or (options.format is None and _is_binary(text, may_have_zeros=is_text)):
        return FileFacts(BINARY, "its contents are binary")
    facts = None
    if format in (None, JSON_LINES):
        facts = _detect_json(text, format or named, is_whole=head.is_whole)
    if facts is None and format in (None, DELIMITED):
        facts = _detect_table(text, head, options)
    if facts is None:
        facts = FileFacts(TEXT, "its lines have no columns" if text.strip() else "it is empty")
    return msgspec.structs.replace(facts, encoding=encoding)


def _find_magic(content: bytes, named: str | None) -> str | None:
    for magic, format in _MAGIC.items():
        if content.startswith(magic):
            return format
    if content.startswith(_ZIP):
        is_workbook = named == WORKBOOK or any(part in content for part in _WORKBOOK_PARTS)
        return WORKBOOK if is_workbook else BINARY
    return None


def _is_binary(text: str, *, may_have_zeros: bool) -> bool:
    controls = len(_CONTROLS.findall(text))
    return controls > _BINARY_SHARE * len(text) or ("\x00" in text and not may_have_zeros)


# -- JSON -----------------------------------------------------------------------------------


def _detect_json(text: str, named: str | None, *, is_whole: bool) -> FileFacts | None:
    """Return the facts of a text that is JSON; None for another one.

    Less than half of the lines may be something else; in a file named so, all but the first.
    """
    lines = list(itertools.islice(_split_lines(text, is_whole=is_whole), _RECORDS))
    is_json_named = named == JSON_LINES
    if lines and _is_object(lines[0]):
        count = sum(map(_is_object, lines))
        if count == len(lines):
            return FileFacts(JSON_LINES, "each line is a JSON object")
        if is_json_named or count > len(lines) / 2:
            return FileFacts(
                JSON_LINES, f"{count} of its first {len(lines)} lines are JSON objects"
            )
    if _is_document(text) if is_whole else _JSON_BEGIN.match(text):
        return FileFacts(JSON_DOCUMENT, "it is JSON, but not an object on each line")
    if is_json_named:
        kind = JSON_DOCUMENT if lines else JSON_LINES
        return FileFacts(kind, "its name says so" + (", but it is not valid JSON" if lines else ""))
    return None


def _is_object(line: str) -> bool:
    if not line.lstrip().startswith("{"):
        return False
    try:
        return isinstance(decode_document(line), dict)
    except (msgspec.DecodeError, RecursionError):
        return False


def _is_document(text: str) -> bool:
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        decode_documents(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _split_lines(text: str, *, is_whole: bool) -> Iterator[str]:
    """Yield the lines that are not blank, without one that the end of the text cuts."""
    before = ""
    for line in io.StringIO(text, newline=None):
        if before.strip():
            yield before
        before = line
    if before.strip() and (is_whole or before.endswith("\n") or before == text):
        yield before


# -- tables ---------------------------------------------------------------------------------


def _detect_table(text: str, head: FileHead, options: DetectionOptions) -> FileFacts | None:
    """Return the facts of delimited text; None for a text without columns."""
    named = _SUFFIXES.get(head.suffix)
    is_announced = DELIMITED in (options.format, named)
    if named == TEXT and not is_announced:
        return None
    delimiter = options.delimiter or _find_delimiter(text, head.suffix, is_whole=head.is_whole)
    if not delimiter:
        if not is_announced:
            return None
        delimiter = ","
    count = options.title_lines or 0
    numbered = _read_records(text, delimiter, is_whole=head.is_whole, skipped=count)
    rows = [record for _, record in numbered]
    if options.title_lines is None:
        may_have_names = options.header is not False
        first = count_title_rows(rows, may_have_names=may_have_names, is_padded=False)
        count, rows = (numbered[first][0], rows[first:]) if first else (0, rows)
    records = [record for record in rows if record]
    if not is_announced and not _is_table(records, delimiter, is_prose=head.suffix == ".txt"):
        return None
    header = options.header if options.header is not None else has_header(records)
    return FileFacts(
        DELIMITED,
        _describe_table(records, delimiter, count, has_header=header),
        delimiter=delimiter,
        has_header=header,
        title_lines=count,
        is_quoted='"' in text,
        is_multiline='"' in text and _has_line_end_in_value(text, delimiter),
        columns=tuple(records[0]) if records else (),
    )


def _describe_table(
    records: Sequence[Sequence[str]], delimiter: str, title_lines: int, *, has_header: bool
) -> str:
    if not records:
        return "its name says so"
    widths = Counter(map(len, records))
    (usual, count), *_ = widths.most_common(1)
    which = "each line" if count == len(records) else f"{count} of its first {len(records)} lines"
    verb = "has" if count in (len(records), 1) else "have"
    between = _NAMES.get(delimiter, repr(delimiter))
    values = f"{usual} values between {between}" if usual > 1 else "a single value"
    names = ", the first line their names" if has_header else ""
    lines = "a line stands" if title_lines == 1 else f"{title_lines} lines stand"
    return f"{which} {verb} {values}{names}" + (f"; {lines} above them" if title_lines else "")


def _find_delimiter(text: str, suffix: str, *, is_whole: bool) -> str:
    """Return the delimiter that splits most records into equally many values; empty when none splits."""
    if suffix in (".tsv", ".tab"):
        return "\t"
    best: tuple[float, int] = (0, 0)
    delimiter = ""
    for candidate in _DELIMITERS:
        records = _read_records(text, candidate, is_whole=is_whole)
        widths = Counter(len(record) for _, record in records if record)
        if not widths:
            continue
        width, count = widths.most_common(1)[0]
        score = (count / widths.total(), width)
        if width > 1 and score > best:
            best, delimiter = score, candidate
    return delimiter


def _is_table(records: Sequence[Sequence[str]], delimiter: str, *, is_prose: bool) -> bool:
    """Return whether records are those of a table.

    :param is_prose: whether the text may be prose, of which some has a comma in each line. It is a table only
        if all records have equally many values, and no blank follows a comma; of two values between commas,
        none may be empty or contain a blank.
    """
    widths = Counter(map(len, records))
    if not widths:
        return False
    width, count = widths.most_common(1)[0]
    if width < 2 or count < _REGULAR_SHARE * len(records):
        return False
    if not is_prose:
        return True
    if len(widths) > 1 or len(records) < 2:
        return False
    values = [value for record in records for value in record]
    if delimiter != ",":
        return True
    if width > 2:
        return not any(value.startswith(" ") for value in values)
    return all(value and " " not in value for value in values)


def has_header(records: Sequence[Sequence[str]]) -> bool:
    """Return whether the first record has names of columns.

    It has none if one of its values is a number, a date, a word such as ``true`` or an address, or if all are
    blank. Different years are names, too, beside a text and above anything else than years. Where no column
    has only such values, each name must differ from the others and from the values of its column, and look
    like a name.

    A single record has names unless it has values, and a file without records gets names with its first
    ones: most files whose only line has no values are empty tables, and a record that is taken for names
    shows where it went, while names in the place of a record spoil the types of all columns.
    """
    if not records:
        return True
    first = [value.strip() for value in records[0]]
    below = [row for row in records[1:] if list(row) != list(records[0])]
    if not any(first) or (len(records) > 1 and not below):
        return False
    columns = [
        [row[index].strip() for row in below if index < len(row) and row[index].strip()]
        for index in range(len(first))
    ]
    valued = [index for index, text in enumerate(first) if text and is_value(text)]
    if valued and not _are_years(first, valued, columns):
        return False
    if any(column and all(map(is_value, column)) for column in columns) or not below:
        return True
    names = [name for name in first if name]
    return len(set(names)) == len(names) and all(
        not name or ((index in valued or _NAME.fullmatch(name)) and name not in columns[index])
        for index, name in enumerate(first)
    )


def _are_years(first: Sequence[str], valued: Sequence[int], columns: Sequence[list[str]]) -> bool:
    """Return whether the values of a first record are years that are names."""
    years = {first[index] for index in valued}
    if len(years) < len(valued) or len(valued) == len(first) or not all(map(YEAR.fullmatch, years)):
        return False
    return not any(columns[index] and all(map(YEAR.fullmatch, columns[index])) for index in valued)


def _read_records(
    text: str, delimiter: str, *, is_whole: bool, skipped: int = 0
) -> list[tuple[int, list[str]]]:
    """Return the first records, also empty ones, each with the number of the lines before it.

    The record that the end of the text may cut is not among them, unless it is the only one.

    :param skipped: how many lines are left out before.
    """
    lines = io.StringIO(text, newline="")
    for _ in range(skipped):
        lines.readline()
    reader = csv.reader(lines, delimiter=delimiter)
    records: list[tuple[int, list[str]]] = []
    before = 0
    with contextlib.suppress(csv.Error):  # the records before it are enough
        for record in itertools.islice(reader, _RECORDS + 1):
            records.append((before, record))
            before = reader.line_num
    is_cut = not is_whole and len(records) > 1
    return records[:-1] if is_cut or len(records) > _RECORDS else records


def _has_line_end_in_value(text: str, delimiter: str) -> bool:
    """Return whether a quoted value contains a line end; a quote that is not closed encloses none."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        return any(
            "\n" in value or "\r" in value
            for record in itertools.islice(reader, _RECORDS)
            for value in record
        )
    except csv.Error:
        return False
