"""The date and time that the fields of a text make."""

from __future__ import annotations

import calendar
import datetime

from localcdap.java.dates.names import DAYS


def moment_of(found: dict[str, int]) -> datetime.datetime:
    """The moment of fields by their letters, without a zone.

    :raises ValueError: when they are no whole date and hour, or one that there is not.
    """
    day = _date(found)
    if "E" in found and day.weekday() != found["E"]:
        raise ValueError(f"{day} is no {DAYS[found['E']]}")
    if found.get("H") == 24 and not any(found.get(letter) for letter in "msSn"):
        return datetime.datetime.combine(day, datetime.time()) + datetime.timedelta(days=1)
    return datetime.datetime.combine(day, _time(found))


def _date(found: dict[str, int]) -> datetime.date:
    if "y" not in found:
        raise ValueError("there is no year")
    if "D" in found and "M" not in found:
        day = datetime.date(found["y"], 1, 1) + datetime.timedelta(days=found["D"] - 1)
        if day.year != found["y"]:
            raise ValueError(f"{found['y']} has no day {found['D']}")
        return day
    if "M" not in found or "d" not in found:
        raise ValueError("there is no month or day")
    # A day up to 31 is held at the end of a shorter month.
    last = calendar.monthrange(found["y"], found["M"])[1]
    return datetime.date(found["y"], found["M"], min(found["d"], last))


def _time(found: dict[str, int]) -> datetime.time:
    if "N" in found:
        hour, rest = divmod(found["N"] // 1000, 3_600_000_000)
        return _clock(hour, rest)
    if "A" in found:
        hour, rest = divmod(found["A"] * 1000, 3_600_000_000)
        return _clock(hour, rest)
    hour = found.get("H", found["k"] % 24 if "k" in found else -1)
    if hour < 0 and "a" in found and ("h" in found or "K" in found):
        hour = found.get("K", found.get("h", 0) % 12) + 12 * found["a"]
    if hour < 0:
        raise ValueError("there is no hour of the day")
    if ("s" in found or "S" in found) and "m" not in found:
        raise ValueError("there are seconds, but no minutes")
    nanos = found.get("S", found.get("n", 0))
    return datetime.time(hour, found.get("m", 0), found.get("s", 0), nanos // 1000)


def _clock(hour: int, micros: int) -> datetime.time:
    seconds, micros = divmod(micros, 1_000_000)
    return datetime.time(hour, seconds // 60, seconds % 60, micros)
