"""Structs as MessagePack and JSON: the hooks that let a :class:`Schema` be a member of a Struct.

Every codec of localcdap is built with these hooks, so that a schema has one encoded form: its document.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import msgspec

from localcdap.api.schema import Schema


def plain(value: Any) -> Any:
    """``enc_hook``: a schema as its document."""
    if isinstance(value, Schema):
        return value.to_json()
    raise NotImplementedError(f"A {type(value).__name__} cannot be encoded.")


def revived(type: Any, value: Any) -> Any:
    """``dec_hook``: a schema from its document."""
    if type is Schema:
        return Schema.parse(value)
    raise NotImplementedError(f"A {type} cannot be decoded.")


_PACKER: Final = msgspec.msgpack.Encoder(enc_hook=plain)


def pack(value: Any) -> bytes:
    """The value as MessagePack.

    :raises TypeError: for a value that is no Struct, plain value, container or schema.
    """
    return _PACKER.encode(value)


def unpack(data: bytes | memoryview | msgspec.Raw, type: Any) -> Any:
    """The value of the given type that :func:`pack` encoded.

    :raises msgspec.DecodeError: when the bytes are not MessagePack or hold something else.
    :raises SchemaError: when a schema among them is none.
    """
    try:
        return _unpacker(type).decode(data)
    except (UnicodeDecodeError, RecursionError) as error:  # garbage, as msgspec puts it at times
        raise msgspec.DecodeError(str(error)) from None


@lru_cache(maxsize=1024)
def _unpacker(type: Any) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(type, dec_hook=revived)
