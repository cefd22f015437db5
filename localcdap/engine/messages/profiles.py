"""The profile of the records that a run gave to a sink."""

from __future__ import annotations

import msgspec


class SinkColumn(msgspec.Struct):
    """A column in the sample of a sink's records."""

    name: str
    type: str
    """As :attr:`localcdap.api.schema.Schema.display_name`."""
    nulls: int = 0
    distinct: int | None = None
    """Different values without null; None for nested values and bytes, which are not looked at."""
    lowest: str | None = None
    highest: str | None = None


class SinkProfile(msgspec.Struct):
    """The records that reached a sink, as a sample shows them."""

    stage: str
    rows: int
    """All records."""
    sampled: int
    """The records of the sample: those at the beginning of each part of the data, and some of the others."""
    columns: list[SinkColumn]
    """The first 200."""
