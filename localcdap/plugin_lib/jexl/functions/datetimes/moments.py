"""``datetime:``: dates with times: moved, and as seconds."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

import datetime
from typing import Any

from localcdap.java.unix_time import seconds_of
from localcdap.plugin_lib.jexl.functions.datetimes.dates import DateOffsetByComponents
from localcdap.plugin_lib.jexl.functions.datetimes.namespace import DateTime, Time, moments


@moments("T T -> L?", "SecondsSinceFromDateTime", "SecondsSinceFromTimestamp")
def SecondsSinceFromDateTime(source: DateTime, destination: DateTime) -> int | None:
    if source is None or destination is None:
        return None
    return (source - destination) // datetime.timedelta(seconds=1)


@moments("i T -> T", "DateTimeFromSecondsSince", "TimestampFromSecondSince")
def DateTimeFromSecondsSince(seconds: int | None, moment: DateTime) -> DateTime:
    return DateTimeOffsetBySeconds(moment, seconds)


@moments("l -> T", "DateTimeFromEpoch", "TimestampFromEpoch")
def DateTimeFromEpoch(seconds: int | None) -> DateTime:
    if seconds is None:
        return None
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)


@moments("S -> T", "DateTimeFromEpoch", "TimestampFromEpoch")
def from_epoch_text(seconds: str | None) -> DateTime:
    return None if seconds is None else DateTimeFromEpoch(int(seconds))


@moments("t T -> T", "DateTimeFromTime", "TimestampFromTime")
def DateTimeFromTime(time: Time, moment: DateTime) -> DateTime:
    if moment is None or time is None:
        return moment
    return datetime.datetime.combine(moment.date(), time)


@moments("T i i i i i i -> T", "DateTimeOffsetByComponents", "TimestampOffsetByComponents")
def DateTimeOffsetByComponents(  # the signature is the original's
    moment: DateTime, years: Any, months: Any, days: Any, hours: Any, minutes: Any, seconds: Any
) -> DateTime:
    if moment is None:
        return None
    date = DateOffsetByComponents(moment.date(), years, months, days)
    assert date is not None
    later = datetime.timedelta(hours=hours or 0, minutes=minutes or 0, seconds=seconds or 0)
    return datetime.datetime.combine(date, moment.time()) + later


@moments("T i -> T", "DateTimeOffsetBySeconds", "TimestampOffsetBySeconds")
def DateTimeOffsetBySeconds(moment: DateTime, seconds: int | None) -> DateTime:
    return None if moment is None else moment + datetime.timedelta(seconds=seconds or 0)


@moments("T -> L?", "EpochFromDateTime", "EpochFromTimestamp")
def EpochFromDateTime(moment: DateTime) -> int | None:
    if moment is None:
        return None
    return seconds_of(moment if moment.tzinfo is not None else moment.replace(tzinfo=datetime.UTC))
