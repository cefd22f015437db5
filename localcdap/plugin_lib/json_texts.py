"""Records as JSON texts, as plugins of CDAP write them (``StructuredRecordStringConverter``)."""

from __future__ import annotations

from typing import Any

import msgspec

from localcdap.api import Record
from localcdap.api.record_json import encode_json_record


def format_json(record: Record) -> str:
    """Return a record as JSON. Null is written as null.

    Bytes become arrays of numbers from -128 to 127, as in CDAP. Dates, times and decimals are texts (see
    :mod:`localcdap.api.record_json`), where CDAP writes numbers and bytes.
    """
    members = {name: _to_json_value(value) for name, value in record.items()}
    return msgspec.json.encode(members).decode()


def require_boolean(value: Any) -> bool:
    """Return a value of decoded JSON, or of a script, that must be a boolean.

    :raises TypeError: for every other value; a number or a text does not stand for a boolean.
    """
    if not isinstance(value, bool):
        raise TypeError(value)
    return value


def _to_json_value(value: Any) -> Any:
    if isinstance(value, bytes | bytearray | memoryview):
        return [byte - 256 if byte > 127 else byte for byte in bytes(value)]
    if isinstance(value, list | tuple):
        return [_to_json_value(each) for each in value]
    if isinstance(value, dict):
        keys = (key if isinstance(key, str) else str(encode_json_record(key)) for key in value)
        return dict(zip(keys, map(_to_json_value, value.values()), strict=True))
    return encode_json_record(value)
