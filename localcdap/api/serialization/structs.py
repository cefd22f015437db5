"""Structs as MessagePack and JSON: how a :class:`Schema` is a member of a Struct.

JSON encoders and decoders take :func:`encode_schema` and :func:`decode_schema` as hooks: in JSON a schema is
an object. Between processes and in spools (:func:`pack`, :func:`unpack`) a schema is the text of its
document: the same few schemas are sent many times, and parsed schemas are cached by their text.
"""

from __future__ import annotations

import datetime
import decimal
import uuid
from functools import lru_cache
from typing import Any, Final

import msgspec

from localcdap.api.schema import Schema
from localcdap.decoders import decode_msgpack


def encode_schema(value: Any) -> Any:
    """Encode a schema as its document: the ``enc_hook`` of JSON."""
    if isinstance(value, Schema):
        return value.to_json()
    raise NotImplementedError(f"A {type(value).__name__} cannot be encoded.")


def decode_schema(type: Any, value: Any) -> Any:
    """Decode a schema from its document or the document's text: the ``dec_hook``."""
    if type is not Schema:
        raise NotImplementedError(f"A {type} cannot be decoded.")
    return _parse_schema(value) if isinstance(value, str) else Schema.parse(value)


def pack(value: Any) -> bytes:
    """Encode a value as MessagePack. An integer over 64 bits, which JSON may hold, becomes the nearest float.

    :raises TypeError: for a value that is not a Struct, plain value, container or schema.
    """
    try:
        return _ENCODER.encode(value)
    except OverflowError:
        return _ENCODER.encode(
            _limit_integers(
                msgspec.to_builtins(value, builtin_types=_KEPT_TYPES, enc_hook=_encode_schema_text)
            )
        )


def unpack(data: bytes | memoryview | msgspec.Raw, type: Any) -> Any:
    """Decode a value of the given type that :func:`pack` encoded.

    :raises msgspec.DecodeError: when the bytes are not MessagePack or hold another type.
    :raises SchemaError: when a schema is invalid.
    """
    try:
        return decode_msgpack(data, type, hook=decode_schema)
    except (
        UnicodeDecodeError,
        RecursionError,
    ) as error:  # msgspec raises these for malformed bytes
        raise msgspec.DecodeError(str(error)) from None


def _limit_integers(value: Any) -> Any:
    if isinstance(value, dict):
        return {_limit_integers(key): _limit_integers(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_limit_integers(each) for each in value]
    if type(value) is int and not -(2**63) <= value < 2**64:
        return float(str(value))
    return value


def _encode_schema_text(value: Any) -> Any:
    if isinstance(value, Schema):
        return _format_schema(value)
    raise NotImplementedError(f"A {type(value).__name__} cannot be encoded.")


_KEPT_TYPES: Final = (
    bytes,
    bytearray,
    datetime.datetime,
    datetime.date,
    datetime.time,
    decimal.Decimal,
    uuid.UUID,
)
_ENCODER: Final = msgspec.msgpack.Encoder(enc_hook=_encode_schema_text)
_format_schema: Final = lru_cache(maxsize=2048)(Schema.__str__)
_parse_schema: Final = lru_cache(maxsize=2048)(Schema.parse)
