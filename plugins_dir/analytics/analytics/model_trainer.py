"""Training of a model on Spark (mmds ``ModelTrainer`` and ``ModelOutputWriter``)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api import Schema
from localcdap.api.sql_names import quote_column

from .algorithms import LAYERS, REGRESSION, create_estimator, fill_layers, require_algorithm
from .evaluation import evaluate_classes, evaluate_numbers, weigh_features
from .features import FEATURES, NUMERIC_PREDICTION, PREDICTION, FeatureColumns, index_outcome
from .histograms import ColumnSplitStats
from .mlflow_folder import write_mlflow_folder
from .model import SKIP, Metrics
from .places import FEATUREGEN, MLFLOW, MODEL, TARGET_INDICES
from .warnings import find_warnings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MAX_BINS: Final = "maxBins"


class TrainingPlan(msgspec.Struct, kw_only=True):
    """What is to be trained, on data of a schema."""

    algorithm: str
    hyperparameters: Mapping[str, str]
    """All of them, as text."""
    schema: Schema
    """That of training and test data."""
    outcome: str
    is_class: bool
    """Whether the outcome is a class, not a number."""
    columns: FeatureColumns
    handle_invalid: str = SKIP
    stats: Sequence[ColumnSplitStats] = ()
    """The statistics of training and test data, for warnings."""

    @property
    def is_regression(self) -> bool:
        """Whether the algorithm predicts numbers."""
        return require_algorithm(self.algorithm).type == REGRESSION

    @property
    def label(self) -> str:
        """The column with the outcome as a number."""
        return f"_t_{self.outcome}" if self.is_class else self.outcome

    @property
    def prediction(self) -> str:
        """The column with the prediction as a number."""
        return NUMERIC_PREDICTION if self.is_class else PREDICTION


class TrainedModel(msgspec.Struct):
    """A model with what is known about it. Its parts are on the Spark server, as long as the session."""

    plan: TrainingPlan
    generator: Any
    """Makes the feature vector: a PipelineModel."""
    fitted: Any
    indexer: Any
    """Numbers the classes; None for a number as outcome."""
    metrics: Metrics
    report: dict[str, Any]
    predictions: Any
    """The test data with predictions, a lazy DataFrame."""

    @property
    def labels(self) -> list[str] | None:
        """The class of each number; None for a number as outcome."""
        return list(self.indexer.labels) if self.indexer is not None else None

    def save(self, folder: Path) -> None:
        """Save everything into a folder of this machine."""
        folder.mkdir(parents=True, exist_ok=True)
        if self.indexer is not None:
            self.indexer.write().overwrite().save(str(folder / TARGET_INDICES))
        self.generator.write().overwrite().save(str(folder / FEATUREGEN))
        self.fitted.write().overwrite().save(str(folder / MODEL))
        stages = [*self.generator.stages, self.fitted]
        write_mlflow_folder(
            folder / MLFLOW, self.plan.schema, self.plan.columns, stages, self.labels
        )

    def write_predictions(self, path: str, delimiter: str = ",") -> None:
        """Write the predictions for the test data as CSV: the prediction, and all columns."""
        shown = self.predictions
        if self.indexer is not None and not self.plan.is_regression:
            from pyspark.ml.feature import IndexToString

            reverse = IndexToString(
                inputCol=NUMERIC_PREDICTION, outputCol=PREDICTION, labels=self.labels
            )
            shown = reverse.transform(shown)
        columns = [quote_column(name) for name in (PREDICTION, *self.plan.schema.field_names)]
        shown.select(*columns).write.mode("overwrite").option("sep", delimiter).csv(path)

    def count_evaluated(self) -> int:
        """Return the number of records of the test data that were evaluated."""
        if "residuals" in self.report:
            return sum(each[2] for each in self.report["residuals"])
        return sum(map(sum, self.report["confusion"]))


class Training:
    """Trains one model.

    :param report: called with what is done next, and the part of the whole that is done.
    """

    def __init__(
        self, plan: TrainingPlan, report: Callable[[str, float], None], logger: logging.Logger
    ) -> None:
        self._plan = plan
        self._report = report
        self._logger = logger
        self._indexer: Any = None

    def run(self, train: DataFrame, test: DataFrame) -> TrainedModel:
        """Train a model, and evaluate it.

        :raises ValueError: when the data cannot be used.
        """
        plan = self._plan
        check_kind(plan.algorithm, plan.outcome, is_class=plan.is_class)
        self._report("preparing features", 0.05)
        train, test = (self._clean(each) for each in (train, test))
        generator = plan.columns.fit(train, plan.handle_invalid)
        self._check_bins(generator)
        train, test = generator.transform(train), generator.transform(test)
        if plan.is_class:
            self._indexer, train, test = index_outcome(plan.outcome, plan.label, train, test)
        self._report("training", 0.2)
        estimator = create_estimator(
            plan.algorithm,
            self._get_hyperparameters(),
            featuresCol=FEATURES,
            labelCol=plan.label,
            predictionCol=plan.prediction,
        )
        fitted = estimator.fit(train)
        self._report("evaluating", 0.7)
        predictions = fitted.transform(test)
        metrics, report = self._evaluate(predictions)
        importance = weigh_features(fitted, plan.columns.vector_names)
        report["importance"] = importance
        report["warnings"] = find_warnings(plan.stats, plan.outcome, importance, metrics)
        self._report("saving", 0.9)
        return TrainedModel(plan, generator, fitted, self._indexer, metrics, report, predictions)

    def _clean(self, data: DataFrame) -> DataFrame:
        known = data.na.drop(subset=[quote_column(self._plan.outcome)])
        return self._plan.columns.clean(known, [self._plan.outcome])

    def _check_bins(self, generator: Any) -> None:
        """Check that no category has more values than a tree has bins: Spark would name its number alone."""
        categories = self._plan.columns.categorical
        most = self._plan.hyperparameters.get(_MAX_BINS)
        if most is None or not categories:
            return
        counts = [len(labels) for labels in generator.stages[0].labelsArray]
        large = {name: n for name, n in zip(categories, counts, strict=True) if n > int(most)}
        if large:
            found = ", ".join(f"'{name}' ({count})" for name, count in large.items())
            raise ValueError(
                f"Trees need at least as many bins as each category has values; maxBins is {most}, and there "
                f"are more values in {found}. Set maxBins to {max(large.values())}, or drop the columns."
            )

    def _get_hyperparameters(self) -> dict[str, str]:
        """Return the hyperparameters; layers that were not given get the sizes that the data has."""
        labels = self._indexer.labels if self._indexer is not None else []
        given = dict(self._plan.hyperparameters)
        inputs = len(self._plan.columns.vector)
        filled = fill_layers(self._plan.algorithm, given, inputs, len(labels))
        if filled != given:
            self._logger.info("The layers are %s, as the data needs.", filled[LAYERS])
        return filled

    def _evaluate(self, predictions: DataFrame) -> tuple[Any, dict[str, Any]]:
        if self._plan.is_regression:
            if self._plan.is_class:
                from pyspark.sql import functions as f

                predictions = predictions.withColumn(PREDICTION, f.col(NUMERIC_PREDICTION))
            return evaluate_numbers(predictions, self._plan.label)
        return evaluate_classes(predictions, self._plan.label, list(self._indexer.labels))


def check_kind(algorithm: str, outcome: str, *, is_class: bool) -> None:
    """Check that an algorithm can learn an outcome.

    :raises ValueError: when it predicts classes, and the outcome is a number.
    """
    if not is_class and require_algorithm(algorithm).type != REGRESSION:
        raise ValueError(
            f"Algorithm '{algorithm}' predicts classes, but the outcome '{outcome}' is a number. Use an "
            "algorithm of type REGRESSION, or make the outcome a string."
        )
