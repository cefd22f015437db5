"""Parquet and ORC files, read with Arrow: the types that they hold, and their columns as values of a schema.

The types are those of the file itself. What Arrow alone notes in a file (dictionaries, durations, large
texts) is left out, since the other readers of the file do not see it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from localcdap.api import Schema, StageError
from localcdap.api.arrow import from_arrow_schema, to_arrow_schema, to_arrow_type
from localcdap.api.errors import BadRequestError, SchemaError, describe_reason
from localcdap.files.arrow_columns import UnfitValueError, convert_column, find_conversion

if TYPE_CHECKING:
    import pyarrow as pa

_NOTE: Final = b"localcdap.schema"
_SPARK_TYPE: Final = b"spark.sql.catalyst.type"
"""The attribute of an ORC column with which Spark tells microseconds from other whole numbers."""


class ArrowFile:
    """A Parquet or ORC file.

    :param format: parquet or orc.
    :raises ValueError: or an OSError, when the file is not of the format or cannot be read.
    """

    def __init__(self, path: str, format: str) -> None:
        from pyarrow import orc
        from pyarrow import parquet as pq

        self.path: Final = path
        self._format: Final = format
        if format == "parquet":
            # In nanoseconds, Arrow's default for 96 bits, years before 1678 and after 2262 would wrap.
            self._file: Any = pq.ParquetFile(path, coerce_int96_timestamp_unit="us")
            self.rows: int = self._file.metadata.num_rows
        else:
            self._file = orc.ORCFile(path)
            self.rows = self._file.nrows
        self.arrow: pa.Schema = (
            self._file.schema_arrow if format == "parquet" else self._file.schema
        )
        """The columns as Arrow reads them."""

    @functools.cached_property
    def columns(self) -> pa.Schema:
        """The columns with their types in the file; those of times tell the unit."""
        return _simplify_schema(self.arrow, is_hybrid=self.writer == "ORC_JAVA")

    @property
    def writer(self) -> str | None:
        """The library that has written an ORC file; None for Parquet."""
        return self._file.writer if self._format == "orc" else None

    def __enter__(self) -> ArrowFile:
        return self

    def __exit__(self, *_: object) -> None:
        if self._format == "parquet":
            self._file.close()

    def detect_schema(self) -> Schema:
        """Return the schema that the columns stand for (CDAP 6 ``AvroSchemaConverter`` of format-parquet).

        A timestamp of Parquet is an instant, also one that is not adjusted to UTC; one in nanoseconds is a
        number. Unlike there, a timestamp of 96 bits is one, a decimal in a whole number is a decimal, a UUID
        and JSON are texts, unsigned numbers of 32 bits are long, and the elements of lists are not records. A
        schema that :func:`note_schema` noted in the file is the one.

        :raises SchemaError: for a type that no schema has.
        """
        import pyarrow as pa

        note = (self.arrow.metadata or {}).get(_NOTE)
        if note is not None:
            return Schema.parse(note.decode())
        is_parquet = self._format == "parquet"
        detected = from_arrow_schema(
            pa.schema([_to_detected_field(field, is_parquet) for field in self.columns])
        )
        for field in detected:
            try:
                to_arrow_type(field.schema)
            except SchemaError as error:
                raise SchemaError(f"Field '{field.name}': {error.message}") from None
        return detected

    def read_batches(self, schema: Schema, size: int) -> Iterator[pa.RecordBatch]:
        """Yield the fields of a schema, as :func:`.arrow_columns.find_conversion` converts them.

        A field that the file lacks is null.

        :param size: the most rows of a batch.
        :raises UnfitValueError: for a value that the type of its field cannot hold unchanged.
        :raises BadRequestError: when the type of a column cannot become that of the field; see
            :func:`check_columns`.
        :raises OSError: or a ValueError, when the file cannot be read.
        """
        check_columns(self.path, self.columns, schema)
        names = [f.name for f in schema if f.name in self.columns.names]
        yield from _convert_batches(self._read_stored(names, size), self.columns, schema)

    def _read_stored(self, names: list[str], size: int) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        if not names:
            for start in range(0, self.rows, size):
                rows = min(size, self.rows - start)
                yield pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
        elif self._format == "parquet":
            yield from self._file.iter_batches(batch_size=size, columns=names)
        else:
            for number in range(self._file.nstripes):
                stripe = self._file.read_stripe(number, columns=names)
                yield from pa.Table.from_batches([stripe]).to_batches(max_chunksize=size)


def check_columns(path: str, columns: pa.Schema, schema: Schema) -> None:
    """Check that each field of a schema can be read from the columns of a file.

    :raises BadRequestError: for the first field that cannot; it names the file and the field.
    """
    for field in schema:
        indexes = columns.get_all_field_indices(field.name)
        if len(indexes) > 1:
            raise BadRequestError(
                f"field '{field.name}' exists {len(indexes)} times in the data of '{path}'.",
                "Write the file with columns of different names.",
            )
        if not indexes and not field.schema.is_nullable:
            raise BadRequestError(
                f"field '{field.name}' does not exist in the data of '{path}'; fields are: "
                f"{', '.join(columns.names)}.",
                f"Allow null for '{field.name}' in the schema, or remove it.",
            )
        type = columns.field(indexes[0]).type if indexes else None
        if type is not None and find_conversion(type, field.schema) is None:
            raise BadRequestError(
                f"field '{field.name}' is of type {type} in the data of '{path}', but its schema says "
                f"{field.schema.display_name}.",
                f"Change the type of '{field.name}' in the schema.",
            )


def note_schema(columns: pa.Schema, schema: Schema | None = None) -> pa.Schema:
    """Return the columns of a Parquet file of localcdap's own with a note of the schema that they stand for.

    :param schema: by default, that of Arrow's types.
    """
    return columns.with_metadata({_NOTE: str(schema or from_arrow_schema(columns))})


class ArrowFiles:
    """The rows of files of one format, and of their schema: that of the first one.

    :param format: parquet or orc.
    :raises ValueError: or an OSError, when the first file cannot be read.
    """

    def __init__(self, files: Sequence[str], format: str) -> None:
        import pyarrow as pa

        self._files, self._format = files, format
        with ArrowFile(files[0], format) as file:
            columns = [c.with_type(pa.string()) if c.type == pa.uuid() else c for c in file.columns]
        self.schema: Schema = from_arrow_schema(pa.schema(columns))

    def read_batches(self, size: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows with the types of the schema, at most so many at once.

        :raises BadRequestError: when a value would change, such as nanoseconds that become microseconds; it
            says which.
        """
        for path in self._files:
            with ArrowFile(path, self._format) as file:
                try:
                    yield from file.read_batches(self.schema, size)
                except UnfitValueError as error:
                    raise error.describe_row() from None


