"""How good a model is on the test data: metrics, and what a person looks at.

The counts of outcomes and predictions, or one sum over all records, give what Spark's evaluators compute
in a pass each (``MulticlassMetrics``, ``RegressionMetrics``).

The receiver operating characteristic of a binary classification, from counts by score.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from localcdap.plugin_lib.spark.columns import get_column

from .features import NUMERIC_PREDICTION, PREDICTION
from .histograms import BINS, NumericBin
from .model import Metrics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def trace_roc(scores: Sequence[Sequence[int]]) -> list[list[float]]:
    """Return the curve: the false and the true positive rate for every score as threshold.

    :param scores: for each score in ascending order, the records of the first and of the second class, which
        is the positive one.
    :returns: points from (0, 0) to (1, 1); empty when a class has no records.
    """
    negatives = sum(each[0] for each in scores)
    positives = sum(each[1] for each in scores)
    if not negatives or not positives:
        return []
    points = [[0.0, 0.0]]
    false = true = 0
    for negative, positive in reversed(scores):
        false, true = false + negative, true + positive
        if negative or positive:
            points.append([false / negatives, true / positives])
    return points


def measure_area(points: Sequence[Sequence[float]]) -> float | None:
    """Return the area under a curve by trapezoids (Spark's ``AreaUnderCurve``); None without points.

    The scores are rounded to hundredths, so the area of many records differs from Spark's in the third digit.
    """
    if not points:
        return None
    return sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(points))


SCORES: Final = 100
"""The steps of the score by which binary predictions are counted."""
_MOST_CLASSES: Final = 50
"""The most classes for which a confusion matrix is kept."""


def evaluate_classes(
    predictions: DataFrame, outcome: str, labels: Sequence[str]
) -> tuple[Metrics, dict[str, Any]]:
    """Return metrics, and the confusion matrix; with two classes also the counts by score.

    :param outcome: the column with the index of the outcome.
    :param labels: the class of each index.
    :raises ValueError: when there is no record.
    """
    from pyspark.sql import functions as f

    keys = [f.col(outcome).alias("o"), f.col(NUMERIC_PREDICTION).alias("p")]
    is_binary = len(labels) == 2 and "probability" in predictions.columns
    if is_binary:
        keys.append(_score(f).alias("s"))
    rows = predictions.select(*keys).groupBy(*["o", "p", "s"][: len(keys)]).count().collect()
    counts: dict[tuple[int, int], int] = defaultdict(int)
    scores = [[0, 0] for _ in range(SCORES + 1)]
    for row in rows:
        counts[int(row["o"]), int(row["p"])] += row["count"]
        if is_binary and row["s"] is not None:
            scores[row["s"]][int(row["o"])] += row["count"]
    report: dict[str, Any] = {"labels": list(labels)[:_MOST_CLASSES]}
    report["confusion"] = [
        [counts[o, p] for p in range(min(len(labels), _MOST_CLASSES))]
        for o in range(min(len(labels), _MOST_CLASSES))
    ]
    if is_binary:
        report |= describe_scores(scores)
    return weigh_classes(counts), report


def describe_scores(scores: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return what the report of a model with two classes says about its scores.

    :param scores: for each hundredth, the records of the first and of the second class.
    """
    roc = trace_roc(scores)
    return {"scores": scores, "roc": roc, "areaUnderRoc": measure_area(roc)}


def _score(f: Any) -> Any:
    from pyspark.ml.functions import vector_to_array

    return f.round(vector_to_array(f.col("probability"))[1] * SCORES).cast("int")


def weigh_classes(counts: Mapping[tuple[int, int], int]) -> Metrics:
    """Return precision, recall and F1, weighted by the records of each class.

    :param counts: the numbers of records by outcome and prediction.
    :raises ValueError: when there is no record.
    """
    total = sum(counts.values())
    if not total:
        raise ValueError(_NO_RECORDS)
    outcomes: dict[int, int] = defaultdict(int)
    predicted: dict[int, int] = defaultdict(int)
    for (outcome, prediction), count in counts.items():
        outcomes[outcome] += count
        predicted[prediction] += count
    precision = recall = f1 = 0.0
    for each, count in outcomes.items():
        hits = counts.get((each, each), 0)
        of_predicted = hits / predicted[each] if predicted[each] else 0.0
        of_outcomes = hits / count if count else 0.0
        both = of_predicted + of_outcomes
        precision += of_predicted * count / total
        recall += of_outcomes * count / total
        f1 += (2 * of_predicted * of_outcomes / both if both else 0.0) * count / total
    return Metrics(precision, recall, f1)


def evaluate_numbers(predictions: DataFrame, outcome: str) -> tuple[Metrics, dict[str, Any]]:
    """Return metrics, and the histogram of the residuals: outcome less prediction.

    :raises ValueError: when there is no record.
    """
    from pyspark.sql import functions as f

    label, found = get_column(outcome).cast("double"), f.col(PREDICTION).cast("double")
    pairs = predictions.select(label.alias("y"), found.alias("p"))
    residual = f.col("y") - f.col("p")
    row = pairs.agg(
        f.count(f.lit(1)).alias("n"),
        f.avg(residual * residual).alias("mse"),
        f.avg(f.abs(residual)).alias("mae"),
        f.var_pop("y").alias("variance"),
        f.avg("y").alias("mean"),
        f.avg("p").alias("p_mean"),
        f.var_pop("p").alias("p_variance"),
        f.min(residual).alias("low"),
        f.max(residual).alias("high"),
    ).collect()[0]
    if not row["n"]:
        raise ValueError(_NO_RECORDS)
    explained = row["p_variance"] + (row["p_mean"] - row["mean"]) ** 2
    r2 = 1 - row["mse"] / row["variance"] if row["variance"] else None
    metrics = Metrics(rmse=math.sqrt(row["mse"]), r2=r2, evariance=explained, mae=row["mae"])
    return metrics, {"residuals": _count_residuals(pairs, residual, row["low"], row["high"])}


def make_residual_bins(low: float, high: float) -> list[NumericBin]:
    """Return bins of equal width from the least to the greatest residual, both included."""
    if low == high:
        return [NumericBin(low, high, True)]
    count = 2 * BINS
    ends = [low + (high - low) * place / count for place in range(count)] + [high]
    return [
        NumericBin(start, end, place == count - 1)
        for place, (start, end) in enumerate(pairwise(ends))
    ]


def _count_residuals(pairs: DataFrame, residual: Any, low: float, high: float) -> list[Any]:
    from pyspark.sql import functions as f

    bins = make_residual_bins(low, high)
    ends = [residual <= each.high if each.is_last else residual < each.high for each in bins]
    sums = [
        f.count_if((residual >= each.low) & end).alias(str(place))
        for place, (each, end) in enumerate(zip(bins, ends, strict=True))
    ]
    row = pairs.agg(*sums).collect()[0]
    return [[each.low, each.high, row[str(place)]] for place, each in enumerate(bins)]


_NO_RECORDS: Final = (
    "No record of the test data is left to evaluate the model. String features should represent categories, "
    "with multiple records for each category value; an ID should not be used as a feature."
)


def weigh_features(model: Any, names: Sequence[str]) -> dict[str, float]:
    """Return how much each column counts, in sum 1: importances of trees, or coefficients by absolute value.

    :param names: the column of each element of the feature vector.
    :returns: empty for a model that has neither.
    """
    weights: Any = None
    for attribute in ("featureImportances", "coefficients", "coefficientMatrix"):
        try:
            weights = getattr(model, attribute).toArray()
            break
        except Exception:  # noqa: S112 - models have different attributes, some for two classes only
            continue
    if weights is None:
        return {}
    rows = [weights] if getattr(weights, "ndim", 1) == 1 else list(weights)
    sums: dict[str, float] = defaultdict(float)
    for row in rows:
        for name, value in zip(names, row, strict=False):
            sums[name] += abs(float(value))
    total = sum(sums.values())
    return {name: value / total for name, value in sums.items()} if total else {}
