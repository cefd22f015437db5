"""The formats of files that recipes read and write: as the file and the recipe suggest."""

from __future__ import annotations

import contextlib
import itertools
import re
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api import StageError
from localcdap.api.errors import BadRequestError
from localcdap.files.formats import (
    BLOB,
    BODY,
    DELIMITED,
    DOCUMENT,
    JSON,
    TEXT,
    FileFormat,
    FileInput,
    build_format,
    detect_format,
    detect_input_facts,
    read_input_head,
)
from localcdap.files.rows import RowReader
from localcdap.plugin_lib.wrangler.recipe.builder import BuiltRecipe

OUTPUT_FORMATS: Final = ("csv", "tsv", "json", "parquet", "excel")
_OUTPUT_SUFFIXES: Final = {
    ".csv": "csv",
    **dict.fromkeys([".tsv", ".tab"], "tsv"),
    **dict.fromkeys([".json", ".jsonl", ".ndjson"], "json"),
    **dict.fromkeys([".parquet", ".pq"], "parquet"),
    **dict.fromkeys([".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"], "excel"),
}
_LOOKED_AT: Final = 100
"""The first rows that may have a column ``body``, where only rows tell the columns."""
_WHOLE_FILES: Final = {"parse-as-excel": BLOB, "parse-as-avro-file": BLOB, "parse-as-hl7": DOCUMENT}
"""The directives whose column has a whole file."""
_FIRST_LINES: Final = {
    "parse-as-json": re.compile(rb"\s*[\[{].*[\]}]\s*"),
    "parse-as-xml": re.compile(rb"\s*<.*</.*>\s*"),
    "parse-xml-to-json": re.compile(rb"\s*<.*</.*>\s*"),
}
"""By directive, the first line of a file whose lines it parses; it parses any other file as a whole."""


def find_output_format(path: str, asked: str | None) -> str:
    """Return the format in which a file is written.

    :raises BadRequestError: when it is unknown.
    """
    found = asked or _OUTPUT_SUFFIXES.get(Path(path).suffix.lower(), "")
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


def detect_recipe_format(file: FileInput, first: tuple[str, bool] | None) -> FileFormat:
    """Return how a file is read to which a recipe is applied.

    :param first: see :func:`find_first_directive`. Unless the format is given, or the file has a column
        ``body``, such a recipe gets the lines of a text file, or the whole file where the directive parses
        one.
    :raises BadRequestError: as :func:`.files.formats.detect_format`.
    """
    if file.format is not None or first is None or not first[1]:
        return detect_format(file)
    head = read_input_head(file.path)
    facts = detect_input_facts(file, head)
    format = build_format(msgspec.structs.replace(file, skip_lines=None), facts)
    if _has_body(file, format):
        return format
    body_format = _find_body_format(format.format, first[0], head.content)
    return build_format(msgspec.structs.replace(file, format=body_format), facts)


def _has_body(file: FileInput, format: FileFormat) -> bool:
    """Return whether the columns of a file, or of its first rows, have the name ``body`` in any case."""
    if format.format in (TEXT, DOCUMENT, BLOB):
        return False
    try:
        with contextlib.closing(RowReader(file, format)) as reader:
            if reader.schema is not None:
                names = reader.schema.field_names
            else:
                rows = itertools.islice(reader, _LOOKED_AT)
                names = [name for row in rows if isinstance(row, dict) for name in row]
    except StageError:
        return False  # the file is of another format than its name and its beginning say
    return BODY in map(str.lower, names)


def _find_body_format(format: str, directive: str, head: bytes) -> str:
    """Return the format that gives a directive its column ``body``."""
    if directive in _WHOLE_FILES:
        return _WHOLE_FILES[directive]
    if format not in (*DELIMITED, JSON, TEXT):
        return format
    pattern = _FIRST_LINES.get(directive)
    line = head.strip().partition(b"\n")[0]
    return TEXT if pattern is None or pattern.fullmatch(line) else DOCUMENT
