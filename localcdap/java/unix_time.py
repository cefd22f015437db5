"""Moments as numbers: the time since the beginning of 1970 in UTC."""

from __future__ import annotations

import datetime
from typing import Final

from localcdap.java.numbers import NumberFormatError, parse_long

UNITS: Final = {"SECONDS": 1_000_000, "MILLISECONDS": 1000, "MICROSECONDS": 1}
"""Microseconds."""
OUT_OF_YEARS: Final = "out of the years 1 to 9999"
"""What is told of a number that :func:`moment_of` refuses."""

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def moment_of(micros: int) -> datetime.datetime:
    """:raises OverflowError: for what is out of the years 1 to 9999."""
    return _EPOCH + datetime.timedelta(microseconds=micros)


def millis_of(moment: datetime.datetime) -> int:
    """Milliseconds of a moment with a zone, rounded down."""
    return (moment - _EPOCH) // datetime.timedelta(milliseconds=1)


def seconds_of(moment: datetime.datetime) -> int:
    """Seconds of a moment with a zone, rounded down."""
    return (moment - _EPOCH) // datetime.timedelta(seconds=1)


def whole_number(value: object) -> int | None:
    """A whole number, or one that a text holds as Java reads it."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        return parse_long(value) if isinstance(value, str) else None
    except NumberFormatError:
        return None
