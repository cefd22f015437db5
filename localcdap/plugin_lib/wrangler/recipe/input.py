"""The rows that a recipe gets of a file: those of a pipeline that reads the file.

Each has all columns, a value has the type of its column, and a 32-bit float is the double with the same text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from localcdap.api.directive import DirectiveError
from localcdap.api.directive.rows import Columns
from localcdap.api.record_json import encode_json_record
from localcdap.api.schema import Schema, Type
from localcdap.files.delimited import UnreadableRow
from localcdap.files.formats import FileFormat, FileInput
from localcdap.files.limits import SHOWN
from localcdap.files.rows import Item, RowReader
from localcdap.java.strings import round_to_float
from localcdap.plugin_lib.wrangler.recipe.output import make_converter
from localcdap.plugin_lib.wrangler.recipe.samples import SchemaInference

_CLASSES: Final = {Type.STRING: str, Type.LONG: int, Type.DOUBLE: float, Type.BOOLEAN: bool}
"""By type, the class of the values that have it."""
_CHUNK: Final = 2000
"""Rows between two pauses."""


class InputRows:
    """The rows of a file. Where only its records tell the types, :meth:`find_types` reads it before.

    :raises StageError: when the file cannot be read; the methods raise it, too.
    """

    def __init__(self, file: FileInput, format: FileFormat) -> None:
        self._file = file
        self._reader = RowReader(file, format)
        self.schema: Schema | None = self._reader.schema
        """The columns; None before they are found, and for a file without rows that says none."""
        self._untyped: UntypedRows | None = None
        self._passes = 1 if self.schema is not None else 2
        self._done = 0
        self.widen: Callable[[dict[str, Any]], dict[str, Any]] = make_widener(self.schema)
        """Widens the floats of a row that was stored with the types of the schema."""

    def find_types(self) -> Generator[None]:
        """Read the file for the types of its columns if it says none; pauses from time to time."""
        if self.schema is not None:
            return
        inference, rows = SchemaInference(Columns(open=True)), list[dict[str, Any]]()
        for item in self._reader:
            if not isinstance(item, UnreadableRow):
                rows.append(item)
            if len(rows) >= _CHUNK:
                inference.add(rows)
                rows = []
                yield
        inference.add(rows)
        self._reader.close()
        self._reader = RowReader(self._file, self._reader.format)
        self._done = 1
        self.schema = inference.find_schema()
        self._untyped = None if self.schema is None else UntypedRows(self.schema)

    def __iter__(self) -> Iterator[Item]:
        read, widen = self._untyped, self.widen
        if read is None and widen is _keep:
            yield from self._reader
            return
        for number, item in enumerate(self._reader, 1):
            if isinstance(item, UnreadableRow):
                yield item
            elif read is not None:
                yield read.convert(item, number)
            else:
                yield widen(item)

    @property
    def format(self) -> FileFormat:
        return self._reader.format

    @property
    def warnings(self) -> list[str]:
        """What the file does not tell, though it seems to."""
        return self._reader.warnings

    @property
    def share(self) -> float | None:
        """How much of the work with the file is done, from 0 to 1; None when that is not known."""
        share = self._reader.share
        return None if share is None else (self._done + share) / self._passes

    @property
    def replaced(self) -> int:
        """How many bytes do not belong to UTF-8, and were read as Windows-1252."""
        return self._reader.replaced

    def close(self) -> None:
        """Close the file."""
        self._reader.close()


def make_widener(schema: Schema | None) -> Callable[[Any], Any]:
    """Return what gives a row the doubles with the same texts as its 32-bit floats.

    Directives handle floats so, see :class:`.batch.BatchTask`. Those in arrays, maps and records stay.
    """
    names = [each.name for each in schema or () if each.schema.non_nullable == Schema.FLOAT]

    def widen(row: Mapping[str, Any]) -> Mapping[str, Any]:
        found = {name: row.get(name) for name in names}
        return {
            **row,
            **{name: round_to_float(each) for name, each in found.items() if each is not None},
        }

    return widen if names else _keep


def _keep(row: Any) -> Any:
    return row


def type_rows(rows: Sequence[dict[str, Any]]) -> tuple[Schema | None, list[Item]]:
    """Return the schema of records which say no types, and the rows of this schema."""
    inference = SchemaInference(Columns(open=True))
    inference.add(rows)
    schema = inference.find_schema()
    if schema is None:
        return None, list(rows)
    convert = UntypedRows(schema).convert
    return schema, [convert(row, number) for number, row in enumerate(rows, 1)]


class UntypedRows:
    """Makes rows of a schema that was inferred from records which say no types, such as those of JSON.

    :param schema: see :class:`.samples.SchemaInference`; its fields have the names that were seen first.
    """

    def __init__(self, schema: Schema) -> None:
        self._fields: Final = [
            (
                each.name,
                each.name.lower(),
                _CLASSES.get(each.schema.non_nullable.type),
                make_converter(each.schema, each.name),
            )
            for each in schema
        ]

    def convert(self, record: Mapping[str, Any], number: int) -> Item:
        """Return a record with the columns of the schema, and values of their types.

        A record with two names that differ by case only cannot be read: no schema has both.

        :param number: of the record, from 1.
        """
        values = {name.lower(): value for name, value in record.items()}
        if len(values) != len(record):
            counts = Counter(map(str.lower, record))
            names = " and ".join(f"'{name}'" for name in record if counts[name.lower()] > 1)
            return _refuse(record, f"Record {number}: its names {names} differ by case only.")
        row = {}
        try:
            for name, key, cls, convert in self._fields:
                value = values.get(key)
                row[name] = value if value is None or type(value) is cls else convert(value)
        except DirectiveError as error:
            return _refuse(record, f"Record {number}: {error}")
        return row


def _refuse(record: Mapping[str, Any], message: str) -> UnreadableRow:
    shown = msgspec.json.encode(encode_json_record(record)).decode()
    return UnreadableRow(message, shown[:SHOWN])
