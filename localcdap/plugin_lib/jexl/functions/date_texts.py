"""Dates and times in texts as expressions read them: ``2008-08-18``, ``22:30:52.4``, or both."""

from __future__ import annotations

import datetime
import re
from typing import Final, TypeVar

from localcdap.plugin_lib.jexl.errors import EvaluationError

_T = TypeVar("_T")

_DATE: Final = r"(\d{4})-(\d\d)-(\d\d)"
_TIME: Final = r"(\d\d):(\d\d):(\d\d)(?:\.(\d{0,6}))?"
_DATE_ONLY: Final = re.compile(rf"{_DATE}(?:[ T]{_TIME})?\Z", re.ASCII)
_TIME_ONLY: Final = re.compile(rf"{_TIME}\Z", re.ASCII)
_BOTH: Final = re.compile(rf"{_DATE}[ T]{_TIME}\Z", re.ASCII)


def read_date(text: str) -> datetime.date:
    """Return the date in a text; a time after it is ignored."""
    found = _DATE_ONLY.match(text)
    if found is None:
        raise EvaluationError(f"'{text}' is not a date like 2008-08-18")
    return _build(text, datetime.date, found.groups()[:3])


def read_time(text: str) -> datetime.time:
    found = _TIME_ONLY.match(text)
    if found is None:
        raise EvaluationError(f"'{text}' is not a time like 22:30:52")
    return _build(text, datetime.time, _with_micros(found.groups()))


def read_datetime(text: str) -> datetime.datetime:
    found = _BOTH.match(text)
    if found is None:
        raise EvaluationError(f"'{text}' is not a datetime like 2008-08-18 22:30:52")
    return _build(text, datetime.datetime, _with_micros(found.groups()))


def _with_micros(parts: tuple[str | None, ...]) -> tuple[str | None, ...]:
    return (*parts[:-1], (parts[-1] or "0").ljust(6, "0"))


def _build(text: str, kind: type[_T], parts: tuple[str | None, ...]) -> _T:
    try:
        return kind(*(int(part or 0) for part in parts))
    except ValueError as error:
        raise EvaluationError(f"'{text}': {error}") from None
