"""``date:`` and ``datetime:``: the original's ``Dates`` and ``DateAndTime``.

``date:`` works on timestamps (a datetime with a zone), and null is an error; most functions of ``datetime:``
return null for null.

Texts like ``2008-08-18 22:30:52`` are accepted where a date or time is expected, as in earlier versions,
and names of those versions (``TimestampFromEpoch`` …) are kept.
"""

from __future__ import annotations

import calendar
import datetime
from typing import Any

from localcdap.java.dates.zones import DAYS, MONTHS
from localcdap.java.unix_time import to_epoch_millis, to_epoch_seconds
from localcdap.plugin_lib.jexl.functions.data_quality import is_date, is_time
from localcdap.plugin_lib.jexl.functions.date_texts import read_date, read_datetime, read_time
from localcdap.plugin_lib.jexl.functions.registry import FunctionNamespace

# ruff: noqa: N802 - functions have the names that expressions call them by


date = FunctionNamespace("date")


_Moment = datetime.datetime | None


def _require_not_null(moment: _Moment) -> datetime.datetime:
    if moment is None:
        raise ValueError("the date is null")
    return moment


@date("Z -> L")
def UNIXTIMESTAMP_MILLIS(moment: _Moment) -> int:
    return to_epoch_millis(_require_not_null(moment))


@date("Z -> L")
def UNIXTIMESTAMP_SECONDS(moment: _Moment) -> int:
    return to_epoch_seconds(_require_not_null(moment))


@date("Z -> I")
def MONTH(moment: _Moment) -> int:
    return _require_not_null(moment).month


@date("Z -> S!")
def MONTH_SHORT(moment: _Moment) -> str:
    return MONTHS[_require_not_null(moment).month - 1][:3]


@date("Z -> S!")
def MONTH_LONG(moment: _Moment) -> str:
    return MONTHS[_require_not_null(moment).month - 1]


@date("Z -> I")
def YEAR(moment: _Moment) -> int:
    return _require_not_null(moment).year


@date("Z -> I")
def DAY_OF_WEEK(moment: _Moment) -> int:
    """Monday is 1."""
    return _require_not_null(moment).isoweekday()


@date("Z -> S!")
def DAY_OF_WEEK_SHORT(moment: _Moment) -> str:
    return DAYS[_require_not_null(moment).weekday()][:3]


@date("Z -> S!")
def DAY_OF_WEEK_LONG(moment: _Moment) -> str:
    return DAYS[_require_not_null(moment).weekday()]


@date("Z -> I")
def DAY_OF_YEAR(moment: _Moment) -> int:
    return _require_not_null(moment).timetuple().tm_yday


@date("Z -> I")
def ERA(moment: _Moment) -> int:
    _require_not_null(moment)
    return 1


@date("Z -> S!", "ERA_SHORT", "ERA_LONG")
def era_text(moment: _Moment) -> str:
    _require_not_null(moment)
    return "AD"


def _whole_days(distance: datetime.timedelta) -> int:
    day = datetime.timedelta(days=1)
    return distance // day if distance >= datetime.timedelta() else -(-distance // day)


@date("Z Z -> I")
def DAYS_BETWEEN(first: _Moment, second: _Moment) -> int:
    return _whole_days(_require_not_null(second) - _require_not_null(first))


@date("Z -> I")
def DAYS_BETWEEN_NOW(moment: _Moment) -> int:
    return DAYS_BETWEEN(moment, datetime.datetime.now(datetime.UTC))


def _parts(seconds: int, size: int) -> int:
    return seconds // size if seconds >= 0 else -(-seconds // size)


@date("I -> I")
def SECONDS_TO_DAYS(seconds: int) -> int:
    return _parts(seconds, 86_400)


@date("I -> I")
def SECONDS_TO_HOURS(seconds: int) -> int:
    return _parts(seconds, 3_600)


@date("I -> I")
def SECONDS_TO_MINUTES(seconds: int) -> int:
    return _parts(seconds, 60)


@date("I -> I")
def SECONDS_TO_WEEKS(seconds: int) -> int:
    return _parts(seconds, 604_800)


@date("S -> B")
def isDate(text: str | None) -> bool:
    return is_date(text)


@date("S -> B")
def isTime(text: str | None) -> bool:
    return is_time(text)


moments = FunctionNamespace("datetime")
Date = datetime.date | None
Time = datetime.time | None
DateTime = datetime.datetime | None


# ruff: noqa: N802 - functions have the names that expressions call them by


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


@moments("-> d!")
def CurrentDate() -> datetime.date:
    return _now().date()


@moments("-> t!")
def CurrentTime() -> datetime.time:
    return _now().time()


@moments("-> L")
def CurrentTimeMS() -> int:
    return _now().microsecond // 1000


@moments("-> T!")
def CurrentDateTime() -> datetime.datetime:
    return _now().replace(tzinfo=None)


@moments("-> Z!")
def CurrentTimestamp() -> datetime.datetime:
    return _now()


@moments("-> L")
def EpochSeconds() -> int:
    return int(_now().timestamp())


@moments("-> L")
def CurrentTimestampMS() -> int:
    return int(_now().timestamp() * 1000)


@moments("-> L")
def CurrentTimestampNano() -> int:
    return _now().microsecond * 1000


