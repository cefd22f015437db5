"""FORMAT: ``%[flags][width][.precision]specifier`` (``string_functions.md`` of google/zetasql)."""

from __future__ import annotations

import decimal
import functools
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from .value_texts import name_type, print_json, print_literal, print_value

_PART: Final = re.compile(
    r"(?P<text>[^%]+)|"
    r"%(?P<flags>[-+ #'0]*)(?P<width>\*|\d*)(?:\.(?P<precision>\*|\d*))?(?P<letter>.)",
    re.DOTALL,
)
_INTEGERS: Final = "diuoxX"
_FRACTIONS: Final = "fFeEgG"
_LETTERS: Final = frozenset(_INTEGERS + _FRACTIONS + "pPstT")
_GROUPS: Final = {"x": (4, ":"), "X": (4, ":"), "o": (4, ",")}
"""Digits of a group, and what separates groups, with the flag ``'``; decimal ones have three and a comma."""
_MOST_WIDTH: Final = 1024 * 1024
_EXACT: Final = decimal.Context(prec=2000, rounding=decimal.ROUND_HALF_UP)
_JSON: Final = "JSON"


class FormatPatternError(ValueError):
    """A format that is invalid, or does not fit its arguments."""


class _Specifier(msgspec.Struct, frozen=True):
    letter: str
    """Empty for a text between specifiers."""
    flags: str = ""
    width: str = ""
    precision: str | None = None
    text: str = ""


def format_string(pattern: str | None, arguments: Sequence[tuple[str, Any]]) -> str | None:
    """Return the text that FORMAT makes.

    :param arguments: each with the name of its type in DuckDB.
    :returns: None when the pattern is null, or a value of another specifier than ``%t`` and ``%T``.
    :raises FormatPatternError: in the words of GoogleSQL.
    """
    if pattern is None:
        return None
    specifiers = check_pattern(pattern, len(arguments))
    values = iter(enumerate(arguments, start=2))
    made = [_format_one(each, values) for each in specifiers]
    return None if None in made else "".join(map(str, made))


def check_pattern(pattern: str, given: int) -> Sequence[_Specifier]:
    """Return the parts of a pattern.

    :param given: the number of arguments after the pattern.
    :raises FormatPatternError: when it is not a pattern, or not one for so many arguments.
    """
    specifiers = _parse_pattern(pattern)
    needed = sum(
        (each.letter != "") + (each.width == "*") + (each.precision == "*") for each in specifiers
    )
    if needed != given:
        size = "few" if given < needed else "many"
        raise FormatPatternError(
            f'Too {size} arguments to FORMAT for pattern "{pattern}"; '
            f"Expected {needed + 1}; Got {given + 1}"
        )
    return specifiers


@functools.lru_cache(maxsize=256)
def _parse_pattern(pattern: str) -> tuple[_Specifier, ...]:
    found, at = [], 0
    while at < len(pattern):
        part = _PART.match(pattern, at)
        if part is None:
            raise FormatPatternError(f'Invalid FORMAT string: "{pattern}"')
        at = part.end()
        letter = part["letter"]
        if letter is None:
            found.append(_Specifier("", text=part["text"]))
        elif letter == "%":
            if part[0] != "%%":
                raise FormatPatternError(f'Invalid FORMAT string: "{pattern}"')
            found.append(_Specifier("", text="%"))
        elif letter not in _LETTERS:
            raise FormatPatternError(
                f'Invalid format specifier character "{letter}" in FORMAT string: "{pattern}"'
            )
        else:
            found.append(_Specifier(letter, part["flags"], part["width"], part["precision"]))
    return tuple(found)


def _format_one(specifier: _Specifier, values: Iterator[tuple[int, tuple[str, Any]]]) -> str | None:
    letter, flags = specifier.letter, specifier.flags
    if not letter:
        return specifier.text
    width = _read_size(specifier.width or "0", values)
    precision = _read_precision(specifier, values)
    number, (type, value) = next(values)
    if width is None or precision is None or (value is None and letter not in "tT"):
        return None
    if abs(width) > _MOST_WIDTH:
        raise FormatPatternError(
            f"Output string too long while evaluating FORMAT; limit {_MOST_WIDTH}"
        )
    if width < 0:
        flags, width = f"{flags}-", -width
    digits = None if precision < 0 else precision
    if letter in _FRACTIONS:
        return _pad(_format_fraction(letter, flags, digits, number, value), flags, width)
    if letter in _INTEGERS:
        made = _format_integer(letter, flags, digits, number, value)
        return _pad(made, flags, width, keeps_zeros=digits is not None)
    text = _print(letter, number, type, value)[:digits]
    return _pad(("", text), flags, width, keeps_zeros=True)


def _read_precision(
    specifier: _Specifier, values: Iterator[tuple[int, tuple[str, Any]]]
) -> int | None:
    """Return a precision, a negative one when there is none; None when it is a null argument."""
    if specifier.precision is None or (specifier.precision == "" and specifier.letter in _INTEGERS):
        return -1
    return _read_size(specifier.precision or "0", values)


def _read_size(size: str, values: Iterator[tuple[int, tuple[str, Any]]]) -> int | None:
    if size != "*":
        return int(size)
    number, (_, value) = next(values)
    if value is not None and name_type(value) != "INT64":
        raise _build_type_error(number, "INT", value)
    return None if value is None else int(value)


