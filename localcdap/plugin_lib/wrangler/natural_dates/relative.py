"""The rules of single dates in Natty's ``DateParser.g``: formal, relaxed, relative, and parts of periods.

The value of a date is a tuple of operations; see :mod:`.calendar`. A direction is 1 or -1.
"""

from __future__ import annotations

from typing import Any, Final

from localcdap.plugin_lib.wrangler.natural_dates.combinators import (
    Ends,
    Parse,
    Parser,
    choose,
    commit,
    constant,
    digits,
    either,
    memoize,
    optional,
    repeat,
    sequence,
    space,
    token,
)
from localcdap.plugin_lib.wrangler.natural_dates.numbers import (
    amount,
    day_number,
    four_digits,
    month_number,
    ordinal,
    two_digit_number,
)
from localcdap.plugin_lib.wrangler.natural_dates.targets import (
    AHEAD,
    BACK,
    Operations,
    comma,
    date_span,
    event,
    implicit_prefix,
    month,
    month_day,
    month_target,
    prefix,
    relative_prefix,
    relaxed_weekday,
    relaxed_year,
    seek,
    seek_by,
    span,
    suffix,
    tag,
    target,
    the,
    weekday,
    weekday_before,
    year,
    year_prefix,
)
from localcdap.plugin_lib.wrangler.natural_dates.times import Operation, explicit_time, time_span

# -- formal and relaxed dates ----------------------------------------------------------------------


def _set_date(
    month_number: int, day: int, weekday: int | None = None, year: int | None = None
) -> Operations:
    return (("set_date", month_number, day, weekday, year),)


_separator: Final = token("-", "/")
_formal_year: Final = sequence(_separator, four_digits, make=lambda _, number: number)
_formal_date: Final = either(
    sequence(month, space, year, make=lambda m, _, y: _set_date(m, 1, None, y)),
    sequence(
        weekday_before,
        four_digits,
        _separator,
        either(month_number, month),
        _separator,
        day_number,
        make=lambda w, y, _, m, __, d: _set_date(m, d, w, y),
    ),
    sequence(
        weekday_before,
        month_number,
        _separator,
        day_number,
        optional(
            sequence(_separator, either(four_digits, two_digit_number), make=lambda _, y: y),
        ),
        make=lambda w, m, _, d, y: _set_date(m, d, w, y),
    ),
    sequence(
        day_number,
        _separator,
        month,
        optional(_formal_year),
        make=lambda d, _, m, y: _set_date(m, d, None, y),
    ),
)
_relaxed_date: Final = either(
    sequence(
        weekday_before,
        month,
        comma,
        space,
        month_day,
        relaxed_year,
        make=lambda w, m, _, __, d, y: _set_date(m, d, w, y),
    ),
    sequence(
        weekday_before,
        optional(either(the, sequence(token(","), optional(space)))),
        month_day,
        space,
        optional(sequence(token("of"), space)),
        month,
        relaxed_year,
        make=lambda w, _, d, __, ___, m, y: _set_date(m, d, w, y),
    ),
)

# -- relative dates --------------------------------------------------------------------------------

_further_span: Final = sequence(
    space, amount, space, span, make=lambda _, count, __, span: (count, span)
)


def _seek_all(way: int, count: int, target: tuple[str, Any], further: Any) -> Operations:
    return (
        seek_by(way, count, target),
        *(seek_by(way, more, span) for more, span in further),
    )


