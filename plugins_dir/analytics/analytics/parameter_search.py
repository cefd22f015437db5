"""The search of parameters on Spark: each combination is trained and evaluated on every fold."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.app import BadRequestError, JobContext
from localcdap.api.sql_names import quote_column

from .algorithms import (
    REGRESSION,
    create_estimator,
    fill_hyperparameters,
    require_algorithm,
)
from .evaluation import evaluate_classes, evaluate_numbers
from .features import FEATURES, NUMERIC_PREDICTION, PREDICTION, FeatureColumns, index_outcome
from .model import KEEP, SKIP, DataSplitStats, Experiment, Metrics
from .training_rules import TrainingFacts, fit_parameters

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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

    def check_data(self, experiment: Experiment, split: DataSplitStats) -> None:
        """Check that a combination can be trained, as far as the statistics of the split tell.

        :raises BadRequestError: when none can; the message says why the first one cannot.
        """
        algorithm, first = str(self.algorithm), ""
        for varied in self.list_combinations():
            try:
                facts = TrainingFacts.of_split(experiment, split, self.handle_invalid)
                fit_parameters(algorithm, fill_hyperparameters(algorithm, varied), facts)
            except ValueError as error:
                first = first or str(error)
            else:
                return
        raise BadRequestError(f"No combination can be trained: {first}")

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


_FOLD: Final = "_fold"


def search_parameters(
    context: JobContext, experiment: Experiment, split: DataSplitStats, request: SearchRequest
) -> dict[str, Any]:
    """Try combinations of parameters by cross validation on the training data; the test data stays unseen.

    :returns: ``metric``, ``folds``, ``combinations`` of the whole grid, and the ``candidates``, the best
        first: the parameters that vary, the mean of each metric over the folds, the ``spread`` of the metric
        (the standard deviation over the folds), or the ``error`` with which one failed.
    """
    return _Search(context, experiment, split, request).run()


class _Candidate:
    def __init__(self, varied: dict[str, str]) -> None:
        self.varied = varied
        self.metrics: list[Metrics] = []
        self.error: str | None = None

    def summarize(self, metric: str) -> dict[str, Any]:
        found = [] if self.error else [msgspec.structs.asdict(each) for each in self.metrics]
        means = {
            name: sum(each[name] for each in found) / len(found)
            for name in (found[0] if found else ())
            if all(each[name] is not None for each in found)
        }
        spread = None
        if metric in means:
            squares = sum((each[metric] - means[metric]) ** 2 for each in found)
            spread = math.sqrt(squares / len(found))
        return {
            "hyperparameters": self.varied,
            "metrics": means,
            "spread": spread,
            "error": self.error,
        }


class _Search:
    def __init__(
        self,
        context: JobContext,
        experiment: Experiment,
        split: DataSplitStats,
        request: SearchRequest,
    ) -> None:
        assert split.schema is not None
        self._context = context
        self._is_class = experiment.is_categorical
        self._outcome = str(experiment.outcome)
        self._label = f"_t_{self._outcome}" if self._is_class else self._outcome
        self._columns = FeatureColumns.of(split.schema, self._outcome)
        self._path = str(split.training_path)
        self._request = request
        self._metric = request.metric or get_metrics(experiment)[0]
        self._labels: list[str] = []
        self._facts = TrainingFacts.of_split(experiment, split, request.handle_invalid)

    def run(self) -> dict[str, Any]:
        candidates = [_Candidate(each) for each in self._request.list_combinations()]
        data = self._prepare().cache()
        try:
            for fold in range(self._request.folds):
                self._try_fold(data, fold, candidates)
        finally:
            data.unpersist()
        found = [each.summarize(self._metric) for each in candidates]
        if all(each["error"] for each in found):
            raise ValueError(f"No combination can be trained: {found[0]['error']}")
        return {
            "algorithm": self._request.algorithm,
            "metric": self._metric,
            "folds": self._request.folds,
            "combinations": self._request.count_combinations(),
            "candidates": sort_candidates(found, self._metric),
        }

    def _prepare(self) -> DataFrame:
        """Return the training data with the number of a fold for each record."""
        from pyspark.sql import functions as f

        data = self._context.spark.read.parquet(self._path)
        data = self._columns.clean(
            data.na.drop(subset=[quote_column(self._outcome)]), [self._outcome]
        )
        if self._is_class:
            indexer, data, _ = index_outcome(self._outcome, self._label, data, data)
            self._labels = list(indexer.labels)
            self._facts.classes = len(self._labels)
        fold = f.floor(f.rand(self._request.seed) * self._request.folds).cast("int")
        return data.withColumn(_FOLD, fold)

    def _try_fold(self, data: DataFrame, fold: int, candidates: Sequence[_Candidate]) -> None:
        from pyspark.errors import IllegalArgumentException

        rest, held = data.filter(data[_FOLD] != fold), data.filter(data[_FOLD] == fold)
        generator = self._columns.fit(rest, self._request.handle_invalid)
        rest, held = generator.transform(rest).cache(), generator.transform(held).cache()
        try:
            for number, each in enumerate(candidates):
                self._report(fold, number, len(candidates))
                if each.error is not None:
                    continue
                try:
                    each.metrics.append(self._evaluate(each.varied, rest, held))
                except (ValueError, IllegalArgumentException) as error:
                    each.error = str(error).strip().partition("\n")[0]
        finally:
            rest.unpersist()
            held.unpersist()

    def _report(self, fold: int, number: int, count: int) -> None:
        done = (fold * count + number) / (self._request.folds * count)
        text = f"fold {fold + 1} of {self._request.folds}, combination {number + 1} of {count}"
        self._context.report(text, done)

    def _evaluate(self, varied: Mapping[str, str], rest: DataFrame, held: DataFrame) -> Metrics:
        algorithm = str(self._request.algorithm)
        filled = fill_hyperparameters(algorithm, varied)
        values = fit_parameters(algorithm, filled, self._facts)
        estimator = create_estimator(
            algorithm,
            values,
            featuresCol=FEATURES,
            labelCol=self._label,
            predictionCol=NUMERIC_PREDICTION if self._is_class else PREDICTION,
        )
        predictions = estimator.fit(rest).transform(held)
        if self._is_class:
            return evaluate_classes(predictions, self._label, self._labels)[0]
        return evaluate_numbers(predictions, self._label)[0]
