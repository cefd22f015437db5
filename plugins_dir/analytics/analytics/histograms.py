"""Histograms and statistics of columns (mmds ``stats/*``, ``ColumnStats``, ``ColumnSplitStats``)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Any, Final, Generic, TypeVar

import msgspec

BINS: Final = 10
T = TypeVar("T")


class NumericBin(msgspec.Struct, frozen=True):
    """A bin from ``low`` to ``high``, which excludes ``high`` unless it is the last."""

    low: float
    high: float
    is_last: bool

    @property
    def label(self) -> str:
        """The bin as text, such as ``[0,5)``."""
        return f"[{format_bound(self.low)},{format_bound(self.high)}{']' if self.is_last else ')'}"


class Bin(msgspec.Struct):
    """A bin and its count."""

    bin: str
    count: int


class SplitValue(msgspec.Struct, Generic[T]):
    """A value of the training data, of the test data, and of both."""

    train: T
    test: T
    total: T


class SplitBin(msgspec.Struct):
    """A bin with its counts."""

    bin: str
    count: SplitValue[int]


class ColumnStats(msgspec.Struct, rename="camel", kw_only=True):
    """The statistics of some values; those of the other kind are null."""

    num_total: int
    num_null: int
    num_empty: int | None = None
    unique: int | None = None
    num_zero: int | None = None
    num_positive: int | None = None
    num_negative: int | None = None
    min: float | None = None
    max: float | None = None
    mean: float | None = None
    stddev: float | None = None
    histo: list[Bin] = []


class ColumnSplitStats(msgspec.Struct, rename="camel", kw_only=True):
    """The statistics of a column in training and test data; those of the other kind are null."""

    field: str
    num_total: SplitValue[int]
    num_null: SplitValue[int]
    num_empty: SplitValue[int] | None = None
    unique: SplitValue[int] | None = None
    num_zero: SplitValue[int] | None = None
    num_positive: SplitValue[int] | None = None
    num_negative: SplitValue[int] | None = None
    min: SplitValue[float | None] | None = None
    max: SplitValue[float | None] | None = None
    mean: SplitValue[float | None] | None = None
    stddev: SplitValue[float | None] | None = None
    histo: list[SplitBin] = []
    divergence: float = 0.0
    """The Kullback-Leibler divergence of the test data from the training data, cut to 0 … 1."""


class NumericSummary(msgspec.Struct):
    """What is known about the numbers of one column in one part of the data."""

    total: int = 0
    null: int = 0
    zero: int = 0
    positive: int = 0
    negative: int = 0
    min: float | None = None
    max: float | None = None
    mean: float | None = None
    variance: float | None = None
    """Of the population, not of a sample."""
    counts: list[int] = []
    """By bin."""

    @property
    def known(self) -> int:
        return self.total - self.null


def make_bins(low: float, high: float, most: int = BINS) -> list[NumericBin]:
    """Return the bins of the numbers from ``low`` to ``high``, each of which is in one of them.

    The limits are those of ``NumericHisto``, except that a negative minimum is rounded down: the original
    rounds its absolute value, and loses the numbers below the result.
    """
    if low == high or not math.isfinite(high - low):
        return [NumericBin(low, high, True)]
    # Products of floats are not exact: 35 * 0.01 is more than 0.35.
    start = min(low, _round(low, 2, math.floor))
    step = _round((high - start) / most, 1, math.ceil)
    bins: list[NumericBin] = []
    begin, end = start, start + step
    while begin < high:
        # Sums of floats are not exact: the last bin always includes the greatest number.
        end = max(end, high) if len(bins) == most - 1 else end
        bins.append(NumericBin(begin, end, end >= high))
        begin, end = end, end + step
    return bins


def _round(value: float, digits: int, to_whole: Callable[[float], int]) -> float:
    """Round to some digits; a number that is too small for that stays as it is."""
    power = 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1) if value else 0.0
    return to_whole(value / power) * power if power else value


def _square(value: float) -> float:
    """Return the square, which may be infinite; the operator ``**`` would raise an error then."""
    return value * value


def format_bound(value: float) -> str:
    """Return a number in Java's ``DecimalFormat``: ``###.####``, or ``0.00E0`` for great and small ones."""
    size = abs(value)
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if size > 1000 or 0 < size < 0.001:
        exponent = Decimal(value).adjusted()
        mantissa = Decimal(value).scaleb(-exponent).quantize(Decimal("0.01"), ROUND_HALF_UP)
        if abs(mantissa) >= 10:
            mantissa, exponent = mantissa / 10, exponent + 1
        return f"{mantissa:.2f}E{exponent}"
    text = f"{Decimal(value).quantize(Decimal('0.0001'), ROUND_HALF_EVEN):f}".rstrip("0").rstrip(
        "."
    )
    return "0" if text in ("-0", "") else _drop_zero(text)


def _drop_zero(text: str) -> str:
    """``###.####`` writes no zero before the point."""
    for start in ("0.", "-0."):
        if text.startswith(start):
            return text.replace("0.", ".", 1)
    return text


