"""Records of previews, trials and queries as Arrow tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from localcdap.api.errors import LocalcdapError
from localcdap.api.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa


def table_of(records: Sequence[Any], schema: Schema | None) -> pa.Table:
    """JSON records as a table.

    :param records: see :mod:`localcdap.api.record_json`; one that is no object stands in a column ``value``.
    :param schema: of the records. Without one, or when they do not fit it, each column has the type that its
        values have in common, or is text.
    """
    import pyarrow as pa

    if schema is not None:
        from localcdap.api.arrow import RecordCodec
        from localcdap.api.record_json import records_from_json

        try:
            batch = RecordCodec(schema).encode(records_from_json(schema, records))
            return pa.Table.from_batches([batch])
        except (LocalcdapError, pa.ArrowException):
            pass  # such as a recursive record: shown as it came
    rows = [each if isinstance(each, dict) else {"value": each} for each in records]
    names = dict.fromkeys(schema.field_names if schema is not None else ())
    for row in rows:
        names |= dict.fromkeys(map(str, row))
    columns = {name: _column([row.get(name) for row in rows]) for name in names}
    return pa.table(columns)


def _column(values: list[Any]) -> pa.Array:
    """The values with the one type that they have, else as text."""
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int} or kinds <= {float, int} or kinds <= {str} or kinds <= {bool}:
        try:
            return pa.array(values)
        except (pa.ArrowException, UnicodeEncodeError, OverflowError):
            pass
    return pa.array([_text(value) for value in values], pa.string())


def _text(value: Any) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace").decode()


def type_name(type: pa.DataType) -> str:
    """An Arrow type as localcdap names it: ``long``, ``string``, ``timestamp`` …"""
    import pyarrow.types as pt

    simple = {
        "bool": "boolean",
        "int32": "int",
        "int64": "long",
        "float": "float",
        "double": "double",
        "string": "string",
        "large_string": "string",
        "string_view": "string",
        "binary": "bytes",
        "large_binary": "bytes",
        "date32[day]": "date",
        "null": "null",
    }
    text = str(type)
    if text in simple:
        return simple[text]
    if pt.is_time(type):
        return "time"
    if pt.is_timestamp(type):
        return "timestamp" if type.tz else "datetime"
    if pt.is_decimal(type):
        return f"decimal({type.precision}, {type.scale})"
    if pt.is_list(type) or pt.is_large_list(type):
        return f"array<{type_name(type.value_type)}>"
    if pt.is_map(type):
        return f"map<{type_name(type.key_type)}, {type_name(type.item_type)}>"
    if pt.is_struct(type):
        return "record"
    return text
