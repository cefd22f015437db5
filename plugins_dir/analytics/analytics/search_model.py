"""What a search of parameters asks for: its combinations, their check and their order."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from localcdap.api.app import BadRequestError

from .algorithms import REGRESSION, fill_hyperparameters, require_algorithm
from .model import KEEP, SKIP, Experiment

CLASS_METRICS: Final = ("f1", "precision", "recall")
NUMBER_METRICS: Final = ("rmse", "mae", "r2", "evariance")
_LESS_IS_BETTER: Final = ("rmse", "mae")
_MOST_FOLDS: Final = 20
_MOST: Final = 1000
"""The most combinations of a search."""


class SearchRequest(msgspec.Struct, rename="camel"):
    """A search of the best parameters of an algorithm by cross validation."""

    algorithm: str | None = None
    grid: dict[str, list[str]] = {}
    """The values of each parameter that varies; the others have their defaults."""
    folds: int = 3
    limit: int = 20
    """The most combinations that are tried; of more, so many random ones."""
    metric: str | None = None
    """What the combinations are compared by: by default ``f1`` or ``rmse``."""
    handle_invalid: str = SKIP
    seed: int = 1
    """The same seed gives the same folds and combinations."""
    profile: str | None = None

    def check(self, experiment: Experiment) -> None:
        """Check the request.

        :raises BadRequestError: when it is invalid, or does not fit the outcome of the experiment.
        """
        if not self.algorithm:
            raise BadRequestError("Must specify an algorithm")
        check_kind(self.algorithm, experiment)
        known = get_metrics(experiment)
        if self.metric is not None and self.metric not in known:
            raise BadRequestError(
                f"Invalid metric '{self.metric}'. Must be one of '{','.join(known)}'"
            )
        if not 2 <= self.folds <= _MOST_FOLDS:
            raise BadRequestError(f"Invalid folds {self.folds}. Must be from 2 to {_MOST_FOLDS}.")
        if not 1 <= self.limit <= _MOST:
            raise BadRequestError(f"Invalid limit {self.limit}. Must be from 1 to {_MOST}.")
        if self.handle_invalid not in (SKIP, KEEP):
            raise BadRequestError(
                f"Invalid handleInvalid '{self.handle_invalid}'. Must be one of '{SKIP},{KEEP}'"
            )
        empty = [name for name, values in self.grid.items() if not values]
        if empty:
            raise BadRequestError(f"The parameter '{empty[0]}' of the grid has no values.")
        for name, values in self.grid.items():
            for value in values:
                fill_hyperparameters(self.algorithm, {name: value})

    def count_combinations(self) -> int:
        """Return how many combinations the grid has."""
        return math.prod(len(values) for values in self.grid.values())

    def list_combinations(self) -> list[dict[str, str]]:
        """Return the combinations that are tried, each with the parameters that vary."""
        count = self.count_combinations()
        if count <= self.limit:
            return [self._pick(number) for number in range(count)]
        drawn, chosen = random.Random(self.seed), set[int]()  # noqa: S311 - no secret
        while len(chosen) < self.limit:
            chosen.add(drawn.randrange(count))
        return [self._pick(number) for number in sorted(chosen)]

    def _pick(self, number: int) -> dict[str, str]:
        picked = {}
        for name, values in reversed(self.grid.items()):
            number, place = divmod(number, len(values))
            picked[name] = values[place]
        return {name: picked[name] for name in self.grid}


def get_metrics(experiment: Experiment) -> tuple[str, ...]:
    """Return the metrics of the models of an experiment, that of the default order first."""
    return CLASS_METRICS if experiment.is_categorical else NUMBER_METRICS


def check_kind(algorithm: str, experiment: Experiment) -> None:
    """Check that an algorithm predicts what the outcome of an experiment is: a class, or a number.

    :raises BadRequestError: when it does not, or there is no such algorithm.
    """
    is_regression = require_algorithm(algorithm).type == REGRESSION
    if is_regression == experiment.is_categorical:
        predicted, found = ("numbers", "a class") if is_regression else ("classes", "a number")
        raise BadRequestError(
            f"Algorithm '{algorithm}' predicts {predicted}, but the outcome '{experiment.outcome}' is "
            f"{found}."
        )


def sort_candidates(candidates: Sequence[dict[str, Any]], metric: str) -> list[dict[str, Any]]:
    """Return candidates by a metric, the best first; last those that have none."""

    def rank(candidate: dict[str, Any]) -> tuple[bool, float]:
        value = candidate["metrics"].get(metric)
        if value is None:
            return True, 0.0
        return False, value if metric in _LESS_IS_BETTER else -value

    return sorted(candidates, key=rank)
