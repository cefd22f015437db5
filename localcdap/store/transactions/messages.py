"""Operations and rows in messages between processes: values that a message cannot hold become JSON values."""

from __future__ import annotations

from typing import Any

from localcdap.api.record_json import decode_json_records, encode_json_record
from localcdap.api.schema import Schema
from localcdap.store.transactions.dataset_table import DatasetTable
from localcdap.store.transactions.operations import Operation, Rows
from localcdap.store.transactions.table import OpenedTable

_FIELD = "value"


def encode_operation(table: OpenedTable, operation: Operation) -> Operation:
    """Return an operation for a message."""
    if table.codec is None:
        return operation
    return operation.convert(table, lambda _, value: encode_json_record(value))


def decode_operation(table: OpenedTable, operation: Operation) -> Operation:
    """Return the operation of a message.

    :raises BadRequestError: when a value does not fit its column.
    """
    if not isinstance(table, DatasetTable) or table.codec is None:
        return operation
    schemas = {each.name: _to_record(each.schema) for each in table.schema}

    def decode(column: str, value: Any) -> Any:
        schema = schemas.get(column)
        if schema is None:
            return value  # the check of the operation rejects the column
        return decode_json_records(schema, [{_FIELD: value}])[0][_FIELD]

    return operation.convert(table, decode)


def encode_rows(table: OpenedTable, rows: Rows) -> Rows:
    """Return rows for a message."""
    if table.codec is None:
        return rows
    return Rows(rows.columns, [encode_json_record(list(values)) for values in rows.values])


def decode_rows(table: OpenedTable, rows: Rows) -> Rows:
    """Return the rows of a message."""
    if not isinstance(table, DatasetTable) or table.codec is None:
        return rows
    names = rows.columns
    fields = [(each.name, each.schema) for each in table.schema if each.name in names]
    encoded = (dict(zip(names, values, strict=True)) for values in rows.values)
    records = decode_json_records(Schema.record("rows", fields), encoded)
    return Rows(names, [tuple(row.values()) for row in records])


def _to_record(schema: Schema) -> Schema:
    return Schema.record("column", [(_FIELD, schema.as_nullable)])
