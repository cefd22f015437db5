"""The search of parameters on Spark: each combination is trained and evaluated on every fold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.app import JobContext
from localcdap.api.sql_names import quote_column

from .algorithms import create_estimator, fill_hyperparameters, fill_layers
from .evaluation import evaluate_classes, evaluate_numbers
from .features import FEATURES, NUMERIC_PREDICTION, PREDICTION, FeatureColumns, index_outcome
from .model import DataSplitStats, Experiment, Metrics
from .search_model import SearchRequest, get_metrics, sort_candidates

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
        values = fill_layers(
            algorithm,
            fill_hyperparameters(algorithm, varied),
            len(self._columns.vector),
            len(self._labels),
        )
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
