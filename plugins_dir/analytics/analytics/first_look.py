"""A first look: a small model by scikit-learn on the records of a sample, in the process of the service.

It prepares the features as the training on Spark does (see :mod:`.features`), so that its report reads the
same; the recorded model is always that of Spark.
"""

from __future__ import annotations

import importlib
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from localcdap.api import Schema
from localcdap.api.app import BadRequestError

from .algorithms import fill_hyperparameters, parse_values, require_algorithm
from .evaluation import SCORES, describe_scores, make_residual_bins, weigh_classes
from .features import FeatureColumns
from .model import SKIP, Experiment, Metrics, check_outcome
from .parameter_search import check_kind

_MISSING: Final = (
    "A first look needs scikit-learn, which is not installed; training on Spark does not."
)
_INSTALL: Final = "Install it: pip install 'localcdap[sklearn]'"
_MODULES: Final = ("ensemble", "linear_model", "naive_bayes", "neural_network", "pipeline", "tree")
_SEED: Final = 1
_FRACTIONS: Final = {"onethird": 1 / 3, "all": 1.0, "n": 1.0}


def load_library() -> str:
    """Import what the models need, which takes about a second the first time; return name and version.

    :raises BadRequestError: when scikit-learn is not installed, with the command that installs it.
    """
    try:
        import sklearn

        for each in _MODULES:
            importlib.import_module(f"sklearn.{each}")
    except ImportError:
        raise BadRequestError(_MISSING, _INSTALL) from None
    return f"scikit-learn {sklearn.__version__}"


def create_model(id: str, hyperparameters: Mapping[str, str]) -> Any:
    """Return the model of scikit-learn for an algorithm, with the parameters that both have.

    :param hyperparameters: all of the algorithm.
    :raises BadRequestError: when scikit-learn has no such model.
    """
    given = parse_values(require_algorithm(id).hyperparameters, hyperparameters)
    kind = "Regressor" if "regression" in id.split(".")[-1] else "Classifier"
    match id:
        case "decision.tree.classifier" | "decision.tree.regression":
            return _make("tree", f"DecisionTree{kind}", **_get_tree(given))
        case "random.forest.classifier" | "random.forest.regression":
            return _make_forest(kind, given)
        case "gradient.boosted.tree.classifier" | "gradient.boosted.tree.regression":
            return _make_boosted(kind, given)
        case "logistic.regression":
            return _scale(_make("linear_model", "LogisticRegression", **_get_logistic(given)))
        case "linear.regression" | "generalized.linear.regression":
            return _scale(_make_linear(given))
        case "multilayer.perceptron.classifier":
            return _scale(_make_perceptron(given))
        case _:
            name = "BernoulliNB" if given["type"] == "bernoulli" else "MultinomialNB"
            return _make("naive_bayes", name, alpha=given["smoothing"])


def _make(module: str, name: str, **parameters: Any) -> Any:
    return getattr(importlib.import_module(f"sklearn.{module}"), name)(**parameters)


def _scale(model: Any) -> Any:
    steps = [("scale", _make("preprocessing", "StandardScaler")), ("model", model)]
    return _make("pipeline", "Pipeline", steps=steps)


def _get_tree(given: Mapping[str, Any]) -> dict[str, Any]:
    found = {
        "max_depth": given["maxDepth"] or 1,
        # scikit-learn knows no depth 0, a single leaf: no node has so many records that it may be divided.
        "min_samples_split": 2 if given["maxDepth"] else 2**31 - 1,
        "min_samples_leaf": given["minInstancesPerNode"],
        "random_state": _SEED,
    }
    if "impurity" in given:
        found["criterion"] = given["impurity"]
    return found


def _make_forest(kind: str, given: Mapping[str, Any]) -> Any:
    strategy = given["featureSubsetStrategy"]
    if strategy == "auto":
        strategy = "sqrt" if kind == "Classifier" else "onethird"
    rate = given["subsamplingRate"]
    return _make(
        "ensemble",
        f"RandomForest{kind}",
        **_get_tree(given),
        n_estimators=given["numTrees"],
        max_features=_FRACTIONS.get(strategy, strategy),
        max_samples=None if rate == 1 else rate,
    )


def _make_boosted(kind: str, given: Mapping[str, Any]) -> Any:
    found = _get_tree(given)
    if "lossType" in given:
        found["loss"] = f"{given['lossType']}_error"
    return _make(
        "ensemble",
        f"GradientBoosting{kind}",
        **found,
        n_estimators=max(1, given["maxIterations"]),
        learning_rate=given["stepSize"],
        subsample=given["subsamplingRate"],
    )


