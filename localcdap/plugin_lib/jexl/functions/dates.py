"""``date:``: the original's ``Dates``, on timestamps (a datetime with a zone); null is an error."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

import datetime

from localcdap.java.dates.patterns import DAYS, MONTHS
from localcdap.java.unix_time import to_epoch_millis, to_epoch_seconds
from localcdap.plugin_lib.jexl.functions.data_quality import is_date, is_time
from localcdap.plugin_lib.jexl.functions.registry import FunctionNamespace

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
