"""Finds dates in texts as people write them: ``12/10/2016``, ``september 7th 2016``, ``next friday at 5pm``.

The original uses Natty; this reads what Natty's documentation shows, in English. A date without a time has
the present time of day, a time without a date the present day, as there. Numbers of 10 or 13 digits are
Unix time in seconds or milliseconds.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator
from typing import Final

_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_UNITS: Final = {
    "second": 1,
    "sec": 1,
    "minute": 60,
    "min": 60,
    "hour": 3600,
    "hr": 3600,
    "day": 86400,
    "week": 7 * 86400,
}
_WORDS: Final = (
    *("zero", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)

_MONTH: Final = (
    r"(?P<{0}>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY: Final = (
    r"(?P<{0}>mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:rs?(?:day)?)?|fri(?:day)?|sat(?:urday)?"
    r"|sun(?:day)?)\b"
)
_TH: Final = r"(?:st|nd|rd|th)?\b"
_COUNT: Final = rf"(?P<{{0}}>\d+|an?|{'|'.join(_WORDS)})"
_UNIT: Final = r"(?P<{0}>seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|months?|years?)\b"

_DATE_FORMS: Final = (
    r"(?P<iso_y>\d{4})[-/.](?P<iso_m>\d{1,2})[-/.](?P<iso_d>\d{1,2})(?!\d)",
    r"(?P<us_m>\d{1,2})[-/.](?P<us_d>\d{1,2})[-/.](?P<us_y>\d{4}|\d{2})(?!\d)",
    r"(?P<flat>(?:19|20)\d{6})(?!\d)",
    rf"{_MONTH.format('mon1')}\s+(?P<mon1_d>\d{{1,2}}){_TH}(?:,?\s+(?P<mon1_y>\d{{4}})(?!\d))?",
    rf"(?P<mon2_d>\d{{1,2}}){_TH}[\s-]+(?:of\s+)?{_MONTH.format('mon2')}(?:,?[\s-]+(?P<mon2_y>\d{{4}})(?!\d))?",
    r"(?P<word>today|tomorrow|yesterday|tonight|now)\b",
    rf"(?:in\s+)?{_COUNT.format('ahead')}\s+{_UNIT.format('ahead_u')}\s+(?P<way>ago|from\s+now|later|earlier)\b",
    rf"in\s+{_COUNT.format('within')}\s+{_UNIT.format('within_u')}",
    r"(?P<side>next|last|this)\s+(?P<side_u>week|month|year)\b",
    rf"(?:(?P<which>next|last|this|coming|past)\s+)?{_DAY.format('weekday')}",
)
_TIME: Final = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<part>\d{1,9}))?)?(?:\s*(?P<half1>[ap])\.?m\b\.?)?"
    r"(?:\s*(?P<zone>Z\b|UTC\b|GMT\b|[+-]\d\d:?\d\d|[PMCE][SD]T\b))?"
    r"|(?P<hour12>\d{1,2})\s*(?P<half2>[ap])\.?m\b\.?"
    r"|(?P<named>noon|midnight)\b"
)
_ZONES: Final = {
    "Z": 0,
    "UTC": 0,
    "GMT": 0,
    "PST": -8,
    "PDT": -7,
    "MST": -7,
    "MDT": -6,
    "CST": -6,
    "CDT": -5,
    "EST": -5,
    "EDT": -4,
}
_EPOCH: Final = re.compile(r"\s*(\d{10}|\d{13})\s*")
_FLAGS: Final = re.IGNORECASE | re.ASCII
_DATES: Final = re.compile(rf"(?<![\w/.-])(?:{'|'.join(_DATE_FORMS)})", _FLAGS)
_TIMES: Final = re.compile(rf"(?<![\w:])(?:{_TIME})", _FLAGS)
_OFFSET_BEFORE: Final = re.compile(
    rf"(?:the\s+)?(?:(?P<n>\d+|{'|'.join(_WORDS)})\s+)?(?P<u>day|week|month|year)s?\s+(?P<w>before|after)\s+$",
    _FLAGS,
)
_TIME_HERE: Final = re.compile(_TIME, _FLAGS)


def find_dates(text: str, now: datetime.datetime) -> list[datetime.datetime]:
    """Return the dates in a text in their order.

    :param now: the present, with the zone that texts without one mean.
    """
    epoch = _EPOCH.fullmatch(text)
    if epoch is not None:
        seconds = int(epoch[1]) / (1 if len(epoch[1]) == 10 else 1000)
        return [datetime.datetime.fromtimestamp(seconds, now.tzinfo)]
    return list(_iterate_dates(text, now))


def _iterate_dates(text: str, now: datetime.datetime) -> Iterator[datetime.datetime]:
    at = 0
    while True:
        day, time = _DATES.search(text, at), _TIMES.search(text, at)
        first = min((m for m in (day, time) if m is not None), key=re.Match.start, default=None)
        if first is None:
            return
        made: datetime.datetime | None
        if first is day:
            made = _shift(text[at : first.start()], _read_date(first, now))
            following = _TIME_HERE.match(text, _find_gap(text, first.end()))
            at = following.end() if following else first.end()
            made = _set_time(made, following) if following and made else made
        else:
            following = _DATES.match(text, _find_gap(text, first.end(), "on"))
            at = following.end() if following else first.end()
            made = _set_time(_read_date(following, now) if following else now, first)
        if made is not None:
            yield made


def _find_gap(text: str, at: int, word: str = "at") -> int:
    match = re.compile(rf"\s*,?\s*(?:{word}\b|@|T(?=\d))?\s*", _FLAGS).match(text, at)
    return match.end() if match else at


def _shift(before: str, day: datetime.datetime | None) -> datetime.datetime | None:
    match = _OFFSET_BEFORE.search(before)
    if match is None or day is None:
        return day
    count = _parse_count(match["n"] or "1")
    return _add_units(day, match["u"], -count if match["w"].lower() == "before" else count)


def _read_date(match: re.Match[str], now: datetime.datetime) -> datetime.datetime | None:
    try:
        for read in _READERS:
            made = read(match, now)
            if made is not None:
                return made
    except (ValueError, OverflowError):
        return None
    return None


def _read_formal(match: re.Match[str], now: datetime.datetime) -> datetime.datetime | None:
    for year, month, day in (("iso_y", "iso_m", "iso_d"), ("us_y", "us_m", "us_d")):
        if match[year]:
            full = int(match[year]) + (2000 if len(match[year]) == 2 else 0)
            return now.replace(year=full, month=int(match[month]), day=int(match[day]))
    if match["flat"]:
        flat = match["flat"]
        return now.replace(year=int(flat[:4]), month=int(flat[4:6]), day=int(flat[6:]))
    return None


def _read_relaxed(match: re.Match[str], now: datetime.datetime) -> datetime.datetime | None:
    for name in ("mon1", "mon2"):
        if match[name]:
            month = 1 + _MONTHS.index(match[name][:3].lower())
            year = int(match[f"{name}_y"] or now.year)
            return now.replace(year=year, month=month, day=int(match[f"{name}_d"]))
    return None


def _read_relative(match: re.Match[str], now: datetime.datetime) -> datetime.datetime | None:
    if match["word"]:
        days = {"tomorrow": 1, "yesterday": -1}.get(match["word"].lower(), 0)
        day = now + datetime.timedelta(days=days)
        return (
            day.replace(hour=20, minute=0, second=0, microsecond=0)
            if match["word"] == "tonight"
            else day
        )
    if match["ahead"]:
        count = _parse_count(match["ahead"])
        back = match["way"].lower() in ("ago", "earlier")
        return _add_units(now, match["ahead_u"], -count if back else count)
    if match["within"]:
        return _add_units(now, match["within_u"], _parse_count(match["within"]))
    if match["side"]:
        count = {"next": 1, "last": -1, "this": 0}[match["side"].lower()]
        return _add_units(now, match["side_u"], count)
    return None


def _read_weekday(match: re.Match[str], now: datetime.datetime) -> datetime.datetime | None:
    if not match["weekday"]:
        return None
    wanted = _DAYS.index(match["weekday"][:3].lower())
    which = (match["which"] or "").lower()
    days = (wanted - now.weekday()) % 7
    if which in ("last", "past"):
        days -= 7
    elif which == "next":
        # The weekday in the next week, which begins on Sunday.
        days = (
            wanted
            - now.weekday()
            + 7
            - (7 if wanted == 6 else 0)
            + (7 if now.weekday() == 6 else 0)
        )
    return now + datetime.timedelta(days=days)


_READERS: Final[
    tuple[Callable[[re.Match[str], datetime.datetime], datetime.datetime | None], ...]
] = (
    _read_formal,
    _read_relaxed,
    _read_relative,
    _read_weekday,
)


def _add_units(day: datetime.datetime, unit: str, count: int) -> datetime.datetime:
    unit = unit.lower().rstrip("s")
    if unit in ("month", "year"):
        months = day.year * 12 + day.month - 1 + count * (12 if unit == "year" else 1)
        first = day.replace(year=months // 12, month=months % 12 + 1, day=1)
        following = (first + datetime.timedelta(days=32)).replace(day=1)
        return first.replace(day=min(day.day, (following - datetime.timedelta(days=1)).day))
    return day + datetime.timedelta(seconds=_UNITS[unit] * count)


def _parse_count(text: str) -> int:
    text = text.lower()
    return int(text) if text.isdigit() else 1 if text in ("a", "an") else _WORDS.index(text)


def _set_time(day: datetime.datetime | None, match: re.Match[str]) -> datetime.datetime | None:
    """Return a day at a time of day; None for an invalid time."""
    if day is None:
        return None
    if match["named"]:
        hour, minute, second, micros = (12 if match["named"].lower() == "noon" else 0), 0, 0, 0
    else:
        hour = int(match["hour"] or match["hour12"])
        minute, second = int(match["minute"] or 0), int(match["second"] or 0)
        micros = int((match["part"] or "0").ljust(9, "0")[:6])
        half = (match["half1"] or match["half2"] or "").lower()
        if half:
            hour = hour % 12 + (12 if half == "p" else 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    made = day.replace(hour=hour, minute=minute, second=second, microsecond=micros)
    if match["zone"]:
        made = made.replace(tzinfo=_parse_zone(match["zone"].upper())).astimezone(day.tzinfo)
    return made


def _parse_zone(text: str) -> datetime.tzinfo:
    if text in _ZONES:
        return datetime.timezone(datetime.timedelta(hours=_ZONES[text]))
    minutes = int(text[1:3]) * 60 + int(text[-2:])
    return datetime.timezone(datetime.timedelta(minutes=-minutes if text[0] == "-" else minutes))
