"""The algorithms, in the order of mmds ``Modelers``, with their parameters in order.

Names, labels, defaults and ranges of parameters are those of mmds; the descriptions are our own.

Names, texts and order are those of mmds ``spec/*Param`` and ``modeler/param``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from localcdap.api.app import BadRequestError

INT: Final = "int"
LONG: Final = "long"
DOUBLE: Final = "double"
BOOL: Final = "bool"
STRING: Final = "string"
INT_ARRAY: Final = "intarray"
_WORDS: Final = {INT: "integer", LONG: "long", DOUBLE: "double"}
_LIST: Final = "Must be a comma separate list of positive integers."


class ValueRange(msgspec.Struct, rename="camel", omit_defaults=True):
    """The values that a number may have; each bound as text, as mmds writes it."""

    min: str | None = None
    max: str | None = None
    is_min_inclusive: bool | None = None
    is_max_inclusive: bool | None = None

    def contains(self, value: float) -> bool:
        """Return whether a number is in the range."""
        low = self.min is None or value > float(self.min)
        high = self.max is None or value < float(self.max)
        at_low = bool(self.is_min_inclusive) and self.min is not None and value == float(self.min)
        at_high = bool(self.is_max_inclusive) and self.max is not None and value == float(self.max)
        return (low or at_low) and (high or at_high)

    def __str__(self) -> str:
        low = (
            f"{'[' if self.is_min_inclusive else '('}{self.min}" if self.min is not None else "(-∞"
        )
        high = (
            f"{self.max}{']' if self.is_max_inclusive else ')'}" if self.max is not None else "∞)"
        )
        return f"{low}, {high}"


class ParamSpec(msgspec.Struct, rename="camel", kw_only=True):
    """A parameter."""

    type: str
    name: str
    label: str
    description: str
    default_val: str
    """The default as text; ``null`` for none."""
    valid_values: list[str] = []
    """The words that are allowed; empty: any value of the type."""
    range: ValueRange | None = None

    def parse(self, text: str) -> Any:
        """Return the value that a text stands for.

        :raises BadRequestError: when it is none, or outside of the range.
        """
        value = self._convert(text)
        if self.valid_values and text.lower() not in self.valid_values:
            raise self._reject(text, f"Must be one of {', '.join(self.valid_values)}.")
        if self.range is not None and not self.range.contains(value):
            raise self._reject(text, f"Must be in the range {self.range}.")
        return value

    def _convert(self, text: str) -> Any:
        try:
            match self.type:
                case "int" | "long":
                    return int(text)
                case "double":
                    return float(text)
                case "bool":
                    return text.lower() == "true"
                case "intarray":
                    layers = [int(part.strip()) for part in text.split(",")]
                    if min(layers) < 1:
                        raise self._reject(text, _LIST)
                    return layers
        except ValueError:
            word = _WORDS.get(self.type)
            raise self._reject(text, f"Must be a valid {word}." if word else _LIST) from None
        return text.lower() if self.valid_values else text

    def _reject(self, text: str, rule: str) -> BadRequestError:
        return BadRequestError(f"Invalid modeler parameter {self.name}={text}. {rule}")


def fill_defaults(specs: Sequence[ParamSpec], given: Mapping[str, str]) -> dict[str, str]:
    """Return the values of all parameters that have one, as text.

    :raises BadRequestError: for a parameter that there is not, or an invalid value.
    """
    known = {each.name: each for each in specs}
    unknown = [name for name in given if name not in known]
    if unknown:
        raise BadRequestError(
            f"There is no parameter '{unknown[0]}'; parameters: {', '.join(known) or 'none'}."
        )
    filled = {each.name: given.get(each.name, each.default_val) for each in specs}
    values = {name: text for name, text in filled.items() if text != "null"}
    for name, text in values.items():
        known[name].parse(text)
    return values


def parse_values(specs: Sequence[ParamSpec], values: Mapping[str, str]) -> dict[str, Any]:
    """Return typed values by name."""
    known = {each.name: each for each in specs}
    return {name: known[name].parse(text) for name, text in values.items()}


def at_least(least: int | float, *, inclusive: bool = True) -> ValueRange:
    """Return the range of the numbers from ``least`` on."""
    return ValueRange(str(least), None, inclusive, None)


def between(low: float, high: float, *, low_inclusive: bool, high_inclusive: bool) -> ValueRange:
    """Return the range of the numbers between two."""
    return ValueRange(str(low), str(high), low_inclusive, high_inclusive)


LAYERS: Final = "layers"
CLASSIFICATION: Final = "CLASSIFICATION"
REGRESSION: Final = "REGRESSION"


class Algorithm(msgspec.Struct, rename="camel"):
    """An algorithm, as the service describes it."""

    type: str
    """``CLASSIFICATION`` or ``REGRESSION``."""
    id: str
    label: str
    hyperparameters: list[ParamSpec]


def _int(name: str, label: str, text: str, default: int, least: int) -> ParamSpec:
    return ParamSpec(
        type=INT,
        name=name,
        label=label,
        description=text,
        default_val=str(default),
        range=at_least(least),
    )


def _double(name: str, label: str, text: str, default: str, range: Any) -> ParamSpec:
    return ParamSpec(
        type=DOUBLE, name=name, label=label, description=text, default_val=default, range=range
    )


def _word(name: str, label: str, text: str, default: str, *words: str) -> ParamSpec:
    return ParamSpec(
        type=STRING,
        name=name,
        label=label,
        description=text,
        default_val=default,
        valid_values=[*words],
    )


def _flag(name: str, label: str, text: str) -> ParamSpec:
    return ParamSpec(
        type=BOOL,
        name=name,
        label=label,
        description=text,
        default_val="true",
        valid_values=["true", "false"],
    )


_UNIT: Final = between(0.0, 1.0, low_inclusive=True, high_inclusive=True)
_SHARE: Final = between(0.0, 1.0, low_inclusive=False, high_inclusive=True)
_TREE: Final = [
    _int("maxDepth", "Max Depth", "The greatest depth of a tree; 0 is a single leaf.", 5, 0),
    _int(
        "maxBins",
        "Max Bins",
        "The most bins for numbers; not below the number of values of any category.",
        32,
        2,
    ),
    _int(
        "minInstancesPerNode",
        "Min Instances Per Node",
        "The fewest records that each side of a split keeps.",
        1,
        1,
    ),
    _double(
        "minInfoGain",
        "Min Info Gain",
        "The least gain of information for which a node is split.",
        "0.0",
        at_least(0.0),
    ),
]
_IMPURITY: Final = _word(
    "impurity", "Impurity", "How the gain of information is measured.", "gini", "gini", "entropy"
)
_SUBSAMPLING: Final = _double(
    "subsamplingRate",
    "Sub-sampling Rate",
    "The part of the training data that each tree learns from.",
    "1.0",
    _SHARE,
)
_BOOSTED: Final = [
    *_TREE,
    _int(
        "maxIterations", "Max Iterations", "The number of trees that are added, one by one.", 20, 0
    ),
    _SUBSAMPLING,
    _double(
        "stepSize",
        "Step Size",
        "How much each further tree counts (the learning rate).",
        "0.1",
        _SHARE,
    ),
]
_LOSS: Final = _word(
    "lossType", "Loss Type", "The loss that the trees reduce.", "squared", "squared", "absolute"
)
_REGRESSION: Final = [
    _int("maxIterations", "Max Iterations", "The most iterations.", 100, 1),
    _flag(
        "standardization", "Standardization", "Whether features are standardized before the fit."
    ),
    _double(
        "regularizationParam",
        "Regularization Param",
        "The weight of the penalty.",
        "0.0",
        at_least(0.0),
    ),
    _double(
        "elasticNetParam",
        "Elastic Net Param",
        "The mix of both penalties: 0 is L2 alone, 1 is L1 alone.",
        "0.0",
        _UNIT,
    ),
    _double(
        "tolerance", "Tolerance", "Iterations end below this progress.", "1.0E-6", at_least(0.0)
    ),
]
_INTERCEPT: Final = _flag("fitIntercept", "Fit Intercept", "Whether an intercept is fitted.")
_STRATEGIES: Final = ("auto", "all", "onethird", "sqrt", "log2", "n")


def _forest(default: str) -> list[ParamSpec]:
    return [
        *_TREE,
        _int(
            "numTrees",
            "Num Trees",
            "The number of trees; above 1 each has a sample of its own.",
            20,
            1,
        ),
        _SUBSAMPLING,
        _word(
            "featureSubsetStrategy",
            "Feature Subset Strategy",
            "How many features a split may choose among.",
            default,
            *_STRATEGIES,
        ),
    ]


_LINEAR: Final = [
    *_REGRESSION,
    _INTERCEPT,
    _word("solver", "Solver", "How the optimum is found.", "auto", "auto", "l-bfgs", "normal"),
]
_GENERALIZED: Final = [
    *_REGRESSION,
    _word(
        "family",
        "Family",
        "The distribution of the errors.",
        "gaussian",
        "gaussian",
        "binomial",
        "poisson",
        "gamma",
    ),
    _word(
        "link",
        "Link",
        "How the linear predictor relates to the mean.",
        "identity",
        "identity",
        "log",
        "inverse",
        "logit",
        "probit",
        "cloglog",
        "sqrt",
    ),
    _INTERCEPT,
]
_LOGISTIC: Final = [
    *_REGRESSION,
    _double(
        "threshold",
        "Threshold",
        "With two classes, the probability above which the second one is predicted.",
        "0.5",
        _UNIT,
    ),
    _word(
        "family",
        "Family",
        "The distribution of the classes; auto chooses by their number.",
        "auto",
        "auto",
        "binomial",
        "multinomial",
    ),
]
_PERCEPTRON: Final = [
    _int("blockSize", "Block Size", "The records that are stacked into one matrix.", 128, 1),
    _int("maxIterations", "Max Iterations", "The most iterations.", 100, 0),
    _double(
        "tolerance", "Tolerance", "Iterations end below this progress.", "1.0E-6", at_least(0.0)
    ),
    _double(
        "stepSize",
        "Step Size",
        "The step of each iteration, for the solver gd.",
        "0.03",
        at_least(0.0, inclusive=False),
    ),
    _word("solver", "Solver", "How the optimum is found.", "l-bfgs", "gd", "l-bfgs"),
    ParamSpec(
        type=INT_ARRAY,
        name="layers",
        label="Layers",
        description="The sizes of the layers: first that of the features, last that of the classes. "
        "When it is not given, both are set to what the data has.",
        default_val="200,50,10",
    ),
]
_BAYES: Final = [
    _double("smoothing", "Smoothing", "The smoothing of counts.", "1.0", at_least(0)),
    _word("type", "Type", "The kind of model.", "multinomial", "multinomial", "bernoulli"),
]
ALGORITHMS: Final = [
    Algorithm(REGRESSION, "decision.tree.regression", "Decision Tree Regression", _TREE),
    Algorithm(
        REGRESSION, "generalized.linear.regression", "Generalized Linear Regression", _GENERALIZED
    ),
    Algorithm(
        REGRESSION,
        "gradient.boosted.tree.regression",
        "Gradient Boosted Tree Regression",
        [*_BOOSTED, _LOSS],
    ),
    Algorithm(REGRESSION, "linear.regression", "Linear Regression", _LINEAR),
    Algorithm(
        REGRESSION, "random.forest.regression", "Random Forest Regression", _forest("onethird")
    ),
    Algorithm(
        CLASSIFICATION, "decision.tree.classifier", "Decision Tree Classifier", [*_TREE, _IMPURITY]
    ),
    Algorithm(
        CLASSIFICATION,
        "gradient.boosted.tree.classifier",
        "Gradient Boosted Tree Classifier",
        _BOOSTED,
    ),
    Algorithm(CLASSIFICATION, "logistic.regression", "Logistic Regression", _LOGISTIC),
    Algorithm(
        CLASSIFICATION,
        "multilayer.perceptron.classifier",
        "Multi-Layer Perceptron Classifier",
        _PERCEPTRON,
    ),
    Algorithm(CLASSIFICATION, "naive.bayes", "Naive Bayes", _BAYES),
    Algorithm(
        CLASSIFICATION, "random.forest.classifier", "Random Forest Classifier", _forest("sqrt")
    ),
]
_BY_ID: Final = {each.id: each for each in ALGORITHMS}
_SPARK: Final = {
    "decision.tree.regression": ("regression", "DecisionTreeRegressor"),
    "generalized.linear.regression": ("regression", "GeneralizedLinearRegression"),
    "gradient.boosted.tree.regression": ("regression", "GBTRegressor"),
    "linear.regression": ("regression", "LinearRegression"),
    "random.forest.regression": ("regression", "RandomForestRegressor"),
    "decision.tree.classifier": ("classification", "DecisionTreeClassifier"),
    "gradient.boosted.tree.classifier": ("classification", "GBTClassifier"),
    "logistic.regression": ("classification", "LogisticRegression"),
    "multilayer.perceptron.classifier": ("classification", "MultilayerPerceptronClassifier"),
    "naive.bayes": ("classification", "NaiveBayes"),
    "random.forest.classifier": ("classification", "RandomForestClassifier"),
}
"""The module of ``pyspark.ml`` and the class of each algorithm."""
_RENAMED: Final = {
    "maxIterations": "maxIter",
    "regularizationParam": "regParam",
    "tolerance": "tol",
    "type": "modelType",
}
_NOT_SET: Final = {"generalized.linear.regression": {"standardization", "elasticNetParam"}}
"""Parameters that mmds accepts and Spark's class does not have."""


