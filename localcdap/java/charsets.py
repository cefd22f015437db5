"""Character sets by their names in Java, decoded as Java does."""

from __future__ import annotations

import codecs
import re
from typing import Final

_IBM: Final = re.compile(r"ibm-?0*([0-9]+)")
_NOT_CHARSETS: Final = frozenset(
    (
        "charmap",
        "idna",
        "punycode",
        "raw-unicode-escape",
        "undefined",
        "unicode-escape",
        "utf-7",
        "utf-8-sig",
    )
)
"""Codecs of Python that are not character sets of Java; some of them give halves of characters."""
_BYTE_ORDER_MARKS: Final = {
    "utf-16": (codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE),
    "utf-32": (codecs.BOM_UTF32_BE, codecs.BOM_UTF32_LE),
}


def find_encoding(name: str) -> str | None:
    """Return Python's name of an encoding; None when Python does not have it.

    >>> find_encoding("IBM01140"), find_encoding("UTF-8"), find_encoding("klingon")
    ('cp1140', 'utf-8', None)
    """
    wanted = name.strip().lower()
    ibm = _IBM.fullmatch(wanted)
    if ibm is not None:
        wanted = f"cp{ibm.group(1).zfill(3)}"
    try:
        found = codecs.lookup(wanted)
    except (LookupError, ValueError):  # ValueError: the name has a null character
        return None
    # Python has compressions and the like among its encodings.
    is_charset = found.name not in _NOT_CHARSETS and getattr(found, "_is_text_encoding", True)
    return found.name if is_charset else None


def decode(data: bytes, encoding: str) -> str:
    """Decode bytes; malformed ones become U+FFFD.

    UTF-16 and UTF-32 are big-endian unless the bytes begin with a byte order mark.

    :param encoding: what :func:`find_encoding` returns.
    """
    byte_order_marks = _BYTE_ORDER_MARKS.get(encoding)
    if byte_order_marks is not None and not data.startswith(byte_order_marks):
        encoding += "-be"
    return data.decode(encoding, "replace")
