"""Computes the dates of the phrases in a text at a present time.

Finds the phrases in a text that are dates: the search of Natty's ``Parser.java``.

The point in time that the words of a phrase move: Natty's ``WalkerState.java`` on Java's calendar.

Java's ``GregorianCalendar`` is lenient: the 31st of April is the 1st of May. Weeks begin on Sunday.
"""

from __future__ import annotations

import calendar
import datetime
import functools
import re
from collections.abc import Sequence
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from localcdap.plugin_lib.wrangler.natural_dates import times
from localcdap.plugin_lib.wrangler.natural_dates.combinators import (
    INTEGER,
    SPACE,
    UNKNOWN,
    Parse,
    Token,
    may_start,
    split_tokens,
)
from localcdap.plugin_lib.wrangler.natural_dates.grammar import INVALID, Phrase, parse_phrase
from localcdap.plugin_lib.wrangler.natural_dates.times import Operation

_CENTURY_THRESHOLD: Final = 20
"""Two-digit years up to 20 years after the present one are in this century."""

_TIME_SPANS: Final = ("hour", "minute", "second")


class Calendar:
    """A moment that operations change.

    The public methods without ``take`` are the operations of phrases. A direction (``way``) is 1 or -1.
    """

    def __init__(self, now: datetime.datetime) -> None:
        """:param now: the present, in the zone that texts without one mean."""
        assert now.tzinfo is not None
        self._now = now
        self.moment = now
        self.date_begins = True
        """Whether the next operation on the date is the first one of its alternative."""
        self.time_given = False
        self.date_given = False
        self.date_is_new = False
        """Whether the last operation on the date was the first one of the phrase."""
        self.halves: list[str | None] = []
        self.times: list[bool] = []

    # -- operations on the date --------------------------------------------------------------------

    def set_date(self, month: int, day: int, weekday: int | None, year: int | None) -> None:
        """Set the date. A weekday counts only without a year: the last year that had it is taken."""
        self._begin_date()
        full = self.moment.year
        if year is not None:
            self._begin_date()  # a year is an operation of its own
            full = self._complete_year(year)
        self._set_lenient(full, month, day)
        if year is None and weekday is not None:
            while self._weekday != weekday:
                self._add_months(-12)

    def set_year(self, year: int) -> None:
        self._begin_date()
        self._set_lenient(self._complete_year(year), self.moment.month, self.moment.day)

    def set_day_of_month(self, day: int) -> None:
        self._begin_date()
        last = calendar.monthrange(self.moment.year, self.moment.month)[1]
        self._set_local(self._local.replace(day=min(day, last)))

    def set_day_of_year(self, day: int) -> None:
        self._begin_date()
        days = min(day, 366 if calendar.isleap(self.moment.year) else 365)
        first = self._local.replace(month=1, day=1)
        self._set_local(first + datetime.timedelta(days=days - 1))

    def set_weekday_of_month(self, index: int, weekday: int) -> None:
        """Go to the first to fifth of a weekday in the month; the fifth is the last one."""
        self._begin_date()
        first = self._local.replace(day=1)
        days = (weekday - _find_weekday(first)) % 7 + 7 * (index - 1)
        found = first + datetime.timedelta(days=days)
        self._set_local(found if found.month == first.month else found - datetime.timedelta(days=7))

    def seek_weekday(self, way: int, by: str, count: int, weekday: int) -> None:
        """Go to a weekday: by day, to its next occurrences; by week, to the one in a following week."""
        self._begin_date()
        if by == "by_week":
            days = weekday - self._weekday + 7 * count * way
        else:
            days = ((weekday - self._weekday) * way % 7 or 7) * way + 7 * max(count - 1, 0) * way
        self._add_days(days)

    def seek_month(self, way: int, count: int, month: int) -> None:
        """Go to the first day of a month."""
        self._begin_date()
        current = self.moment.month
        years = 0
        if count > 0:
            years = count
            if (current < month and way > 0) or (current > month and way < 0):
                years -= 1
        self._set_lenient(self.moment.year + years * way, month, 1)

    def seek_span(self, way: int, count: int, span: str) -> None:
        steps = way * count
        if span in _TIME_SPANS:
            self._begin_time(None)
            duration = datetime.timedelta(**{f"{span}s": steps})
            zone = self.moment.tzinfo
            self.moment = (self.moment.astimezone(datetime.UTC) + duration).astimezone(zone)
            return
        self._begin_date()
        if span in ("month", "year"):
            self._add_months(steps * (12 if span == "year" else 1))
        else:
            self._add_days(steps * (7 if span == "week" else 1))

    def seek_event(self, way: int, count: int, event: str) -> None:
        """Go to a holiday or the beginning of a season; today's counts as the next one."""
        self._begin_date()
        find = times.HOLIDAYS.get(event) or times.SEASONS[event]
        has_passed = self._now.date() > find(self._now.year)
        first = self._now.year + has_passed  # the year of the next one
        self._set_day(find(first + count - 1 if way > 0 else first - count))

    def set_event(self, event: str, year: int) -> None:
        """Go to a holiday or season of a year. Natty takes the eve of the year for new year's eve."""
        self._begin_date()
        full = self._complete_year(year)
        if event in times.SEASONS:
            first = times.FIRST_YEAR_OF_SEASONS + (event == "spring")
            day = times.SEASONS[event](full if full >= first else self._now.year)
            self._set_lenient(full, day.month, day.day)
        else:
            self._set_day(times.HOLIDAYS[event](full - (event == "new years eve")))

    # -- the operation on the time -----------------------------------------------------------------

    def set_time(
        self,
        hour: int,
        minute: int | None,
        second: int | None,
        half: str | None,
        zone: str | int | None,
    ) -> None:
        """Set the time of day.

        :param hour: 0 to 23; more for the day after. ``am`` and ``pm`` count up to 12.
        :param zone: a name, or minutes after UTC; None for the zone of the text.
        """
        self._begin_time(half)
        if hour <= 12:
            if half is None:
                half = "pm" if hour >= 12 else "am"
            hour = hour % 12 + (12 if half == "pm" else 0)
        day = self._local.replace(hour=0, minute=minute or 0, second=second or 0, microsecond=0)
        self.moment = resolve_local(day + datetime.timedelta(hours=hour), self._find_zone(zone))

    def _find_zone(self, zone: str | int | None) -> datetime.tzinfo:
        if isinstance(zone, int):
            return datetime.timezone(datetime.timedelta(minutes=zone))
        if zone is not None:
            return datetime.UTC if zone == "UTC" else ZoneInfo(zone)
        assert self._now.tzinfo is not None
        return self._now.tzinfo

    # -- what precedes an operation ----------------------------------------------------------------

    def _begin_date(self) -> None:
        """Begin again at the present day with the first operation of an alternative."""
        self.date_is_new = not self.date_given
        self.date_given = True
        if not self.date_begins:
            return
        self.date_begins = False
        before = self._local
        self.moment = self._now
        if self.time_given:
            self._set_local(
                self._local.replace(hour=before.hour, minute=before.minute, second=before.second)
            )

    def _begin_time(self, half: str | None) -> None:
        self.time_given = True
        self.halves.append(half)
        self.times.append(True)

    def _complete_year(self, year: int) -> int:
        if year > 99:
            return year
        return year + (1900 if year > self._now.year - 2000 + _CENTURY_THRESHOLD else 2000)

    # -- moves -------------------------------------------------------------------------------------

    @property
    def _local(self) -> datetime.datetime:
        return self.moment.replace(tzinfo=None, fold=0)

    @property
    def _weekday(self) -> int:
        return _find_weekday(self._local)

    def _set_local(self, local: datetime.datetime) -> None:
        assert self.moment.tzinfo is not None
        self.moment = resolve_local(local, self.moment.tzinfo)

    def _set_day(self, day: datetime.date) -> None:
        self._set_local(datetime.datetime.combine(day, self._local.time()))

    def _set_lenient(self, year: int, month: int, day: int) -> None:
        first = self._local.replace(year=year, month=month, day=1)
        self._set_local(first + datetime.timedelta(days=day - 1))

    def _add_days(self, days: int) -> None:
        self._set_local(self._local + datetime.timedelta(days=days))

    def _add_months(self, months: int) -> None:
        local = self._local
        year, month = divmod(local.year * 12 + local.month - 1 + months, 12)
        if not datetime.MINYEAR <= year <= datetime.MAXYEAR:
            raise OverflowError(f"the year {year} is not from 1 to 9999")
        day = min(local.day, calendar.monthrange(year, month + 1)[1])
        self._set_local(local.replace(year=year, month=month + 1, day=day))