_named_date: Final = choose(
    {
        "today": (("seek_span", AHEAD, 0, "day"),),
        "now": (("seek_span", AHEAD, 0, "day"),),
        "tomorrow": (("seek_span", AHEAD, 1, "day"),),
        "yesterday": (("seek_span", BACK, 1, "day"),),
    }
)
_event_date: Final = either(
    sequence(
        amount,
        space,
        event,
        space,
        suffix,
        make=lambda count, _, event, __, way: (seek_by(way, count, event),),
    ),
    sequence(relative_prefix, space, event, make=lambda steps, _, event: (seek(steps, event),)),
    sequence(
        event,
        year_prefix,
        year,
        make=lambda event, _, number: (("set_event", event[1], number),),
    ),
    sequence(event, make=lambda event: (seek_by(AHEAD, 1, event),)),
)
_relative_date: Final = either(
    sequence(
        relative_prefix,
        space,
        target,
        repeat(_further_span),
        make=lambda steps, _, target, further: (
            seek(steps, target),
            *(seek_by(AHEAD, count, span) for count, span in further),
        ),
    ),
    sequence(implicit_prefix, space, target, make=lambda steps, _, target: (seek(steps, target),)),
    sequence(
        either(tag("weekday", weekday), month_target),
        make=lambda target: (seek_by(AHEAD, 0, target),),
    ),
    sequence(
        amount,
        space,
        target,
        repeat(_further_span),
        space,
        suffix,
        make=lambda count, _, target, further, __, way: _seek_all(way, count, target, further),
    ),
    sequence(target, space, suffix, make=lambda target, _, way: (seek_by(way, 1, target),)),
    sequence(
        optional(the),
        span,
        space,
        token("after"),
        space,
        token("next"),
        make=lambda _, span, *__: (seek_by(AHEAD, 2, span),),
    ),
    _named_date,
    _event_date,
)

# -- parts of a year, a month or a week ------------------------------------------------------------

_in_or_of: Final = token("in", "of")
_of: Final = sequence(space, _in_or_of)
_in_the: Final = optional(sequence(optional(sequence(token("in", "at"), space)), the))


def _build_bound(operation: str, first: int, last: int) -> Parser:
    """Return a parser for ``beginning``, ``first day``, ``2nd day``, ``end``, ``last day``."""
    return sequence(
        either(
            constant(token("beginning", "start"), first),
            sequence(ordinal, space, token("day"), make=lambda number, *_: number),
            constant(token("end"), last),
            sequence(token("last"), space, token("day"), make=lambda *_: last),
        ),
        make=lambda number: (operation, number),
    )


day_of_year: Final = either(
    sequence(
        optional(the),
        month_day,
        optional(_of),
        make=lambda _, number, __: ("set_day_of_year", number),
    ),
    sequence(
        _in_the,
        _build_bound("set_day_of_year", 1, 366),
        optional(_of),
        make=lambda _, bound, __: bound,
    ),
)
_month_suffix: Final = sequence(space, _in_or_of, optional(sequence(space, token("month"))))
_occurrence: Final = either(
    choose({"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": 5}),
    *(
        sequence(digits(str(number)), optional(token(ending)), make=lambda text, _: int(text))
        for number, ending in enumerate(("st", "nd", "rd", "th", "th"), 1)
    ),
)
day_of_month: Final = either(
    sequence(
        optional(the),
        month_day,
        optional(_month_suffix),
        make=lambda _, number, __: ("set_day_of_month", number),
    ),
    sequence(
        optional(the),
        _occurrence,
        space,
        weekday,
        _month_suffix,
        make=lambda _, index, __, number, ___: ("set_weekday_of_month", index, number),
    ),
    sequence(
        _in_the,
        _build_bound("set_day_of_month", 1, 31),
        optional(_month_suffix),
        make=lambda _, bound, __: bound,
    ),
)
_day_of_week: Final = either(
    sequence(
        optional(the),
        relaxed_weekday,
        optional(_in_or_of),
        make=lambda _, number, __: ("seek_weekday", AHEAD, "by_week", 0, number),
    ),
    sequence(
        _in_the,
        either(
            constant(token("beginning", "start"), 2),
            sequence(token("first"), space, token("day"), make=lambda *_: 2),
            constant(token("end"), 6),
            sequence(token("last"), space, token("day"), make=lambda *_: 6),
        ),
        space,
        _in_or_of,
        make=lambda _, number, *__: ("seek_weekday", AHEAD, "by_week", 0, number),
    ),
)

_relative_month: Final = either(month_target, tag("span", token("month")))


