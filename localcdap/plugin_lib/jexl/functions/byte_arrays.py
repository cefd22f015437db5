"""``bytes:``: CDAP's ``Bytes``; numbers are big-endian."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

import re
import struct
from decimal import Decimal
from typing import Any

from localcdap.java.big_decimal import EXACT, scale_of
from localcdap.java.numbers import wrap
from localcdap.plugin_lib.jexl.functions.registry import FunctionNamespace
from localcdap.plugin_lib.text_values import to_bytes_binary

bytes_ = FunctionNamespace("bytes")

_MOST_ZEROS = 10_000_000
_Bytes = bytes | None


def _require_not_null(value: _Bytes) -> bytes:
    if value is None:
        raise ValueError("the bytes are null")
    return value


def _read(value: _Bytes, layout: str, offset: int = 0) -> Any:
    if offset < 0:
        raise ValueError(f"bytes have no place {offset}")
    try:
        return struct.unpack_from(layout, _require_not_null(value), offset)[0]
    except struct.error:
        size = struct.calcsize(layout)
        raise ValueError(
            f"{size} bytes are needed, there are {len(_require_not_null(value)) - offset}"
        ) from None


def _get_part(value: _Bytes, offset: int, length: int) -> bytes:
    given = _require_not_null(value)
    if offset < 0 or length < 0 or offset + length > len(given):
        raise ValueError(f"{len(given)} bytes have no part of {length} from {offset}")
    return given[offset : offset + length]


@bytes_("Y -> S")
def toString(value: _Bytes) -> str | None:
    return None if value is None else value.decode("utf-8", "replace")


@bytes_("Y I I -> S", "toString")
def to_string_part(value: _Bytes, offset: int, length: int) -> str | None:
    if value is None or length == 0:
        return None if value is None else ""
    return _get_part(value, offset, length).decode("utf-8", "replace")


@bytes_("Y S Y -> S!", "toString")
def join_texts(first: _Bytes, separator: str | None, second: _Bytes) -> str:
    """Return two texts with a separator between them, which is ``null`` for null as in Java."""
    parts = (_require_not_null(value).decode("utf-8", "replace") for value in (first, second))
    return ("null" if separator is None else separator).join(parts)


@bytes_("Y -> S")
def toStringBinary(value: _Bytes) -> str:
    """Return ASCII as it is, also a backslash, and the other bytes as a backslash, x and two digits."""
    shown = [chr(byte) if 32 <= byte < 127 else f"\\x{byte:02X}" for byte in value or b""]
    return "null" if value is None else "".join(shown)


@bytes_("Y I I -> S!", "toStringBinary")
def show_part(value: _Bytes, offset: int, length: int) -> str:
    return toStringBinary(_get_part(value, offset, length))


@bytes_("S -> Y!")
def toBytesBinary(text: str | None) -> bytes:
    if text is None:
        raise ValueError("the text is null")
    return to_bytes_binary(text)


@bytes_("Y -> S!")
def toHexString(value: _Bytes) -> str:
    return _require_not_null(value).hex()


@bytes_("S -> Y!")
def fromHexString(text: str | None) -> bytes:
    """Fail for other characters than digits, for which the original has numbers without a meaning."""
    if text is None or re.search(r"\s", text):
        raise ValueError("the text has other characters than hexadecimal digits, or is null")
    return bytes.fromhex(text)


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


@bytes_("M -> Y!", "toBytes")
def decimal_to_bytes(value: Decimal | None) -> bytes:
    if value is None:
        raise ValueError("the decimal is null")
    unscaled = int(value.scaleb(scale_of(value), EXACT))
    length = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    return struct.pack(">i", scale_of(value)) + unscaled.to_bytes(length, "big", signed=True)


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


@bytes_("Y Y -> Y!")
def add(first: _Bytes, second: _Bytes) -> bytes:
    return concat(first, second)


@bytes_("Y Y Y -> Y!", "add")
def add_three(first: _Bytes, second: _Bytes, third: _Bytes) -> bytes:
    return concat(first, second, third)


@bytes_("Y* -> Y!")
def concat(*values: _Bytes) -> bytes:
    return b"".join(map(_require_not_null, values))


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
    given = _require_not_null(value)
    return _get_part(given, 0, length) if len(given) >= length else None


@bytes_("Y I -> Y")
def tail(value: _Bytes, length: int) -> _Bytes:
    given = _require_not_null(value)
    return _get_part(given, len(given) - length, length) if len(given) >= length else None


@bytes_("Y I -> Y!")
def padHead(value: _Bytes, length: int) -> bytes:
    return _make_zeros(length) + _require_not_null(value)


@bytes_("Y I -> Y!")
def padTail(value: _Bytes, length: int) -> bytes:
    return _require_not_null(value) + _make_zeros(length)


def _make_zeros(count: int) -> bytes:
    if not 0 <= count <= _MOST_ZEROS:
        raise ValueError(f"{count} bytes are less than 0, or more than {_MOST_ZEROS:,}")
    return bytes(count)


@bytes_("Y -> I")
def hashCode(value: _Bytes) -> int:
    result = 1
    for byte in _require_not_null(value):
        result = wrap(31 * result + wrap(byte, 8), 32)
    return result


@bytes_("Y I -> I", "hashCode", "hashBytes", "mapKey")
def hash_first(value: _Bytes, length: int) -> int:
    return hashCode(_get_part(value, 0, length))


@bytes_("Y I I -> I", "hashCode", "hashBytes")
def hash_part(value: _Bytes, offset: int, length: int) -> int:
    return hashCode(_get_part(value, offset, length))


bytes_("Y -> I", "mapKey")(hashCode)


@bytes_("Y I -> I", "toShort")
def to_short_at(value: _Bytes, offset: int) -> int:
    return int(_read(value, ">h", offset))


@bytes_("Y I -> D", "toDouble")
def to_double_at(value: _Bytes, offset: int) -> float:
    return float(_read(value, ">d", offset))


@bytes_("Y I -> F", "toFloat")
def to_float_at(value: _Bytes, offset: int) -> float:
    return toFloat(_get_part(value, offset, 4))


def _read_exactly(layout: str) -> Any:
    size = struct.calcsize(layout)

    def read(value: _Bytes, offset: int, length: int) -> int:
        if length != size:
            raise ValueError(f"Wrong length: {length}, expected {size}")
        return int(struct.unpack(layout, _get_part(value, offset, length))[0])

    return read


bytes_("Y I I -> I", "toInt")(_read_exactly(">i"))
bytes_("Y I I -> L", "toLong")(_read_exactly(">q"))
bytes_("Y I I -> I", "toShort")(_read_exactly(">h"))


@bytes_("Y -> M")
def toBigDecimal(value: _Bytes) -> Decimal | None:
    """Return the decimal of 4 bytes of scale and the bytes of its digits; null for less than 5 bytes."""
    if value is None or len(value) < 5:
        return None
    scale = int(_read(value, ">i"))
    if abs(scale) > EXACT.prec:
        raise ValueError(f"a scale of {scale} is more than {EXACT.prec} digits")
    return Decimal(int.from_bytes(value[4:], "big", signed=True)).scaleb(-scale, EXACT)


@bytes_("Y I I -> M", "toBigDecimal")
def part_to_decimal(value: _Bytes, offset: int, length: int) -> Decimal | None:
    if value is None or length < 5 or offset + length > len(value):
        return None
    return toBigDecimal(_get_part(value, offset, length))


@bytes_("Y I I Y I I -> I", "compareTo")
def compare_parts(
    first: _Bytes, start: int, length: int, second: _Bytes, other_start: int, other_length: int
) -> int:
    return compareTo(_get_part(first, start, length), _get_part(second, other_start, other_length))


@bytes_("Y I I Y I I -> B", "equals")
def parts_are_equal(
    first: _Bytes, start: int, length: int, second: _Bytes, other_start: int, other_length: int
) -> bool:
    return _get_part(first, start, length) == _get_part(second, other_start, other_length)


@bytes_("Y L -> Y!")
def incrementBytes(value: _Bytes, amount: int) -> bytes:
    """Add to the number in at most 8 bytes; the result has 8."""
    given = _require_not_null(value)
    if not 1 <= len(given) <= 8:
        raise ValueError(f"Increment Bytes - {len(given)} bytes are not a number")
    return struct.pack(">q", wrap(int.from_bytes(given, "big", signed=True) + amount, 64))


@bytes_("Y -> Y")
def stopKeyForPrefix(value: _Bytes) -> _Bytes:
    """Return the first key behind those with a prefix; null if there is none."""
    kept = _require_not_null(value).rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None
