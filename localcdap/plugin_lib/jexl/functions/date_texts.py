"""Dates and times in texts as expressions read them: ``2008-08-18``, ``22:30:52.4``, or both.

As the formats of the original's ``DateAndTime`` with Java's ``ResolverStyle.SMART``: a day up to 31 that the
month does not have is its last day, and 24:00:00 is the midnight that ends a day.
"""

from __future__ import annotations

import calendar
import datetime
import re
from typing import Final

from localcdap.plugin_lib.jexl.errors import EvaluationError

_DATE: Final = r"(\d{4})-(\d\d)-(\d\d)"
_TIME: Final = r"(\d\d):(\d\d):(\d\d)(?:\.(\d{0,6}))?"
_DATE_ONLY: Final = re.compile(rf"{_DATE}(?: {_TIME})?\Z", re.ASCII)
_TIME_ONLY: Final = re.compile(rf"{_TIME}\Z", re.ASCII)
_BOTH: Final = re.compile(rf"{_DATE} {_TIME}\Z", re.ASCII)
_DAY: Final = datetime.timedelta(days=1)
_ANY_DATE: Final = ("2000", "01", "01")


def read_date(text: str) -> datetime.date:
    """Return the date in a text; a time after it is checked, and 24:00:00 is of the next day."""
    found = _DATE_ONLY.match(text)
    if found is None:
        raise EvaluationError(f"'{text}' is not a date like 2008-08-18")
    return _build(text, found.groups()).date()


def read_time(text: str) -> datetime.time:
    found = _TIME_ONLY.match(text)
    if found is None:
        raise EvaluationError(f"'{text}' is not a time like 22:30:52")
    return _build(text, (*_ANY_DATE, *found.groups())).time()


def read_datetime(text: str) -> datetime.datetime:
    found = _BOTH.match(text)
    if found is None:
        raise EvaluationError(f"'{text}' is not a datetime like 2008-08-18 22:30:52")
    return _build(text, found.groups())


def _build(text: str, parts: tuple[str | None, ...]) -> datetime.datetime:
    """Return the moment of year, month, day, hour, minute, second and fraction; a missing part is 0."""
    year, month, day, hour, minute, second = (int(part or 0) for part in parts[:-1])
    micros = int((parts[-1] or "0").ljust(6, "0"))
    try:
        if 29 <= day <= 31:
            day = min(day, calendar.monthrange(year, month)[1])
        if hour == 24 and not any((minute, second, micros)):
            return datetime.datetime(year, month, day) + _DAY
        return datetime.datetime(year, month, day, hour, minute, second, micros)
    except (ValueError, OverflowError) as error:
        raise EvaluationError(f"'{text}': {error}") from None
