"""Methods of dates and times (``java.time``)."""

from __future__ import annotations

import datetime
from typing import Any

from localcdap.plugin_lib.jexl.methods.any_value import compare_to
from localcdap.plugin_lib.jexl.methods.declaring import MethodsOf

date = MethodsOf("date")


def _plus(unit: str, sign: int) -> Any:
    return lambda value, count: value + datetime.timedelta(**{unit: sign * count})


date("-> I", "getYear")(lambda value: value.year)
date("-> I", "getMonthValue")(lambda value: value.month)
date("-> S", "getMonth")(lambda value: value.strftime("%B").upper())
date("-> I", "getDayOfMonth")(lambda value: value.day)
date("-> I", "getDayOfYear")(lambda value: value.timetuple().tm_yday)
date("-> S", "getDayOfWeek")(lambda value: value.strftime("%A").upper())
date("-> I", "getHour")(lambda value: value.hour)
date("-> I", "getMinute")(lambda value: value.minute)
date("-> I", "getSecond")(lambda value: value.second)
date("-> I", "getNano")(lambda value: value.microsecond * 1000)
date("-> O", "toLocalDate")(lambda value: value.date())
date("-> O", "toLocalTime")(lambda value: value.time())
date("-> O", "toLocalDateTime")(lambda value: value.replace(tzinfo=None))
date("-> L", "toEpochSecond")(lambda value: int(value.timestamp()))
date("-> L", "toEpochDay")(lambda value: value.toordinal() - 719_163)
date("O -> B", "isBefore")(lambda value, other: value < other)
date("O -> B", "isAfter")(lambda value, other: value > other)
date("O -> B", "isEqual")(lambda value, other: value == other)
date("O -> I", "compareTo")(compare_to)
for unit in ("days", "weeks", "hours", "minutes", "seconds"):
    date("L -> O", f"plus{unit.title()}")(_plus(unit, 1))
    date("L -> O", f"minus{unit.title()}")(_plus(unit, -1))
