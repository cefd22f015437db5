"""The formats of files that recipes read and write: as asked for, or as the file and the recipe suggest."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.files.titles import NUMBER, count_title_rows
from localcdap.java.charsets import find_encoding
from localcdap.plugin_lib.files.readers.line_format import open_input
from localcdap.plugin_lib.files.readers.lines import COMPRESSED
from localcdap.plugin_lib.wrangler.recipe.builder import BuiltRecipe
from localcdap.text import plural

TEXT: Final = "text"
DOCUMENT: Final = "document"
BLOB: Final = "blob"
INPUT_FORMATS: Final = (
    *("csv", "tsv", "json", "parquet", "orc", "avro", "excel"),
    *(TEXT, DOCUMENT, BLOB),
)
OUTPUT_FORMATS: Final = ("csv", "tsv", "json", "parquet", "excel")
BODY: Final = "body"
"""The column of lines and of whole files."""
_SUFFIXES: Final = {
    **dict.fromkeys([".csv"], "csv"),
    **dict.fromkeys([".tsv", ".tab"], "tsv"),
    **dict.fromkeys([".json", ".jsonl", ".ndjson"], "json"),
    **dict.fromkeys([".parquet", ".pq"], "parquet"),
    ".orc": "orc",
    ".avro": "avro",
    **dict.fromkeys([".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"], "excel"),
    **dict.fromkeys([".log", ".xml", ".hl7"], TEXT),
}
_MAGIC: Final = {b"PAR1": "parquet", b"Obj\x01": "avro", b"ORC": "orc", b"PK\x03\x04": "excel"}
_DELIMITERS: Final = ",;\t|"
_YEAR: Final = re.compile(r"\s*(?:1[5-9]|20|21)\d\d\s*$")
_HEAD: Final = 256 * 1024
"""Bytes at the beginning of a file that detection looks at."""
_RECORDS: Final = 100
"""Records at the beginning of a file that detection looks at."""
_WHOLE_FILES: Final = {
    "parse-as-excel": BLOB,
    "parse-as-avro-file": BLOB,
    "parse-as-hl7": DOCUMENT,
}
"""The directives whose column has a whole file."""
_WITH_LINES: Final = ("csv", "tsv", TEXT, "excel")
"""The formats whose first lines, or rows, can be left out."""
_FIRST_LINES: Final = {
    "parse-as-json": re.compile(rb"\s*[\[{].*[\]}]\s*"),
    "parse-as-xml": re.compile(rb"\s*<.*</.*>\s*"),
    "parse-xml-to-json": re.compile(rb"\s*<.*</.*>\s*"),
}
"""By directive, the first line of a file whose lines it parses; it parses any other file as a whole."""


class FileInput(msgspec.Struct, frozen=True):
    """A file to read. What is None is detected."""

    path: str
    format: str | None = None
    """One of :data:`INPUT_FORMATS`."""
    delimiter: str | None = None
    """One character between the values of a line."""
    header: bool | None = None
    """Whether the first line, or row of a sheet, has names."""
    encoding: str | None = None
    sheet: str | None = None
    """The name of a sheet; by default the first one is read."""
    skip_lines: int | None = None
    """How many lines, or rows of a sheet, at the beginning are left out, such as a title above the names."""


class FileFormat(msgspec.Struct, frozen=True):
    """How a file is read."""

    format: str
    delimiter: str = ","
    header: bool = True
    encoding: str = "utf-8"
    """The name of a codec of Python."""
    skip_lines: int = 0


def find_output_format(path: str, asked: str | None) -> str:
    """Return the format in which a file is written.

    :raises BadRequestError: when it is unknown.
    """
    found = asked or _SUFFIXES.get(Path(path).suffix.lower(), "")
    if found not in OUTPUT_FORMATS:
        what = f"'{asked}'" if asked else f"The name '{Path(path).name}'"
        raise BadRequestError(
            f"{what} is not one of a format that can be written.",
            f"Choose one of: {', '.join(OUTPUT_FORMATS)}.",
        )
    return found


def find_first_directive(recipe: BuiltRecipe) -> tuple[str, bool] | None:
    """Return the name of the first directive, and whether it reads the column ``body``; None without one."""
    step = next(iter(recipe.steps), None)
    if step is None or step.directive is None:
        return None
    return step.name, BODY in (name.lower() for name in step.directive.reads_columns())


def detect_format(given: FileInput, first: tuple[str, bool] | None = None) -> FileFormat:
    """Return how a file is read.

    :param first: see :func:`find_first_directive`. Unless
        the format is given, such a recipe gets the lines of a text file, or the whole file where the
        directive parses one.
    :raises BadRequestError: when the file cannot be read, or its format is unknown.
    """
    if given.format is not None and given.format not in INPUT_FORMATS:
        raise BadRequestError(
            f"The format '{given.format}' is unknown.",
            f"Choose one of: {', '.join(INPUT_FORMATS)}.",
        )
    head = _read_head(given.path)
    encoding = _find_encoding(given.encoding, head)
    text = head.decode(encoding, "replace")
    format = given.format or _guess_format(given.path, head, text)
    delimiter = given.delimiter or ("\t" if format == "tsv" else None)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise BadRequestError(
            f"The delimiter {delimiter!r} is not one character that is neither a quote nor a line end.",
            "Use a comma, a semicolon, a tab or another character.",
        )
    delimiter = delimiter or (_detect_delimiter(text) if format == "csv" else None) or ","
    is_delimited = format in ("csv", "tsv")
    skipped = given.skip_lines or 0
    if given.skip_lines is None and is_delimited:
        skipped = _count_title_lines(text, delimiter, may_have_names=given.header is not False)
    records = _split_records(_drop_lines(text, skipped), delimiter)
    header = given.header if given.header is not None else _has_header(format, records)
    if given.format is None and first is not None and first[1]:
        names = {name.strip().lower() for name in records[0]} if header and records else set()
        if not (is_delimited and BODY in names):
            format = _find_body_format(format, first[0], head)
            skipped = given.skip_lines or 0
    if skipped and format not in _WITH_LINES:
        raise BadRequestError(
            f"The first lines of a file cannot be left out where it is read as {format}.",
            f"Formats with lines or rows are: {', '.join(_WITH_LINES)}.",
        )
    return FileFormat(format, delimiter, header, encoding, skipped)


def describe_format(format: FileFormat) -> str:
    """Return a format in words, such as ``csv with ';', names in the first line``."""
    name, count = format.format, format.skip_lines
    skipped = (
        f", without the first {plural(count, 'line') if count > 1 else 'line'}" if count else ""
    )
    if name not in ("csv", "tsv"):
        return name + skipped
    where = f"line {count + 1}" if count else "the first line"
    names = f"names in {where}" if format.header else "no line of names"
    shown = "tabs" if format.delimiter == "\t" else f"'{format.delimiter}'"
    delimiter = "" if name == "tsv" else f" with {shown}"
    return f"{name}{delimiter}{skipped}, {names}"


def _read_head(path: str) -> bytes:
    try:
        with open_input(path) as stream:
            return stream.read(_HEAD)
    except FileNotFoundError:
        raise BadRequestError(f"The file '{path}' does not exist.", "Correct the path.") from None
    except IsADirectoryError:
        raise BadRequestError(f"'{path}' is a folder.", "Name one file.") from None
    except (OSError, EOFError) as error:
        raise BadRequestError(f"The file '{path}' cannot be read: {error}.") from None


def _guess_format(path: str, head: bytes, text: str) -> str:
    """Return the format by the name of a file, or by how it begins."""
    name = Path(path).name.lower()
    plain = name.removesuffix(Path(name).suffix) if name.endswith(COMPRESSED) else name
    named = _SUFFIXES.get(Path(plain).suffix)
    if named is not None:
        return named
    for magic, format in _MAGIC.items():
        if head.startswith(magic):
            return format
    if head.lstrip()[:1] in (b"{", b"["):
        return "json"
    return "csv" if _is_table(text, name.endswith(".txt")) else TEXT


def _is_table(text: str, may_be_prose: bool) -> bool:
    """Return whether a text has delimiters.

    :param may_be_prose: whether only a text is one whose records all have equally many values, and, if commas
        separate them, at least three without blanks in front.
    """
    delimiter = _detect_delimiter(text)
    if delimiter is None or not may_be_prose:
        return delimiter is not None
    records = _split_records(text, delimiter)
    if len({len(record) for record in records}) > 1 or len(records) < 2:
        return False
    values = [value for record in records for value in record]
    return delimiter != "," or (
        len(records[0]) > 2 and not any(value.startswith(" ") for value in values)
    )


def _find_body_format(format: str, directive: str, head: bytes) -> str:
    """Return the format that gives a directive its column ``body``."""
    if directive in _WHOLE_FILES:
        return _WHOLE_FILES[directive]
    if format not in ("csv", "tsv", "json", TEXT):
        return format
    pattern = _FIRST_LINES.get(directive)
    line = head.strip().partition(b"\n")[0]
    return TEXT if pattern is None or pattern.fullmatch(line) else DOCUMENT


def _find_encoding(asked: str | None, head: bytes) -> str:
    if asked is not None:
        found = find_encoding(asked)
        if found is None:
            raise BadRequestError(
                f"The encoding '{asked}' is unknown.", "Use UTF-8, UTF-16, Windows-1252 …"
            )
        return "utf-8-sig" if found == "utf-8" else found
    for mark, name in ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")):
        if head.startswith(mark):
            return name
    zeros = [head[start:4096:2].count(0) for start in (0, 1)]
    if (
        max(zeros) > 0.3 * min(len(head), 4096) / 2
    ):  # every second byte of Latin text in UTF-16 is zero
        return "utf-16-le" if zeros[1] > zeros[0] else "utf-16-be"
    return "utf-8-sig"


def _detect_delimiter(text: str) -> str | None:
    """Return the delimiter that splits most records into equally many values; None when none splits."""
    best: tuple[float, int, str] | None = None
    for delimiter in _DELIMITERS:
        widths = Counter(len(record) for record in _split_records(text, delimiter))
        if not widths:
            continue
        width, count = widths.most_common(1)[0]
        if width > 1:
            score = (count / widths.total(), width, delimiter)
            best = max(best, score, key=lambda each: each[:2]) if best else score
    return best[2] if best else None


def _count_title_lines(text: str, delimiter: str, *, may_have_names: bool) -> int:
    """Return how many lines stand above the table."""
    rows, starts = [], []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    line = 0
    try:
        for row in reader:
            rows.append(row)
            starts.append(line)
            line = reader.line_num
            if len(rows) > _RECORDS:
                break
    except csv.Error:  # the rows before it are enough
        pass
    count = count_title_rows(rows, may_have_names=may_have_names, is_padded=False)
    return starts[count] if count else 0


def _drop_lines(text: str, count: int) -> str:
    lines = io.StringIO(text, newline="")
    for _ in range(count):
        lines.readline()
    return lines.read()


def _split_records(text: str, delimiter: str) -> list[list[str]]:
    """Return the first records, without blank ones and the last one, which may be cut."""
    is_cut = len(text) >= _HEAD // 4
    records: list[list[str]] = []
    try:
        for record in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if record:
                records.append(record)
            if len(records) > _RECORDS:
                return records[:_RECORDS]
    except csv.Error:
        return records
    return records[:-1] if is_cut and len(records) > 1 else records


def _has_header(format: str, records: list[list[str]]) -> bool:
    """Return whether the first record has names: texts, not all of them blank, and no numbers.

    Different years are names, too, beside a text and above anything else than years.
    """
    if format not in ("csv", "tsv") or not records:
        return True
    first, *others = records
    if not any(map(str.strip, first)):
        return False
    numbers = [index for index, each in enumerate(first) if NUMBER.fullmatch(each)]
    years = {first[index] for index in numbers}
    if len(years) < len(numbers) or len(numbers) == len(first) or not all(map(_YEAR.match, years)):
        return not numbers
    below = [[row[index] for row in others if index < len(row)] for index in numbers]
    return not any(all(map(_YEAR.match, column)) for column in below)
