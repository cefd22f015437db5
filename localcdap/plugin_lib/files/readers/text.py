"""Text files: a record for each line. Blobs: a record for each file."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from localcdap.api import Schema, SourceContext, StageError
from localcdap.plugin_lib.files.inputs import require_file_system
from localcdap.plugin_lib.files.readers.line_format import (
    LINE,
    OFFSET,
    PATH,
    REPLACED,
    FilePiece,
    LineFormat,
    read_lines,
    read_lines_with_header,
)
from localcdap.plugin_lib.files.readers.lines import (
    FILE,
    VALUE,
    PathField,
    count_replaced,
    read_valid_lines,
    split_file,
)
from localcdap.plugin_lib.spark.columns import get_column

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_MOST_GROUPS: Final = 256
"""Far fewer than the tasks that a Spark job can have."""


def read_text_files(
    context: SourceContext,
    files: Sequence[str],
    schema: Schema,
    format: LineFormat,
    path: PathField,
    split_size: int,
    *,
    copies_header: bool = False,
) -> DataFrame:
    """Read lines as ``body``, with ``offset`` and the path field if the schema has them.

    :param copies_header: whether each task begins with the first line of the first file.
    """
    if needs_python(schema, format, copies_header=copies_header):
        contents = {"offset": OFFSET, "body": LINE}
        columns = [(f.name, contents.get(f.name, PATH)) for f in schema]
        asked = dataclasses.replace(format, columns=(*columns, (REPLACED, REPLACED)))
        marked = Schema.record("line", [*schema, (REPLACED, Schema.STRING.as_nullable)])
        require_file_system(context, files)
        size = 0 if context.is_remote else split_size
        pieces = [
            p for file in files for p in split_file(file, path.format_path(file), asked, size)
        ]
        if copies_header:
            read_all = functools.partial(read_lines_with_header, files=files, format=asked)
            lines = context.generate(marked, _group(pieces), read_all)
        else:
            lines = context.generate(marked, pieces, functools.partial(read_lines, format=asked))
        return cast("DataFrame", count_replaced(context, lines, format))
    lines = read_valid_lines(context, files, format, split_size)
    uri = path.format_uri_column(get_column(FILE))
    return lines.select(
        [(uri if f.name == path.name else get_column(VALUE)).alias(f.name) for f in schema]
    )


def needs_python(schema: Schema, format: LineFormat, *, copies_header: bool) -> bool:
    """Return whether Python reads the lines, because Spark's own reader gives something else."""
    return (
        schema.field("offset") is not None
        or format.skip_header
        or copies_header
        or not format.splittable
    )


def _group(pieces: Sequence[FilePiece]) -> list[Sequence[FilePiece]]:
    """Return the pieces in so few groups that each is a task of Spark of its own."""
    size = -(-len(pieces) // _MOST_GROUPS)
    return [pieces[start : start + size] for start in range(0, len(pieces), size)]


def read_blobs(
    context: SourceContext, files: Sequence[str], schema: Schema, path: PathField
) -> DataFrame:
    """Read whole files as the bytes ``body``, with the path field if the schema has it."""
    require_file_system(context, files)
    # Spark's reader of whole files skips empty files.
    pieces = [FilePiece(file, path.format_path(file)) for file in files]
    names = tuple(f.name for f in schema)
    return context.generate(schema, pieces, functools.partial(read_blob, names=names))


def read_blob(piece: FilePiece, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the single record of a file.

    :raises StageError: when the file cannot be read.
    """
    import pyarrow as pa

    try:
        content = Path(piece.file).read_bytes()
    except OSError as error:
        raise StageError(f"File '{piece.file}' cannot be read: {error}.") from error
    values = {"body": pa.array([content], pa.binary())}
    shown = pa.array([piece.path])
    yield pa.RecordBatch.from_arrays([values.get(name, shown) for name in names], list(names))
