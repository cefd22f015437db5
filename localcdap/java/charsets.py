"""Character sets by their names in Java, decoded as Java does.

Python has most of Java's character sets. Where it lacks one, or decodes a byte otherwise, a table of Java's
characters is registered as a codec of Python: in many of IBM's, byte 0x15 ends a line.
"""

from __future__ import annotations

import codecs
import functools
import re
from importlib import resources
from typing import Any, Final

import msgspec

from localcdap.decoders import decode_json

OFFERED: Final = (
    *("UTF-8", "UTF-32"),
    *(f"ISO-8859-{number}" for number in (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15)),
    *(f"Windows-{number}" for number in range(1250, 1259)),
    *(
        "IBM00858",
        *(f"IBM{number:05}" for number in range(1140, 1150)),
        "IBM037",
        "IBM1026",
        "IBM1047",
    ),
    *("IBM273", "IBM277", "IBM278", "IBM280", "IBM284", "IBM285", "IBM290", "IBM297", "IBM420"),
    *("IBM424", "IBM437", "IBM500", "IBM775", "IBM850", "IBM852", "IBM855", "IBM857", "IBM860"),
    *("IBM861", "IBM862", "IBM863", "IBM864", "IBM865", "IBM866", "IBM868", "IBM869", "IBM870"),
    *("IBM871", "IBM918"),
)
"""The character sets that CDAP's file sources offer (hydrator-plugins ``FixedLengthCharsetTest``); others of
Java with a byte for each character are valid, too."""
_PREFIX: Final = "java_"
"""Of the names of the codecs that are registered here."""
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


class _Charset(msgspec.Struct):
    """A character set of Java, with its codec in Python or the characters of its bytes."""

    name: str
    aliases: list[str]
    codec: str = ""
    table: str = ""

    def __post_init__(self) -> None:
        self.codec = self.codec or _PREFIX + re.sub(r"\W", "_", self.name.lower())


def find_encoding(name: str) -> str | None:
    """Return Python's name of an encoding; None when Java and Python do not have it.

    As in CDAP (``FixedLengthCharset.cleanFileEncodingName``), the first word is the name.

    >>> find_encoding("ISO-8859-11 (Latin/Thai)"), find_encoding("UTF-8"), find_encoding("klingon")
    ('java_x_iso_8859_11', 'utf-8', None)
    """
    wanted = name.strip().partition(" ")[0].lower()
    if wanted == "utf-8":
        return wanted
    charset = _load_charsets().get(wanted)
    if charset is not None:
        return charset.codec
    try:
        codec = codecs.lookup(wanted)
    except (LookupError, ValueError):  # ValueError: the name has a null character
        return None
    # Python has compressions and the like among its encodings.
    is_charset = codec.name not in _NOT_CHARSETS and getattr(codec, "_is_text_encoding", True)
    return codec.name if is_charset else None


def find_java_name(codec: str) -> str:
    """Return the name that Java, and so CDAP, has for a codec of Python; the codec's for a rare one.

    >>> find_java_name("iso8859-1"), find_java_name("java_ibm037"), find_java_name("cp1140")
    ('ISO-8859-1', 'IBM037', 'cp1140')
    """
    wanted = codec.lower()
    names = (charset.name for charset in _load_charsets().values() if charset.codec == wanted)
    return next(names, codec)


def decode(data: bytes, encoding: str) -> str:
    """Decode bytes; malformed ones become U+FFFD.

    UTF-16 and UTF-32 are big-endian unless the bytes begin with a byte order mark.

    :param encoding: what :func:`find_encoding` returns.
    """
    return data.decode(find_byte_order(data, encoding), "replace")


def find_byte_order(head: bytes, encoding: str) -> str:
    """Return the codec of an encoding for bytes that begin so; it differs for UTF-16 and UTF-32 only."""
    byte_order_marks = _BYTE_ORDER_MARKS.get(encoding)
    is_marked = byte_order_marks is None or head.startswith(byte_order_marks)
    return encoding if is_marked else f"{encoding}-be"


@functools.cache
def _load_charsets() -> dict[str, _Charset]:
    """Return the character sets by name and alias in lower case; a name comes before an alias."""
    text = resources.files("localcdap.java").joinpath("charsets.jsonl").read_text("utf-8")
    charsets = [decode_json(line, _Charset) for line in text.strip().split("\n")]
    aliases = {alias.lower(): each for each in charsets for alias in each.aliases}
    return aliases | {each.name.lower(): each for each in charsets}


def _find_codec(name: str) -> codecs.CodecInfo | None:
    """Return the codec of a table."""
    if not name.startswith(_PREFIX):
        return None
    charset = next((each for each in _load_charsets().values() if each.codec == name), None)
    if charset is None:
        return None
    table = charset.table.replace(
        "\ufffd", "\ufffe"
    )  # Python's sign for a byte without a character
    characters = codecs.charmap_build(table)

    def encode(text: str, errors: str = "strict") -> tuple[bytes, int]:
        return codecs.charmap_encode(text, errors, characters)

    def decode(data: Any, errors: str = "strict") -> tuple[str, int]:
        return codecs.charmap_decode(data, errors, table)

    class Decoder(codecs.IncrementalDecoder):
        def decode(self, data: Any, final: bool = False) -> str:
            return decode(data, self.errors)[0]

    return codecs.CodecInfo(encode, decode, name=name, incrementaldecoder=Decoder)


codecs.register(_find_codec)
