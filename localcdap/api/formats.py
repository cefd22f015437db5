"""Formats of files as plugins, which the sources and sinks of files use by name.

They are CDAP 6 ``ValidatingInputFormat`` and ``ValidatingOutputFormat``. A stage names a format by its
property ``format``, and all properties of the stage are those of the format, too. A format either names a
data source of Spark, or converts the bytes of one file in Python.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, ClassVar, Final

from localcdap.api.arrow import RecordCodec
from localcdap.api.failures import FailureCollector
from localcdap.api.plugin import Plugin
from localcdap.api.schema import Schema
from localcdap.api.stage import Record, StageConfigurer

if TYPE_CHECKING:
    import pyarrow as pa

INPUT_FORMAT: Final = "validatingInputFormat"
OUTPUT_FORMAT: Final = "validatingOutputFormat"
_ROWS: Final = 4096
"""Records of a batch."""


@dataclasses.dataclass(frozen=True)
class FormatContext:
    """A stage whose format is checked (CDAP 6 ``FormatContext``)."""

    failures: FailureCollector
    schema: Schema | None
    """The schema of the records that are read or written; None when it is not known yet."""


@dataclasses.dataclass(frozen=True)
class SparkFormat:
    """A data source of Spark that reads or writes a format, and its options."""

    name: str
    """Such as ``xml``, or the name of a data source whose jar Spark has."""
    options: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class InputFile:
    """A file to read."""

    path: str
    """Where it is on this machine."""
    content: IO[bytes]
    """Its bytes, decompressed if its name ends in ``.gz``, ``.bz2``, ``.zst`` or ``.deflate``."""


class _Format(Plugin):
    """Base class of formats. ``config`` has the properties of the stage that the format declares."""

    def configure(self, stage: StageConfigurer) -> None:
        """Do nothing: a format is not a stage."""

    def validate(self, context: FormatContext) -> None:
        """Add failures for properties that are wrong, and for fields that the format cannot hold."""

    def get_spark_format(self) -> SparkFormat | None:
        """Return the data source of Spark for this format; None when Python converts the files."""
        return None


class InputFormat(_Format):
    """Base class of formats that sources read.

    Override :meth:`get_spark_format`, :meth:`read` or :meth:`read_batches`. The last two are called in
    Spark's workers, once for each file.
    """

    types = (INPUT_FORMAT,)

    def get_schema(self, context: FormatContext) -> Schema | None:
        """Return the schema that all files of the format have; None when it depends on the file."""
        return None

    def detect_schema(self, file: InputFile) -> Schema | None:
        """Return the schema of a file; None when it cannot be told, and the user has to set it.

        An exception becomes a failure of the stage.
        """
        return None

    def read(self, file: InputFile, schema: Schema) -> Iterable[Record]:
        """Yield the records of a file.

        :param schema: the fields that are wanted, without the path field of the stage. Those that a record
            lacks are null.
        """
        raise NotImplementedError

    def read_batches(self, file: InputFile, schema: Schema) -> Iterator[pa.RecordBatch]:
        """Yield the records of a file as Arrow batches of a schema.

        :raises StageError: when a value does not fit the schema.
        """
        codec = RecordCodec(schema)
        records = iter(self.read(file, schema))
        while chunk := list(itertools.islice(records, _ROWS)):
            yield codec.encode(chunk)


class OutputFormat(_Format):
    """Base class of formats that sinks write.

    Override :meth:`get_spark_format`, :meth:`write` or :meth:`write_batches`. The last two are called in
    Spark's workers, once for each file.
    """

    types = (OUTPUT_FORMAT,)
    extension: ClassVar[str] = ""
    """The ending of the names of files that Python writes, such as ``.log``."""

    def write(self, content: IO[bytes], records: Iterator[Record], schema: Schema) -> None:
        """Write a file of records."""
        raise NotImplementedError

    def write_batches(
        self, content: IO[bytes], batches: Iterator[pa.RecordBatch], schema: Schema
    ) -> None:
        """Write a file of Arrow batches of a schema."""
        codec = RecordCodec(schema)
        self.write(content, (r for batch in batches for r in codec.decode(batch)), schema)
