"""The dataset classes of time series: ``timeseriesTable`` and ``counterTimeseriesTable``.

The methods are those of CDAP 6 ``TimeseriesTable`` and ``CounterTimeseriesTable``, with their annotations.
The original reads at most 100,000 of the rows in which it arranges entries; here a read has no such limit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from localcdap.api.dataset.access import read_only, read_write, write_only
from localcdap.api.dataset.dataset import Dataset
from localcdap.api.dataset.rows import Row, RowComparison, RowCondition, equal
from localcdap.api.errors import BadRequestError


class Entry(msgspec.Struct, frozen=True):
    """A value of a time series."""

    key: bytes
    value: bytes
    timestamp: int
    """Milliseconds since 1970."""
    tags: tuple[bytes, ...] = ()
    """In ascending order, when it was read."""


class Counter(msgspec.Struct, frozen=True):
    """A number of a time series of counters."""

    counter: bytes
    value: int
    timestamp: int
    """Milliseconds since 1970."""
    tags: tuple[bytes, ...] = ()
    """In ascending order, when it was read."""


class _TimeSeries(Dataset):
    """Entries are identified by key, time and tags."""

    def _read(
        self,
        key: bytes,
        start: int,
        end: int,
        tags: Iterable[bytes],
        offset: int,
        limit: int | None,
    ) -> list[Row]:
        if start > end:
            raise BadRequestError("Provided time range condition is incorrect: startTime > endTime")
        for name, number in (("Offset", offset), ("Limit", limit or 0)):
            if number < 0:
                raise BadRequestError(f"{name} cannot be < 0")
        within = [
            equal("key", key),
            RowCondition("time", RowComparison.AT_LEAST, start),
            RowCondition("time", RowComparison.AT_MOST, end),
        ]
        wanted = set(tags)
        found = self._open_table().select(within, order_by=["time", "tags"])
        matching = [row for row in found if wanted <= set(row["tags"])]
        return matching[offset : None if limit is None else offset + limit]

    def _set(self, key: bytes, value: Any, timestamp: int, tags: Iterable[bytes]) -> None:
        rows, place = self._open_table(), _make_place(key, timestamp, tags)
        rows.delete([equal(name, held) for name, held in place.items()])
        rows.write([{**place, "value": value}])


class TimeseriesTable(_TimeSeries):
    """Values of bytes by key, time and tags."""

    @write_only
    def write(self, entry: Entry) -> None:
        """Set the value of an entry."""
        self._set(entry.key, entry.value, entry.timestamp, entry.tags)

    @read_only
    def read(
        self,
        key: bytes,
        start: int,
        end: int,
        *,
        tags: Iterable[bytes] = (),
        offset: int = 0,
        limit: int | None = None,
    ) -> list[Entry]:
        """Return the entries of a key, ordered by time.

        :param start: the first time, in milliseconds since 1970.
        :param end: the last time.
        :param tags: all of which an entry must have.
        :param offset: the number of first entries that are left out.
        """
        found = self._read(key, start, end, tags, offset, limit)
        return [Entry(row["key"], row["value"], row["time"], tuple(row["tags"])) for row in found]


class CounterTimeseriesTable(_TimeSeries):
    """Numbers by key, time and tags."""

    @read_write
    def increment(
        self, counter: bytes, amount: int, timestamp: int, tags: Iterable[bytes] = ()
    ) -> int:
        """Add to a counter, and return the sum; a missing one counts as 0."""
        place = _make_place(counter, timestamp, tags)
        conditions = [equal(name, held) for name, held in place.items()]
        found = self._open_table().select(conditions)
        total: int = (found[0]["value"] if found else 0) + amount
        self._set(counter, total, timestamp, tags)
        return total

    @write_only
    def set(self, counter: bytes, value: int, timestamp: int, tags: Iterable[bytes] = ()) -> None:
        """Set a counter."""
        self._set(counter, value, timestamp, tags)

    @read_only
    def read(
        self,
        counter: bytes,
        start: int,
        end: int,
        *,
        tags: Iterable[bytes] = (),
        offset: int = 0,
        limit: int | None = None,
    ) -> list[Counter]:
        """Return the counters of a key, ordered by time; see :meth:`TimeseriesTable.read`."""
        found = self._read(counter, start, end, tags, offset, limit)
        return [Counter(row["key"], row["value"], row["time"], tuple(row["tags"])) for row in found]


def _make_place(key: bytes, timestamp: int, tags: Iterable[bytes]) -> Row:
    return {"key": key, "time": timestamp, "tags": sorted(tags)}
