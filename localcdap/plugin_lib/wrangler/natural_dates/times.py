"""Times of day, spans, holidays, and names of months, days and years: rules of Natty's ``DateParser.g``.

The value of a time is the operation that sets it; see :mod:`.evaluation`.

Parsers of the numbers in dates, such as ``5``, ``05``, ``five``, ``5th`` and ``fifth``.

Their values are ints, but for ``two_digits``, whose value is the text. The rules are those of Natty's
``NumericRules.g``.

The parsers are rules of Natty's ``DateParser.g``. A direction is 1 or -1.

Natty 0.13 reads the days from ``holidays.ics`` and ``seasons.ics``, which begin in 2000 and 2006 and, for
easter and the seasons, end in 2020. Outside of them it takes the month and day of the present year, takes
the present day, or raises a NullPointerException. The rules here give the days of these files, and those
before and after them: easter by the Gregorian computus, the seasons by the mean equinoxes and solstices of
Jean Meeus ("Astronomical Algorithms", chapter 27). Only seasons before 2006 have the month and day of the
present year, as in Natty's tests.
"""

from __future__ import annotations

import calendar
import datetime
import math
from collections.abc import Callable
from typing import Any, Final

from localcdap.plugin_lib.wrangler.natural_dates.combinators import (
    Parser,
    choose,
    commit,
    constant,
    digits,
    either,
    list_words,
    memoize,
    optional,
    sequence,
    token,
)

_MONDAY, _TUESDAY, _THURSDAY, _FRIDAY, _SUNDAY = 0, 1, 3, 4, 6

DayOfYear = Callable[[int], datetime.date]


def _on(month: int, day: int) -> DayOfYear:
    return lambda year: datetime.date(year, month, day)


def _nth(count: int, weekday: int, month: int, earliest: int = 1) -> DayOfYear:
    """Return the rule "the n-th weekday of a month, counted from its earliest day"; -1 is the last one."""

    def find(year: int) -> datetime.date:
        if count < 0:
            last = datetime.date(year, month, calendar.monthrange(year, month)[1])
            return last - datetime.timedelta(days=(last.weekday() - weekday) % 7)
        first = datetime.date(year, month, earliest)
        days = (weekday - first.weekday()) % 7 + 7 * (count - 1)
        return first + datetime.timedelta(days=days)

    return find


def find_easter(year: int) -> datetime.date:
    """Return the Sunday of easter of a year, by the anonymous Gregorian algorithm."""
    golden, century, rest = year % 19, year // 100, year % 100
    shift = (
        19 * golden + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15
    ) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (rest // 4) - shift - rest % 4) % 7
    late = (golden + 11 * shift + 22 * weekday) // 451
    month, day = divmod(shift + weekday - 7 * late + 114, 31)
    return datetime.date(year, month, day + 1)


_SEASON_TERMS: Final = {
    "spring": (2451623.80984, 365242.37404, 0.05169, -0.00411, -0.00057),
    "summer": (2451716.56767, 365241.62603, 0.00325, 0.00888, -0.00030),
    "fall": (2451810.21715, 365242.01767, -0.11575, 0.00337, 0.00078),
    "winter": (2451900.05952, 365242.74049, -0.06223, -0.00823, 0.00032),
}
"""The Julian day of the beginning of a season in 2000, and its polynomial in thousands of years."""

_PERIODIC: Final = (
    *((485, 324.96, 1934.136), (203, 337.23, 32964.467), (199, 342.08, 20.186)),
    *((182, 27.85, 445267.112), (156, 73.14, 45036.886), (136, 171.52, 22518.443)),
    *((77, 222.54, 65928.934), (74, 296.72, 3034.906), (70, 243.58, 9037.513)),
    *((58, 119.81, 33718.147), (52, 297.17, 150.678), (50, 21.02, 2281.226)),
    *((45, 247.54, 29929.562), (44, 325.15, 31555.956), (29, 60.93, 4443.417)),
    *((18, 155.12, 67555.328), (17, 288.79, 4562.452), (16, 198.04, 62894.029)),
    *((14, 199.76, 31436.921), (12, 95.39, 14577.848), (12, 287.11, 31931.756)),
    *((12, 320.81, 34777.259), (9, 227.73, 1222.114), (8, 15.45, 16859.074)),
)
_DELTA_T: Final = 68 / 86400
"""Terrestrial time less universal time, in days: 64 s in 2000, 69 s in 2020."""
_JULIAN_DAY_OF_ORDINAL_0: Final = 1721424.5


def _begin(season: str) -> DayOfYear:
    def find(year: int) -> datetime.date:
        terms = _SEASON_TERMS[season]
        thousands = (year - 2000) / 1000
        mean = sum(term * thousands**power for power, term in enumerate(terms))
        centuries = (mean - 2451545) / 36525
        angle = math.radians(35999.373 * centuries - 2.47)
        change = 1 + 0.0334 * math.cos(angle) + 0.0007 * math.cos(2 * angle)
        waves = sum(a * math.cos(math.radians(b + c * centuries)) for a, b, c in _PERIODIC)
        return datetime.date.fromordinal(
            math.floor(mean + 0.00001 * waves / change - _DELTA_T - _JULIAN_DAY_OF_ORDINAL_0)
        )

    return find


HOLIDAYS: Final[dict[str, DayOfYear]] = {
    "april fools day": _on(4, 1),
    "black friday": _nth(1, _FRIDAY, 11, earliest=23),
    "christmas eve": _on(12, 24),
    "christmas": _on(12, 25),
    "columbus day": _nth(2, _MONDAY, 10),
    "earth day": _on(4, 22),
    "easter": find_easter,
    "fathers day": _nth(3, _SUNDAY, 6),
    "flag day": _on(6, 14),
    "good friday": lambda year: find_easter(year) - datetime.timedelta(days=2),
    "groundhog day": _on(2, 2),
    "halloween": _on(10, 31),
    "independence day": _on(7, 4),
    "kwanzaa": _on(12, 26),
    "labor day": _nth(1, _MONDAY, 9),
    "mlk day": _nth(3, _MONDAY, 1),
    "memorial day": _nth(-1, _MONDAY, 5),
    "mothers day": _nth(2, _SUNDAY, 5),
    "new years eve": _on(12, 31),
    "new years day": _on(1, 1),
    "patriot day": _on(9, 11),
    "presidents day": _nth(3, _MONDAY, 2),
    "st patricks day": _on(3, 17),
    "tax day": _on(4, 15),
    "thanksgiving": _nth(4, _THURSDAY, 11),
    "election day": _nth(1, _TUESDAY, 11, earliest=2),
    "valentines day": _on(2, 14),
    "veterans day": _on(11, 11),
}
SEASONS: Final[dict[str, DayOfYear]] = {season: _begin(season) for season in _SEASON_TERMS}

FIRST_YEAR_OF_SEASONS: Final = 2006
"""Natty knows no earlier seasons: it takes their month and day in the present year."""

_DAY: Final = optional(" day")

holiday: Final = memoize(
    either(
        constant(sequence("april fool", _DAY), "april fools day"),
        constant("black friday", "black friday"),
        constant("christmas evening", "christmas eve"),
        constant(sequence("christmas", _DAY), "christmas"),
        *(
            constant(f"{name} day", f"{name} day")
            for name in list_words(
                "columbus earth flag independence labor memorial patriot tax election"
            )
        ),
        *(
            constant(f"{name} day", f"{name}s day")
            for name in ["father", "mother", "president", "valentine", "veteran"]
        ),
        *(
            constant(sequence(name, _DAY), name)
            for name in ("halloween", "kwanzaa", "thanksgiving")
        ),
        constant(sequence("mlk", _DAY), "mlk day"),
        constant(sequence("easter", optional(" sunday|day")), "easter"),
        constant("good friday", "good friday"),
        constant("groundhog ?day", "groundhog day"),
        constant("new year evening", "new years eve"),
        constant(sequence("new year", _DAY), "new years day"),
        constant(
            sequence(either("saint", sequence("st", ".?")), " patrick day"), "st patricks day"
        ),
    )
)

season: Final = choose({name: name for name in SEASONS})


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
"""The name of a method of :class:`.evaluation.Calendar`, and its arguments."""

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
    sequence(_named_time, optional(sequence(" ", _zone)), make=lambda time, zone: (*time, zone)),
)

