"""Conversion of text to declared types (CDAP ``StructuredRecord.Builder.convertAndSet``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from localcdap.api.schema import Schema, Type

Convert = Callable[[str], Any]

INT_RANGE: Final = (-(2**31), 2**31 - 1)
LONG_RANGE: Final = (-(2**63), 2**63 - 1)


def find_text_converter(schema: Schema) -> Convert | None:
    """Return the function that converts a text to the type; None for types that texts cannot have.

    Numbers may have blanks around them. A boolean is true for ``true`` in any case, else false.
    The function raises ValueError if the text is not a value of the type.
    """
    inner = schema.non_nullable
    return None if inner.logical_type is not None else _CONVERTERS.get(inner.type)


def _to_int(text: str) -> int:
    return _to_integer(text, INT_RANGE)


def _to_long(text: str) -> int:
    return _to_integer(text, LONG_RANGE)


def _to_integer(text: str, limits: tuple[int, int]) -> int:
    # int() alone accepts underscores, which Java does not.
    if "_" in text:
        raise ValueError(text)
    value = int(text)
    if not limits[0] <= value <= limits[1]:
        raise ValueError(text)
    return value


def _parse_double(text: str) -> float:
    if "_" in text:
        raise ValueError(text)
    return float(text)


def _parse_boolean(text: str) -> bool:
    return text.lower() == "true"


_CONVERTERS: Final[dict[Type, Convert]] = {
    Type.STRING: str,
    Type.BOOLEAN: _parse_boolean,
    Type.INT: _to_int,
    Type.LONG: _to_long,
    Type.FLOAT: _parse_double,
    Type.DOUBLE: _parse_double,
    Type.BYTES: str.encode,
}
