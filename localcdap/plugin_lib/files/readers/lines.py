"""The lines of text files as a DataFrame: a record for each line of a text, and one for each blob."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote, urlsplit

from localcdap.api import AlteredRows, Schema, SourceContext, StageError
from localcdap.api.errors import describe_reason
from localcdap.files.encodings import COMPRESSED, get_java_name
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
from localcdap.plugin_lib.spark.columns import get_column

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame


VALUE: Final = "value"
FILE: Final = "file of the record"
LINES: Final = Schema.record(
    "line", [(VALUE, Schema.STRING), (FILE, Schema.STRING), (REPLACED, Schema.STRING.as_nullable)]
)
"""The columns of :func:`read_line_frame`."""
_MOST_FILES_WITH_HEADER: Final = 64
_GLOB: Final = re.compile(r"([\\\[\]{}*?])")
_ROW_NUMBER: Final = (1 << 33) - 1
"""The bits of ``monotonically_increasing_id`` that count the rows of a partition."""


@dataclasses.dataclass(frozen=True)
class PathField:
    """The field that holds the file of a record.

    :param name: None when there is no such field.
    :param folder: the folder of the files on this machine, and its URL in the document.
    """

    name: str | None
    filename_only: bool
    folder: tuple[str, str] | None = None

    def format_path(self, file: str) -> str:
        """Return a file's value: ``file:/folder/name``, ``gs://bucket/folder/name``, or only the name."""
        if self.filename_only:
            return Path(file).name
        shown = f"file:{_normalize(file)}"
        here, foreign = self._beginnings
        return foreign + shown[len(here) :] if shown.startswith(here) else shown

    def format_uri_column(self, uri: Column) -> Column:
        """Return :meth:`format_path` as a column, for a column of file URIs."""
        from pyspark.sql import functions as F  # noqa: N812

        # Spark does not encode plus signs in URIs.
        path = F.url_decode(F.replace(uri, F.lit("+"), F.lit("%2B")))
        if self.filename_only:
            return F.element_at(F.split(path, "/"), -1)
        shown = F.regexp_replace(path, "^file:/+", "file:/")
        here, foreign = self._beginnings
        if here == foreign:
            return shown
        rest = F.substr(shown, F.lit(len(here) + 1))
        return F.when(F.startswith(shown, F.lit(here)), F.concat(F.lit(foreign), rest)).otherwise(
            shown
        )

    @property
    def _beginnings(self) -> tuple[str, str]:
        """The prefix of local paths, and the prefix that replaces it."""
        if self.folder is None:
            return "", ""
        here, foreign = self.folder
        return f"file:{_normalize(here)}", foreign


def _normalize(path: str) -> str:
    """Normalize a path as Spark does, without double slashes."""
    return os.path.normpath(path) if path else ""


def read_line_frame(
    context: SourceContext, files: Sequence[str], format: LineFormat, split_size: int
) -> DataFrame:
    """Read lines as the columns of :data:`LINES`, with Spark's own reader where the result is equal.

    Values of Spark's reader still have their malformed bytes.
    """
    is_plain = format.encoding == "utf-8" and format.separator is None
    if is_plain and (not format.skip_header or len(files) <= _MOST_FILES_WITH_HEADER):
        return _read_by_spark(context, files, skip_header=format.skip_header)
    asked = dataclasses.replace(format, columns=((VALUE, LINE), (FILE, PATH), (REPLACED, REPLACED)))
    require_file_system(context, files)
    # The sizes of a cluster's files are not known in this process.
    size = 0 if context.is_remote else split_size
    pieces = [p for f in files for p in split_file(f, Path(f).as_uri(), asked, size)]
    return context.generate(LINES, pieces, functools.partial(read_lines, format=asked))


def read_valid_lines(
    context: SourceContext, files: Sequence[str], format: LineFormat, split_size: int
) -> DataFrame:
    """Read lines as the columns of :data:`LINES`, without malformed bytes; these are yet to be counted."""
    from pyspark.sql import functions as F  # noqa: N812

    lines = read_line_frame(context, files, format, split_size)
    valid = F.when(F.col(REPLACED).isNull(), F.col(VALUE)).otherwise(F.make_valid_utf8(VALUE))
    return lines.withColumn(VALUE, valid)


