"""Entities as the texts that stand in their rows."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from localcdap.api import Schema
from localcdap.api.app import decode_json

_T = TypeVar("_T")


def encode(entity: Any) -> str:
    """Return the text of an entity."""
    return msgspec.json.encode(entity, enc_hook=_encode_schema).decode()


def decode(text: str, type: type[_T]) -> _T:
    """Return the entity of a text."""
    return decode_json(text, type=type, hook=_decode_schema)


def _encode_schema(value: Any) -> Any:
    if isinstance(value, Schema):
        return value.to_json()
    raise NotImplementedError(type(value))


def _decode_schema(type: Any, value: Any) -> Any:
    if type is Schema:
        return Schema.parse(value)
    raise NotImplementedError(type)
