"""Time zones by the names that Java takes."""

from __future__ import annotations

import datetime
import functools
import re
from typing import Final

SHORT: Final = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "EST": "America/New_York",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "MST": "America/Denver",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
"""Java's short names of zones."""

_OFFSET: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2}):?(\d\d)?")


@functools.cache
def zone_of(name: str) -> datetime.tzinfo:
    """A zone by its name, a short one, or an offset such as ``GMT-08:00`` or ``+02``.

    :raises ValueError: when there is none.
    """
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    if name in ("UTC", "GMT", "UT", "Z"):
        return datetime.UTC
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        if minutes > 18 * 60:
            raise ValueError(f"'{name}' is no time zone: offsets reach to 18 hours")
        return datetime.timezone(
            datetime.timedelta(minutes=-minutes if offset[1] == "-" else minutes)
        )
    try:
        return ZoneInfo(SHORT.get(name, name))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"'{name}' is no time zone, such as UTC, Europe/Paris or GMT-08:00"
        ) from None