def find_algorithm(id: str) -> Algorithm | None:
    """Return an algorithm; None when there is none of this id."""
    return _BY_ID.get(id)


def require_algorithm(id: str) -> Algorithm:
    """Return an algorithm.

    :raises BadRequestError: when there is none of this id.
    """
    found = _BY_ID.get(id)
    if found is None:
        known = ",".join(_BY_ID)
        raise BadRequestError(f"No modeler found for algorithm '{id}'. Must be one of '{known}'")
    return found


def fill_hyperparameters(id: str, given: Mapping[str, str]) -> dict[str, str]:
    """Return all hyperparameters of an algorithm, with defaults for those that are not given.

    :raises BadRequestError: when one is unknown or invalid.
    """
    return fill_defaults(require_algorithm(id).hyperparameters, given)


def fill_layers(id: str, given: Mapping[str, str], inputs: int, classes: int) -> dict[str, str]:
    """Return hyperparameters in which the default layers have the sizes that the data needs.

    :param inputs: the elements of the feature vector.
    :param classes: those of the outcome; 0 for a number, which has no layers.
    """
    default = next(
        (e.default_val for e in require_algorithm(id).hyperparameters if e.name == LAYERS), None
    )
    if default is None or given.get(LAYERS) != default or not classes:
        return dict(given)
    inside = default.split(",")[1:-1]
    return {**given, LAYERS: ",".join([str(inputs), *inside, str(max(2, classes))])}


def create_estimator(id: str, hyperparameters: Mapping[str, str], **columns: str) -> Any:
    """Return Spark's estimator with its parameters.

    :param columns: ``featuresCol``, ``labelCol``, ``predictionCol``.
    """
    import importlib

    module, name = _SPARK[id]
    values = parse_values(require_algorithm(id).hyperparameters, hyperparameters)
    skipped = _NOT_SET.get(id, set())
    named = {_RENAMED.get(key, key): value for key, value in values.items() if key not in skipped}
    return getattr(importlib.import_module(f"pyspark.ml.{module}"), name)(**named, **columns)


def get_model_class(id: str) -> Any:
    """Return Spark's class of the models of an algorithm."""
    import importlib

    module, name = _SPARK[id]
    known = {"Regressor": "RegressionModel", "Classifier": "ClassificationModel"}
    for ending, other in known.items():
        if name.endswith(ending):
            name = name.removesuffix(ending) + other
            break
    else:
        name += "Model"
    return getattr(importlib.import_module(f"pyspark.ml.{module}"), name)
