"""Times of day and spans of hours, minutes and seconds: the time rules of Natty's ``DateParser.g``.

The value of a time is the operation that sets it; see :mod:`.calendar`.
"""

from __future__ import annotations

from typing import Any, Final

from localcdap.plugin_lib.wrangler.natural_dates.combinators import (
    choose,
    either,
    optional,
    sequence,
    token,
)
from localcdap.plugin_lib.wrangler.natural_dates.numbers import hour_number, minute_number

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
