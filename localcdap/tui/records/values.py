"""Records as Arrow tables, and their values and types as text for cells, dialogs and the clipboard."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import LocalcdapError
from localcdap.api.record_json import encode_json_record
from localcdap.api.schema import Schema
from localcdap.files.result_files import format_plain

if TYPE_CHECKING:
    import pyarrow as pa


NULL: Final = "∅"
"""The text of a null in a cell."""
EMPTY: Final = '""'
"""The text of an empty string in a cell."""
_LONGEST: Final = 200
"""The most characters of a value that a cell shows; the dialog of the value shows all."""


def format_cell(value: Any) -> str:
    """Return a value as one printable line: control characters escaped, long values cut with ``…``."""
    if value is None:
        return NULL
    if value == "" and isinstance(value, str):
        return EMPTY
    text = format_plain(value)
    cut = text[: _LONGEST + 1]
    if not cut.isprintable() or cut != cut.strip():
        cut = _escape_line(cut)
    return cut if len(cut) <= _LONGEST else cut[: _LONGEST - 1] + "…"


def format_full(value: Any) -> str:
    """Return a value with all its lines, and JSON indented."""
    plain = encode_json_record(value)
    if isinstance(plain, str):
        if plain[:1] in ("{", "["):
            try:
                return json.dumps(json.loads(plain), indent=2, ensure_ascii=False)
            except (ValueError, RecursionError):
                return plain
        return plain
    return json.dumps(plain, indent=2, ensure_ascii=False)


def _escape_line(text: str) -> str:
    """Escape control characters, and show blanks at both ends as ``·``."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    left = len(shown) - len(shown.lstrip(" "))
    right = len(shown) - len(shown.rstrip(" ")) if shown.strip(" ") else 0
    return "·" * left + shown[left : len(shown) - right] + "·" * right


def escape_unprintable(text: str) -> str:
    """Escape the control characters of a text of several lines.

    Unlike :func:`localcdap.text.sanitize_for_terminal` this removes nothing: a value is shown with every
    character that it has, colours and unusual blanks included.
    """
    if all(c.isprintable() or c == "\n" for c in text):
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)


def build_table(records: Sequence[Any], schema: Schema | None) -> pa.Table:
    """Build a table of JSON records.

    :param records: see :mod:`localcdap.api.record_json`. A record that is not an object becomes the column
        ``value``.
    :param schema: the schema of the records. Without a schema, or when the records do not match it, each
        column has the common type of its values, or is text.
    """
    import pyarrow as pa

    if schema is not None:
        from localcdap.api.arrow import RecordCodec
        from localcdap.api.record_json import decode_json_records

        try:
            batch = RecordCodec(schema).encode(decode_json_records(schema, records))
            return pa.Table.from_batches([batch])
        except (LocalcdapError, pa.ArrowException):
            pass  # such as a recursive record: the types are guessed
    rows = [each if isinstance(each, dict) else {"value": each} for each in records]
    names = dict.fromkeys(schema.field_names if schema is not None else ())
    for row in rows:
        names |= dict.fromkeys(map(str, row))
    columns = {name: _build_column([row.get(name) for row in rows]) for name in names}
    return pa.table(columns)


def _build_column(values: list[Any]) -> pa.Array:
    """Return the values with their common type, or as text when they have none."""
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int} or kinds <= {float, int} or kinds <= {str} or kinds <= {bool}:
        try:
            return pa.array(values)
        except (pa.ArrowException, UnicodeEncodeError, OverflowError):
            pass
    return pa.array([_to_text(value) for value in values], pa.string())


def _to_text(value: Any) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace").decode()


def format_arrow_type(type: pa.DataType) -> str:
    """Return the name that localcdap has for an Arrow type: ``long``, ``string``, ``timestamp`` …"""
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
        return f"array<{format_arrow_type(type.value_type)}>"
    if pt.is_map(type):
        return f"map<{format_arrow_type(type.key_type)}, {format_arrow_type(type.item_type)}>"
    if pt.is_struct(type):
        return "record"
    return text
