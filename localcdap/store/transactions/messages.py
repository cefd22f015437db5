"""Operations and rows in messages between processes: values that a message cannot hold become JSON values."""

from __future__ import annotations

from typing import Any

from localcdap.api.record_json import decode_json_records, encode_json_record
from localcdap.api.schema import Schema
from localcdap.store.transactions.dataset_table import TableInfo
from localcdap.store.transactions.operations import Rows
from localcdap.store.transactions.row_operations import KEY, RowOperation

_FIELD = "value"


def encode_operation(table: TableInfo, operation: RowOperation) -> RowOperation:
    """Return an operation for a message."""
    if table.is_plain:
        return operation
    return operation.convert(lambda _, value: encode_json_record(value))


def decode_operation(table: TableInfo, operation: RowOperation) -> RowOperation:
    """Return the operation of a message.

    :raises BadRequestError: when a value does not fit its column.
    """
    if table.is_plain:
        return operation
    schemas = {each.name: _to_record(each.schema) for each in table.schema}
    if table.key is not None:
        schemas[KEY] = schemas[table.key]

    def decode(column: str, value: Any) -> Any:
        schema = schemas.get(column)
        if schema is None:
            return value  # the check of the operation rejects the column
        return decode_json_records(schema, [{_FIELD: value}])[0][_FIELD]

    return operation.convert(decode)


def encode_rows(table: TableInfo, rows: Rows) -> Rows:
    """Return rows for a message."""
    if table.is_plain:
        return rows
    return Rows(rows.columns, [encode_json_record(list(values)) for values in rows.values])


def decode_rows(table: TableInfo, rows: Rows) -> Rows:
    """Return the rows of a message."""
    if table.is_plain:
        return rows
    found = decode_json_records(table.schema, map(table.to_record, rows.values))
    return Rows(rows.columns, [tuple(row.values()) for row in found])


def _to_record(schema: Schema) -> Schema:
    return Schema.record("column", [(_FIELD, schema.as_nullable)])
