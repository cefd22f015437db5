"""Methods of dates and times: those of ``LocalDate``, ``LocalTime``, ``LocalDateTime`` and ``ZonedDateTime``.

Units are the names of Java's ``ChronoUnit`` as texts, such as ``'HOURS'``, since expressions cannot name a
constant of Java. Fractions of a second have microseconds, as in records.
"""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Callable
from typing import Any, Final

from localcdap.java.dates.zones import parse_zone
from localcdap.plugin_lib.jexl.value_methods.registry import MethodsOf
from localcdap.plugin_lib.jexl.value_methods.texts import compare_to

date = MethodsOf("date")

_DAY: Final = "LocalDate"
_TIME: Final = "LocalTime"
_LOCAL: Final = "LocalDateTime"
_ZONED: Final = "ZonedDateTime"
_DATES: Final = (_DAY, _LOCAL, _ZONED)
_TIMES: Final = (_TIME, _LOCAL, _ZONED)
_CLOCKS: Final = (_LOCAL, _ZONED)

MICROS: Final = {
    "MICROS": 1,
    "MILLIS": 1000,
    "SECONDS": 1_000_000,
    "MINUTES": 60_000_000,
    "HOURS": 3_600_000_000,
    "HALF_DAYS": 43_200_000_000,
}
_DAYS: Final = {"DAYS": 1, "WEEKS": 7}
_MONTHS: Final = {"MONTHS": 1, "YEARS": 12, "DECADES": 120, "CENTURIES": 1200, "MILLENNIA": 12_000}


def get_class(value: Any) -> str:
    """Return the name of the Java class that the original has the value in."""
    if isinstance(value, datetime.datetime):
        return _LOCAL if value.tzinfo is None else _ZONED
    return _DAY if isinstance(value, datetime.date) else _TIME


def _declare(classes: tuple[str, ...], signature: str, *names: str) -> Any:
    """Declare methods that only values of some classes have."""

    def declare(run: Callable[..., Any]) -> Callable[..., Any]:
        def call(value: Any, *arguments: Any) -> Any:
            if get_class(value) not in classes:
                raise ValueError(f"a {get_class(value)} does not have it")
            return run(value, *arguments)

        return date(signature, *names)(call)

    return declare


def _resolve(local: datetime.datetime, like: datetime.datetime) -> datetime.datetime:
    """Return a local time in the zone of a moment as ``ZonedDateTime.ofLocal`` does.

    A time that clocks show twice keeps the offset of the moment; one that they skip is moved ahead.
    """
    zone = like.tzinfo
    if zone is None:
        return local
    one, other = local.replace(tzinfo=zone, fold=0), local.replace(tzinfo=zone, fold=1)
    before, after = one.utcoffset(), other.utcoffset()
    if before == after or before is None or after is None:
        return one
    if before > after:
        return other if like.utcoffset() == after else one
    return one.astimezone(datetime.UTC).astimezone(zone)


def _change(value: Any, **parts: int) -> Any:
    """Replace parts of a date or time."""
    if isinstance(value, datetime.datetime):
        return _resolve(value.replace(tzinfo=None, fold=0, **parts), value)
    return value.replace(**parts)


def add_months(value: Any, months: int) -> Any:
    """Add months; a day that the month lacks becomes its last one."""
    year, month = divmod(value.year * 12 + value.month - 1 + months, 12)
    if not datetime.MINYEAR <= year <= datetime.MAXYEAR:
        raise ValueError(f"the year {year} is not from 1 to 9999")
    last = calendar.monthrange(year, month + 1)[1]
    return _change(value, year=year, month=month + 1, day=min(value.day, last))


def _add_days(value: Any, days: int) -> Any:
    if isinstance(value, datetime.datetime):
        local = value.replace(tzinfo=None, fold=0) + datetime.timedelta(days=days)
        return _resolve(local, value)
    return value + datetime.timedelta(days=days)


