"""The moment that the fields of a text make."""

from __future__ import annotations

import datetime
from typing import Final

from localcdap.java.dates.fields import LIMITS, first_sunday
from localcdap.java.dates.names import DAYS

_LIMITS: Final = {**LIMITS, "H": (0, 23), "S": (0, 999)}
_OUT_OF_YEARS: Final = "the date is out of the years 1 to 9999"


def moment_of(found: dict[str, int], zone: datetime.tzinfo, lenient: bool) -> datetime.datetime:
    """The moment of fields by their letters, with the seconds of an offset as ``z``.

    :raises ValueError: when there is none in the years 1 to 9999.
    """
    if not lenient:
        _check(found)
    day = _day(found)
    if not lenient and "E" in found and day.weekday() != found["E"]:
        raise ValueError(f"{day} is no {DAYS[found['E']]}")
    try:
        local = datetime.datetime.combine(day, datetime.time()) + datetime.timedelta(
            hours=_hour(found),
            minutes=found.get("m", 0),
            seconds=found.get("s", 0),
            milliseconds=found.get("S", 0),
        )
        if "z" in found:
            return (local - datetime.timedelta(seconds=found["z"])).replace(tzinfo=datetime.UTC)
    except OverflowError:
        raise ValueError(_OUT_OF_YEARS) from None
    return local.replace(tzinfo=zone)


def _hour(found: dict[str, int]) -> int:
    if "H" in found:
        return found["H"]
    if "k" in found:
        return 0 if found["k"] == 24 else found["k"]
    hour = found.get("K", 0 if found.get("h") == 12 else found.get("h", 0))
    return hour + 12 * found.get("a", 0)


def _check(found: dict[str, int]) -> None:
    for letter, (low, high) in _LIMITS.items():
        if letter in found and not low <= found[letter] <= high:
            raise ValueError(f"{found[letter]} is no value for '{letter}'")
    if "M" in found and "d" in found:
        datetime.date(found.get("y", 1970), found["M"], found["d"])


def _day(found: dict[str, int]) -> datetime.date:
    year = found.get("y", 1970)
    if found.get("G") == 0:
        raise ValueError(_OUT_OF_YEARS)
    try:
        if "Y" in found and "y" not in found:
            return _day_of_week_year(found)
        if "D" in found and "M" not in found and "d" not in found:
            return datetime.date(year, 1, 1) + datetime.timedelta(days=found["D"] - 1)
        months = found.get("M", 1) - 1
        first = datetime.date(year + months // 12, months % 12 + 1, 1)
        return first + datetime.timedelta(days=found.get("d", 1) - 1)
    except (OverflowError, ValueError):
        raise ValueError(_OUT_OF_YEARS) from None


def _day_of_week_year(found: dict[str, int]) -> datetime.date:
    """A week-based year leaves months and days out of account: without a week, its first day is meant."""
    weeks = found.get("w", 1) - 1
    day = found.get("u", found["E"] + 1 if "E" in found else 7) % 7
    return first_sunday(found["Y"]) + datetime.timedelta(weeks=weeks, days=day)