def _find_weekday(day: datetime.date) -> int:
    """Return 1 for a Sunday to 7 for a Saturday."""
    return day.isoweekday() % 7 + 1


def resolve_local(local: datetime.datetime, zone: datetime.tzinfo) -> datetime.datetime:
    """Return a local time in a zone.

    As in Java, a time that clocks show twice is the later one, and one that they skip is moved ahead.
    """
    one, other = local.replace(tzinfo=zone, fold=0), local.replace(tzinfo=zone, fold=1)
    before, after = one.utcoffset(), other.utcoffset()
    assert before is not None
    assert after is not None
    if before == after:
        return one
    if after < before:
        return other
    return one.astimezone(datetime.UTC).astimezone(zone)


_TRAILING: Final = frozenset(".:,-/+'")
"""Tokens that mean nothing at the end."""

_MOST_TOKENS: Final = 64
"""No date is longer. Bounds the time and the depth of one attempt in a text of repeated words."""

_MOST_ATTEMPTS: Final = 300
"""How often one run of known words is tried, which bounds its time. People write fewer than 50 of them."""

_TIME_OPERATIONS: Final = ("hour", "minute", "second")


class UnreadableDateError(ValueError):
    """A text does not say a date completely, or in a form that is understood; the message follows a name."""


class FoundPhrase(NamedTuple):
    """A phrase and the place in the text where it stands."""

    phrase: Phrase
    start: int
    end: int


