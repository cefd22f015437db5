"""The types of the fields of structured tables, and which Python values are of them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

_LARGEST_FLOAT: Final = 3.4028234663852886e38


class FieldType(StrEnum):
    """What a field holds; any field that is not part of the primary key may also be None."""

    INTEGER = "INTEGER"
    """``int`` of 32 bits."""
    LONG = "LONG"
    """``int`` of 64 bits."""
    FLOAT = "FLOAT"
    """``float`` of 32 bits: it is rounded to them when it is written."""
    DOUBLE = "DOUBLE"
    """``float``."""
    STRING = "STRING"
    """``str``; strings compare by code points, which is also the order of their UTF-8 bytes."""
    BYTES = "BYTES"
    """``bytes``."""
    BOOLEAN = "BOOLEAN"
    """``bool``, which is no ``int`` here."""

    @classmethod
    def of(cls, value: Any) -> FieldType | None:
        """The narrowest type of a value; None when no field can hold it.

        An ``int`` is never a float: 3 is refused where 3.0 is wanted, as the original does.
        """
        match value:
            case bool():
                return cls.BOOLEAN
            case int():
                if -(2**31) <= value < 2**31:
                    return cls.INTEGER
                return cls.LONG if -(2**63) <= value < 2**63 else None
            case float():
                fits = not _LARGEST_FLOAT < abs(value) < float("inf")
                return cls.FLOAT if fits else cls.DOUBLE
            case str():
                return cls.STRING if _is_unicode(value) else None
            case bytes():
                return cls.BYTES
            case _:
                return None

    def accepts(self, actual: FieldType | None) -> bool:
        """Whether a field of this type can hold every value of another: LONG of INTEGER, DOUBLE of FLOAT.

        CDAP ``FieldType.Type.isCompatible``.
        """
        return actual is self or (self, actual) in _WIDENINGS


_WIDENINGS: Final = {
    (FieldType.LONG, FieldType.INTEGER),
    (FieldType.DOUBLE, FieldType.FLOAT),
}
KEY_TYPES: Final = (FieldType.INTEGER, FieldType.LONG, FieldType.STRING)
"""Types of fields that a primary key may consist of."""
INDEX_TYPES: Final = (*KEY_TYPES, FieldType.BOOLEAN)
"""Types of fields that may be an index."""


def _is_unicode(text: str) -> bool:
    """Whether UTF-8 can hold the text; half of a surrogate pair it cannot."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