def _build_type_error(number: int, wanted: str, value: Any, type: str = "") -> FormatPatternError:
    given = type if type == _JSON else name_type(value)
    return FormatPatternError(
        f"Invalid type for argument {number} to FORMAT; Expected {wanted}; Got {given}"
    )


def _print(letter: str, number: int, type: str, value: Any) -> str:
    is_json = type == _JSON
    if letter == "s" and (is_json or not isinstance(value, str)):
        raise _build_type_error(number, "STRING", value, type)
    if letter in "pP" and not is_json:
        raise _build_type_error(number, "PROTO or JSON", value)
    if is_json and value is not None:
        text = print_json(value, is_multiline=letter == "P")
        return f"JSON {print_literal(text)}" if letter == "T" else text
    if letter == "s":
        return str(value).partition("\0")[0]
    return print_literal(value) if letter == "T" else print_value(value)


def _format_integer(
    letter: str, flags: str, precision: int | None, number: int, value: Any
) -> tuple[str, str]:
    """Return the sign, with the prefix of a base, and the digits."""
    if letter == "u":
        raise _build_type_error(number, "UINT", value)
    if name_type(value) != "INT64":
        raise _build_type_error(number, "integer", value)
    digits = format(abs(value), letter if letter in "oxX" else "d")
    if value == 0 and precision == 0:
        digits = ""
    digits = digits.rjust(precision or 0, "0")
    if "'" in flags:
        digits = _group(digits, *_GROUPS.get(letter, (3, ",")))
    sign = _choose_sign(value < 0, flags)
    if "#" in flags and letter in "xX":
        sign += f"0{letter}"
    elif "#" in flags and letter == "o" and not digits.startswith("0"):
        digits = f"0{digits}"
    return sign, digits


def _group(digits: str, size: int, separator: str) -> str:
    first = len(digits) % size
    groups = [digits[:first]] if first else []
    groups += [digits[at : at + size] for at in range(first, len(digits), size)]
    return separator.join(groups)


def _choose_sign(is_negative: bool, flags: str) -> str:
    if is_negative:
        return "-"
    return "+" if "+" in flags else " " if " " in flags else ""


def _format_fraction(
    letter: str, flags: str, precision: int | None, number: int, value: Any
) -> tuple[str, str]:
    """Return the sign and the digits."""
    if name_type(value) not in ("FLOAT64", "NUMERIC"):
        raise _build_type_error(number, "FLOAT64", value)
    if not math.isfinite(value):
        text = "nan" if math.isnan(value) else "inf"
        return _choose_sign(value < 0, flags), text.upper() if letter.isupper() else text
    is_negative = math.copysign(1, value) < 0
    exact = abs(decimal.Decimal(value))
    if isinstance(value, float):
        alternate = "#" if "#" in flags else ""
        size = 6 if precision is None else precision
        text = f"%{alternate}.{size}{letter}" % abs(value)
    else:
        text = _format_decimal(letter, exact, 6 if precision is None else precision, "#" in flags)
    if "'" in flags and "e" not in text.lower():
        whole, point, rest = text.partition(".")
        text = _group(whole, 3, ",") + point + rest
    return _choose_sign(is_negative, flags), text


def _format_decimal(letter: str, value: decimal.Decimal, precision: int, is_alternate: bool) -> str:
    """Return a decimal as C's printf prints fractions, but rounded half up."""
    kind = letter.lower()
    if kind == "f":
        text = f"{value.quantize(decimal.Decimal(1).scaleb(-precision), context=_EXACT):f}"
        return f"{text}." if is_alternate and precision == 0 else text
    if kind == "e":
        return _format_scientific(letter, value, precision, is_alternate)
    precision = precision or 1
    scientific = _format_scientific(letter, value, precision - 1, is_alternate)
    mantissa, exponent = scientific.lower().split("e")
    if int(exponent) < -4 or int(exponent) >= precision:
        if not is_alternate and "." in mantissa:
            mantissa = mantissa.rstrip("0").rstrip(".")
        return mantissa + scientific[len(scientific.lower().split("e")[0]) :]
    text = _format_decimal("f", value, precision - 1 - int(exponent), is_alternate)
    return text if is_alternate or "." not in text else text.rstrip("0").rstrip(".")


def _format_scientific(
    letter: str, value: decimal.Decimal, precision: int, is_alternate: bool
) -> str:
    exponent = value.adjusted() if value else 0
    rounded = value.scaleb(-exponent, _EXACT).quantize(
        decimal.Decimal(1).scaleb(-precision), context=_EXACT
    )
    if rounded >= 10:
        exponent += 1
        rounded = rounded.scaleb(-1, _EXACT).quantize(
            decimal.Decimal(1).scaleb(-precision), context=_EXACT
        )
    point = "." if is_alternate and precision == 0 else ""
    mark = "E" if letter.isupper() else "e"
    return f"{rounded:f}{point}{mark}{exponent:+03d}"


def _pad(parts: tuple[str, str], flags: str, width: int, *, keeps_zeros: bool = False) -> str:
    """Pad a sign and digits to a width.

    :param keeps_zeros: whether the flag ``0`` has no effect, as beside a precision and for texts.
    """
    sign, digits = parts
    missing = width - len(sign) - len(digits)
    if "-" in flags:
        return sign + digits + " " * missing
    if "0" in flags and not keeps_zeros and digits[:1] not in ("i", "n", "I", "N"):
        return sign + "0" * missing + digits
    return " " * missing + sign + digits
