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
    space,
    token,
)
from localcdap.plugin_lib.wrangler.natural_dates.numbers import hour_number, minute_number

Operation = tuple[Any, ...]
"""The name of a method of :class:`.calendar.Calendar`, and its arguments."""

_FIRST_EVENING_HOUR: Final = 5
"""``tonight at 4`` is tomorrow, ``tonight at 5`` is today."""

_zone: Final = either(
    sequence(
        optional(token("utc")),
        token("+", "-"),
        hour_number,
        optional(
            sequence(optional(token(":")), minute_number, make=lambda _, minutes: minutes),
        ),
        make=lambda _, sign, hours, minutes: (
            (hours * 60 + (minutes or 0)) * (-1 if sign == "-" else 1)
        ),
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

_in_the: Final = sequence(token("in"), space, token("the"))
_half: Final = either(
    choose({"am": "am", "pm": "pm"}),
    sequence(
        optional(sequence(either(_in_the, token("at")), space)),
        choose({"morning": "am", "noon": "pm", "evening": "pm", "night": "pm"}),
        make=lambda _, half: half,
    ),
)
_point: Final = optional(token(":", "."))
_seconds: Final = optional(sequence(_point, minute_number, make=lambda _, seconds: seconds))
_hour_suffix: Final = token("h", "hour")

# The value of a clock time: hour, minute or None, second or None, am, pm or None.
_clock_time: Final = either(
    sequence(
        hour_number,
        _point,
        minute_number,
        _seconds,
        optional(
            sequence(
                optional(space),
                either(_half, sequence(_hour_suffix)),
                make=lambda _, half: half,
            )
        ),
        make=lambda hour, _, minute, second, half: (hour, minute, second, half),
    ),
    sequence(
        hour_number,
        optional(sequence(optional(space), _half, make=lambda _, half: half)),
        make=lambda hour, half: (hour, None, None, half),
    ),
)

_named_hour: Final = sequence(
    optional(sequence(either(_in_the, token("at", "this")), space)),
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
    make=lambda _, named: named,
)


def _set_time_of_part(named: tuple[int, str], clock: tuple[Any, ...]) -> Operation:
    """Return the time of ``tonight at 6:30``, of which only the named part says whether it is am or pm."""
    hour, half = clock[0], named[1]
    if half == "pm" and hour < _FIRST_EVENING_HOUR:
        hour += 24
    return ("set_time", hour, clock[1], 0, half)


_named_time: Final = either(
    sequence(
        _named_hour,
        optional(sequence(space, token("at"))),
        space,
        _clock_time,
        make=lambda named, _, __, clock: _set_time_of_part(named, clock),
    ),
    sequence(_named_hour, make=lambda named: ("set_time", named[0], 0, 0, named[1])),
)

explicit_time: Final = either(
    sequence(
        optional(sequence(token("at"), space)),
        _clock_time,
        optional(sequence(optional(space), _zone, make=lambda _, zone: zone)),
        make=lambda _, clock, zone: ("set_time", *clock, zone),
    ),
    sequence(
        _named_time,
        optional(sequence(space, _zone, make=lambda _, zone: zone)),
        make=lambda time, zone: (*time, zone),
    ),
)

time_span: Final = token("hour", "minute", "second")