def _get_logistic(given: Mapping[str, Any]) -> dict[str, Any]:
    strength = given["regularizationParam"]
    found = {
        "max_iter": given["maxIterations"],
        "tol": given["tolerance"],
        # Spark adds the penalty to a mean, scikit-learn scales a sum.
        "C": 1e6 if not strength else 1 / strength,
    }
    if given["elasticNetParam"] and strength:
        found |= {"solver": "saga", "l1_ratio": given["elasticNetParam"]}
    return found


def _make_linear(given: Mapping[str, Any]) -> Any:
    family = given.get("family", "gaussian")
    strength = given["regularizationParam"]
    if family in ("poisson", "gamma"):
        return _make("linear_model", f"{family.title()}Regressor", alpha=strength)
    if family != "gaussian" or given.get("link", "identity") != "identity":
        raise BadRequestError(
            "A first look has no generalized linear regression of this family and link; train it on Spark."
        )
    if not strength:
        return _make("linear_model", "LinearRegression")
    ratio = given.get("elasticNetParam", 0.0)
    return _make("linear_model", "ElasticNet", alpha=strength, l1_ratio=ratio)


def _make_perceptron(given: Mapping[str, Any]) -> Any:
    return _make(
        "neural_network",
        "MLPClassifier",
        hidden_layer_sizes=tuple(given["layers"][1:-1]),
        max_iter=max(1, given["maxIterations"]),
        tol=given["tolerance"],
        random_state=_SEED,
    )


_MOST_RECORDS: Final = 20_000
_PERCENT: Final = 25
"""The part of the records that is test data."""
_NULL: Final = "?"
_NO_NUMBER: Final = -1.0


class LookRequest(msgspec.Struct, rename="camel", kw_only=True):
    """A sample, and what is to be learned from it."""

    outcome: str
    outcome_type: str
    algorithm: str
    schema: Schema
    records: list[dict[str, Any]]
    hyperparameters: dict[str, str] = {}
    handle_invalid: str = SKIP
    seed: int = 1

    @property
    def experiment(self) -> Experiment:
        """The experiment of which this is a look at a sample."""
        return Experiment(srcpath="", outcome=self.outcome, outcome_type=self.outcome_type)


class LookLibrary(msgspec.Struct):
    """What first looks are taken with."""

    by: str


class Look(msgspec.Struct, rename="camel", kw_only=True):
    """What a first look has found, as the report of a model says it."""

    by: str
    """The library and its version."""
    metrics: Metrics
    report: dict[str, Any]
    rows: dict[str, int]
    """The records of ``train`` and ``test``, and the ``skipped`` ones of the latter."""
    seconds: float


def take_look(request: LookRequest) -> Look:
    """Train a model on most of the records, and evaluate it on the others.

    :raises BadRequestError: when the request is invalid, the records are too few, or scikit-learn is missing.
    """
    begin = time.monotonic()
    check_outcome(request.experiment, request.schema)
    check_kind(request.algorithm, request.experiment)
    library = load_library()
    data = _Sample(request)
    values = fill_hyperparameters(request.algorithm, request.hyperparameters)
    model = create_model(request.algorithm, values)
    try:
        model.fit(data.train, data.train_outcome)
        metrics, report = data.evaluate(model, float(values.get("threshold", 0.5)))
    except ValueError as error:
        raise BadRequestError(f"scikit-learn cannot learn from the sample: {error}") from None
    report["importance"] = data.weigh(model)
    return Look(
        by=library, metrics=metrics, report=report, rows=data.rows, seconds=time.monotonic() - begin
    )


