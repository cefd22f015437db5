"""The format tester: a format of files in the process of the test, without a stage and without Spark."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import BadRequestError, InvalidPipelineError
from localcdap.api.failures import FailureCollector, ValidationFailure
from localcdap.api.formats import FormatContext, InputFile, InputFormat, OutputFormat
from localcdap.api.plugin import Plugin
from localcdap.api.schema import Schema
from localcdap.api.stage import Record


class FormatTester:
    """A format with the properties of a stage, which it checks at once.

    >>> format = FormatTester(FixedWidth, {"widths": "3,5"}, PEOPLE)   # doctest: +SKIP
    >>> format.problems, format.read(b"ada 1815")                      # doctest: +SKIP

    :param plugin: an input or an output format.
    :param properties: those of the stage.
    :param schema: of the records; by default that which all files of the format have, if any.
    """

    def __init__(
        self,
        plugin: type[Plugin],
        properties: Mapping[str, str] | None = None,
        schema: Schema | None = None,
    ) -> None:
        collector = FailureCollector()
        self._format: Any = plugin(plugin.Config.build(dict(properties or {}), collector))
        self.schema: Schema | None = schema
        """The schema of the records."""
        if not len(collector):
            if schema is None and isinstance(self._format, InputFormat):
                self.schema = self._format.get_schema(FormatContext(collector, None))
            self._format.validate(FormatContext(collector, self.schema))
        self.failures: list[ValidationFailure] = list(collector)

    @property
    def problems(self) -> list[str]:
        """The failures as short texts: ``property: message``, or only the message."""
        return [f"{f.field}: {f.message}" if f.field else f.message for f in self.failures]

    def detect(self, content: bytes) -> Schema | None:
        """Return the schema that the format detects in a file."""
        self._require(InputFormat)
        with _open(content) as file:
            found: Schema | None = self._format.detect_schema(file)
            return found

    def read(self, content: bytes) -> list[Record]:
        """Return the records of a file, as a stage emits them.

        :raises InvalidPipelineError: when the format has failures.
        :raises StageError: when a record does not fit the schema.
        """
        schema = self._require(InputFormat)
        codec = RecordCodec(schema)
        with _open(content) as file:
            batches = self._format.read_batches(file, schema)
            return [record for batch in batches for record in codec.decode(batch)]

    def write(self, records: Sequence[Record]) -> bytes:
        """Return the file that the format makes of records.

        :raises InvalidPipelineError: when the format has failures.
        :raises StageError: when a record does not fit the schema.
        """
        schema = self._require(OutputFormat)
        content = io.BytesIO()
        batch = RecordCodec(schema).encode(records)
        self._format.write_batches(content, iter([batch] if records else []), schema)
        return content.getvalue()

    def _require(self, kind: type[Plugin]) -> Schema:
        """Check that the format is valid and of a kind; return the schema, empty where none matters."""
        if not isinstance(self._format, kind):
            raise BadRequestError(f"{type(self._format).__name__} is not a {kind.types[0]}.")
        if self.failures:
            raise InvalidPipelineError(
                " ".join(failure.full_message for failure in self.failures),
                failures=[msgspec.to_builtins(failure) for failure in self.failures],
            )
        return self.schema or Schema.record("unknown", [])


@contextlib.contextmanager
def _open(content: bytes) -> Iterator[InputFile]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file")
        path.write_bytes(content)
        yield InputFile(str(path), io.BytesIO(content))