def _build_seek(target: Parser, name: str) -> tuple[Parser, ...]:
    """Return the parsers of ``two months ago``, ``next month`` and ``the month after next``."""
    return (
        sequence(
            amount,
            space,
            target,
            space,
            suffix,
            make=lambda count, _, to, __, way: seek_by(way, count, to),
        ),
        sequence(prefix, space, target, make=lambda steps, _, to: seek(steps, to)),
        sequence(
            the,
            token(name),
            space,
            token("after"),
            space,
            token("next"),
            make=lambda *_: seek_by(AHEAD, 2, ("span", name)),
        ),
    )


_month_seek: Final = either(
    *_build_seek(_relative_month, "month"),
    sequence(month_target, make=lambda target: seek_by(AHEAD, 0, target)),
)
_week_seek: Final = either(
    sequence(
        token("after"), space, token("next"), make=lambda *_: seek_by(AHEAD, 2, ("span", "week"))
    ),
    sequence(
        token("before"), space, token("last"), make=lambda *_: seek_by(BACK, 2, ("span", "week"))
    ),
    *_build_seek(tag("span", token("week")), "week"),
)


def _join_month(
    part: Operation, _: None, month_seek: Operation, year_number: int | None
) -> Operations:
    if year_number is None:
        return (month_seek, part)
    year_seek = ("set_year", year_number)
    if part[0] == "set_weekday_of_month" and month_seek[0] == "seek_month":
        return (month_seek, year_seek, part)  # the weekday depends on the year
    return (month_seek, part, year_seek)


_part_of_period: Final = either(
    sequence(day_of_year, space, year, make=lambda part, _, number: (("set_year", number), part)),
    sequence(day_of_month, space, _month_seek, relaxed_year, make=_join_month),
    sequence(_day_of_week, space, _week_seek, make=lambda part, _, week: (week, part)),
)

# -- dates counted from a date ---------------------------------------------------------------------

_way: Final = choose({"after": AHEAD, "from": AHEAD, "on": AHEAD, "before": BACK})
_prefix_amount: Final = optional(
    sequence(either(ordinal, amount), space, make=lambda count, _: count)
)
global_prefix: Final = memoize(
    either(
        sequence(
            optional(the),
            token("day"),
            space,
            _way,
            make=lambda _, __, ___, way: ("seek_span", way, 1, "day"),
        ),
        sequence(
            _prefix_amount,
            date_span,
            space,
            _way,
            make=lambda count, span, _, way: ("seek_span", way, count or 1, span),
        ),
        sequence(
            optional(the),
            _prefix_amount,
            weekday,
            space,
            _way,
            make=lambda _, count, number, __, way: (
                "seek_weekday",
                way,
                "by_day",
                count or 1,
                number,
            ),
        ),
    )
)
"""``the day after``, ``two weeks from``, ``3 fridays before``: one operation."""


def _read_date(run: Parse, at: int) -> Ends:
    return date.read(run, at)


calendar_date: Final = memoize(either(_formal_date, _relaxed_date))
date: Final = memoize(
    commit(
        calendar_date,
        either(
            _relative_date,
            _part_of_period,
            sequence(
                global_prefix,
                space,
                Parser(_read_date, None),
                make=lambda step, _, operations: (*operations, step),
            ),
        ),
    )
)

# -- times counted from a time ---------------------------------------------------------------------

_anchor: Final = either(
    constant(token("now"), ("seek_span", AHEAD, 0, "day")),
    explicit_time,
)
_time_suffix: Final = either(
    sequence(
        choose({"from": AHEAD, "after": AHEAD, "before": BACK}),
        optional(sequence(space, _anchor, make=lambda _, anchor: anchor)),
        make=lambda way, anchor: (way, anchor),
    ),
    constant(token("ago"), (BACK, None)),
)
relative_time: Final = either(
    sequence(
        amount,
        space,
        time_span,
        space,
        _time_suffix,
        make=lambda count, _, span, __, end: (
            *((end[1],) if end[1] else ()),
            ("seek_span", end[0], count, span),
        ),
    ),
    sequence(
        prefix,
        space,
        time_span,
        make=lambda steps, _, span: (("seek_span", steps[0], steps[2], span),),
    ),
)
"""``10 hours ago``, ``20 minutes before noon``, ``next hour``."""