time_span: Final = token("hour", "minute", "second")


Operations = tuple[Operation, ...]
Prefix = tuple[int, str, int]
"""Direction, ``by_day`` or ``by_week``, and number of steps."""

AHEAD: Final = 1
BACK: Final = -1

_MONTHS: Final = list_words(
    "january february march april may june july august september october november december"
)
_WEEKDAYS: Final = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]

month: Final = choose({name: number for number, name in enumerate(_MONTHS, 1)})
weekday: Final = choose({name: number for number, name in enumerate(_WEEKDAYS, 1)})
"""1 is Sunday, as in Java's ``Calendar``."""

year: Final = either(sequence("'", two_digit_number), four_digits)
year_prefix: Final = sequence(either(", ?", " "), optional("in the year "))
year_after: Final = sequence(year_prefix, year)
relaxed_year: Final = commit(year_after, optional(year_after))
month_day: Final = memoize(either(day_of_month_number, ordinal))

# -- prefixes and suffixes -------------------------------------------------------------------------

implicit_prefix: Final = constant("this|current", (AHEAD, "by_day", 0))
relative_prefix: Final = either(
    sequence(
        optional("this "),
        choose(
            {
                "last": (BACK, "by_week", 1),
                "next": (AHEAD, "by_week", 1),
                "past": (BACK, "by_day", 1),
                "coming": (AHEAD, "by_day", 1),
                "upcoming": (AHEAD, "by_day", 1),
            }
        ),
    ),
    constant("in am|an", (AHEAD, "by_day", 1)),
    sequence(optional("in "), amount, make=lambda count: (AHEAD, "by_day", count)),
)
prefix: Final = memoize(either(relative_prefix, implicit_prefix))
suffix: Final = either(constant("from|after now|today", AHEAD), constant("ago", BACK))

relaxed_weekday: Final = sequence(
    optional(sequence(prefix, " ")), weekday, ",? ?", make=lambda _, number: number
)
weekday_before: Final = optional(relaxed_weekday)

# -- what a prefix leads to ------------------------------------------------------------------------


def seek(steps: Prefix, target: tuple[str, Any]) -> Operation:
    """Return the operation that goes to the target by a prefix."""
    kind, value = target
    way, by, count = steps
    return (
        (f"seek_{kind}", way, by, count, value)
        if kind == "weekday"
        else (f"seek_{kind}", way, count, value)
    )


def seek_by(way: int, count: int, target: tuple[str, Any]) -> Operation:
    return seek((way, "by_day", count), target)


def tag(kind: str, part: Parser) -> Parser:
    return sequence(part, make=lambda value: (kind, value))


date_span: Final = token("day", "week", "month", "year")
span: Final = tag("span", date_span)
month_target: Final = tag("month", month)
target: Final = memoize(either(tag("weekday", weekday), month_target, span))
event: Final = tag("event", either(holiday, season))
