"""Times as lineage requests give them: seconds since 1970, or words such as ``now-1d+4h``.

The rules are those of CDAP 6 ``TimeMathParser`` (of Apache Tephra) and ``LineageHTTPHandler.parseRange``.
"""

from __future__ import annotations

import re
import time
from typing import Final

import msgspec

from localcdap.api.errors import BadRequestError

_UNITS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_STEP: Final = re.compile(r"([-+])(\d+)(ms|s|m|h|d)", re.ASCII)
_EXPRESSION: Final = re.compile(r"now((?:[-+]\d{1,15}(?:ms|s|m|h|d))*)", re.ASCII)
_NUMBER: Final = re.compile(r"\d+", re.ASCII)
_MOST_S: Final = (2**63 - 1) // 1_000
"""The largest number of seconds whose milliseconds fit into 64 bits."""


class TimeRange(msgspec.Struct, frozen=True):
    """A range of time, in milliseconds since 1970."""

    start: int = 0
    end: int = 2**63 - 1


def parse_time(text: str, now: int | None = None) -> int:
    """Return the time of a text in seconds since 1970.

    >>> parse_time("now-1d+4h", now=100_000)
    28000

    :param text: a number of seconds, or ``now`` followed by steps in ``ms``, ``s``, ``m``, ``h`` or ``d``.
    :param now: seconds since 1970; None: the clock's time.
    :raises BadRequestError: when it is neither.
    """
    if _NUMBER.fullmatch(text) and len(text) <= len(str(_MOST_S)) and int(text) <= _MOST_S:
        return int(text)
    found = _EXPRESSION.fullmatch(text.lower())
    if found is None:
        raise BadRequestError(
            f"invalid time format {text}",
            "Give a number of seconds since 1970, or a text such as now, now-5s or now-1d+4h.",
        )
    milliseconds = (int(time.time()) if now is None else now) * 1_000
    for sign, count, unit in _STEP.findall(found[1]):
        milliseconds += (-1 if sign == "-" else 1) * int(count) * _UNITS[unit]
    # As in Java, a part of a second is cut off towards zero.
    return int(milliseconds / 1_000) if milliseconds < 0 else milliseconds // 1_000


def parse_time_range(start: str | None, end: str | None, now: int | None = None) -> TimeRange:
    """Return the range between two times, see :func:`parse_time`; they may be equal.

    The range ends with the last millisecond of the second of its end. CDAP compares whole seconds
    (``DefaultStore.getRunningInRange``), so that a run of this second is in a range until ``now``.

    :raises BadRequestError: when one is missing, unreadable or negative, or the start is after the end.
    """
    if start is None:
        raise BadRequestError("Start time is required.")
    if end is None:
        raise BadRequestError("End time is required.")
    now = int(time.time()) if now is None else now
    start_ms, end_ms = parse_time(start, now) * 1_000, parse_time(end, now) * 1_000
    if start_ms < 0:
        raise BadRequestError(f"Invalid start time ({start} -> {start_ms}), should be >= 0.")
    if end_ms < 0:
        raise BadRequestError(f"Invalid end time ({end} -> {end_ms}), should be >= 0.")
    if start_ms > end_ms:
        raise BadRequestError(
            f"Start time ({start} -> {start_ms}) should be lesser than end time ({end} -> {end_ms})."
        )
    return TimeRange(start_ms, end_ms + 999)
