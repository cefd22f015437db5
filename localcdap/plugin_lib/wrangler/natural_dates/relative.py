"""The rules of single dates in Natty's ``DateParser.g``: formal, relaxed, relative, and parts of periods.

The value of a date is a tuple of operations; see :mod:`.evaluation`. A direction is 1 or -1.
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
    token,
)
from localcdap.plugin_lib.wrangler.natural_dates.times import (
    AHEAD,
    BACK,
    Operation,
    Operations,
    Prefix,
    amount,
    date_span,
    day_number,
    event,
    explicit_time,
    four_digits,
    implicit_prefix,
    month,
    month_day,
    month_number,
    month_target,
    ordinal,
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
    time_span,
    two_digit_number,
    weekday,
    weekday_before,
    year,
    year_prefix,
)

# -- formal and relaxed dates ----------------------------------------------------------------------


def _set_date(
    month_number: int, day: int, weekday: int | None = None, year: int | None = None
) -> Operations:
    return (("set_date", month_number, day, weekday, year),)


_formal_date: Final = either(
    sequence(month, " ", year, make=lambda m, y: _set_date(m, 1, None, y)),
    sequence(
        weekday_before,
        four_digits,
        "-|/",
        either(month_number, month),
        "-|/",
        day_number,
        make=lambda w, y, m, d: _set_date(m, d, w, y),
    ),
    sequence(
        weekday_before,
        month_number,
        "-|/",
        day_number,
        optional(sequence("-|/", either(four_digits, two_digit_number))),
        make=lambda w, m, d, y: _set_date(m, d, w, y),
    ),
    sequence(
        day_number,
        "-|/",
        month,
        optional(sequence("-|/", four_digits)),
        make=lambda d, m, y: _set_date(m, d, None, y),
    ),
)
_relaxed_date: Final = either(
    sequence(
        weekday_before,
        month,
        ",? ",
        month_day,
        relaxed_year,
        make=lambda w, m, d, y: _set_date(m, d, w, y),
    ),
    sequence(
        weekday_before,
        optional(either("the ", ", ?")),
        month_day,
        " ",
        optional("of "),
        month,
        relaxed_year,
        make=lambda w, d, m, y: _set_date(m, d, w, y),
    ),
)

# -- relative dates --------------------------------------------------------------------------------

_further_spans: Final = repeat(
    sequence(" ", amount, " ", span, make=lambda count, span: (count, span))
)


def _seek_all(steps: Prefix, target: tuple[str, Any], further: Any, way: int = AHEAD) -> Operations:
    return (seek(steps, target), *(seek_by(way, count, span) for count, span in further))


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
        " ",
        event,
        " ",
        suffix,
        make=lambda count, event, way: (seek_by(way, count, event),),
    ),
    sequence(relative_prefix, " ", event, make=lambda steps, event: (seek(steps, event),)),
    sequence(
        event, year_prefix, year, make=lambda event, number: (("set_event", event[1], number),)
    ),
    sequence(event, make=lambda event: (seek_by(AHEAD, 1, event),)),
)
_relative_date: Final = either(
    sequence(relative_prefix, " ", target, _further_spans, make=_seek_all),
    sequence(implicit_prefix, " ", target, make=lambda steps, target: (seek(steps, target),)),
    sequence(
        either(tag("weekday", weekday), month_target),
        make=lambda target: (seek_by(AHEAD, 0, target),),
    ),
    sequence(
        amount,
        " ",
        target,
        _further_spans,
        " ",
        suffix,
        make=lambda count, target, further, way: _seek_all(
            (way, "by_day", count), target, further, way
        ),
    ),
    sequence(target, " ", suffix, make=lambda target, way: (seek_by(way, 1, target),)),
    sequence(optional("the "), span, " after next", make=lambda span: (seek_by(AHEAD, 2, span),)),
    _named_date,
    _event_date,
)

# -- parts of a year, a month or a week ------------------------------------------------------------

_in_the: Final = optional(sequence(optional("in|at "), "the "))


def _build_bound(operation: str, first: int, last: int) -> Parser:
    """Return a parser for ``beginning``, ``first day``, ``2nd day``, ``end``, ``last day``."""
    return sequence(
        either(
            constant("beginning|start", first),
            sequence(ordinal, " day"),
            constant(either("end", "last day"), last),
        ),
        make=lambda number: (operation, number),
    )


day_of_year: Final = either(
    sequence(
        optional("the "),
        month_day,
        optional(" in|of"),
        make=lambda number: ("set_day_of_year", number),
    ),
    sequence(_in_the, _build_bound("set_day_of_year", 1, 366), optional(" in|of")),
)
_month_suffix: Final = sequence(" in|of", optional(" month"))
_occurrence: Final = either(
    choose({"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": 5}),
    *(
        sequence(digits(str(number)), optional(ending), make=int)
        for number, ending in enumerate(("st", "nd", "rd", "th", "th"), 1)
    ),
)
day_of_month: Final = either(
    sequence(
        optional("the "),
        month_day,
        optional(_month_suffix),
        make=lambda number: ("set_day_of_month", number),
    ),
    sequence(
        optional("the "),
        _occurrence,
        " ",
        weekday,
        _month_suffix,
        make=lambda index, number: ("set_weekday_of_month", index, number),
    ),
    sequence(_in_the, _build_bound("set_day_of_month", 1, 31), optional(_month_suffix)),
)
_day_of_week: Final = sequence(
    either(
        sequence(optional("the "), relaxed_weekday, optional("in|of")),
        sequence(
            _in_the,
            either(
                constant(either("beginning|start", "first day"), 2),
                constant(either("end", "last day"), 6),
            ),
            " in|of",
        ),
    ),
    make=lambda number: ("seek_weekday", AHEAD, "by_week", 0, number),
)

relative_month: Final = either(month_target, tag("span", token("month")))


def _build_seek(target: Parser, name: str) -> tuple[Parser, ...]:
    """Return the parsers of ``two months ago``, ``next month`` and ``the month after next``."""
    return (
        sequence(
            amount, " ", target, " ", suffix, make=lambda count, to, way: seek_by(way, count, to)
        ),
        sequence(prefix, " ", target, make=seek),
        constant(f"the {name} after next", seek_by(AHEAD, 2, ("span", name))),
    )


_month_seek: Final = either(
    *_build_seek(relative_month, "month"),
    sequence(month_target, make=lambda target: seek_by(AHEAD, 0, target)),
)
_week_seek: Final = either(
    constant("after next", seek_by(AHEAD, 2, ("span", "week"))),
    constant("before last", seek_by(BACK, 2, ("span", "week"))),
    *_build_seek(tag("span", token("week")), "week"),
)


def _join_month(part: Operation, month_seek: Operation, year_number: int | None) -> Operations:
    if year_number is None:
        return (month_seek, part)
    year_seek = ("set_year", year_number)
    if part[0] == "set_weekday_of_month" and month_seek[0] == "seek_month":
        return (month_seek, year_seek, part)  # the weekday depends on the year
    return (month_seek, part, year_seek)


_part_of_period: Final = either(
    sequence(day_of_year, " ", year, make=lambda part, number: (("set_year", number), part)),
    sequence(day_of_month, " ", _month_seek, relaxed_year, make=_join_month),
    sequence(_day_of_week, " ", _week_seek, make=lambda part, week: (week, part)),
)

# -- dates counted from a date ---------------------------------------------------------------------

_way: Final = choose({"after": AHEAD, "from": AHEAD, "on": AHEAD, "before": BACK})
_prefix_amount: Final = optional(sequence(either(ordinal, amount), " "))
global_prefix: Final = memoize(
    either(
        sequence(optional("the "), "day ", _way, make=lambda way: ("seek_span", way, 1, "day")),
        sequence(
            _prefix_amount,
            date_span,
            " ",
            _way,
            make=lambda count, span, way: ("seek_span", way, count or 1, span),
        ),
        sequence(
            optional("the "),
            _prefix_amount,
            weekday,
            " ",
            _way,
            make=lambda count, number, way: ("seek_weekday", way, "by_day", count or 1, number),
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
                " ",
                Parser(_read_date, None),
                make=lambda step, operations: (*operations, step),
            ),
        ),
    )
)

# -- times counted from a time ---------------------------------------------------------------------

_anchor: Final = either(constant("now", ("seek_span", AHEAD, 0, "day")), explicit_time)
_time_suffix: Final = either(
    sequence(
        choose({"from": AHEAD, "after": AHEAD, "before": BACK}),
        optional(sequence(" ", _anchor)),
        make=lambda way, anchor: (way, anchor),
    ),
    constant("ago", (BACK, None)),
)
relative_time: Final = either(
    sequence(
        amount,
        " ",
        time_span,
        " ",
        _time_suffix,
        make=lambda count, span, end: (
            *((end[1],) if end[1] else ()),
            ("seek_span", end[0], count, span),
        ),
    ),
    sequence(
        prefix, " ", time_span, make=lambda steps, span: (("seek_span", steps[0], steps[2], span),)
    ),
)
"""``10 hours ago``, ``20 minutes before noon``, ``next hour``."""
