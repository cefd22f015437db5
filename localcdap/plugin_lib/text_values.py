"""Texts as values of simple types: CDAP ``StructuredRecord.Builder.convertAndSet``.

The stages Projection, CSVParser, XMLParser, XMLMultiParser and DateTransform and the source Excel convert by
this rule. The texts of delimited files have another one, see :mod:`localcdap.plugin_lib.spark.conversion`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

from localcdap.api.schema import Schema, Type
from localcdap.java.numbers import parse_double, parse_float, parse_int, parse_long
from localcdap.java.strings import round_to_float

Convert = Callable[[str], Any]
_HEX_DIGITS: Final = frozenset("0123456789ABCDEF")


def find_text_converter(schema: Schema) -> Convert | None:
    """Return the function that converts a text to the type; None for types that texts cannot have.

    Only numbers with fractions may have blanks around them. A boolean is true for ``true`` in any case, else
    false. Bytes are read by :func:`to_bytes_binary`. The function raises ValueError if the text is not a
    value of the type.
    """
    inner = schema.non_nullable
    return None if inner.logical_type is not None else _CONVERTERS.get(inner.type)


def to_bytes_binary(text: str) -> bytes:
    r"""Return the bytes of a text by CDAP ``Bytes.toBytesBinary``: of each UTF-16 unit the low byte, and for
    ``\xHH`` the byte with these two upper-case digits.

    Of ``\x`` before other characters only the backslash is left out; other backslashes are kept.

    :raises ValueError: when the text ends within an escape.
    """
    if not text.isascii():
        units = text.encode("utf-16-be", "surrogatepass")
        text = "".join(map(chr, struct.unpack(f">{len(units) // 2}H", units)))
    out = bytearray()
    at = 0
    while at < len(text):
        if text[at] != "\\":
            out.append(ord(text[at]) & 0xFF)
        elif at + 1 == len(text) or (text[at + 1] == "x" and at + 3 >= len(text)):
            raise ValueError("the text ends within an escape")
        elif text[at + 1] != "x":
            out += b"\\"
        elif set(text[at + 2 : at + 4]) <= _HEX_DIGITS:
            out.append(int(text[at + 2 : at + 4], 16))
            at += 3
        at += 1
    return bytes(out)


def find_float_shortener(schema: Schema) -> Callable[[Any], Any] | None:
    """Return a function that gives values the texts that Java gives them: it replaces each 32-bit float, also
    within a value, by the double with the float's text, which is 0.1 and not 0.10000000149011612.

    :returns: None for a schema without floats, except within unions.
    """
    inner = schema.non_nullable
    match inner.type:
        case Type.FLOAT:
            return _shorten
        case Type.ARRAY | Type.MAP:
            part = find_float_shortener(inner.items or inner.values or Schema.NULL)
            if part is None:
                return None
            if inner.type is Type.ARRAY:
                return lambda value: None if value is None else list(map(part, value))
            return lambda value: value and {key: part(each) for key, each in value.items()}
        case Type.RECORD:
            found = ((field.name, find_float_shortener(field.schema)) for field in inner)
            parts = [(name, part) for name, part in found if part is not None]
            if not parts:
                return None
            return lambda value: (
                value
                and {**value, **{name: part(value[name]) for name, part in parts if name in value}}
            )
    return None


def _shorten(value: float | None) -> float | None:
    return None if value is None else round_to_float(value)


def _parse_boolean(text: str) -> bool:
    return text.lower() == "true"


_CONVERTERS: Final[dict[Type, Convert]] = {
    Type.STRING: str,
    Type.BOOLEAN: _parse_boolean,
    Type.INT: parse_int,
    Type.LONG: parse_long,
    Type.FLOAT: parse_float,
    Type.DOUBLE: parse_double,
    Type.BYTES: to_bytes_binary,
}
