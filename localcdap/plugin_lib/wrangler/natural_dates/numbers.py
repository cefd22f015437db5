"""Numbers in dates, as digits and as words: Natty's ``NumericRules.g``. Values are numbers."""

from __future__ import annotations

from typing import Final

from localcdap.plugin_lib.wrangler.natural_dates.combinators import (
    Parser,
    choose,
    constant,
    digits,
    either,
    memoize,
    optional,
    sequence,
    space,
    token,
)
from localcdap.plugin_lib.wrangler.natural_dates.lexer import list_words


def _range(first: int, last: int, *, padded: bool) -> list[str]:
    return [f"{n:02}" if padded else str(n) for n in range(first, last + 1)]


def _either_form(first: int, last: int) -> list[str]:
    """Return numbers with and without a 0 before a single digit."""
    return [*_range(first, last, padded=True), *_range(first, last, padded=False)]


_ONES: Final = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_TEENS: Final = list_words(
    "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
)
_ORDINALS: Final = list_words(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth "
    "twentieth"
)


def _number(*texts: str) -> Parser:
    return sequence(digits(*texts), make=int)


two_digits: Final = digits(*_range(0, 99, padded=True))
four_digits: Final = sequence(two_digits, two_digits, make=lambda one, other: int(one + other))
two_digit_number: Final = sequence(two_digits, make=int)
month_number: Final = _number(*_either_form(1, 12))
day_number: Final = _number(*_either_form(1, 31))
hour_number: Final = _number(*_either_form(0, 23))
minute_number: Final = _number(*_range(0, 59, padded=True))

_dash_or_space: Final = optional(either(token("-"), space))
_spelled: Final = either(
    choose({word: number for number, word in enumerate([*_ONES, *_TEENS], 1)}),
    sequence(
        token("twenty"),
        _dash_or_space,
        choose({word: number for number, word in enumerate(_ONES, 21)}),
        make=lambda _, __, number: number,
    ),
    constant(token("twenty"), 20),
    sequence(token("thirty"), _dash_or_space, token("one"), make=lambda *_: 31),
    constant(token("thirty"), 30),
)


def _with_suffix(number: int, suffix: str) -> Parser:
    return sequence(digits(str(number)), token(suffix), make=lambda *_: number)


_SUFFIXES: Final = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}

ordinal: Final = memoize(
    either(
        choose({word: number for number, word in enumerate(_ORDINALS, 1)}),
        *(_with_suffix(number, _SUFFIXES.get(number, "th")) for number in range(1, 32)),
        sequence(
            token("twenty"),
            _dash_or_space,
            choose({word: number for number, word in enumerate(_ORDINALS[:9], 21)}),
            make=lambda _, __, number: number,
        ),
        constant(token("thirtieth"), 30),
        sequence(token("thirty"), _dash_or_space, token("first"), make=lambda *_: 31),
    )
)
"""``first`` to ``thirty-first``, ``1st`` to ``31st``."""

day_of_month_number: Final = either(day_number, _spelled)

amount: Final = memoize(
    either(
        _spelled,
        sequence(
            digits(*_either_form(1, 99)),
            optional(digits("0", "00", *_either_form(1, 99))),
            make=lambda one, other: int(one + (other or "")),
        ),
    )
)
"""A number up to 9999, or a word up to ``thirty-one``."""
