"""What a model with two classes does at another threshold, from the counts by score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ThresholdCounts:
    """The records of the test data by outcome and prediction, where the second class is the positive one."""

    threshold: float
    true_positives: int
    false_positives: int
    true_negatives: int
    false_negatives: int

    @property
    def precision(self) -> float | None:
        """The part of the predicted ones that are right; None when none is predicted."""
        return _divide(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> float | None:
        """The part of the positive ones that are found; None when there are none."""
        return _divide(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def f1(self) -> float | None:
        both = 2 * self.true_positives + self.false_positives + self.false_negatives
        return _divide(2 * self.true_positives, both)

    @property
    def accuracy(self) -> float | None:
        right = self.true_positives + self.true_negatives
        return _divide(right, right + self.false_positives + self.false_negatives)

    @property
    def matrix(self) -> list[list[int]]:
        """The confusion matrix: negative, positive."""
        return [
            [self.true_negatives, self.false_positives],
            [self.false_negatives, self.true_positives],
        ]


def count_at(scores: Sequence[Sequence[int]], step: int) -> ThresholdCounts:
    """Return the counts when every record is positive whose score is not below a step.

    :param scores: for each step from 0 on, the records of the negative and of the positive class.
    """
    below, above = scores[:step], scores[step:]
    return ThresholdCounts(
        threshold=step / (len(scores) - 1),
        true_positives=sum(each[1] for each in above),
        false_positives=sum(each[0] for each in above),
        true_negatives=sum(each[0] for each in below),
        false_negatives=sum(each[1] for each in below),
    )


def find_best(scores: Sequence[Sequence[int]]) -> int:
    """Return the step with the greatest F1 of the positive class; the lowest of several."""
    return max(range(len(scores)), key=lambda step: (count_at(scores, step).f1 or 0.0, -step))


def _divide(part: int, whole: int) -> float | None:
    return part / whole if whole else None