@moments("-> S!")
def TimeDate() -> str:
    now = _now()
    return f"{now:%H:%M:%S %d} {MONTHS[now.month - 1][:3]} {now.year:04}"


_JULIAN = 1_721_425  # the Julian day number of 0001-01-01, less 1 for its ordinal


def _days(count: int | None) -> datetime.timedelta:
    return datetime.timedelta(days=count or 0)


@moments("i -> d!", "DateFromDaysSince")
def days_since_today(days: int | None) -> datetime.date:
    return CurrentDate() + _days(days)


@moments("i d -> d!")
def DateFromDaysSince(days: int | None, baseline: Date) -> datetime.date:
    return (baseline or CurrentDate()) + _days(days)


@moments("l -> d!")
def DateFromJulianDay(day: int | None) -> datetime.date:
    return datetime.date.fromordinal((day or 0) - _JULIAN)


@moments("d -> L?")
def JulianDayFromDate(date: Date) -> int | None:
    return None if date is None else date.toordinal() + _JULIAN


@moments("d i i i -> d")
def DateOffsetByComponents(date: Date, years: Any, months: Any, days: Any) -> Date:
    if date is None:
        return None
    return _plus_months(_plus_months(date, 12 * (years or 0)), months or 0) + _days(days)


@moments("d i -> d")
def DateOffsetByDays(date: Date, days: int | None) -> Date:
    return None if date is None else date + _days(days)


@moments("d d -> L?")
def DaysSinceFromDate(source: Date, destination: Date) -> int | None:
    return None if source is None or destination is None else (destination - source).days


@moments("d -> I?")
def DaysInMonth(date: Date) -> int | None:
    """Return the most days that the month has in any year, as in the original: 29 for every February."""
    return None if date is None else calendar.monthrange(2000, date.month)[1]


@moments("d -> I?")
def DaysInYear(date: Date) -> int | None:
    return None if date is None else 366 if calendar.isleap(date.year) else 365


@moments("d -> I?")
def MonthDayFromDate(date: Date) -> int | None:
    return None if date is None else date.day


@moments("d -> I?")
def MonthFromDate(date: Date) -> int | None:
    return None if date is None else date.month


@moments("d -> I?")
def YearFromDate(date: Date) -> int | None:
    return None if date is None else date.year


@moments("d -> I?")
def YeardayFromDate(date: Date) -> int | None:
    return None if date is None else date.timetuple().tm_yday


@moments("d -> I?")
def YearweekFromDate(date: Date) -> int | None:
    """Weeks begin on Monday; the first week is the first one that lies in the year as a whole."""
    if date is None:
        return None
    monday = date - datetime.timedelta(days=date.weekday())
    return (monday.timetuple().tm_yday - 1) // 7 + 1


def _plus_months(date: datetime.date, months: int) -> datetime.date:
    """Add months; a day that the month does not have becomes its last day."""
    year, month = divmod(date.year * 12 + date.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1] if 1 <= year <= 9999 else 28
    return date.replace(year=year, month=month + 1, day=min(date.day, last))


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
    return to_epoch_seconds(
        moment if moment.tzinfo is not None else moment.replace(tzinfo=datetime.UTC)
    )


_WEEKDAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")


@moments("d S -> d")
def NextWeekdayFromDate(date: Date, day: str | None) -> Date:
    return date if date is None or day is None else _next(date, _weekday(day))


@moments("d S -> d")
def PreviousWeekdayFromDate(date: Date, day: str | None) -> Date:
    return date if date is None or day is None else _previous(date, _weekday(day))


@moments("d S N -> d")
def NthWeekdayFromDate(date: Date, day: str | None, offset: Any) -> Date:
    count = int(offset or 0)
    if date is None or day is None or count == 0:
        return date
    step = _next(date, _weekday(day)) if count > 0 else _previous(date, _weekday(day))
    return step + datetime.timedelta(weeks=count - 1 if count > 0 else count + 1)


@moments("d -> I?", "WeekdayFromDate")
def weekday_from_date(date: Date) -> int | None:
    return WeekdayFromDate(date, "SUNDAY")


@moments("d S -> I?")
def WeekdayFromDate(date: Date, start: str | None) -> int | None:
    """Return 8 minus the number of the day on which weeks start, as the original does."""
    if date is None:
        return None
    if start is None:
        return 8 - date.isoweekday()
    if start.upper() not in _WEEKDAYS:
        raise ValueError(f"'{start}' is not a day of the week")
    return 7 - _WEEKDAYS.index(start.upper())


def _weekday(name: str) -> int:
    """Return the number of a weekday, 0 for Monday; an unknown name is Sunday, as in the original.

    The original misspells Saturday, so that only ``Sat`` and ``Satuday`` are known.
    """
    known = {day: at for at, day in enumerate(_WEEKDAYS) if day != "SATURDAY"}
    known |= {day[:3]: at for at, day in enumerate(_WEEKDAYS)} | {"SATUDAY": 5}
    return known.get(name.upper(), 6)


def _next(date: datetime.date, weekday: int) -> datetime.date:
    return date + datetime.timedelta(days=(weekday - date.weekday() - 1) % 7 + 1)


def _previous(date: datetime.date, weekday: int) -> datetime.date:
    return date - datetime.timedelta(days=(date.weekday() - weekday - 1) % 7 + 1)
