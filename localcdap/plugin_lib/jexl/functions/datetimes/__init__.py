"""``datetime:``: the original's ``DateAndTime``; most give null for null.

Texts like ``2008-08-18 22:30:52`` are read where a date or time is wanted, as earlier versions did; names
of those versions (``TimestampFromEpoch`` …) are kept.
"""

from __future__ import annotations

from localcdap.plugin_lib.jexl.functions.datetimes import (
    clock,
    dates,
    making,
    moments,
    times,
    weekdays,
)

__all__ = ["clock", "dates", "making", "moments", "times", "weekdays"]
