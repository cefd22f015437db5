"""The JSONFormatter transform: formats a record as a JSON object."""

from __future__ import annotations

from typing import Any

import msgspec

from localcdap.api import PluginConfig, Record, Schema, Type, field, plugin
from localcdap.api.record_json import encode_json_record

from ..formatted_record import FormattedRecord


@plugin(name="JSONFormatter", description="Formats each record as a JSON object in one field.")
class JSONFormatter(FormattedRecord):
    """Null is written as null. Bytes become arrays of numbers from -128 to 127, as in CDAP.

    Dates, times and decimals are texts (see :mod:`localcdap.api.record_json`), where CDAP writes numbers and
    bytes.
    """

    class Config(PluginConfig):
        schema: Schema = field("The output schema: one field of type string or bytes for the JSON.")

    config: Config
    types_of_text = (Type.STRING, Type.BYTES)

    def format_record(self, record: Record) -> str:
        members = {name: _to_json_value(record[name]) for name in self._given}
        return msgspec.json.encode(members).decode()


def _to_json_value(value: Any) -> Any:
    if isinstance(value, bytes | bytearray | memoryview):
        return [byte - 256 if byte > 127 else byte for byte in bytes(value)]
    if isinstance(value, list | tuple):
        return [_to_json_value(each) for each in value]
    if isinstance(value, dict):
        keys = (key if isinstance(key, str) else str(encode_json_record(key)) for key in value)
        return dict(zip(keys, map(_to_json_value, value.values()), strict=True))
    return encode_json_record(value)
