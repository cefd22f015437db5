"""The statistics of the columns of training and test data, computed by Spark in three passes at most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from localcdap.api import Schema
from localcdap.api.sql_names import quote_column

from .histograms import (
    ColumnSplitStats,
    NumericBin,
    NumericSummary,
    compare_numbers,
    compare_words,
    make_bins,
)
from .model import CATEGORICAL, NUMERIC, get_type_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PART: Final = "_part"
_MOST_WORDS: Final = 1000
"""The most different values of a column that are listed: the most frequent ones."""


def compute_statistics(
    train: DataFrame, test: DataFrame, schema: Schema
) -> tuple[list[ColumnSplitStats], dict[str, int]]:
    """Return the statistics of booleans, texts and numbers, in their order, and the numbers of records."""
    from pyspark.sql import functions as f

    types = {each.name: get_type_name(each.schema) for each in schema}
    words = [name for name, type in types.items() if type in CATEGORICAL]
    numbers = [name for name, type in types.items() if type in NUMERIC]
    both = train.withColumn(_PART, f.lit("train")).unionByName(
        test.withColumn(_PART, f.lit("test"))
    )
    found = _summarize_numbers(both, numbers)
    bins = {name: _make_common_bins(found, name) for name in numbers}
    _count_bins(both, bins, found)
    stats = {name: _compare(found, name, bins[name]) for name in numbers}
    stats |= _count_words(both, words)
    sizes = {part: found[part, ""].total for part in ("train", "test")}
    return [stats[name] for name in types if name in stats], sizes


def _summarize_numbers(
    both: DataFrame, names: Sequence[str]
) -> dict[tuple[str, str], NumericSummary]:
    """Return the summary of each part and column; of the column ``""`` only the number of records."""
    from pyspark.sql import functions as f

    parts: list[Any] = [f.count(f.lit(1)).alias("n")]
    for place, name in enumerate(names):
        value = _number(name)
        parts += [
            f.count(value).alias(f"known{place}"),
            f.count_if(value == 0).alias(f"zero{place}"),
            f.count_if(value > 0).alias(f"positive{place}"),
            f.count_if(value < 0).alias(f"negative{place}"),
            f.min(value).alias(f"min{place}"),
            f.max(value).alias(f"max{place}"),
            f.avg(value).alias(f"mean{place}"),
            f.var_pop(value).alias(f"variance{place}"),
        ]
    rows = {row[_PART]: row for row in both.groupBy(_PART).agg(*parts).collect()}
    found: dict[tuple[str, str], NumericSummary] = {}
    for part in ("train", "test"):
        row = rows.get(part)
        found[part, ""] = NumericSummary(total=row["n"] if row else 0)
        for place, name in enumerate(names):
            found[part, name] = NumericSummary()
            if row is not None:
                values = {
                    key: row[f"{key}{place}"]
                    for key in ("zero", "positive", "negative", "min", "max", "mean", "variance")
                }
                known = row[f"known{place}"]
                found[part, name] = NumericSummary(total=row["n"], null=row["n"] - known, **values)
    return found


def _make_common_bins(found: dict[tuple[str, str], NumericSummary], name: str) -> list[NumericBin]:
    both = [found["train", name], found["test", name]]
    known = [each for each in both if each.min is not None and each.max is not None]
    if not known:
        return []
    return make_bins(min(each.min or 0.0 for each in known), max(each.max or 0.0 for each in known))


def _count_bins(
    both: DataFrame,
    bins: dict[str, list[NumericBin]],
    found: dict[tuple[str, str], NumericSummary],
) -> None:
    from pyspark.sql import functions as f

    parts = []
    for place, (name, of_column) in enumerate(bins.items()):
        value = _number(name)
        for number, each in enumerate(of_column):
            end = value <= each.high if each.is_last else value < each.high
            parts.append(f.count_if((value >= each.low) & end).alias(f"{place}_{number}"))
    rows = {row[_PART]: row for row in both.groupBy(_PART).agg(*parts).collect()} if parts else {}
    for part in ("train", "test"):
        row = rows.get(part)
        for place, (name, of_column) in enumerate(bins.items()):
            counts = [row[f"{place}_{n}"] if row else 0 for n in range(len(of_column))]
            found[part, name].counts = counts


def _compare(
    found: dict[tuple[str, str], NumericSummary], name: str, bins: list[NumericBin]
) -> ColumnSplitStats:
    return compare_numbers(name, found["train", name], found["test", name], bins)


def _count_words(both: DataFrame, names: Sequence[str]) -> dict[str, ColumnSplitStats]:
    """Return the statistics of columns of words; the least frequent of very many are left out."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    if not names:
        return {}
    pairs = f.array(
        *[
            f.struct(
                f.lit(place).alias("place"), f.col(quote_column(name)).cast("string").alias("word")
            )
            for place, name in enumerate(names)
        ]
    )
    long = both.select(_PART, f.explode(pairs).alias("pair")).select(
        _PART, "pair.place", "pair.word"
    )
    by_word = long.groupBy("place", "word").agg(
        f.count_if(f.col(_PART) == "train").alias("train"),
        f.count_if(f.col(_PART) == "test").alias("test"),
    )
    frequent = Window.partitionBy("place").orderBy(f.desc(f.col("train") + f.col("test")), "word")
    rows = by_word.withColumn("rank", f.row_number().over(frequent)).filter(
        f.col("rank") <= _MOST_WORDS
    )
    counts: dict[str, tuple[dict[str | None, int], dict[str | None, int]]] = {
        name: ({}, {}) for name in names
    }
    for row in rows.collect():
        train, test = counts[names[row["place"]]]
        if row["train"]:
            train[row["word"]] = row["train"]
        if row["test"]:
            test[row["word"]] = row["test"]
    return {name: compare_words(name, *each) for name, each in counts.items()}


def _number(name: str) -> Any:
    """The column as a double; NaN counts as null."""
    from pyspark.sql import functions as f

    value = f.col(quote_column(name)).cast("double")
    return f.when(~f.isnan(value), value)
