"""``datetime:``: dates and times made of texts and of numbers."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

import datetime
from typing import Any

from localcdap.plugin_lib.jexl.functions.datetimes.namespace import Date, DateTime, Time, moments
from localcdap.plugin_lib.jexl.functions.moment_texts import read_date, read_datetime, read_time


@moments("S -> d")
def GetDate(text: str | None) -> Date:
    return None if text is None else read_date(text)


@moments("S -> t")
def GetTime(text: str | None) -> Time:
    return None if text is None else read_time(text)


@moments("S -> T", "GetDateTime", "GetTimestamp")
def GetDateTime(text: str | None) -> DateTime:
    if text is None:
        raise ValueError("the text is null")
    return read_datetime(text)


@moments("d t -> T", "GetDateTime", "TimestampFromDateTime")
def date_and_time(date: Date, time: Time) -> DateTime:
    return None if date is None or time is None else datetime.datetime.combine(date, time)


@moments("i i i -> d")
def DateFromComponents(year: int | None, month: int | None, day: int | None) -> Date:
    if year is None or month is None or day is None:
        return None
    return datetime.date(year, month, day)


@moments("i i i i -> t")
def TimeFromComponents(hours: Any, minutes: Any, seconds: Any, microseconds: Any) -> Time:
    if None in (hours, minutes, seconds, microseconds):
        return None
    return datetime.time(hours, minutes, seconds, microseconds)
