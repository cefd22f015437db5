"""Warnings about a trained model: leakage, imbalance, and parts of the data that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from .histograms import ColumnSplitStats
from .model import Metrics

_LEAKAGE: Final = 0.9
"""A feature that counts more than this, of a model that is nearly perfect, may contain the outcome."""
_PERFECT: Final = 0.99
_RARE: Final = 0.1
"""A class with a smaller part of the records is rare."""
_DIFFERENT: Final = 0.1
"""The divergence from which training and test data differ."""
_MANY: Final = 0.5
"""A category with more values than this part of the records is probably an id."""


def find_warnings(
    stats: Sequence[ColumnSplitStats],
    outcome: str,
    importance: Mapping[str, float],
    metrics: Metrics,
) -> list[str]:
    """Return sentences about what may be wrong with the data of a model."""
    found = []
    quality = metrics.f1 if metrics.f1 is not None else metrics.r2
    for name, weight in importance.items():
        if weight > _LEAKAGE and len(importance) > 1 and quality is not None and quality > _PERFECT:
            found.append(
                f"Leakage: '{name}' predicts almost alone, and almost perfectly. Is it known before "
                "the outcome?"
            )
    for each in stats:
        if each.field == outcome:
            found += _check_outcome(each)
        elif each.unique is not None and each.unique.total > _MANY * max(20, each.num_total.total):
            found.append(
                f"'{each.field}' has {each.unique.total} values: it may be an id, not a category."
            )
        if each.divergence > _DIFFERENT:
            found.append(
                f"Training and test data differ in '{each.field}': their divergence is {each.divergence:.2f}."
            )
    return found


def _check_outcome(stats: ColumnSplitStats) -> list[str]:
    if stats.unique is None:
        return []
    if stats.unique.train < 2:
        return [f"The outcome '{stats.field}' has only one class in the training data."]
    known = stats.num_total.total - stats.num_null.total
    rare = [each for each in stats.histo if each.count.total < _RARE * known]
    if not rare:
        return []
    names = ", ".join(f"'{each.bin}' ({each.count.total} of {known})" for each in rare[:3])
    return [
        f"Imbalance: few records are of class {names}. Look at precision and recall of each class."
    ]
