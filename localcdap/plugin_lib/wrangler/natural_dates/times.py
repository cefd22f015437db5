"""Times of day and spans of hours, minutes and seconds: the time rules of Natty's ``DateParser.g``.

The value of a time is the operation that sets it; see :mod:`.calendar`.

Parsers of the numbers in dates, such as ``5``, ``05``, ``five``, ``5th`` and ``fifth``.

Their values are ints, but for ``two_digits``, whose value is the text. The rules are those of Natty's
``NumericRules.g``.
"""

from __future__ import annotations

from typing import Any, Final

from localcdap.plugin_lib.wrangler.natural_dates.combinators import (
    Parser,
    choose,
    constant,
    digits,
    either,
    memoize,
    optional,
    sequence,
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


def _choose_number(names: list[str], first: int) -> Parser:
    """Return a parser for one of the names of numbers that begin with ``first``."""
    return choose({name: number for number, name in enumerate(names, first)})


_dash_or_space: Final = optional(either("-", " "))
_spelled: Final = either(
    _choose_number([*_ONES, *_TEENS], 1),
    sequence("twenty", _dash_or_space, _choose_number(_ONES, 21)),
    constant("twenty", 20),
    constant(sequence("thirty", _dash_or_space, "one"), 31),
    constant("thirty", 30),
)

_SUFFIXES: Final = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}

ordinal: Final = memoize(
    either(
        _choose_number(_ORDINALS, 1),
        *(sequence(_number(str(n)), _SUFFIXES.get(n, "th")) for n in range(1, 32)),
        sequence("twenty", _dash_or_space, _choose_number(_ORDINALS[:9], 21)),
        constant("thirtieth", 30),
        constant(sequence("thirty", _dash_or_space, "first"), 31),
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


Operation = tuple[Any, ...]
"""The name of a method of :class:`.calendar.Calendar`, and its arguments."""

_FIRST_EVENING_HOUR: Final = 5
"""``tonight at 4`` is tomorrow, ``tonight at 5`` is today."""

_zone: Final = either(
    sequence(
        "utc?",
        choose({"+": 1, "-": -1}),
        hour_number,
        optional(sequence(":?", minute_number)),
        make=lambda sign, hours, minutes: sign * (hours * 60 + (minutes or 0)),
    ),
    choose(
        {
            "utc": "UTC",
            "est": "America/New_York",
            "cst": "America/Chicago",
            "pst": "America/Los_Angeles",
            "mst": "America/Denver",
            "akst": "America/Anchorage",
            "hast": "Pacific/Honolulu",
        }
    ),
)

_half: Final = either(
    choose({"am": "am", "pm": "pm"}),
    sequence(
        optional(either("in the ", "at ")),
        choose({"morning": "am", "noon": "pm", "evening": "pm", "night": "pm"}),
    ),
)
# The value of a clock time: hour, minute or None, second or None, am, pm or None.
_clock_time: Final = either(
    sequence(
        hour_number,
        ":|.?",
        minute_number,
        optional(sequence(":|.?", minute_number)),
        optional(sequence(" ?", either(_half, "h|hour"))),
        make=lambda hour, minute, second, half: (hour, minute, second, half),
    ),
    sequence(
        hour_number,
        optional(sequence(" ?", _half)),
        make=lambda hour, half: (hour, None, None, half),
    ),
)

_named_hour: Final = sequence(
    optional(either("in the ", "at|this ")),
    choose(
        {
            "morning": (8, "am"),
            "midnight": (12, "am"),
            "noon": (12, "pm"),
            "night": (8, "pm"),
            "tonight": (8, "pm"),
            "evening": (7, "pm"),
        }
    ),
)


def _set_time_of_part(named: tuple[int, str], clock: tuple[Any, ...]) -> Operation:
    """Return the time of ``tonight at 6:30``, of which only the named part says whether it is am or pm."""
    hour, half = clock[0], named[1]
    if half == "pm" and hour < _FIRST_EVENING_HOUR:
        hour += 24
    return ("set_time", hour, clock[1], 0, half)


_named_time: Final = either(
    sequence(_named_hour, optional(" at"), " ", _clock_time, make=_set_time_of_part),
    sequence(_named_hour, make=lambda named: ("set_time", named[0], 0, 0, named[1])),
)

explicit_time: Final = either(
    sequence(
        optional("at "),
        _clock_time,
        optional(sequence(" ?", _zone)),
        make=lambda clock, zone: ("set_time", *clock, zone),
    ),
    sequence(
        _named_time,
        optional(sequence(" ", _zone)),
        make=lambda time, zone: (*time, zone),
    ),
)

time_span: Final = token("hour", "minute", "second")
