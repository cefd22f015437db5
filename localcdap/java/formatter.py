"""``String.format``: the conversions that recipes use."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final

from localcdap.java.numbers import wrap
from localcdap.java.text import java_text

WIDEST: Final = 1_000_000

_CONVERSION: Final = re.compile(r"%(?:(\d+)\$|(<))?([-#+ 0,(]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])")


class FormatError(ValueError):
    """A pattern, or a value for one of its conversions, is none."""


def format_text(pattern: str, values: tuple[Any, ...]) -> str:
    """The pattern with its conversions filled in.

    :raises FormatError: for a conversion there is not, a value missing or of another type.
    """
    out: list[str] = []
    at = ordinary = last = 0
    for found in _CONVERSION.finditer(pattern):
        _no_percent(pattern[at : found.start()])
        out.append(pattern[at : found.start()])
        at = found.end()
        position, same, flags, width, precision, kind = found.groups()
        if kind in "%n":
            out.append(_aligned("%" if kind == "%" else "\n", flags, width))
            continue
        if position:
            last = int(position) - 1
        elif not same:
            last, ordinary = ordinary, ordinary + 1
        if not 0 <= last < len(values):
            raise FormatError(f"there is no value for '{found.group()}'")
        out.append(_converted(values[last], flags, width, precision, kind))
    _no_percent(pattern[at:])
    out.append(pattern[at:])
    return "".join(out)


def _no_percent(text: str) -> None:
    if "%" in text:
        raise FormatError(f"'{text[text.index('%') :][:10]}' is no conversion")


def _aligned(text: str, flags: str, width: str | None) -> str:
    if not width:
        return text
    if int(width) > WIDEST:
        raise FormatError(f"a width of {width} is too wide")
    return text.ljust(int(width)) if "-" in flags else text.rjust(int(width))


def _converted(value: Any, flags: str, width: str | None, precision: str | None, kind: str) -> str:
    small = kind.lower()
    if small == "s":
        text = java_text(value)[: int(precision) if precision else None]
    elif small == "b":
        text = "true" if value is not None and value is not False else "false"
    elif value is None and small in "cdoxeEfgh":
        text = "null"
    elif small == "c":
        text = chr(value) if value.__class__ is int else _text_of(value, kind)
    elif small in "dox":
        return _upper(_whole(value, flags, width, small), kind)
    elif small in "efg":
        return _upper(_real(value, flags, width, precision, small), kind)
    else:
        raise FormatError(f"'%{kind}' is not supported")
    return _upper(_aligned(text, flags, width), kind)


def _upper(text: str, kind: str) -> str:
    return text.upper() if kind.isupper() else text


def _text_of(value: Any, kind: str) -> str:
    if value.__class__ is str and len(value) == 1:
        return str(value)
    raise FormatError(f"'%{kind}' needs one character, not '{java_text(value)}'")


def _whole(value: Any, flags: str, width: str | None, kind: str) -> str:
    if value.__class__ is not int:
        raise FormatError(f"'%{kind}' needs a whole number, not '{java_text(value)}'")
    if kind != "d":
        bits = 32 if wrap(value, 32) == value else 64
        digits = format(value & ((1 << bits) - 1), kind)
        prefix = {"x": "0x", "o": "0"}[kind] if "#" in flags else ""
        return _signed(prefix + digits, False, flags.replace(",", ""), width)
    return _signed(f"{abs(value):,}" if "," in flags else str(abs(value)), value < 0, flags, width)


def _real(value: Any, flags: str, width: str | None, precision: str | None, kind: str) -> str:
    if value.__class__ not in (float, Decimal):
        raise FormatError(f"'%{kind}' needs a double or decimal, not '{java_text(value)}'")
    number = Decimal(repr(value)) if isinstance(value, float) else value
    if not number.is_finite():
        return _aligned(java_text(float(number)), flags, width)
    places = 6 if precision is None else int(precision)
    if places > 1000:
        raise FormatError(f"a precision of {places} is too fine")
    if kind == "f":
        digits = abs(number).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
        text = f"{digits:,f}" if "," in flags else f"{digits:f}"
    else:
        text = format(abs(float(number)), f".{places}{kind}")
    return _signed(text, number.is_signed(), flags, width)


def _signed(digits: str, negative: bool, flags: str, width: str | None) -> str:
    before, after = "", ""
    if negative:
        before, after = ("(", ")") if "(" in flags else ("-", "")
    elif "+" in flags or " " in flags:
        before = "+" if "+" in flags else " "
    if "0" in flags and width:
        if int(width) > WIDEST:
            raise FormatError(f"a width of {width} is too wide")
        digits = digits.rjust(int(width) - len(before) - len(after), "0")
    return _aligned(before + digits + after, flags, width)