class _Sample:
    """The matrices of training and test data."""

    def __init__(self, request: LookRequest) -> None:
        import numpy as np

        if len(request.records) > _MOST_RECORDS:
            raise BadRequestError(f"A first look takes at most {_MOST_RECORDS} records.")
        try:
            self._columns = FeatureColumns.of(request.schema, request.outcome)
        except ValueError as error:
            raise BadRequestError(str(error)) from None
        self._is_class = request.experiment.is_categorical
        known = [each for each in request.records if each.get(request.outcome) is not None]
        random.Random(request.seed).shuffle(known)  # noqa: S311 - no secret
        count = round(len(known) * _PERCENT / 100)
        test, train = known[:count], known[count:]
        if not test or not train:
            raise BadRequestError(
                f"The sample has {len(known)} records with an outcome, which is too few for a first look."
            )
        keeps = request.handle_invalid != SKIP
        self._indexes = {name: _number_values(train, name) for name in self._columns.categorical}
        self.labels: list[str] = []
        if self._is_class:
            self.labels = list(_number_values(train, request.outcome))
            if len(self.labels) < 2:
                raise BadRequestError(
                    f"The outcome '{request.outcome}' has only one class in the sample."
                )
        rows = {"train": len(train), "test": len(test)}
        self.train, self.train_outcome = self._make_matrix(train, request.outcome, keeps)
        self.test, self.test_outcome = self._make_matrix(test, request.outcome, keeps)
        self.rows = {**rows, "skipped": len(test) - len(self.test)}
        if not len(self.test):
            raise BadRequestError(
                "No test record of the sample is left: each has an unknown category."
            )
        self._np = np

    def _make_matrix(self, records: Sequence[dict[str, Any]], outcome: str, keeps: bool) -> Any:
        import numpy as np

        rows, outcomes = [], []
        for record in records:
            row = self._make_row(record, keeps)
            target = self._get_outcome(record[outcome])
            if row is not None and target is not None:
                rows.append(row)
                outcomes.append(target)
        return np.array(rows, dtype=float).reshape(len(rows), len(self._columns.names)), np.array(
            outcomes
        )

    def _make_row(self, record: dict[str, Any], keeps: bool) -> list[float] | None:
        """Return the features of a record; None for one with an unknown category that is left out."""
        row = []
        for name in self._columns.names:
            index = self._indexes.get(name)
            if index is None:
                row.append(_to_number(record.get(name)))
                continue
            place = index.get(_to_text(record.get(name)))
            if place is None and not keeps:
                return None
            row.append(float(len(index) if place is None else place))
        return row

    def _get_outcome(self, value: Any) -> float | int | None:
        if not self._is_class:
            return float(value)
        text = _to_text(value)
        return self.labels.index(text) if text in self.labels else None

    def evaluate(self, model: Any, threshold: float) -> tuple[Metrics, dict[str, Any]]:
        """Return metrics and report of the test data.

        :param threshold: with two classes, the score above which the second one is predicted.
        """
        predicted = model.predict(self.test)
        if not self._is_class:
            return _evaluate_numbers(self.test_outcome, predicted)
        positive: Any = None
        if len(self.labels) == 2 and hasattr(model, "predict_proba"):
            positive = model.predict_proba(self.test)[:, 1]
            predicted = positive > threshold
        pairs = Counter(zip(map(int, self.test_outcome), map(int, predicted), strict=True))
        classes = range(len(self.labels))
        report: dict[str, Any] = {
            "labels": self.labels,
            "confusion": [[pairs[o, p] for p in classes] for o in classes],
        }
        if positive is not None:
            report |= describe_scores(_count_scores(self.test_outcome, positive))
        return weigh_classes(pairs), report

    def weigh(self, model: Any) -> dict[str, float]:
        """Return how much each column counts, in sum 1; empty for a model that does not say so."""
        last = model[-1] if hasattr(model, "steps") else model
        weights: Any = getattr(last, "feature_importances_", None)
        if weights is None and getattr(last, "coef_", None) is not None:
            weights = self._np.abs(self._np.atleast_2d(last.coef_)).sum(axis=0)
        total = 0.0 if weights is None else float(self._np.sum(weights))
        if not total:
            return {}
        return {
            name: float(weight) / total
            for name, weight in zip(self._columns.names, weights, strict=True)
        }


def _number_values(records: Sequence[dict[str, Any]], name: str) -> dict[str, int]:
    """Number the values of a category, the most frequent first, as Spark's ``StringIndexer``."""
    counts = Counter(_to_text(each.get(name)) for each in records)
    ordered = sorted(counts, key=lambda each: (-counts[each], each))
    return {value: place for place, value in enumerate(ordered)}


def _to_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return _NULL if value is None else str(value)


def _to_number(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):  # null, or a number that JSON writes as text, such as NaN
        return _NO_NUMBER
    return number if number == number else _NO_NUMBER  # NaN differs from itself


def _count_scores(outcomes: Any, positive: Any) -> list[list[int]]:
    """Return the records of each class by the hundredths of their scores."""
    scores = [[0, 0] for _ in range(SCORES + 1)]
    for outcome, score in zip(outcomes, positive, strict=True):
        scores[round(float(score) * SCORES)][int(outcome)] += 1
    return scores


def _evaluate_numbers(outcomes: Any, predicted: Any) -> tuple[Metrics, dict[str, Any]]:
    """Return the metrics as :func:`.evaluation.evaluate_numbers` defines them."""
    import numpy as np

    residuals = outcomes - predicted
    mse = float(np.mean(residuals**2))
    variance = float(np.var(outcomes))
    metrics = Metrics(
        rmse=mse**0.5,
        r2=1 - mse / variance if variance else None,
        evariance=float(np.mean((predicted - np.mean(outcomes)) ** 2)),
        mae=float(np.mean(np.abs(residuals))),
    )
    bins = make_residual_bins(float(residuals.min()), float(residuals.max()))
    counted = []
    for each in bins:
        ends = residuals <= each.high if each.is_last else residuals < each.high
        counted.append([each.low, each.high, int(np.sum((residuals >= each.low) & ends))])
    return metrics, {"residuals": counted}