def count_numbers(
    values: Sequence[float | None], low: float, high: float, most: int
) -> ColumnStats:
    """Return the statistics of a few numbers, with bins from ``low`` to ``high``."""
    known = [each for each in values if each is not None]
    bins = make_bins(low, high, most)
    counts = Counter(_find_bin(bins, each) for each in known)
    mean = sum(known) / len(known) if known else None
    spread = sum(_square(each - mean) for each in known) if mean is not None else None
    return ColumnStats(
        num_total=len(values),
        num_null=len(values) - len(known),
        num_zero=sum(each == 0 for each in known),
        num_positive=sum(each > 0 for each in known),
        num_negative=sum(each < 0 for each in known),
        min=min(known, default=None),
        max=max(known, default=None),
        mean=mean,
        stddev=math.sqrt(spread / len(known)) if spread is not None else None,
        histo=[Bin(each.label, counts[place]) for place, each in enumerate(bins)],
    )


def _find_bin(bins: Sequence[NumericBin], value: float) -> int | None:
    for place, each in enumerate(bins):
        if each.low <= value < each.high or (each.is_last and value == each.high):
            return place
    return None


def count_words(values: Sequence[str | None]) -> ColumnStats:
    """Return the statistics of a few words."""
    counts = Counter(each for each in values if each is not None)
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return ColumnStats(
        num_total=len(values),
        num_null=sum(each is None for each in values),
        num_empty=counts[""],
        unique=len(counts),
        histo=[Bin(word, count) for word, count in ordered],
    )


def compare_numbers(
    field: str, train: NumericSummary, test: NumericSummary, bins: Sequence[NumericBin]
) -> ColumnSplitStats:
    """Return the statistics of a column of numbers."""
    histo = [
        SplitBin(bin.label, _add(a, b))
        for bin, a, b in zip(bins, train.counts, test.counts, strict=True)
    ]
    stats = ColumnSplitStats(
        field=field,
        num_total=_add(train.total, test.total),
        num_null=_add(train.null, test.null),
        num_zero=_add(train.zero, test.zero),
        num_positive=_add(train.positive, test.positive),
        num_negative=_add(train.negative, test.negative),
        min=_join(train.min, test.min, min),
        max=_join(train.max, test.max, max),
        mean=SplitValue(train.mean, test.mean, _join_means(train, test)),
        stddev=SplitValue(_root(train.variance), _root(test.variance), _join_spreads(train, test)),
        histo=histo,
    )
    stats.divergence = _diverge(stats)
    return stats


def compare_words(
    field: str, train: Mapping[str | None, int], test: Mapping[str | None, int]
) -> ColumnSplitStats:
    """Return the statistics of a column of words.

    :param train: the number of records by word; null among them.
    """
    words = {word for word in {**train, **test} if word is not None}
    histo = [SplitBin(word, _add(train.get(word, 0), test.get(word, 0))) for word in words]
    histo.sort(key=lambda each: (-each.count.train, -each.count.test, each.bin))
    stats = ColumnSplitStats(
        field=field,
        num_total=_add(sum(train.values()), sum(test.values())),
        num_null=_add(train.get(None, 0), test.get(None, 0)),
        num_empty=_add(train.get("", 0), test.get("", 0)),
        unique=SplitValue(len(train.keys() - {None}), len(test.keys() - {None}), len(words)),
        histo=histo,
    )
    stats.divergence = _diverge(stats)
    return stats


def _diverge(stats: ColumnSplitStats) -> float:
    """Return the divergence of the bins, each of which counts one record more than it has."""
    train = stats.num_total.train - stats.num_null.train + len(stats.histo)
    test = stats.num_total.test - stats.num_null.test + len(stats.histo)
    sum_ = 0.0
    for each in stats.histo:
        p, q = (1 + each.count.test) / test, (1 + each.count.train) / train
        sum_ += p * math.log(p / q)
    return max(0.0, min(1.0, sum_))


def _add(train: int, test: int) -> SplitValue[int]:
    return SplitValue(train, test, train + test)


def _join(train: float | None, test: float | None, function: Any) -> SplitValue[float | None]:
    known = [each for each in (train, test) if each is not None]
    return SplitValue(train, test, function(known) if known else None)


def _join_means(train: NumericSummary, test: NumericSummary) -> float | None:
    parts = [each for each in (train, test) if each.mean is not None]
    known = sum(each.known for each in parts)
    return sum(each.known * (each.mean or 0.0) for each in parts) / known if known else None


def _join_spreads(train: NumericSummary, test: NumericSummary) -> float | None:
    mean = _join_means(train, test)
    if mean is None:
        return None
    parts = [each for each in (train, test) if each.mean is not None]
    spread = sum(
        each.known * ((each.variance or 0.0) + _square((each.mean or 0.0) - mean)) for each in parts
    )
    return math.sqrt(spread / sum(each.known for each in parts))


def _root(variance: float | None) -> float | None:
    return None if variance is None else math.sqrt(variance)
