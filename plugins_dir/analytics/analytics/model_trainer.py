"""Training of a model on Spark (mmds ``ModelTrainer`` and ``ModelOutputWriter``)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from localcdap.api.app import JobContext
from localcdap.plugin_lib.spark.columns import quote_name

from .algorithms import LAYERS, REGRESSION, create_estimator, fill_layers, find_algorithm
from .evaluation import evaluate_classes, evaluate_numbers, weigh_features
from .features import FEATURES, NUMERIC_PREDICTION, PREDICTION, FeatureColumns, index_outcome
from .mlflow_folder import write_mlflow_folder
from .model import DataSplitStats, Experiment, Model
from .places import FEATUREGEN, MLFLOW, MODEL, TARGET_INDICES
from .store import run_in_store
from .warnings import find_warnings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def train_model(
    context: JobContext, experiment: Experiment, model: Model, split: DataSplitStats, folder: Path
) -> Any:
    """Train a model, evaluate it, write it into a folder, and make it TRAINED.

    :raises ValueError: when the data of the split cannot be used.
    """
    return _Training(context, experiment, model, split, folder).run()


class _Training:
    def __init__(
        self,
        context: JobContext,
        experiment: Experiment,
        model: Model,
        split: DataSplitStats,
        folder: Path,
    ) -> None:
        assert split.schema is not None
        self._context = context
        self._experiment = experiment
        self._model = model
        self._split = split
        self._folder = folder
        self._outcome = str(experiment.outcome)
        self._columns = FeatureColumns.of(split.schema, self._outcome)
        algorithm = find_algorithm(str(model.algorithm))
        self._is_regression = algorithm is not None and algorithm.type == REGRESSION
        self._is_class = experiment.is_categorical
        self._label = f"_t_{self._outcome}" if self._is_class else self._outcome
        self._prediction = NUMERIC_PREDICTION if self._is_class else PREDICTION
        self._indexer: Any = None

    def run(self) -> Any:
        self._context.report("preparing features", 0.05)
        rows = [self._read(self._split.training_path), self._read(self._split.test_path)]
        train, test = (self._columns.clean(each, [self._outcome]) for each in rows)
        generator = self._columns.fit(train, self._model.handle_invalid)
        train, test = generator.transform(train), generator.transform(test)
        if self._is_class:
            self._indexer, train, test = index_outcome(self._outcome, self._label, train, test)
        self._context.report("training", 0.2)
        estimator = create_estimator(
            str(self._model.algorithm),
            self._get_hyperparameters(),
            featuresCol=FEATURES,
            labelCol=self._label,
            predictionCol=self._prediction,
        )
        fitted = estimator.fit(train)
        self._context.report("evaluating", 0.7)
        predictions = fitted.transform(test)
        metrics, report = self._evaluate(predictions)
        self._context.report("saving", 0.9)
        self._save(generator, fitted)
        self._write_predictions(predictions)
        importance = weigh_features(fitted, self._columns.vector_names)
        report["importance"] = importance
        report["warnings"] = find_warnings(self._split.stats, self._outcome, importance, metrics)
        skipped = self._count_skipped(report)
        run_in_store(
            self._context.transactions,
            self._context.namespace,
            lambda store: store.finish_training(
                self._experiment.name,
                self._model.id,
                metrics,
                self._columns.categorical,
                skipped,
                str(self._folder),
                report,
            ),
        )
        return {"skippedRows": skipped}

    def _read(self, path: str | None) -> DataFrame:
        data = self._context.spark.read.parquet(str(path))
        return data.na.drop(subset=[quote_name(self._outcome)])

    def _get_hyperparameters(self) -> dict[str, str]:
        """Return the hyperparameters; layers that were not given get the sizes that the data has."""
        labels = self._indexer.labels if self._indexer is not None else []
        given = dict(self._model.hyperparameters)
        filled = fill_layers(
            str(self._model.algorithm), given, len(self._columns.vector), len(labels)
        )
        if filled != given:
            self._context.logger.info("The layers are %s, as the data needs.", filled[LAYERS])
        return filled

    def _evaluate(self, predictions: DataFrame) -> tuple[Any, dict[str, Any]]:
        if self._is_regression:
            if self._is_class:
                from pyspark.sql import functions as f

                predictions = predictions.withColumn(PREDICTION, f.col(NUMERIC_PREDICTION))
            return evaluate_numbers(predictions, self._label)
        labels = list(self._indexer.labels) if self._indexer is not None else None
        if labels is None:
            raise ValueError(
                f"Algorithm '{self._model.algorithm}' predicts classes, but the outcome '{self._outcome}' "
                "is a number. Use an algorithm of type REGRESSION, or make the outcome a string."
            )
        return evaluate_classes(predictions, self._label, labels)

    def _save(self, generator: Any, fitted: Any) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        if self._indexer is not None:
            self._indexer.write().overwrite().save(str(self._folder / TARGET_INDICES))
        generator.write().overwrite().save(str(self._folder / FEATUREGEN))
        fitted.write().overwrite().save(str(self._folder / MODEL))
        labels = list(self._indexer.labels) if self._indexer is not None else None
        write_mlflow_folder(
            self._folder / MLFLOW, self._split, self._columns, [*generator.stages, fitted], labels
        )

    def _write_predictions(self, predictions: DataFrame) -> None:
        """Write the predictions for the test data as CSV, where the request asks for it."""
        if self._model.predictions_dataset is None:
            return
        assert self._split.schema is not None
        shown = predictions
        if self._indexer is not None and not self._is_regression:
            from pyspark.ml.feature import IndexToString

            labels = list(self._indexer.labels)
            reverse = IndexToString(
                inputCol=NUMERIC_PREDICTION, outputCol=PREDICTION, labels=labels
            )
            shown = reverse.transform(predictions)
        columns = [quote_name(name) for name in (PREDICTION, *self._split.schema.field_names)]
        place = self._context.open_folder() / "predictions" / self._model.predictions_dataset
        path = place / f"model={self._model.id}" / f"experiment={self._experiment.name}"
        shown.select(*columns).write.mode("overwrite").csv(str(path))

    def _count_skipped(self, report: dict[str, Any]) -> dict[str, int]:
        """Return the records of the test data that were not evaluated."""
        if "residuals" in report:
            evaluated = sum(each[2] for each in report["residuals"])
        else:
            evaluated = sum(map(sum, report["confusion"]))
        return {"test": self._split.rows.get("test", evaluated) - evaluated}
