"""Computes the dates of the phrases in a text at a present time."""

from __future__ import annotations

import datetime
from typing import Final

from localcdap.plugin_lib.wrangler.natural_dates.calendar import Calendar, resolve_local
from localcdap.plugin_lib.wrangler.natural_dates.grammar import Phrase
from localcdap.plugin_lib.wrangler.natural_dates.search import find_phrases
from localcdap.plugin_lib.wrangler.natural_dates.times import Operation

_FIRST_GREGORIAN_DAY: Final = datetime.date(1582, 10, 15)


def find_dates(text: str, now: datetime.datetime) -> list[list[datetime.datetime]]:
    """Return the dates in a text: for each phrase its alternatives, such as both of ``next wed or thurs``.

    A date without a time has the present time of day, a time without a date the present day.

    :param now: the present, in the zone that texts without one mean; the results are in this zone.
    :raises OverflowError: for a date outside of the years 1 to 9999.
    :raises ValueError: for a date outside of them, too.
    """
    return [_evaluate(phrase, now) for phrase in find_phrases(text)]


def _evaluate(phrase: Phrase, now: datetime.datetime) -> list[datetime.datetime]:
    calendar = Calendar(now)
    dates: list[datetime.datetime] = []
    for operations in phrase.moments:
        _run(calendar, operations)
        _complete_earlier(calendar, dates, now)
        dates.append(calendar.moment)
        calendar.date_begins = True
    if phrase.until is not None:
        _run(calendar, phrase.until)
        _complete_earlier(calendar, dates, now)
    return [_adopt_julian(date.astimezone(now.tzinfo)) for date in dates]


def _adopt_julian(moment: datetime.datetime) -> datetime.datetime:
    """Return a moment that was meant in the Julian calendar, which Java's has before 15 October 1582."""
    if moment.date() >= _FIRST_GREGORIAN_DAY:
        return moment
    year = moment.year - (moment.month < 3)
    return moment + datetime.timedelta(days=year // 100 - year // 400 - 2)


def _run(calendar: Calendar, operations: tuple[Operation, ...]) -> None:
    for name, *arguments in operations:
        getattr(calendar, name)(*arguments)


def _complete_earlier(
    calendar: Calendar, dates: list[datetime.datetime], now: datetime.datetime
) -> None:
    """Give the alternatives before this one what only this one says: the day, the time, am or pm.

    This is ``WalkerState.captureDateTime``, with the zone of the text where it has the one of the JVM.
    """
    count = len(dates)
    if len(calendar.times) < count + 1:
        calendar.times.append(False)
    if len(calendar.halves) < count + 1:
        calendar.halves.append(None)
    new, zone = calendar.moment, now.tzinfo
    assert zone is not None
    local = [date.astimezone(zone).replace(tzinfo=None) for date in dates]
    if calendar.date_is_new:
        local = [one.replace(year=new.year, month=new.month, day=new.day) for one in local]
        calendar.date_is_new = False
    if calendar.times[-1]:
        for at in range(min(len(calendar.times) - 1, count)):
            if not calendar.times[at]:
                time = new.replace(tzinfo=None).time()
                local[at] = datetime.datetime.combine(local[at].date(), time)
    half = calendar.halves[-1]
    if half is not None:
        for at in range(min(len(calendar.halves) - 1, count)):
            if calendar.halves[at] is None and calendar.times[at]:
                hour = local[at].hour % 12 + (12 if half == "pm" else 0)
                local[at] = local[at].replace(hour=hour)
    dates[:] = [resolve_local(one, zone) for one in local]
