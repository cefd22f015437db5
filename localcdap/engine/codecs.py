"""Structs as JSON in the files of a run, schemas as schema documents."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from localcdap.api.schema import Schema

_Struct = TypeVar("_Struct")


def encode(value: Any) -> bytes:
    """A Struct as one line of JSON."""
    return msgspec.json.encode(value, enc_hook=to_plain)


def decode(data: bytes, type: type[_Struct]) -> _Struct:
    """The Struct that was encoded.

    :raises msgspec.DecodeError: when it is not one.
    """
    return msgspec.json.decode(data, type=type, dec_hook=from_plain)


def to_plain(value: Any) -> Any:
    """What stands for a value that msgspec does not know: a schema's document."""
    if isinstance(value, Schema):
        return value.to_json()
    raise NotImplementedError(f"{type(value).__name__} cannot be written")


def from_plain(type: type[Any], value: Any) -> Any:
    """The inverse of :func:`to_plain`."""
    if type is Schema:
        return Schema.parse(value)
    raise NotImplementedError(f"{type.__name__} cannot be read")