def _add_micros(value: Any, micros: int) -> Any:
    """Add to the time line; a time of day begins again at midnight."""
    duration = datetime.timedelta(microseconds=micros)
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            return value + duration
        return (value.astimezone(datetime.UTC) + duration).astimezone(value.tzinfo)
    whole = (_count_micros(value) + micros) % (24 * MICROS["HOURS"])
    return (datetime.datetime.min + datetime.timedelta(microseconds=whole)).time()


def _count_micros(value: Any) -> int:
    seconds = value.hour * 3600 + value.minute * 60 + value.second
    return int(seconds * 1_000_000 + value.microsecond)


def add_units(value: Any, count: int, unit: str) -> Any:
    """Add a number of units of ``ChronoUnit``."""
    name = (unit or "").upper()
    kind = get_class(value)
    if name in MICROS and kind != _DAY:
        return _add_micros(value, count * MICROS[name])
    if name == "NANOS" and kind != _DAY:
        if count % 1000:
            raise ValueError("a record holds microseconds, so nanoseconds must be thousands")
        return _add_micros(value, count // 1000)
    if name in _DAYS and kind != _TIME:
        return _add_days(value, count * _DAYS[name])
    if name in _MONTHS and kind != _TIME:
        return add_months(value, count * _MONTHS[name])
    raise ValueError(f"Unsupported unit: {unit}")


def truncate(value: Any, unit: str) -> Any:
    """Set everything that is smaller than the unit to 0."""
    name = (unit or "").upper()
    if name == "NANOS":
        return value
    size = 24 * MICROS["HOURS"] if name == "DAYS" else MICROS.get(name)
    if size is None:
        raise ValueError("Unit is too large to be used for truncation")
    rest = _count_micros(value) // size * size
    seconds, micros = divmod(rest, 1_000_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return _change(value, hour=hour, minute=minute, second=second, microsecond=micros)


def count_until(value: Any, end: Any, unit: str) -> int:
    """Return the number of whole units from a value to another of the same class."""
    if end is None or get_class(value) != get_class(end):
        raise ValueError("the other value is of another class")
    if value.__class__ is datetime.datetime and value.tzinfo is not None:
        end = end.astimezone(value.tzinfo)
    name = (unit or "").upper()
    if name in _MONTHS:
        months = _count_months(value, end)
        return _divide(months, _MONTHS[name])
    if isinstance(value, datetime.time):
        micros = _count_micros(end) - _count_micros(value)
    elif name in _DAYS and value.__class__ is datetime.datetime:
        micros = (end.replace(tzinfo=None) - value.replace(tzinfo=None)) // _MICROSECOND
    else:
        micros = (_to_utc(end) - _to_utc(value)) // _MICROSECOND
    if name == "NANOS":
        return micros * 1000
    if name in _DAYS and get_class(value) != _TIME:
        return _divide(micros, _DAYS[name] * 24 * MICROS["HOURS"])
    if name not in MICROS or get_class(value) == _DAY:
        raise ValueError(f"Unsupported unit: {unit}")
    return _divide(micros, MICROS[name])


_MICROSECOND: Final = datetime.timedelta(microseconds=1)


def _to_utc(value: Any) -> Any:
    """Return a moment in UTC: Python compares the clocks of two moments in one zone, not the moments."""
    is_zoned = isinstance(value, datetime.datetime) and value.tzinfo is not None
    return value.astimezone(datetime.UTC) if is_zoned else value


def _divide(dividend: int, divisor: int) -> int:
    return dividend // divisor if dividend >= 0 else -(-dividend // divisor)


def _count_months(value: Any, end: Any) -> int:
    if isinstance(value, datetime.time):
        raise ValueError("Unsupported unit: a time has no months")
    months = int((end.year - value.year) * 12 + end.month - value.month)
    one = (value.day, *_get_clock(value))
    other = (end.day, *_get_clock(end))
    if months > 0 and other < one:
        return months - 1
    return months + 1 if months < 0 and other > one else months


def _get_clock(value: Any) -> tuple[int, ...]:
    if isinstance(value, datetime.datetime):
        return value.hour, value.minute, value.second, value.microsecond
    return ()


def _change_day_of_year(value: Any, day: int) -> Any:
    length = 366 if calendar.isleap(value.year) else 365
    if not 1 <= day <= length:
        raise ValueError(f"the year {value.year} has no day {day}")
    moved = datetime.date(value.year, 1, 1) + datetime.timedelta(days=day - 1)
    return _change(value, month=moved.month, day=moved.day)


def _change_month(value: Any, month: int) -> Any:
    if not 1 <= month <= 12:
        raise ValueError(f"Invalid value for MonthOfYear (valid values 1 - 12): {month}")
    return add_months(value, month - value.month)


def _at_time(value: Any, hour: int, minute: int, second: int = 0, nano: int = 0) -> Any:
    return datetime.datetime.combine(value, datetime.time(hour, minute, second, nano // 1000))


def _require_time(value: Any) -> datetime.time:
    if isinstance(value, datetime.time):
        return value
    raise ValueError("the argument is not a time")


def _require_date(value: Any) -> datetime.date:
    if value.__class__ is datetime.date:
        return value
    raise ValueError("the argument is not a date")


def _get_zone(value: Any) -> str:
    key = getattr(value.tzinfo, "key", None)
    return key or ("UTC" if value.tzinfo is datetime.UTC else _get_offset(value))


def _get_offset(value: Any) -> str:
    minutes = int(value.utcoffset().total_seconds()) // 60
    if minutes == 0:
        return "Z"
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def _at_zone(value: Any, zone: str) -> Any:
    first = value.replace(tzinfo=parse_zone(zone), fold=0)
    return _resolve(value, first)


def _shift_in_overlap(value: Any, fold: int) -> Any:
    one, other = value.replace(fold=0), value.replace(fold=1)
    return value.replace(fold=fold) if one.utcoffset() > other.utcoffset() else value


def _fix_zone(value: Any) -> Any:
    return value.replace(tzinfo=datetime.timezone(value.utcoffset()), fold=0)


date("O -> I", "compareTo")(compare_to)
date("O -> B", "isBefore")(lambda value, other: _to_utc(value) < _to_utc(other))
date("O -> B", "isAfter")(lambda value, other: _to_utc(value) > _to_utc(other))
_declare(_DATES, "O -> B", "isEqual")(lambda value, other: _to_utc(value) == _to_utc(other))

_declare(_DATES, "-> I", "getYear")(lambda value: value.year)
_declare(_DATES, "-> I", "getMonthValue")(lambda value: value.month)
_declare(_DATES, "-> S", "getMonth")(lambda value: calendar.month_name[value.month].upper())
_declare(_DATES, "-> I", "getDayOfMonth")(lambda value: value.day)
_declare(_DATES, "-> I", "getDayOfYear")(lambda value: value.timetuple().tm_yday)
_declare(_DATES, "-> S", "getDayOfWeek")(lambda value: calendar.day_name[value.weekday()].upper())
_declare(_TIMES, "-> I", "getHour")(lambda value: value.hour)
_declare(_TIMES, "-> I", "getMinute")(lambda value: value.minute)
_declare(_TIMES, "-> I", "getSecond")(lambda value: value.second)
_declare(_TIMES, "-> I", "getNano")(lambda value: value.microsecond * 1000)
_declare((_ZONED,), "-> S", "getZone")(_get_zone)
_declare((_ZONED,), "-> S", "getOffset")(_get_offset)
_declare((_DAY,), "-> B", "isLeapYear")(lambda value: calendar.isleap(value.year))
_declare((_DAY,), "-> I", "lengthOfMonth")(
    lambda value: calendar.monthrange(value.year, value.month)[1]
)
_declare((_DAY,), "-> I", "lengthOfYear")(lambda value: 366 if calendar.isleap(value.year) else 365)
_declare((_DAY,), "-> L", "toEpochDay")(lambda value: value.toordinal() - 719_163)
_declare((_ZONED,), "-> L", "toEpochSecond")(
    lambda value: (
        (value - datetime.datetime.fromtimestamp(0, datetime.UTC)) // datetime.timedelta(seconds=1)
    )
)
_declare((_TIME,), "-> I", "toSecondOfDay")(lambda value: _count_micros(value) // 1_000_000)
_declare((_TIME,), "-> L", "toNanoOfDay")(lambda value: _count_micros(value) * 1000)

_declare(_CLOCKS, "-> O", "toLocalDate")(lambda value: value.date())
_declare(_CLOCKS, "-> O", "toLocalTime")(lambda value: value.time())
_declare((_ZONED,), "-> O", "toLocalDateTime")(lambda value: value.replace(tzinfo=None, fold=0))
_declare((_ZONED,), "-> O", "toInstant")(lambda value: value.astimezone(datetime.UTC))
_declare((_ZONED,), "-> O", "toOffsetDateTime", "withFixedOffsetZone")(_fix_zone)
_declare((_ZONED,), "-> O", "withEarlierOffsetAtOverlap")(lambda value: _shift_in_overlap(value, 0))
_declare((_ZONED,), "-> O", "withLaterOffsetAtOverlap")(lambda value: _shift_in_overlap(value, 1))
_declare((_ZONED,), "S -> O", "withZoneSameInstant")(
    lambda value, zone: value.astimezone(parse_zone(zone))
)
_declare((_ZONED,), "S -> O", "withZoneSameLocal")(
    lambda value, zone: _at_zone(value.replace(tzinfo=None, fold=0), zone)
)
_declare((_LOCAL,), "S -> O", "atZone", "atOffset")(_at_zone)
_declare((_DAY,), "-> O", "atStartOfDay")(lambda value: _at_time(value, 0, 0))
_declare((_DAY,), "S -> O", "atStartOfDay")(
    lambda value, zone: _at_zone(_at_time(value, 0, 0), zone)
)
_declare((_DAY,), "O -> O", "atTime")(
    lambda value, time: datetime.datetime.combine(value, _require_time(time))
)
_declare((_DAY,), "I I -> O", "atTime")(_at_time)
_declare((_DAY,), "I I I -> O", "atTime")(_at_time)
_declare((_DAY,), "I I I I -> O", "atTime")(_at_time)
_declare((_TIME,), "O -> O", "atDate")(
    lambda value, day: datetime.datetime.combine(_require_date(day), value)
)

_declare(_DATES, "I -> O", "withYear")(
    lambda value, year: add_months(value, 12 * (year - value.year))
)
_declare(_DATES, "I -> O", "withMonth")(_change_month)
_declare(_DATES, "I -> O", "withDayOfMonth")(lambda value, day: _change(value, day=day))
_declare(_DATES, "I -> O", "withDayOfYear")(_change_day_of_year)
_declare(_TIMES, "I -> O", "withHour")(lambda value, hour: _change(value, hour=hour))
_declare(_TIMES, "I -> O", "withMinute")(lambda value, minute: _change(value, minute=minute))
_declare(_TIMES, "I -> O", "withSecond")(lambda value, second: _change(value, second=second))
_declare(_TIMES, "I -> O", "withNano")(lambda value, nano: _change(value, microsecond=nano // 1000))
_declare(_TIMES, "S -> O", "truncatedTo")(truncate)
_declare((*_DATES, _TIME), "O S -> L", "until")(count_until)
_declare((*_DATES, _TIME), "L S -> O", "plus")(add_units)
_declare((*_DATES, _TIME), "L S -> O", "minus")(
    lambda value, count, unit: add_units(value, -count, unit)
)


def _declare_steps(unit: str, classes: tuple[str, ...]) -> None:
    """Declare ``plusDays`` and ``minusDays`` for the unit DAYS."""
    name = unit.title()
    _declare(classes, "L -> O", f"plus{name}")(lambda value, count: add_units(value, count, unit))
    _declare(classes, "L -> O", f"minus{name}")(lambda value, count: add_units(value, -count, unit))


for each in ("DAYS", "WEEKS", "MONTHS", "YEARS"):
    _declare_steps(each, _DATES)
for each in ("HOURS", "MINUTES", "SECONDS", "NANOS"):
    _declare_steps(each, _TIMES)
