"""Schemas and records as Arrow, the form in which data moves between stages and Python code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.schema import Schema
from localcdap.api.serialization.arrow_types import (
    MAX_DECIMAL_PRECISION,
    from_arrow_schema,
    is_proper_union,
    list_union_tags,
    to_arrow_schema,
    to_arrow_type,
)
from localcdap.api.serialization.arrow_writer import (
    build_column_reader,
    build_column_writer,
    build_row_maker,
    pick_members,
)
from localcdap.api.serialization.value_types import matches
from localcdap.moved import build_getattr

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "MAX_DECIMAL_PRECISION",
    "RecordCodec",
    "from_arrow_schema",
    "is_proper_union",
    "list_union_tags",
    "matches",
    "to_arrow_schema",
    "to_arrow_type",
]

__getattr__ = build_getattr(__name__)


class RecordCodec:
    """Converts between Arrow batches and records of one schema.

    Decoding checks nothing, since the engine made the batch; encoding checks every value and names the field
    that is wrong.
    """

    def __init__(self, schema: Schema) -> None:
        """Prepare the conversion.

        :raises SchemaError: when Arrow and Spark cannot hold the schema, see :func:`to_arrow_type`.
        """
        self.schema: Final = schema
        self.arrow: Final = to_arrow_schema(schema)
        self._readers = {f.name: build_column_reader(f.schema) for f in schema}
        self._rows = build_row_maker(list(self._readers))
        self._writers = {f.name: build_column_writer(f.schema, f.name) for f in schema}

    def decode(self, batch: pa.RecordBatch) -> list[dict[str, Any]]:
        """Return the records of a batch. Columns are found by name; columns of other names are ignored."""
        return self._rows(self._read_columns(batch), batch.num_rows)

    def decode_values(self, batch: pa.RecordBatch) -> list[tuple[Any, ...]]:
        """Return the values of the records of a batch, in the order of the schema, which must have fields."""
        return list(zip(*self._read_columns(batch), strict=True))

    def _read_columns(self, batch: pa.RecordBatch) -> list[list[Any]]:
        return [read(batch.column(name)) for name, read in self._readers.items()]

    def encode(self, records: Iterable[dict[str, Any]]) -> pa.RecordBatch:
        """Return a batch of the records. Fields not in the schema are left out; absent ones are null.

        :raises StageError: (without a stage) when a value does not fit; the message names the field, the
            value and the expected type.
        """
        import pyarrow as pa

        rows = list(records)
        if not self._writers:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * len(rows), pa.struct([])))
        columns = [write(pick_members(rows, name)) for name, write in self._writers.items()]
        return pa.RecordBatch.from_arrays(columns, schema=self.arrow)
