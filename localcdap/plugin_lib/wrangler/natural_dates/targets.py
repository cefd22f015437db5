"""Names of months, days and years, and the words that lead to them, like ``next`` and ``3 weeks ago``.

The parsers are rules of Natty's ``DateParser.g``. A direction is 1 or -1.
"""

from __future__ import annotations

from typing import Any, Final

from localcdap.plugin_lib.wrangler.natural_dates import holidays
from localcdap.plugin_lib.wrangler.natural_dates.combinators import (
    Parser,
    choose,
    commit,
    constant,
    either,
    memoize,
    optional,
    sequence,
    token,
)
from localcdap.plugin_lib.wrangler.natural_dates.lexer import list_words
from localcdap.plugin_lib.wrangler.natural_dates.times import (
    Operation,
    amount,
    day_of_month_number,
    four_digits,
    ordinal,
    two_digit_number,
)

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
event: Final = tag("event", either(holidays.holiday, holidays.season))
