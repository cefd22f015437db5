"""The models of scikit-learn that correspond to Spark's algorithms, for a first look."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Final

from localcdap.api.app import BadRequestError

from .algorithms import require_algorithm
from .parameters import parse_values

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
