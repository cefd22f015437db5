"""Lists, ranges and repetitions of dates and times: the upper rules of Natty's ``DateParser.g``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from localcdap.plugin_lib.wrangler.natural_dates.combinators import (
    Ends,
    Parse,
    Parser,
    choose,
    commit,
    either,
    memoize,
    optional,
    repeat,
    sequence,
)
from localcdap.plugin_lib.wrangler.natural_dates.relative import (
    calendar_date,
    date,
    day_of_month,
    day_of_year,
    global_prefix,
    relative_month,
    relative_time,
)
from localcdap.plugin_lib.wrangler.natural_dates.times import (
    AHEAD,
    BACK,
    Operation,
    Operations,
    amount,
    date_span,
    explicit_time,
    month,
    month_day,
    prefix,
    relaxed_weekday,
    seek,
    seek_by,
    suffix,
    time_span,
    weekday,
    year,
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """The meaning of a text: alternatives, each with the operations that lead to it."""

    moments: tuple[Operations, ...]
    until: Operations | None = None
    """The end of a repetition, which can change the dates before it; None if there is none."""


INVALID: Final[Operation] = ("invalid",)
"""Phrases that the grammar accepts, but Natty cannot evaluate."""

_CONJUNCTION: Final = ",? and|or|to|through|- "

# -- one date and time -----------------------------------------------------------------------------

_before_time: Final = either(sequence(either(" ", " ?, ?"), optional("at ")), "t")
_before_date: Final = sequence(either(" ", ", ?"), optional("on|of "))
_time_after: Final = optional(sequence(_before_time, explicit_time))


def _add_time(operations: Operations, time: Operation | None) -> Operations:
    return operations if time is None else (*operations, time)


def _build_moment(date_after: Parser) -> Parser:
    """Return the parser of a date and time, with the parser of a date that may follow a time."""
    return either(
        sequence(date, _time_after, make=_add_time),
        sequence(
            explicit_time,
            optional(sequence(_before_date, date_after)),
            make=lambda time, operations: _add_time(operations or (), time),
        ),
        relative_time,
    )


_calendar_moment: Final = _build_moment(calendar_date)
_any_moment: Final = _build_moment(date)


def _read_moment(run: Parse, at: int) -> Ends:
    """Read ``3 july ago`` as the 3rd of july, not as "a july ago at 3"."""
    moment = _calendar_moment if calendar_date.read(run, at) else _any_moment
    return moment.read(run, at)


_moment: Final = memoize(Parser(_read_moment, _any_moment.first))

# -- ranges of a number of days --------------------------------------------------------------------

_span: Final = either(date_span, time_span)
_range_way: Final = sequence(
    choose(
        {
            "for": (AHEAD, True),
            "next": (AHEAD, True),
            "last": (BACK, True),
            "past": (BACK, True),
            "in": (AHEAD, False),
        }
    ),
    " ",
)
_other_amount: Final = sequence(_CONJUNCTION, amount)


def _span_moments(way: int, counts: list[int | None], span: str) -> tuple[Operations, ...]:
    return tuple((("seek_span", way, count, span),) for count in counts if count is not None)


_range: Final = either(
    sequence(
        _range_way,
        amount,
        optional(_other_amount),
        " ",
        _span,
        make=lambda way, one, two, span: _span_moments(
            way[0], [*([0] if way[1] else []), one, two], span
        ),
    ),
    sequence(
        amount,
        _other_amount,
        " ",
        _span,
        optional(sequence(" ", suffix)),
        make=lambda one, two, span, way: _span_moments(way or AHEAD, [one, two], span),
    ),
)

# -- a date, and another counted from it -----------------------------------------------------------

_or_after: Final = sequence(
    date,
    _CONJUNCTION,
    global_prefix,
    optional(" that"),
    _time_after,
    make=lambda operations, step, time: (
        operations if time is None else (*operations, time),
        (*operations, step) if time is None else (INVALID,),
    ),
)

# -- days of a year, of a month, of a week ---------------------------------------------------------

_days_of_year: Final = sequence(
    day_of_year,
    _CONJUNCTION,
    day_of_year,
    " ",
    year,
    make=lambda one, two, number: ((("set_year", number), one), (("set_year", number), two)),
)
_other_day: Final = sequence(_CONJUNCTION, month_day)


def _set_days(number: int, days: list[int], time: Operation | None) -> tuple[Operations, ...]:
    return tuple(_add_time((("set_date", number, day, None, None),), time) for day in days)


_list_month: Final = either(
    sequence(prefix, " ", relative_month, make=seek),
    sequence(
        amount,
        " ",
        relative_month,
        " ",
        suffix,
        make=lambda count, target, way: seek_by(way, count, target),
    ),
    sequence(month, make=lambda number: ("seek_month", AHEAD, 0, number)),
)
_days_of_month: Final = either(
    sequence(
        optional(relaxed_weekday),
        month,
        " ",
        month_day,
        repeat(_other_day, least=1),
        _time_after,
        make=lambda _, number, day, days, time: _set_days(number, [day, *days], time),
    ),
    sequence(
        day_of_month,
        _CONJUNCTION,
        day_of_month,
        " ",
        _list_month,
        _time_after,
        make=lambda one, two, step, time: (
            _add_time((step, one), time),
            _add_time((step, two), time),
        ),
    ),
)
_list_way: Final = either(
    choose(
        {"next": (AHEAD, "by_week", 1), "last": (BACK, "by_week", 1), "this": (AHEAD, "by_day", 0)}
    ),
    Parser(lambda _, at: {at: (AHEAD, "by_day", 0)}, frozenset(), may_be_empty=True),
)
_list_separator: Final = either(sequence(",", either(" ", _CONJUNCTION)), _CONJUNCTION)
_other_weekday: Final = sequence(_list_separator, weekday)


def _seek_weekdays(ways: Any, days: list[int], time: Operation | None) -> tuple[Operations, ...]:
    return tuple(
        _add_time((("seek_weekday", *way, day),), time) for way, day in zip(ways, days, strict=True)
    )


_days_of_week: Final = either(
    sequence(
        _list_way,
        " ",
        weekday,
        repeat(_other_weekday, least=1),
        _time_after,
        make=lambda way, day, days, time: _seek_weekdays(
            [way] * (1 + len(days)), [day, *days], time
        ),
    ),
    sequence(
        _list_way,
        " ",
        weekday,
        _CONJUNCTION,
        _list_way,
        _time_after,
        make=lambda _, day, way, time: _seek_weekdays(
            [(AHEAD, "by_day", 0), way], [day, day], time
        ),
    ),
)

# -- the whole phrase ------------------------------------------------------------------------------

_next_moment: Final = sequence(_CONJUNCTION, _moment)
_alternatives: Final = commit(
    _range,
    _or_after,
    _days_of_year,
    _days_of_month,
    _days_of_week,
    sequence(_moment, repeat(_next_moment), make=lambda first, others: (first, *others)),
)
_until: Final = sequence(" until ", _moment)
_phrase: Final[Parser] = commit(
    sequence("every ", _alternatives, optional(_until), make=Phrase),
    sequence(_alternatives, make=Phrase),
)


def parse_phrase(run: Parse) -> tuple[Phrase, int] | None:
    """Return the longest phrase at the beginning of the tokens and the number of its tokens; None if there
    is none.
    """
    ends = _phrase.read(run, 0)
    if not ends:
        return None
    end = max(ends)
    return ends[end], end