@functools.lru_cache(maxsize=8192)
def locate_phrases(text: str) -> tuple[FoundPhrase, ...]:
    """Return the phrases of a text in their order. They do not depend on the present time."""
    runs = _collect_runs(split_tokens(text))
    found = []
    for tokens in runs:
        attempt = _search_run(tokens, text)
        phrase = attempt.phrase
        if phrase is not None and (len(runs) == 1 or _names_date(phrase) or not attempt.is_number):
            found.append(FoundPhrase(phrase, attempt.start, attempt.end))
    return tuple(found)


def find_phrases(text: str) -> tuple[Phrase, ...]:
    """Return the phrases of a text in their order."""
    return tuple(found.phrase for found in locate_phrases(text))


def _collect_runs(tokens: list[Token]) -> list[list[Token]]:
    """Return the runs of known tokens that begin with one that may start a date."""
    runs: list[list[Token]] = []
    current: list[Token] | None = None
    for token in tokens:
        if current is None:
            if token.kind != SPACE and may_start(token):
                current = [token]
                runs.append(current)
        elif token.kind == UNKNOWN:
            current = None
        else:
            current.append(token)
    for run in runs:
        while run and run[-1].kind in _TRAILING:
            run.pop()
    return [run for run in runs if run]


class _Attempt(NamedTuple):
    phrase: Phrase | None
    furthest: int
    """The last position that the attempt has looked at."""
    start: int = 0
    """The index in the text at which the phrase begins."""
    end: int = 0
    """The index in the text at which the phrase ends."""
    is_number: bool = False
    """Whether the phrase has only digits, like the 5 of ``5 people``."""


def _search_run(tokens: list[Token], text: str) -> _Attempt:
    """Parse a run without more and more tokens at the end, then at the beginning, until a phrase is found."""
    limit = min(len(tokens), _MOST_TOKENS)
    attempt = _parse(tokens, limit, text)
    while attempt.phrase is None and limit > 1:
        limit = min(limit - 1, attempt.furthest)
        attempt = _parse(tokens, limit, text)
    begin = 0
    while attempt.phrase is None and begin < min(len(tokens), _MOST_ATTEMPTS):
        begin += 1
        while begin < len(tokens) and not may_start(tokens[begin]):
            begin += 1
        rest = tokens[begin : begin + _MOST_TOKENS]
        attempt = _parse(rest, len(rest), text)
        if attempt.is_number and rest[-1].end > attempt.end:
            attempt = attempt._replace(phrase=None)  # the 11 of "4711 of 1 may"
    return attempt


def _parse(tokens: list[Token], limit: int, text: str) -> _Attempt:
    run = Parse(tokens, limit)
    found = parse_phrase(run) if limit else None
    if found is None:
        return _Attempt(None, run.furthest)
    phrase, count = found
    if any(INVALID in moment for moment in phrase.moments):
        return _Attempt(None, run.furthest)
    start, end = tokens[0].start, tokens[count - 1].end
    if text[max(start - 1, 0) : start].isalpha() or text[end : end + 1].isalpha():
        return _Attempt(None, run.furthest)
    return _Attempt(
        phrase, run.furthest, start, end, all(t.kind == INTEGER for t in tokens[:count])
    )


