"""Text files: a record for each line. Blobs: a record for each file."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from localcdap.api import Schema, SourceContext, StageError
from localcdap.plugin_lib.files.inputs import require_file_system
from localcdap.plugin_lib.files.readers.line_format import (
    LINE,
    OFFSET,
    PATH,
    FilePiece,
    LineFormat,
    read_lines,
    read_lines_with_header,
)
from localcdap.plugin_lib.files.readers.lines import (
    VALUE,
    PathField,
    escape_paths,
    get_file_uri,
    split_file,
)

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
        columns = tuple((f.name, contents.get(f.name, PATH)) for f in schema)
        asked = dataclasses.replace(format, columns=columns)
        require_file_system(context, files)
        size = 0 if context.is_remote else split_size
        pieces = [
            p for file in files for p in split_file(file, path.format_path(file), asked, size)
        ]
        if copies_header:
            read_all = functools.partial(read_lines_with_header, files=files, format=asked)
            return context.generate(schema, _group(pieces), read_all)
        return context.generate(schema, pieces, functools.partial(read_lines, format=asked))
    read = context.spark.read.text(escape_paths(files))
    uri = path.format_uri_column(get_file_uri())
    return read.select(
        [(uri if f.name == path.name else read[VALUE]).alias(f.name) for f in schema]
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
