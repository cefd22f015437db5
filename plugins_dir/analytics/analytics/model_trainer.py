"""Training of a model on Spark (mmds ``ModelTrainer`` and ``ModelOutputWriter``).

A model in the folder layout of MLflow, which its Spark flavour loads: ``MLmodel`` and ``sparkml``.

Warnings about a trained model: leakage, imbalance, and parts of the data that differ.
"""

from __future__ import annotations

import datetime
import json
import logging
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api import Schema
from localcdap.api.sql_names import quote_column

from .algorithms import LAYERS, REGRESSION, create_estimator, require_algorithm
from .evaluation import evaluate_classes, evaluate_numbers, weigh_features
from .features import FEATURES, NUMERIC_PREDICTION, PREDICTION, FeatureColumns, index_outcome
from .histograms import ColumnSplitStats
from .model import KEEP, SKIP, Metrics, get_type_name
from .store import FEATUREGEN, MLFLOW, MODEL, TARGET_INDICES
from .training_rules import TrainingFacts, fit_parameters

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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


_DATA: Final = "sparkml"
_TYPES: Final = {
    "boolean": "boolean",
    "string": "string",
    "int": "integer",
    "long": "long",
    "float": "float",
    "double": "double",
}


def write_mlflow_folder(
    folder: Path,
    schema: Schema,
    columns: FeatureColumns,
    stages: Sequence[Any],
    labels: Sequence[str] | None,
) -> None:
    """Write a pipeline from the columns of the data to the prediction.

    :param stages: what makes the feature vector, and the model.
    :param labels: the classes by index; None for a model that predicts numbers.
    """
    import pyspark
    from pyspark.ml import PipelineModel
    from pyspark.ml.feature import IndexToString, SQLTransformer

    all_stages = [SQLTransformer(statement=columns.to_sql()), *stages]
    if labels is not None:
        all_stages.append(
            IndexToString(inputCol=NUMERIC_PREDICTION, outputCol=PREDICTION, labels=list(labels))
        )
    folder.mkdir(parents=True, exist_ok=True)
    PipelineModel(all_stages).write().overwrite().save(str(folder / _DATA))
    version = pyspark.__version__
    (folder / "MLmodel").write_text(_describe(schema, columns, labels, version), encoding="utf-8")
    (folder / "requirements.txt").write_text(f"pyspark=={version}\n", encoding="utf-8")
    python = ".".join(map(str, sys.version_info[:3]))
    environment = (
        f"python: {python}\nbuild_dependencies:\n- pip\ndependencies:\n- -r requirements.txt\n"
    )
    (folder / "python_env.yaml").write_text(environment, encoding="utf-8")


def _describe(
    schema: Schema, columns: FeatureColumns, labels: Sequence[str] | None, version: str
) -> str:
    """Return the text of ``MLmodel``, YAML."""
    inputs = [
        {
            "type": _TYPES[get_type_name(field.schema)],
            "name": field.name,
            "required": not field.schema.is_nullable,
        }
        for field in schema
        if field.name in columns.names
    ]
    output = [{"type": "string" if labels is not None else "double", "required": True}]
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    lines = [
        "flavors:",
        "  python_function:",
        f"    data: {_DATA}",
        "    env:",
        "      virtualenv: python_env.yaml",
        "    loader_module: mlflow.spark",
        f"    python_version: {'.'.join(map(str, sys.version_info[:3]))}",
        "  spark:",
        "    code: null",
        f"    model_data: {_DATA}",
        f"    pyspark_version: {version}",
        f"model_uuid: {uuid.uuid4().hex}",
        "signature:",
        f"  inputs: {json.dumps(json.dumps(inputs))}",
        f"  outputs: {json.dumps(json.dumps(output))}",
        "  params: null",
        f"utc_time_created: '{now}'",
    ]
    return "\n".join(lines) + "\n"


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
    hyperparameters: Mapping[str, str]
    """Those that were used, all of them."""
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
        self._fit_parameters()
        self._report("preparing features", 0.05)
        train, test = (self._clean(each) for each in (train, test))
        generator = plan.columns.fit(train, plan.handle_invalid)
        train, test = generator.transform(train), generator.transform(test)
        if plan.is_class:
            self._indexer, train, test = index_outcome(plan.outcome, plan.label, train, test)
        hyperparameters = self._fit_parameters(generator)
        self._report("training", 0.2)
        estimator = create_estimator(
            plan.algorithm,
            hyperparameters,
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
        return TrainedModel(
            plan, hyperparameters, generator, fitted, self._indexer, metrics, report, predictions
        )

    def _clean(self, data: DataFrame) -> DataFrame:
        known = data.na.drop(subset=[quote_column(self._plan.outcome)])
        return self._plan.columns.clean(known, [self._plan.outcome])

    def _fit_parameters(self, generator: Any = None) -> dict[str, str]:
        """Return the hyperparameters that fit what is known of the data; layers that were not given get the
        sizes that it has.

        :param generator: the fitted features; None before.
        :raises ValueError: when the model cannot be trained.
        """
        plan, names = self._plan, self._plan.columns.categorical
        facts = TrainingFacts(
            outcome=plan.outcome, is_class=plan.is_class, inputs=len(plan.columns.vector)
        )
        if generator is not None and names:
            more = plan.handle_invalid == KEEP
            counts = [len(labels) + more for labels in generator.stages[0].labelsArray]
            facts.categories = dict(zip(names, counts, strict=True))
        if self._indexer is not None:
            facts.classes = len(self._indexer.labels)
        fitted = fit_parameters(plan.algorithm, plan.hyperparameters, facts)
        if fitted != plan.hyperparameters:
            self._logger.info("The layers are %s, as the data needs.", fitted[LAYERS])
        return fitted

    def _evaluate(self, predictions: DataFrame) -> tuple[Any, dict[str, Any]]:
        if self._plan.is_regression:
            if self._plan.is_class:
                from pyspark.sql import functions as f

                predictions = predictions.withColumn(PREDICTION, f.col(NUMERIC_PREDICTION))
            return evaluate_numbers(predictions, self._plan.label)
        return evaluate_classes(predictions, self._plan.label, list(self._indexer.labels))
