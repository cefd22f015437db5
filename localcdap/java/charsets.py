"""Character sets by the names that Java uses for them, decoded as Java does."""

from __future__ import annotations

import codecs
import re
from typing import Final

_IBM: Final = re.compile(r"ibm-?0*([0-9]+)")
_NO_CHARSETS: Final = frozenset(
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
"""Codecs of Python's that are none of Java's character sets; some of them give halves of characters."""
_MARKS: Final = {
    "utf-16": (codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE),
    "utf-32": (codecs.BOM_UTF32_BE, codecs.BOM_UTF32_LE),
}


def python_encoding(name: str) -> str | None:
    """Python's name of an encoding, or None when Python does not have it.

    >>> python_encoding("IBM01140"), python_encoding("UTF-8"), python_encoding("klingon")
    ('cp1140', 'utf-8', None)
    """
    wanted = name.strip().lower()
    ibm = _IBM.fullmatch(wanted)
    if ibm is not None:
        wanted = f"cp{ibm.group(1).zfill(3)}"
    try:
        found = codecs.lookup(wanted)
    except (LookupError, ValueError):  # of a name with a null character the latter
        return None
    # Python has compressions and the like among its encodings.
    is_charset = found.name not in _NO_CHARSETS and getattr(found, "_is_text_encoding", True)
    return found.name if is_charset else None


def decoded(data: bytes, encoding: str) -> str:
    """The text of bytes; what is malformed in them becomes U+FFFD.

    UTF-16 and UTF-32 are big-endian unless a mark at the beginning says otherwise.

    :param encoding: as :func:`python_encoding` gives it.
    """
    marks = _MARKS.get(encoding)
    if marks is not None and not data.startswith(marks):
        encoding += "-be"
    return data.decode(encoding, "replace")
