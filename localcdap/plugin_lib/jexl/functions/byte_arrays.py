"""``bytes:``: CDAP's ``Bytes``; numbers are big-endian."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

import struct
from typing import Any

from localcdap.java.numbers import wrap
from localcdap.plugin_lib.jexl.functions.registry import FunctionNamespace

bytes_ = FunctionNamespace("bytes")

_Bytes = bytes | None


def _require_not_null(value: _Bytes) -> bytes:
    if value is None:
        raise ValueError("the bytes are null")
    return value


def _read(value: _Bytes, layout: str, offset: int = 0) -> Any:
    try:
        return struct.unpack_from(layout, _require_not_null(value), offset)[0]
    except struct.error:
        size = struct.calcsize(layout)
        raise ValueError(
            f"{size} bytes are needed, there are {len(_require_not_null(value)) - offset}"
        ) from None


@bytes_("Y -> S")
def toString(value: _Bytes) -> str | None:
    return None if value is None else value.decode("utf-8", "replace")


@bytes_("Y I I -> S", "toString")
def to_string_part(value: _Bytes, offset: int, length: int) -> str | None:
    return None if value is None else value[offset : offset + length].decode("utf-8", "replace")


@bytes_("Y -> S")
def toStringBinary(value: _Bytes) -> str:
    shown = [chr(b) if 32 <= b < 127 and b != 92 else f"\\x{b:02X}" for b in value or b""]
    return "null" if value is None else "".join(shown)


@bytes_("S -> Y!")
def toBytesBinary(text: str | None) -> bytes:
    out = bytearray()
    at = 0
    source = text or ""
    while at < len(source):
        code = source[at + 2 : at + 4] if source.startswith("\\x", at) else ""
        if len(code) == 2 and all(c in "0123456789abcdefABCDEF" for c in code):
            out.append(int(code, 16))
            at += 4
        else:
            out.append(ord(source[at]) & 0xFF)
            at += 1
    return bytes(out)


@bytes_("Y -> S!")
def toHexString(value: _Bytes) -> str:
    return _require_not_null(value).hex()


@bytes_("S -> Y!")
def fromHexString(text: str | None) -> bytes:
    return bytes.fromhex(text or "")


@bytes_("Y -> I")
def toInt(value: _Bytes) -> int:
    return int(_read(value, ">i"))


@bytes_("Y I -> I", "toInt")
def to_int_at(value: _Bytes, offset: int) -> int:
    return int(_read(value, ">i", offset))


@bytes_("Y -> L")
def toLong(value: _Bytes) -> int:
    return int(_read(value, ">q"))


@bytes_("Y I -> L", "toLong")
def to_long_at(value: _Bytes, offset: int) -> int:
    return int(_read(value, ">q", offset))


@bytes_("Y -> I")
def toShort(value: _Bytes) -> int:
    return int(_read(value, ">h"))


@bytes_("Y -> D")
def toDouble(value: _Bytes) -> float:
    return float(_read(value, ">d"))


@bytes_("Y -> F")
def toFloat(value: _Bytes) -> float:
    from localcdap.java.strings import round_to_float

    return round_to_float(_read(value, ">f"))


@bytes_("Y -> B")
def toBoolean(value: _Bytes) -> bool:
    if len(_require_not_null(value)) != 1:
        raise ValueError("a boolean is one byte")
    return value != b"\0"


@bytes_("S -> Y!", "toBytes")
def text_to_bytes(value: str | None) -> bytes:
    if value is None:
        raise ValueError("the text is null")
    return value.encode("utf-8", "replace")


@bytes_("B -> Y!", "toBytes")
def boolean_to_bytes(value: bool) -> bytes:
    return b"\xff" if value else b"\0"


@bytes_("I -> Y!", "toBytes")
def int_to_bytes(value: int) -> bytes:
    return struct.pack(">i", value)


@bytes_("L -> Y!", "toBytes")
def long_to_bytes(value: int) -> bytes:
    return struct.pack(">q", value)


@bytes_("D -> Y!", "toBytes")
def double_to_bytes(value: float) -> bytes:
    return struct.pack(">d", value)


@bytes_("Y Y -> Y!", "add", "concat")
def add(first: _Bytes, second: _Bytes) -> bytes:
    return _require_not_null(first) + _require_not_null(second)


@bytes_("Y Y -> B")
def equals(first: _Bytes, second: _Bytes) -> bool:
    return first == second


@bytes_("Y Y -> I")
def compareTo(first: _Bytes, second: _Bytes) -> int:
    one, two = _require_not_null(first), _require_not_null(second)
    differing = next((a - b for a, b in zip(one, two, strict=False) if a != b), None)
    return len(one) - len(two) if differing is None else differing


@bytes_("Y Y -> B")
def startsWith(value: _Bytes, prefix: _Bytes) -> bool:
    return value is not None and prefix is not None and value.startswith(prefix)


@bytes_("Y I -> Y")
def head(value: _Bytes, length: int) -> _Bytes:
    return _require_not_null(value)[:length] if len(_require_not_null(value)) >= length else None


@bytes_("Y I -> Y")
def tail(value: _Bytes, length: int) -> _Bytes:
    given = _require_not_null(value)
    return given[len(given) - length :] if len(given) >= length else None


@bytes_("Y I -> Y!")
def padHead(value: _Bytes, length: int) -> bytes:
    return bytes(min(length, 10_000_000)) + _require_not_null(value)


@bytes_("Y I -> Y!")
def padTail(value: _Bytes, length: int) -> bytes:
    return _require_not_null(value) + bytes(min(length, 10_000_000))


@bytes_("Y -> I")
def hashCode(value: _Bytes) -> int:
    result = 1
    for byte in _require_not_null(value):
        result = wrap(31 * result + wrap(byte, 8), 32)
    return result
