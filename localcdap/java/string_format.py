"""Java's ``String.format``: the conversions that recipes use."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final

from localcdap.java.numbers import wrap
from localcdap.java.strings import to_java_string

_MAX_WIDTH: Final = 1_000_000

_CONVERSION: Final = re.compile(r"%(?:(\d+)\$|(<))?([-#+ 0,(]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])")


class FormatError(ValueError):
    """A pattern is invalid, or a value does not fit its conversion."""


def format_text(pattern: str, values: tuple[Any, ...]) -> str:
    """Replace the conversions of a pattern, such as ``%5.2f``, by values.

    :raises FormatError: for an unknown conversion, or a value that is missing or has another type.
    """
    out: list[str] = []
    at = ordinary = last = 0
    for found in _CONVERSION.finditer(pattern):
        _check_literal(pattern[at : found.start()])
        out.append(pattern[at : found.start()])
        at = found.end()
        position, same, flags, width, precision, kind = found.groups()
        if kind in "%n":
            out.append(_align("%" if kind == "%" else "\n", flags, width))
            continue
        if position:
            last = int(position) - 1
        elif not same:
            last, ordinary = ordinary, ordinary + 1
        if not 0 <= last < len(values):
            raise FormatError(f"there is no value for '{found.group()}'")
        out.append(_convert(values[last], flags, width, precision, kind))
    _check_literal(pattern[at:])
    out.append(pattern[at:])
    return "".join(out)


def _check_literal(text: str) -> None:
    if "%" in text:
        raise FormatError(f"'{text[text.index('%') :][:10]}' is not a conversion")


def _align(text: str, flags: str, width: str | None) -> str:
    if not width:
        return text
    if int(width) > _MAX_WIDTH:
        raise FormatError(f"a width of {width} is too wide")
    return text.ljust(int(width)) if "-" in flags else text.rjust(int(width))


def _convert(value: Any, flags: str, width: str | None, precision: str | None, kind: str) -> str:
    lower_kind = kind.lower()
    if lower_kind == "s":
        text = to_java_string(value)[: int(precision) if precision else None]
    elif lower_kind == "b":
        text = "true" if value is not None and value is not False else "false"
    elif value is None and lower_kind in "cdoxeEfgh":
        text = "null"
    elif lower_kind == "c":
        text = chr(value) if value.__class__ is int else _to_character(value, kind)
    elif lower_kind in "dox":
        return _match_case(_format_whole(value, flags, width, lower_kind), kind)
    elif lower_kind in "efg":
        return _match_case(_format_real(value, flags, width, precision, lower_kind), kind)
    else:
        raise FormatError(f"'%{kind}' is not supported")
    return _match_case(_align(text, flags, width), kind)


def _match_case(text: str, kind: str) -> str:
    return text.upper() if kind.isupper() else text


def _to_character(value: Any, kind: str) -> str:
    if value.__class__ is str and len(value) == 1:
        return str(value)
    raise FormatError(f"'%{kind}' needs one character, not '{to_java_string(value)}'")


def _format_whole(value: Any, flags: str, width: str | None, kind: str) -> str:
    if value.__class__ is not int:
        raise FormatError(f"'%{kind}' needs a whole number, not '{to_java_string(value)}'")
    if kind != "d":
        bits = 32 if wrap(value, 32) == value else 64
        digits = format(value & ((1 << bits) - 1), kind)
        prefix = {"x": "0x", "o": "0"}[kind] if "#" in flags else ""
        return _add_sign(prefix + digits, False, flags.replace(",", ""), width)
    return _add_sign(
        f"{abs(value):,}" if "," in flags else str(abs(value)), value < 0, flags, width
    )


def _format_real(
    value: Any, flags: str, width: str | None, precision: str | None, kind: str
) -> str:
    if value.__class__ not in (float, Decimal):
        raise FormatError(f"'%{kind}' needs a double or decimal, not '{to_java_string(value)}'")
    number = Decimal(repr(value)) if isinstance(value, float) else value
    if not number.is_finite():
        return _align(to_java_string(float(number)), flags, width)
    places = 6 if precision is None else int(precision)
    if places > 1000:
        raise FormatError(f"a precision of {places} is too fine")
    if kind == "f":
        digits = abs(number).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
        text = f"{digits:,f}" if "," in flags else f"{digits:f}"
    else:
        text = format(abs(float(number)), f".{places}{kind}")
    return _add_sign(text, number.is_signed(), flags, width)


def _add_sign(digits: str, negative: bool, flags: str, width: str | None) -> str:
    before, after = "", ""
    if negative:
        before, after = ("(", ")") if "(" in flags else ("-", "")
    elif "+" in flags or " " in flags:
        before = "+" if "+" in flags else " "
    if "0" in flags and width:
        if int(width) > _MAX_WIDTH:
            raise FormatError(f"a width of {width} is too wide")
        digits = digits.rjust(int(width) - len(before) - len(after), "0")
    return _align(before + digits + after, flags, width)