def _names_date(phrase: Phrase) -> bool:
    parts = [*phrase.moments, *([phrase.until] if phrase.until else [])]
    return any(
        operation[0] != "set_time" and operation[-1] not in _TIME_OPERATIONS
        for part in parts
        for operation in part
    )


_FIRST_GREGORIAN_DAY: Final = datetime.date(1582, 10, 15)


def find_dates(text: str, now: datetime.datetime) -> list[list[datetime.datetime]]:
    """Return the dates in a text: for each phrase its alternatives, such as both of ``next wed or thurs``.

    A date without a time has the present time of day, a time without a date the present day.

    :param now: the present, in the zone that texts without one mean; the results are in this zone.
    :raises OverflowError: for a date outside of the years 1 to 9999.
    :raises ValueError: for a date outside of them, too.
    """
    return [_evaluate(phrase, now) for phrase in find_phrases(text)]


def read_dates(text: str, now: datetime.datetime) -> list[list[datetime.datetime]]:
    """Return the dates in a text, as :func:`find_dates` does, if the text itself says them.

    Unlike Natty, which completes what is missing from the present time, a date without a time is midnight.
    Only a phrase that counts from the present, such as ``tomorrow``, ``2 days ago`` or ``next friday``,
    depends on it.

    :raises UnreadableDateError: for a text without a date, with digits that belong to a date and are not
        understood, and for a date without a year or a time without a date; the message says which.
    :raises OverflowError: for a date outside of the years 1 to 9999; also a plain ValueError.
    """
    fractions = _FRACTION.findall(text)
    whole = _FRACTION.sub("", text)
    phrases = locate_phrases(whole)
    if not phrases:
        raise UnreadableDateError(f"has no date that is understood: '{text[:_MOST_SHOWN]}'")
    dates = [_evaluate_complete(found, whole, now) for found in phrases]
    if not fractions:
        return dates
    if len(dates) > 1 or len(dates[0]) > 1:
        raise UnreadableDateError(
            f"has fractions of seconds in several dates: '{text[:_MOST_SHOWN]}'"
        )
    micros = int(f"{fractions[0]:0<6}"[:6])
    return [[date.replace(microsecond=micros) for date in dates[0]]]


_MOST_SHOWN: Final = 60
_JOINED: Final = ".:,/-'"
"""Characters that join the numbers of a date."""
_FRACTION: Final = re.compile(r"(?<=:[0-5][0-9])[.,]([0-9]{1,9})(?![0-9.:])")
"""A fraction of a second, which Natty leaves in the text with all that follows."""


def _evaluate_complete(
    found: FoundPhrase, text: str, now: datetime.datetime
) -> list[datetime.datetime]:
    whole = _extend(found, text)
    if any(char.isdigit() for char in whole.replace(text[found.start : found.end], "", 1)):
        raise UnreadableDateError(f"has a date that is not understood: '{whole[:_MOST_SHOWN]}'")
    phrase = found.phrase
    moments = [*phrase.moments, *([phrase.until] if phrase.until is not None else [])]
    if any(name.startswith("seek_") for moment in moments for name, *_ in moment):
        return _evaluate(phrase, now)
    missing = _find_missing_part(moments)
    if missing is not None:
        raise UnreadableDateError(f"has a date without {missing}: '{whole[:_MOST_SHOWN]}'")
    return _evaluate(phrase, now.replace(hour=0, minute=0, second=0, microsecond=0))


def _extend(found: FoundPhrase, text: str) -> str:
    """Return a phrase with the numbers that are joined to it."""
    start, end = found.start, found.end
    while start > 0 and (text[start - 1].isdigit() or text[start - 1] in _JOINED):
        start -= 1
    while end < len(text) and (text[end].isdigit() or text[end] in _JOINED):
        end += 1
    return text[start:end]


def _find_missing_part(moments: Sequence[Sequence[Operation]]) -> str | None:
    """Return what all moments lack, or one of them that has a date: a moment without one has another's."""
    dated = [
        [each for each in moment if each[0] not in ("set_time", "set_year")] for moment in moments
    ]
    if not any(dated):
        return "a day"
    has_years = all(
        any(
            name in ("set_year", "set_event") or (name == "set_date" and arguments[-1] is not None)
            for name, *arguments in moment
        )
        for moment, days in zip(moments, dated, strict=True)
        if days
    )
    return None if has_years else "a year"


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
