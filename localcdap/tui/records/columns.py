"""The columns of a record table: order and filters, how often each value occurs, and profiles.

A profile has nulls, distinct values, minimum and maximum, a histogram and the most frequent values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from rich.text import Text
from textual.widgets import Static

from localcdap.text import plural
from localcdap.tui.dialogs.chooser import Chooser
from localcdap.tui.records.grid import read_column
from localcdap.tui.records.values import format_arrow_type, format_cell, format_full
from localcdap.tui.studio import Choice

if TYPE_CHECKING:
    import pyarrow as pa


_MOST: Final = 1000
"""The most values that are listed."""
_BAR: Final = 12
"""The width of the longest bar, in cells."""
_WIDEST: Final = 40
"""The most characters of a value."""

Frequency = tuple[str | None, int]
"""A value as text, None for null, and how often it occurs."""


class ValueCounts(NamedTuple):
    """How often the values of a column occur.

    :param frequencies: the most frequent first, maybe not all.
    :param different: the number of different values.
    :param records: the number of records.
    """

    frequencies: Sequence[Frequency]
    different: int
    records: int


def build_frequency_dialog(column: str, counts: ValueCounts) -> Chooser[Frequency]:
    """Return the dialog that shows the frequencies; its answer is the chosen one."""
    listed = counts.frequencies[:_MOST]
    most = max((count for _, count in listed), default=1)
    width = max((len(f"{count:,}") for _, count in listed), default=1)
    choices = []
    for each in listed:
        value, count = each
        bar = "▇" * max(1, round(count / most * _BAR))
        hint = f"{count:>{width},} {count / counts.records:>6.1%} {bar:<{_BAR}}"
        choices.append(Choice(shorten_value(value), each, hint=hint))
    part = "" if len(listed) == counts.different else f", the {len(listed):,} most frequent"
    title = f"{column}: {plural(counts.different, 'value')}{part}; enter keeps those records"
    return Chooser(choices, title=title)


def shorten_value(value: str | None) -> str:
    """Return a value as a short line."""
    text = format_cell(value)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


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


_BINS: Final = 24
_MOST_FREQUENT: Final = 8
_BARS: Final = " ▁▂▃▄▅▆▇█"


class FrequentValue(msgspec.Struct):
    """A value and the number of its occurrences."""

    value: str
    count: int


class ColumnProfile(msgspec.Struct):
    """The statistics of a column."""

    name: str
    type: str
    count: int
    nulls: int
    empty: int | None
    """The number of empty texts; None for other types."""
    distinct: int | None
    """The number of distinct values without null; None for arrays, maps and records."""
    least: str | None
    greatest: str | None
    """The maximum. Texts are compared by their characters, arrays by their lengths."""
    mean: str | None
    histogram: list[int] = []
    """The number of values in each of :data:`_BINS` bins of equal width; empty for types other than numbers,
    dates and times."""
    frequent: list[FrequentValue] = []
    """The most frequent values, in descending order of their counts."""


def profile_column(name: str, column: pa.ChunkedArray) -> ColumnProfile:
    """Compute the profile of a column."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as pt

    kind = column.type
    found = ColumnProfile(
        name, format_arrow_type(kind), len(column), column.null_count, None, None, None, None, None
    )
    values = column.drop_null()
    if pt.is_string(kind) or pt.is_large_string(kind):
        found.empty = pc.sum(pc.equal(values, "")).as_py() or 0
    if not pt.is_nested(kind) and not pt.is_null(kind) and len(values):
        counts = pc.value_counts(values.combine_chunks())
        found.distinct = len(counts)
        found.frequent = _find_frequent(counts)
        if not pt.is_boolean(kind):
            _add_extremes(found, values)
        numbers = _to_numbers(values)
        if numbers is not None:
            if not pt.is_temporal(kind):
                found.mean = f"{pc.mean(numbers).as_py():,.6g}"
            found.histogram = _count_bins(numbers)
    elif pt.is_list(kind) and len(values):
        lengths = pc.list_value_length(values)
        found.least = f"{pc.min(lengths).as_py():,} elements"
        found.greatest = f"{pc.max(lengths).as_py():,} elements"
        found.histogram = _count_bins(lengths.cast(pa.float64()))
    return found


