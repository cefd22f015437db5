"""Unix time: times as numbers since the beginning of 1970 in UTC."""

from __future__ import annotations

import datetime
from typing import Final

from localcdap.java.numbers import NumberFormatError, parse_long

UNITS: Final = {"SECONDS": 1_000_000, "MILLISECONDS": 1000, "MICROSECONDS": 1}
"""Microseconds of a unit of time."""
OUT_OF_YEARS: Final = "out of the years 1 to 9999"
"""The message for a number that :func:`from_epoch_micros` rejects."""

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def from_epoch_micros(micros: int) -> datetime.datetime:
    """Return the time of microseconds since the epoch, in UTC.

    :raises OverflowError: for a time outside the years 1 to 9999.
    """
    return _EPOCH + datetime.timedelta(microseconds=micros)


def from_epoch_millis(millis: int) -> datetime.datetime:
    """Return the time of milliseconds since the epoch, in UTC.

    :raises OverflowError: for a time outside the years 1 to 9999.
    """
    return from_epoch_micros(millis * 1000)


def to_epoch_millis(moment: datetime.datetime) -> int:
    """Return the milliseconds of a time with a zone, rounded down."""
    return (moment - _EPOCH) // datetime.timedelta(milliseconds=1)


def to_epoch_seconds(moment: datetime.datetime) -> int:
    """Return the seconds of a time with a zone, rounded down."""
    return (moment - _EPOCH) // datetime.timedelta(seconds=1)


def parse_whole_number(value: object) -> int | None:
    """Return a whole number, also of a text as Java reads it; None for any other value."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        return parse_long(value) if isinstance(value, str) else None
    except NumberFormatError:
        return None
