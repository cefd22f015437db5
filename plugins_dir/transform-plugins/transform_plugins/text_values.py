"""From text to the value of a declared type (CDAP ``StructuredRecord.Builder.convertAndSet``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from localcdap.api.schema import Schema, Type

Convert = Callable[[str], Any]

INT_RANGE: Final = (-(2**31), 2**31 - 1)
LONG_RANGE: Final = (-(2**63), 2**63 - 1)


def text_converter(schema: Schema) -> Convert | None:
    """What turns a text into a value of the type, null allowed or not; None for types without one.

    Numbers may have blanks around them. A boolean is true for ``true`` in any case, else false.
    A converter raises ValueError when the text is no value of the type.
    """
    inner = schema.non_nullable
    return None if inner.logical_type is not None else _CONVERTERS.get(inner.type)


def _int(text: str) -> int:
    return _whole(text, INT_RANGE)


def _long(text: str) -> int:
    return _whole(text, LONG_RANGE)


def _whole(text: str, limits: tuple[int, int]) -> int:
    # int() alone accepts underscores, which Java does not.
    if "_" in text:
        raise ValueError(text)
    value = int(text)
    if not limits[0] <= value <= limits[1]:
        raise ValueError(text)
    return value


def _double(text: str) -> float:
    if "_" in text:
        raise ValueError(text)
    return float(text)


def _boolean(text: str) -> bool:
    return text.lower() == "true"


_CONVERTERS: Final[dict[Type, Convert]] = {
    Type.STRING: str,
    Type.BOOLEAN: _boolean,
    Type.INT: _int,
    Type.LONG: _long,
    Type.FLOAT: _double,
    Type.DOUBLE: _double,
    Type.BYTES: str.encode,
}