def read_table_batches(table: pa.Table, schema: Schema, size: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table with the types of a schema.

    :raises BadRequestError: as :meth:`ArrowFiles.read_batches`.
    """
    try:
        yield from _convert_batches(table.to_batches(size), _simplify_schema(table.schema), schema)
    except UnfitValueError as error:
        raise error.describe_row() from None


def _convert_batches(
    batches: Iterable[pa.RecordBatch], stored: pa.Schema, schema: Schema
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    target, done = to_arrow_schema(schema), 0
    for batch in batches:
        columns = []
        for field, arrow in zip(schema, target, strict=True):
            if field.name not in stored.names:
                columns.append(pa.nulls(batch.num_rows, arrow.type))
                continue
            column = _simplify_column(batch.column(field.name), stored.field(field.name).type)
            columns.append(convert_column(column, field, done))
        yield pa.RecordBatch.from_arrays(columns, schema=target)
        done += batch.num_rows


def read_file_batches(
    path: str, format: str, schema: Schema, size: int
) -> Iterator[pa.RecordBatch]:
    """Yield the fields of a schema from a Parquet or ORC file, see :meth:`ArrowFile.read_batches`.

    :raises StageError: for whatever is wrong with the file or a value; it names the file and the field.
    """
    try:
        with ArrowFile(path, format) as file:
            yield from file.read_batches(schema, size)
    except UnfitValueError as error:
        raise StageError(
            f"{error.message} File: {path}; row {error.row + 1:,}.", error.corrective_action
        ) from None
    except BadRequestError as error:
        raise StageError(error.message, error.corrective_action) from None
    except (OSError, ValueError) as error:
        raise StageError(
            f"'{path}' cannot be read as {format}: {describe_reason(error)}.",
            "Check 'path' and 'format'.",
        ) from None


# -- types ----------------------------------------------------------------------------------


def _simplify_schema(schema: pa.Schema, *, is_hybrid: bool = False) -> pa.Schema:
    """Return columns with simple types.

    :param is_hybrid: whether dates before 1582-10-15 are of the Julian calendar, as in ORC files that Java
        writes; Arrow's reader does not tell. Their type is ``date64``, and that of other dates ``date32``.
    """
    import pyarrow as pa

    return pa.schema([_simplify_field(field, is_hybrid) for field in schema])


def _simplify_field(field: pa.Field, is_hybrid: bool) -> pa.Field:
    import pyarrow as pa

    type = _simplify_type(field.type, is_hybrid)
    if (field.metadata or {}).get(_SPARK_TYPE) == b"timestamp_ntz":
        type = pa.timestamp("us", "UTC")
    return pa.field(field.name, type, field.nullable)


def _simplify_type(type: pa.DataType, is_hybrid: bool) -> pa.DataType:
    """Return the type without what Arrow alone tells apart."""
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_dictionary(type) or kinds.is_run_end_encoded(type):
        return _simplify_type(type.value_type, is_hybrid)
    if isinstance(type, pa.BaseExtensionType):
        return type if type == pa.uuid() else _simplify_type(type.storage_type, is_hybrid)
    if kinds.is_timestamp(type):
        unit = "ms" if type.unit == "s" else type.unit
        return pa.timestamp(unit, None if type.tz is None else "UTC")
    if kinds.is_map(type):
        return pa.map_(
            _simplify_type(type.key_type, is_hybrid), _simplify_field(type.item_field, is_hybrid)
        )
    if kinds.is_struct(type):
        return pa.struct([_simplify_field(field, is_hybrid) for field in type])
    if kinds.is_list(type) or kinds.is_large_list(type) or kinds.is_fixed_size_list(type):
        return pa.list_(_simplify_field(type.value_field, is_hybrid))
    plain = (
        (kinds.is_large_string, pa.string()),
        (kinds.is_string_view, pa.string()),
        (kinds.is_large_binary, pa.binary()),
        (kinds.is_binary_view, pa.binary()),
        (kinds.is_duration, pa.int64()),
        (kinds.is_date, pa.date64() if is_hybrid else pa.date32()),
    )
    return next((simple for matches, simple in plain if matches(type)), type)


def _simplify_column(column: pa.Array, type: pa.DataType) -> pa.Array:
    import pyarrow as pa

    if isinstance(column, pa.ExtensionArray) and column.type != type:
        column = column.storage
    return column if column.type == type else column.cast(type)


def _to_detected_field(field: pa.Field, is_parquet: bool) -> pa.Field:
    return field.with_type(_to_detected_type(field.type, is_parquet))


def _to_detected_type(type: pa.DataType, is_parquet: bool) -> pa.DataType:
    """Return the Arrow type whose schema is the one that is detected."""
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_list(type):
        return pa.list_(_to_detected_field(type.value_field, is_parquet))
    if kinds.is_map(type):
        keys = _to_detected_type(type.key_type, is_parquet)
        return pa.map_(keys, _to_detected_field(type.item_field, is_parquet))
    if kinds.is_struct(type):
        return pa.struct([_to_detected_field(field, is_parquet) for field in type])
    if type == pa.uuid():
        return pa.string()
    if not is_parquet:
        return pa.timestamp("us", "UTC") if kinds.is_timestamp(type) else type
    if kinds.is_null(type):
        return pa.int32()
    if (kinds.is_timestamp(type) or kinds.is_time(type)) and type.unit == "ns":
        return pa.int64()
    return pa.timestamp(type.unit, "UTC") if kinds.is_timestamp(type) else type
