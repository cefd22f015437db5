"""Records whose values are all text, as the cells of a CSV file are, in the form that JSON has for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from localcdap.api.schema import LogicalType, Schema, Type

_NESTED: Final = (Type.ARRAY, Type.MAP, Type.RECORD, Type.UNION)
_NUMBERS: Final = (Type.INT, Type.LONG, Type.FLOAT, Type.DOUBLE)
_BOOLEANS: Final = {"true": True, "false": False}


def record_from_text(schema: Schema, values: Mapping[str, str]) -> dict[str, Any]:
    """A record for :func:`localcdap.api.record_json.records_from_json`, which tells what does not fit.

    Numbers and booleans are read; arrays, maps and records are written as JSON; all else is as JSON has it.
    An empty text is null, unless the field is a string that must not be null.
    """
    return {name: _value(schema, name, text) for name, text in values.items()}


def _value(schema: Schema, name: str, text: str) -> Any:
    field = schema.field(name)
    if field is None:
        return text
    inner = field.schema.non_nullable
    is_text = inner.type is Type.STRING
    if not text and (field.schema.is_nullable or not is_text):
        return None
    if inner.type is Type.BOOLEAN:
        return _BOOLEANS.get(text.lower(), text)
    has_json = inner.type in _NESTED or inner.type in _NUMBERS
    if has_json and not isinstance(inner.logical_type, LogicalType):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text