def format_histogram(histogram: list[int]) -> str:
    """Return a histogram as one line of bars; a bin with any value has at least the lowest bar."""
    most = max(histogram, default=0)
    if not most:
        return ""
    top = len(_BARS) - 1
    return "".join(_BARS[0 if not n else max(1, round(n / most * top))] for n in histogram)


def _add_extremes(found: ColumnProfile, values: pa.ChunkedArray) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        extremes: dict[str, Any] = pc.min_max(values).as_py()
    except pa.ArrowNotImplementedError:
        return
    found.least = format_cell(extremes["min"])
    found.greatest = format_cell(extremes["max"])


def _find_frequent(counts: pa.StructArray) -> list[FrequentValue]:
    import pyarrow.compute as pc

    order = pc.select_k_unstable(
        counts.field("counts"), k=min(_MOST_FREQUENT, len(counts)), sort_keys=[("", "descending")]
    )
    rows = counts.take(order).to_pylist()
    return [FrequentValue(format_cell(row["values"]), row["counts"]) for row in rows]


def _to_numbers(values: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return the values as finite numbers; None for types that are not numbers, dates or times."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as pt

    kind = values.type
    if pt.is_date32(kind):
        values = values.cast(pa.int32())
    elif pt.is_timestamp(kind) or pt.is_time64(kind):
        values = values.cast(pa.int64())
    elif not (pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind)):
        return None
    numbers = values.cast(pa.float64(), safe=False)
    finite = numbers.filter(pc.is_finite(numbers))
    return finite if len(finite) else None


def _count_bins(numbers: pa.ChunkedArray) -> list[int]:
    import pyarrow.compute as pc

    extremes = pc.min_max(numbers).as_py()
    low, width = extremes["min"], (extremes["max"] - extremes["min"]) / _BINS
    if not 0 < width < float("inf"):
        return []
    bins = pc.min_element_wise(pc.floor(pc.divide(pc.subtract(numbers, low), width)), _BINS - 1)
    found = [0] * _BINS
    for each in pc.value_counts(bins).to_pylist():
        found[int(each["values"])] = each["counts"]
    return found


class ColumnProfileView(Static):
    """Shows the profile of a column next to its table."""

    DEFAULT_CSS = """
    ColumnProfileView {
        width: 34; height: 1fr; padding: 0 1; overflow-y: auto; border-left: vkey $surface-lighten-1;
    }
    """

    def show(self, profile: ColumnProfile) -> None:
        self.update(_draw_profile(profile))


def _draw_profile(profile: ColumnProfile) -> Text:
    text = Text.assemble((profile.name, "bold"), " ", (profile.type, "dim"), "\n\n")
    lines = [
        ("values", f"{profile.count - profile.nulls:,}"),
        ("nulls", _format_share(profile.nulls, profile.count)),
    ]
    if profile.empty is not None:
        lines.append(("empty texts", _format_share(profile.empty, profile.count)))
    if profile.distinct is not None:
        lines.append(("distinct", f"{profile.distinct:,}"))
    for name, value in (("min", profile.least), ("max", profile.greatest), ("mean", profile.mean)):
        if value is not None:
            lines.append((name, value))
    for name, value in lines:
        text.append(f"{name:<12}", "dim").append(f"{value}\n")
    if profile.histogram:
        text.append("\n").append(format_histogram(profile.histogram)).append("\n")
        text.append(f"{profile.least} … {profile.greatest}\n", "dim")
    if profile.frequent and (profile.distinct or 0) < profile.count - profile.nulls:
        text.append("\nmost frequent\n", "dim")
        most = profile.frequent[0].count
        for each in profile.frequent:
            bar = "▇" * max(1, round(each.count / most * 8))
            text.append(f"{bar:<9}").append(f"{each.count:>6,} ", "dim").append(
                f"{each.value[:15]}\n"
            )
    return text


def _format_share(part: int, whole: int) -> str:
    if not part:
        return "none"
    return f"{part:,} ({part / whole:.1%})"
