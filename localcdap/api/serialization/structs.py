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


def encode_schema(value: Any) -> Any:
    """``enc_hook`` for JSON: a schema as its document."""
    if isinstance(value, Schema):
        return value.to_json()
    raise NotImplementedError(f"A {type(value).__name__} cannot be encoded.")


def decode_schema(type: Any, value: Any) -> Any:
    """``dec_hook``: a schema from its document, or the document's text."""
    if type is not Schema:
        raise NotImplementedError(f"A {type} cannot be decoded.")
    return _parsed(value) if isinstance(value, str) else Schema.parse(value)


def pack(value: Any) -> bytes:
    """The value as MessagePack. An integer beyond 64 bits, as JSON may hold it, becomes the nearest float.

    :raises TypeError: for a value that is no Struct, plain value, container or schema.
    """
    try:
        return _PACKER.encode(value)
    except OverflowError:
        return _PACKER.encode(
            _in_range(msgspec.to_builtins(value, builtin_types=_KEPT, enc_hook=_packed))
        )


def unpack(data: bytes | memoryview | msgspec.Raw, type: Any) -> Any:
    """The value of the given type that :func:`pack` encoded.

    :raises msgspec.DecodeError: when the bytes are not MessagePack or hold something else.
    :raises SchemaError: when a schema among them is none.
    """
    try:
        return _unpacker(type).decode(data)
    except (UnicodeDecodeError, RecursionError) as error:  # garbage, as msgspec puts it at times
        raise msgspec.DecodeError(str(error)) from None


def _in_range(value: Any) -> Any:
    if isinstance(value, dict):
        return {_in_range(key): _in_range(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_in_range(each) for each in value]
    if type(value) is int and not -(2**63) <= value < 2**64:
        return float(str(value))
    return value


def _packed(value: Any) -> Any:
    if isinstance(value, Schema):
        return _text(value)
    raise NotImplementedError(f"A {type(value).__name__} cannot be encoded.")


_KEPT: Final = (
    bytes,
    bytearray,
    datetime.datetime,
    datetime.date,
    datetime.time,
    decimal.Decimal,
    uuid.UUID,
)
_PACKER: Final = msgspec.msgpack.Encoder(enc_hook=_packed)
_text: Final = lru_cache(maxsize=2048)(Schema.__str__)
_parsed: Final = lru_cache(maxsize=2048)(Schema.parse)


@lru_cache(maxsize=1024)
def _unpacker(type: Any) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(type, dec_hook=decode_schema)
