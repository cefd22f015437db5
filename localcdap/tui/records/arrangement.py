"""Which records of a table are shown, and in which order; how often each value of a column occurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from localcdap.tui.records.frequency import ValueCounts, shorten_value
from localcdap.tui.records.grid import read_column
from localcdap.tui.records.values import format_cell, format_full

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class ColumnOrder:
    """An order by the values of a column; nulls are last."""

    column: int
    is_descending: bool = False


@dataclass(frozen=True)
class ValueFilter:
    """Keeps the records with a value in a column, or those without it.

    :param value: as :func:`get_key` returns it.
    """

    column: int
    value: str | None
    is_kept: bool = True


@dataclass(frozen=True)
class RecordArrangement:
    """Orders, the newest first, and filters, the oldest first. An older order holds among equal values."""

    orders: tuple[ColumnOrder, ...] = ()
    filters: tuple[ValueFilter, ...] = ()

    def cycle_order(self, column: int) -> RecordArrangement:
        """ColumnOrder by a column: ascending first, then descending, then not any more."""
        newest = next(iter(self.orders), None)
        rest = tuple(order for order in self.orders if order.column != column)
        if newest is None or newest.column != column:
            return replace(self, orders=(ColumnOrder(column), *rest))
        if not newest.is_descending:
            return replace(self, orders=(ColumnOrder(column, is_descending=True), *rest))
        return replace(self, orders=rest)

    def add_filter(self, added: ValueFilter) -> RecordArrangement:
        return replace(self, filters=(*self.filters, added))

    def drop_filter(self) -> RecordArrangement:
        """Take the newest filter back."""
        return replace(self, filters=self.filters[:-1])

    def describe(self, names: Sequence[str]) -> str:
        """Return it in words, such as ``city = Rome, by price ↓``; empty when all is as it came."""
        parts = [
            f"{format_cell(names[each.column])} {'=' if each.is_kept else '≠'} {shorten_value(each.value)}"
            for each in self.filters
        ]
        parts += [
            f"by {format_cell(names[each.column])} {'↓' if each.is_descending else '↑'}"
            for each in self.orders
        ]
        return ", ".join(parts)


def arrange(table: pa.Table, arrangement: RecordArrangement) -> list[int]:
    """Return the places of the records that are shown, in their order."""
    places = list(range(table.num_rows))
    for each in arrangement.filters:
        keys = list_keys(table, each.column)
        places = [place for place in places if (keys[place] == each.value) is each.is_kept]
    for order in reversed(arrangement.orders):
        rank = _rank(table, order)
        places.sort(key=rank.__getitem__)
    return places


def take(table: pa.Table, places: Sequence[int]) -> pa.Table:
    """Return the records in some places."""
    import pyarrow as pa

    return table.take(pa.array(places, pa.int64()))


def get_key(value: Any) -> str | None:
    """Return what makes a value the same as another one of its column."""
    return None if value is None else format_full(value)


def list_keys(table: pa.Table, column: int) -> list[str | None]:
    """Return the key of each value of a column."""
    return [get_key(value) for value in read_column(table, column)]


def count_keys(keys: Sequence[str | None]) -> ValueCounts:
    """Return how often each value occurs."""
    frequencies = Counter(keys).most_common()
    return ValueCounts(frequencies, len(frequencies), len(keys))


def _rank(table: pa.Table, order: ColumnOrder) -> list[int]:
    """Return the rank of each value of a column, the same one for equal values.

    Values of types without an order are compared as text.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    keys = "descending" if order.is_descending else "ascending"
    try:
        ranked = pc.rank(table.column(order.column), keys, tiebreaker="dense")
    except (pa.ArrowNotImplementedError, TypeError):
        texts = pa.array(list_keys(table, order.column), pa.string())
        ranked = pc.rank(texts, keys, tiebreaker="dense")
    return ranked.to_pylist()  # type: ignore[no-any-return]
