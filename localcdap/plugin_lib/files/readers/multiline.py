"""Delimited text whose quoted values may hold line ends, read in Spark's Python workers."""

from __future__ import annotations

import csv
import functools
import io
import itertools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from localcdap.api import Schema, SourceContext, StageError
from localcdap.plugin_lib.files.cluster import require_file_system
from localcdap.plugin_lib.files.readers.delimited import VALUES
from localcdap.plugin_lib.files.readers.line_format import LineFormat, open_input
from localcdap.plugin_lib.files.readers.lines import FILE, VALUE

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_ROWS: Final = 8192
_SHOWN: Final = 200


def multiline_values(
    context: SourceContext, files: Sequence[str], format: LineFormat, delimiter: str
) -> DataFrame:
    """The columns of :func:`.delimited_reading.with_values`; ``value`` is shortened."""
    require_file_system(context, files)
    schema = Schema.record(
        "row",
        [
            (VALUE, Schema.STRING),
            (FILE, Schema.STRING),
            (VALUES, Schema.array(Schema.STRING)),
        ],
    )
    read = functools.partial(read_rows, format=format, delimiter=delimiter)
    return context.generate(schema, list(files), read)


def read_rows(file: str, format: LineFormat, delimiter: str) -> Iterator[pa.RecordBatch]:
    """The rows of a file, without those that have no character.

    :raises StageError: when a quote is not closed or the file cannot be read.
    """
    import pyarrow as pa

    csv.field_size_limit(sys.maxsize)
    encoding = "utf-8-sig" if format.encoding == "utf-8" else format.encoding
    try:
        with open_input(file) as stream:
            text = io.TextIOWrapper(stream, encoding=encoding, errors="replace", newline="")
            rows = csv.reader(text, delimiter=delimiter, strict=True)
            if format.skip_header:
                next(rows, None)
            filled = (row for row in rows if row)
            while chunk := list(itertools.islice(filled, _ROWS)):
                shown = pa.array([delimiter.join(row)[:_SHOWN] for row in chunk])
                uris = pa.array([Path(file).as_uri()] * len(chunk))
                values = pa.array(chunk, pa.list_(pa.string()))
                yield pa.RecordBatch.from_arrays([shown, uris, values], [VALUE, FILE, VALUES])
    except csv.Error as error:
        raise StageError(
            f"File '{file}' cannot be read as quoted values up to line {rows.line_num}: {error}.",
            "Ensure that all values are properly quoted, or disable quoted values.",
        ) from None
    except (OSError, EOFError, UnicodeError) as error:
        raise StageError(f"File '{file}' cannot be read: {error}.") from error
