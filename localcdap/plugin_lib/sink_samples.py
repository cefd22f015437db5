"""What sinks may say about the records of a preview without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from localcdap.api import Schema, Type

if TYPE_CHECKING:
    import pyarrow as pa

_SIMPLE: Final = frozenset(
    (Schema.STRING, Schema.BOOLEAN, Schema.INT, Schema.LONG, Schema.FLOAT, Schema.DOUBLE)
)
"""Types whose values Spark writes in every format without a check."""


def are_certain(batch: pa.RecordBatch, given: Schema, written: Schema) -> bool:
    """Return whether records can be written as fields of a schema without a conversion or an error.

    :param given: the schema of the records.
    :param written: a part of their fields, which must not be null unless it allows that.
    """
    names = batch.schema.names
    for field in written:
        found = given.field(field.name)
        inner = field.schema.non_nullable
        if found is None or found.schema.non_nullable != inner or field.name not in names:
            return False
        if field.schema.type is Type.NULL or inner not in _SIMPLE:
            return False
        if not field.schema.is_nullable and batch.column(field.name).null_count:
            return False
    return True
