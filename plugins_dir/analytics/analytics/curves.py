"""The receiver operating characteristic of a binary classification, from counts by score."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise


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
