"""What the data and the parameters of a training must be, checked before Spark begins.

The rules are those of Spark's estimators: ``GBTClassifier`` (labels 0 and 1), ``NaiveBayes`` (values of
features), ``MultilayerPerceptronClassifier`` (layers), ``LogisticRegression`` (family),
``GeneralizedLinearRegression`` (``supportedFamilyAndLinkPairs``, ``Family.initialize``),
``WeightedLeastSquares.MAX_NUM_FEATURES``, ``DecisionTreeMetadata.buildMetadata`` (bins),
``Strategy.assertValid`` (depth) and ``TreeEnsembleParams``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from .algorithms import LAYERS, REGRESSION, fill_layers, parse_values, require_algorithm
from .features import FeatureColumns
from .histograms import ColumnSplitStats
from .model import KEEP, DataSplitStats, Experiment

_MOST_WORDS: Final = 1000
"""The most different values of a column in the statistics of a split: of so many there may be more."""
_MOST_DEPTH: Final = 30
_MOST_SOLVED: Final = 4096
"""The most features that the normal equations are solved for."""
_LINKS: Final = {
    "gaussian": ("identity", "log", "inverse"),
    "binomial": ("logit", "probit", "cloglog"),
    "poisson": ("log", "identity", "sqrt"),
    "gamma": ("inverse", "identity", "log"),
}
_OUTCOMES: Final[Mapping[str, tuple[str, Callable[[float, float], bool]]]] = {
    "binomial": ("from 0 to 1", lambda low, high: low >= 0 and high <= 1),
    "poisson": ("not negative", lambda low, _: low >= 0),
    "gamma": ("positive", lambda low, _: low > 0),
}


class TrainingFacts(msgspec.Struct, kw_only=True):
    """What is known of training data; None or absent is not known."""

    outcome: str
    is_class: bool
    records: int | None = None
    """Those with an outcome."""
    inputs: int | None = None
    """The elements of the feature vector."""
    classes: int | None = None
    """The different values of an outcome that is a class."""
    outcomes: tuple[float, float] | None = None
    """The least and the greatest outcome that is a number."""
    categories: Mapping[str, int] = {}
    """How many values each feature that is a category has, as the trees count them."""
    numbers: Mapping[str, tuple[float, float]] = {}
    """The least and the greatest value of each feature that is a number, with -1 for nulls."""

    @classmethod
    def of_split(
        cls, experiment: Experiment, split: DataSplitStats, handle_invalid: str
    ) -> TrainingFacts:
        """Return what the statistics of a split say.

        :raises ValueError: when a column is neither a category nor a number, or there is no feature.
        """
        assert split.schema is not None
        outcome = str(experiment.outcome)
        columns = FeatureColumns.of(split.schema, outcome)
        stats = {each.field: each for each in split.stats}
        facts = cls(outcome=outcome, is_class=experiment.is_categorical, inputs=len(columns.vector))
        if outcome not in stats:
            return facts
        found = stats[outcome]
        facts.records = found.num_total.train - found.num_null.train
        if found.unique is not None and found.unique.total < _MOST_WORDS:
            facts.classes = found.unique.train
        facts.outcomes = _find_range(found, nulls_count=False)
        if (
            found.num_null.train == 0
        ):  # records without an outcome are left out: their values are unknown
            features = [each for name, each in stats.items() if name in columns.names]
            facts.categories = {
                each.field: each.unique.train + (each.num_null.train > 0) + (handle_invalid == KEEP)
                for each in features
                if each.unique is not None
            }
            ranges = {each.field: _find_range(each, nulls_count=True) for each in features}
            facts.numbers = {name: range for name, range in ranges.items() if range is not None}
        return facts

    @property
    def labels(self) -> tuple[float, float] | None:
        """The least and the greatest outcome as Spark sees it: classes are numbered."""
        if not self.is_class:
            return self.outcomes
        return None if self.classes is None else (0.0, self.classes - 1.0)


def _find_range(stats: ColumnSplitStats, *, nulls_count: bool) -> tuple[float, float] | None:
    """Return the least and the greatest number of training data."""
    low, high = (each.train if each is not None else None for each in (stats.min, stats.max))
    if low is None or high is None:
        return None
    return (
        (min(low, -1.0), max(high, -1.0)) if nulls_count and stats.num_null.train else (low, high)
    )


def fit_parameters(
    algorithm: str, hyperparameters: Mapping[str, str], facts: TrainingFacts
) -> dict[str, str]:
    """Return the hyperparameters with which a training will run.

    :raises ValueError: when it cannot; the message lists all reasons, each with what helps.
    """
    fitted = dict(hyperparameters)
    if facts.inputs is not None and facts.classes is not None:
        fitted = fill_layers(algorithm, fitted, facts.inputs, facts.classes)
    values = parse_values(require_algorithm(algorithm).hyperparameters, fitted)
    problems = [*_check_data(algorithm, facts), *_check_parameters(algorithm, values, facts)]
    if problems:
        raise ValueError(" ".join(problems))
    return fitted


def _check_data(algorithm: str, facts: TrainingFacts) -> Iterator[str]:
    if not facts.is_class and require_algorithm(algorithm).type != REGRESSION:
        yield (
            f"Algorithm '{algorithm}' predicts classes, but the outcome '{facts.outcome}' is a number. Use "
            "an algorithm of type REGRESSION, or make the outcome a string."
        )
    if facts.records == 0:
        yield f"No record of the training data has an outcome '{facts.outcome}'. Make another split."
    if algorithm == "gradient.boosted.tree.classifier" and (facts.classes or 0) > 2:
        yield (
            f"Gradient boosted trees tell two classes apart, but '{facts.outcome}' has {facts.classes}. Use "
            "a random forest, or merge classes."
        )


def _check_parameters(
    algorithm: str, values: Mapping[str, Any], facts: TrainingFacts
) -> Iterator[str]:
    if "maxBins" in values:
        yield from _check_trees(values, facts)
    match algorithm:
        case "multilayer.perceptron.classifier":
            yield from _check_layers(values[LAYERS], facts)
        case "naive.bayes":
            yield from _check_bayes(values["type"], facts)
        case "logistic.regression":
            if values["family"] == "binomial" and (facts.classes or 0) > 2:
                yield (
                    f"The family binomial has two classes, but '{facts.outcome}' has {facts.classes}. Set "
                    "family to auto or multinomial."
                )
        case "generalized.linear.regression":
            yield from _check_generalized(values["family"], values["link"], facts)
    is_solved = algorithm.startswith("generalized") or values.get("solver") == "normal"
    if is_solved and (facts.inputs or 0) > _MOST_SOLVED:
        yield (
            f"There are {facts.inputs} features, but normal equations take at most {_MOST_SOLVED}. Drop "
            "columns, or use linear.regression with the solver l-bfgs."
        )


def _check_trees(values: Mapping[str, Any], facts: TrainingFacts) -> Iterator[str]:
    most = values["maxBins"]
    large = {name: count for name, count in facts.categories.items() if count > most}
    if large:
        found = ", ".join(f"'{name}' ({count})" for name, count in large.items())
        yield (
            f"Trees need at least as many bins as each category has values; maxBins is {most}, and there "
            f"are more values in {found}. Set maxBins to {max(large.values())}, or drop the columns."
        )
    if values["maxDepth"] > _MOST_DEPTH:
        yield f"Trees have a depth of at most {_MOST_DEPTH}; maxDepth is {values['maxDepth']}."
    if values.get("maxIterations") == 0:
        yield "Boosting needs a tree; set maxIterations to 1 or more."
    if values.get("featureSubsetStrategy") == "n":
        yield "Spark has no featureSubsetStrategy 'n'. Use auto, all, onethird, sqrt or log2."


def _check_layers(layers: list[int], facts: TrainingFacts) -> Iterator[str]:
    shown = ",".join(map(str, layers))
    if len(layers) < 2:
        yield f"The layers are {shown}, but there must be two at least: features and classes."
        return
    if facts.inputs is not None and layers[0] != facts.inputs:
        yield (
            f"The layers are {shown}, but the data has {facts.inputs} features. Set the first layer to "
            f"{facts.inputs}."
        )
    if facts.classes is not None and layers[-1] < facts.classes:
        yield (
            f"The layers are {shown}, but '{facts.outcome}' has {facts.classes} classes. Set the last layer "
            f"to {facts.classes}."
        )


def _check_bayes(type: str, facts: TrainingFacts) -> Iterator[str]:
    if type == "bernoulli":
        odd = [name for name, (low, high) in facts.numbers.items() if low < 0 or high > 1]
        odd += [name for name, count in facts.categories.items() if count > 2]
        rule = "0 or 1, and nulls count as -1"
    else:
        odd = [name for name, (low, _) in facts.numbers.items() if low < 0]
        rule = "not negative, and nulls count as -1"
    if odd:
        names = ", ".join(f"'{name}'" for name in odd)
        yield (
            f"Naive Bayes of the type {type} needs features that are {rule}; others are in {names}. Change "
            "or drop the columns, or use another algorithm."
        )


def _check_generalized(family: str, link: str, facts: TrainingFacts) -> Iterator[str]:
    if link not in _LINKS[family]:
        yield f"The family {family} has no link {link}. Use {', '.join(_LINKS[family])}."
    if family in _OUTCOMES and facts.labels is not None:
        rule, is_allowed = _OUTCOMES[family]
        low, high = facts.labels
        if not is_allowed(low, high):
            yield (
                f"The family {family} needs outcomes that are {rule}, but '{facts.outcome}' is from {low:g} "
                f"to {high:g}. Use another family."
            )