def split_file(file: str, shown: str, format: LineFormat, split_size: int) -> list[FilePiece]:
    """Return the pieces of a file that are read in parallel.

    :param shown: the value of :data:`PATH` columns for its lines.
    :param split_size: bytes of a piece; 0 to read the file in one piece.
    """
    if not split_size or not format.splittable or file.lower().endswith(COMPRESSED):
        return [FilePiece(file, shown)]
    size = Path(file).stat().st_size
    starts = range(0, size, split_size)
    return [FilePiece(file, shown, start, min(start + split_size, size)) for start in starts]


def escape_paths(files: Sequence[str]) -> list[str]:
    """Escape local paths for Spark's readers, which interpret paths as patterns."""
    return [_GLOB.sub(r"\\\1", file) for file in files]


def get_file_uri() -> Column:
    """Return the column of the URI of a row's file; select it directly from the reader."""
    from pyspark.sql import functions as F  # noqa: N812

    # This is cheaper than the column _metadata, which Spark makes for every row.
    return F.input_file_name()


def _read_by_spark(context: SourceContext, files: Sequence[str], *, skip_header: bool) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    file = get_file_uri().alias(FILE)
    # Spark computes what is made of the name of its file for every row. It checks no bytes for columns that
    # nobody reads if they are made of the column of that name.
    replaced = F.when(~F.is_valid_utf8(VALUE), F.col(FILE)).alias(REPLACED)
    columns = (F.col(VALUE), F.col(FILE), replaced)
    if not skip_header:
        return context.spark.read.text(escape_paths(files)).select(VALUE, file).select(*columns)
    # Each file is read separately, so that its first line is the first row of a partition.
    is_header = (F.input_file_block_start() == 0) & (
        F.monotonically_increasing_id().bitwiseAND(_ROW_NUMBER) == 0
    )
    reads = [
        context.spark.read.text(path).select(VALUE, file, is_header.alias("is_header"))
        for path in escape_paths(files)
    ]
    together = functools.reduce(lambda left, right: left.union(right), reads)
    return together.filter(~F.col("is_header")).select(*columns)


def find_replaced(uri: str, format: LineFormat) -> str:
    """Return the first line of a file with malformed bytes, as a warning names it.

    :param uri: the path of the file, or its URI. Of a file that this process cannot read, only the name is
        known.
    """
    file = unquote(urlsplit(uri).path) if uri.startswith("file:") else uri
    asked = dataclasses.replace(format, columns=((REPLACED, REPLACED),), skip_header=False)
    first = 1
    with contextlib.suppress(StageError):
        for batch in read_lines(FilePiece(file, ""), asked):
            files = batch.column(0)
            if files.null_count < len(files):
                return f"'{file}', line {first + files.is_valid().index(True).as_py()}."
            first += len(files)
    return f"a line of '{file}'."


def count_replaced(context: SourceContext, lines: Any, format: LineFormat) -> Any:
    """Count the lines whose malformed bytes became U+FFFD, as Hadoop has it, and drop :data:`REPLACED`.

    :param lines: a DataFrame, or, of the first records of a file without Spark, an iterator of batches.
    """
    if isinstance(lines, Iterator):
        return _count_in_batches(context, lines, format)
    return context.observe_altered(lines, describe_replaced(format)).drop(REPLACED)


def describe_replaced(format: LineFormat) -> AlteredRows:
    """Return what became of the lines of which :data:`REPLACED` names the file."""
    from pyspark.sql import functions as F  # noqa: N812

    locate = functools.partial(find_replaced, format=format)
    return AlteredRows(_describe_change(format), F.col(REPLACED), locate)


def _describe_change(format: LineFormat) -> str:
    return f"bytes that are not {get_java_name(format.encoding)} became U+FFFD"


def _count_in_batches(
    context: SourceContext, batches: Iterator[pa.RecordBatch], format: LineFormat
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        files = batch.column(REPLACED).drop_null()
        if len(files):
            first = find_replaced(files[0].as_py(), format)
            context.count_altered(_describe_change(format), first, len(files))
        yield batch.drop_columns([REPLACED])


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
    valid = read_valid_lines(context, files, format, split_size)
    lines = cast("DataFrame", count_replaced(context, valid, format))
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
        raise StageError(
            f"File '{piece.file}' cannot be read: {describe_reason(error)}."
        ) from error
    values = {"body": pa.array([content], pa.binary())}
    shown = pa.array([piece.path])
    yield pa.RecordBatch.from_arrays([values.get(name, shown) for name in names], list(names))
