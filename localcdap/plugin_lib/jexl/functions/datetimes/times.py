"""``datetime:``: times of a day."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

import datetime
from typing import Any

from localcdap.plugin_lib.jexl.functions.datetimes.namespace import Time, moments


@moments("t -> I?")
def HoursFromTime(time: Time) -> int | None:
    return None if time is None else time.hour


@moments("t -> I?")
def MinutesFromTime(time: Time) -> int | None:
    return None if time is None else time.minute


@moments("t -> I?")
def SecondsFromTime(time: Time) -> int | None:
    return None if time is None else time.second


@moments("t -> I?")
def NanoSecondsFromTime(time: Time) -> int | None:
    return None if time is None else time.microsecond * 1000


@moments("t -> I")
def MicroSecondsFromTime(time: Time) -> int:
    if time is None:
        raise ValueError("the time is null")
    return time.microsecond


@moments("t -> I")
def MilliSecondsFromTime(time: Time) -> int:
    return MicroSecondsFromTime(time) // 1000


@moments("t -> I?")
def MidnightSecondsFromTime(time: Time) -> int | None:
    return None if time is None else time.hour * 3600 + time.minute * 60 + time.second


@moments("i -> t!", "TimeFromMidnightSeconds")
def TimeFromMidnightSeconds(seconds: int | None) -> datetime.time:
    return _time_after(datetime.time(), seconds or 0)


@moments("S -> t!", "TimeFromMidnightSeconds")
def time_from_text(seconds: str | None) -> datetime.time:
    return TimeFromMidnightSeconds(int(seconds or 0))


@moments("t i i i -> t")
def TimeOffsetByComponents(time: Time, hours: Any, minutes: Any, seconds: Any) -> Time:
    if time is None:
        return None
    return _time_after(time, (hours or 0) * 3600 + (minutes or 0) * 60 + (seconds or 0))


def _time_after(time: datetime.time, seconds: int) -> datetime.time:
    start = datetime.datetime.combine(datetime.date(2000, 1, 1), time)
    return (start + datetime.timedelta(seconds=seconds % 86_400)).time()
