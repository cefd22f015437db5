"""``datetime:``: what the clock says, in UTC."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

import datetime

from localcdap.java.dates.patterns import MONTHS
from localcdap.plugin_lib.jexl.functions.datetimes.namespace import moments


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


@moments("-> d!")
def CurrentDate() -> datetime.date:
    return _now().date()


@moments("-> t!")
def CurrentTime() -> datetime.time:
    return _now().time()


@moments("-> L")
def CurrentTimeMS() -> int:
    return _now().microsecond // 1000


@moments("-> T!")
def CurrentDateTime() -> datetime.datetime:
    return _now().replace(tzinfo=None)


@moments("-> Z!")
def CurrentTimestamp() -> datetime.datetime:
    return _now()


@moments("-> L")
def EpochSeconds() -> int:
    return int(_now().timestamp())


@moments("-> L")
def CurrentTimestampMS() -> int:
    return int(_now().timestamp() * 1000)


@moments("-> L")
def CurrentTimestampNano() -> int:
    return _now().microsecond * 1000


@moments("-> S!")
def TimeDate() -> str:
    now = _now()
    return f"{now:%H:%M:%S %d} {MONTHS[now.month - 1][:3]} {now.year:04}"
