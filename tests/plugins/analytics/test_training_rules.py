"""What a training needs, found before Spark begins; Spark refuses each of the refused cases, too."""

from __future__ import annotations

import pytest

from localcdap.api import Schema
from tests.plugins.analytics.test_experiments import load

ALGORITHMS, HISTOGRAMS, MODEL = map(load, ("algorithms", "histograms", "model"))
RULES = load("training_rules")
create_estimator = ALGORITHMS.create_estimator
fill_hyperparameters = ALGORITHMS.fill_hyperparameters
ColumnSplitStats, SplitValue = HISTOGRAMS.ColumnSplitStats, HISTOGRAMS.SplitValue
TrainingFacts, fit_parameters = RULES.TrainingFacts, RULES.fit_parameters

GBT, NAIVE = "gradient.boosted.tree.classifier", "naive.bayes"
LAYERED, LOGISTIC = "multilayer.perceptron.classifier", "logistic.regression"
GENERAL, TREE = "generalized.linear.regression", "decision.tree.classifier"
CASES = [
    # The algorithm, its parameters, the labels and the values of the one feature, and what is said.
    (GBT, {}, [0, 1, 2], [1, 2, 3], "tell two classes apart, but 'kind' has 3"),
    (GBT, {"maxIterations": "0"}, [0, 1, 1], [1, 2, 3], "Boosting needs a tree"),
    (LAYERED, {"layers": "1"}, [0, 1, 1], [1, 2, 3], "there must be two at least"),
    (LAYERED, {"layers": "3,4,2"}, [0, 1, 1], [1, 2, 3], "the data has 1 features"),
    (LAYERED, {"layers": "1,4,2"}, [0, 1, 2], [1, 2, 3], "'kind' has 3 classes"),
    (NAIVE, {}, [0, 1, 1], [-1, 2, 3], "not negative, and nulls count as -1; others are in 'x'"),
    (NAIVE, {"type": "bernoulli"}, [0, 1, 1], [0, 1, 2], "0 or 1, and nulls count as -1"),
    (LOGISTIC, {"family": "binomial"}, [0, 1, 2], [1, 2, 3], "Set family to auto or multinomial"),
    (GENERAL, {"link": "logit"}, [1.5, 2, 3], [1, 2, 3], "The family gaussian has no link logit"),
    (GENERAL, {"family": "gamma", "link": "log"}, [0, 2, 3], [1, 2, 3], "that are positive, but"),
    (GENERAL, {"family": "poisson", "link": "log"}, [-1, 2, 3], [1, 2, 3], "not negative, but"),
    (GENERAL, {"family": "binomial", "link": "logit"}, [0, 1, 3], [1, 2, 3], "from 0 to 1, but"),
    (TREE, {"maxDepth": "31"}, [0, 1, 1], [1, 2, 3], "a depth of at most 30"),
    (
        "random.forest.classifier",
        {"featureSubsetStrategy": "n"},
        [0, 1, 1],
        [1, 2, 3],
        "no featureSubsetStrategy 'n'",
    ),
]
FITTING = [
    (GBT, {}, [0, 1, 1], [1, 2, 3]),
    (LAYERED, {"layers": "1,4,3"}, [0, 1, 1], [1, 2, 3]),
    (NAIVE, {}, [0, 1, 1], [0, 2, 3]),
    (NAIVE, {"type": "bernoulli"}, [0, 1, 1], [0, 1, 1]),
    (LOGISTIC, {"family": "multinomial"}, [0, 1, 2], [1, 2, 3]),
    (GENERAL, {"family": "poisson", "link": "sqrt"}, [0, 2, 3], [1, 2, 3]),
    (TREE, {"maxDepth": "30"}, [0, 1, 1], [1, 2, 3]),
]


def fit(algorithm, given, labels, values):
    is_class = algorithm != GENERAL
    facts = TrainingFacts(
        outcome="kind",
        is_class=is_class,
        records=len(labels),
        inputs=1,
        classes=len(set(labels)) if is_class else None,
        outcomes=(min(labels), max(labels)),
        numbers={"x": (min(values), max(values))},
    )
    return fit_parameters(algorithm, fill_hyperparameters(algorithm, given), facts)


def train(spark, algorithm, given, labels, values):
    """Train with Spark alone."""
    from pyspark.ml.feature import VectorAssembler

    rows = [(float(label), float(value)) for label, value in zip(labels, values, strict=True)] * 4
    data = spark.createDataFrame(rows, "label double, x double")
    data = VectorAssembler(inputCols=["x"], outputCol="features").transform(data)
    values = fill_hyperparameters(algorithm, given)
    create_estimator(algorithm, values, featuresCol="features", labelCol="label").fit(data)


@pytest.mark.parametrize(("algorithm", "given", "labels", "values", "text"), CASES)
def test_what_cannot_be_trained_is_refused_with_the_reason(algorithm, given, labels, values, text):
    with pytest.raises(ValueError, match=r"\S") as caught:
        fit(algorithm, given, labels, values)

    assert text in str(caught.value)


@pytest.mark.parametrize(("algorithm", "given", "labels", "values"), FITTING)
def test_what_can_be_trained_is_not_refused(algorithm, given, labels, values):
    assert fit(algorithm, given, labels, values) == fill_hyperparameters(algorithm, given)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[-1])
def test_spark_refuses_the_same(spark, case):
    with pytest.raises(Exception, match=r"\S"):
        train(spark, *case[:-1])


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("case", FITTING, ids=lambda case: case[0])
def test_spark_trains_the_same(spark, case):
    train(spark, *case)


def test_all_reasons_are_said_at_once_and_what_is_not_known_is_not_refused():
    with pytest.raises(ValueError, match="features") as caught:
        fit(LAYERED, {"layers": "3,4,2"}, [0, 1, 2], [1, 2, 3])
    assert "'kind' has 3 classes" in str(caught.value)
    unknown = TrainingFacts(outcome="kind", is_class=True)
    for algorithm, given, *_ in CASES[3:6]:
        values = fill_hyperparameters(algorithm, given)
        assert fit_parameters(algorithm, values, unknown) == values


def test_default_layers_become_those_that_the_data_needs():
    fitted = fit(LAYERED, {}, [0, 1, 2], [1, 2, 3])

    assert fitted["layers"] == "1,50,3"


def pair(train, test=0):
    return SplitValue(train, test, train + test)


def make_stats(name, nulls=0, **values):
    return ColumnSplitStats(field=name, num_total=pair(10, 4), num_null=pair(nulls), **values)


def make_split(kind_nulls=0):
    schema = Schema.record(
        "r", [("kind", Schema.STRING), ("colour", Schema.STRING), ("x", Schema.DOUBLE)]
    )
    range = {"min": SplitValue(2.0, -5.0, -5.0), "max": SplitValue(7.0, 9.0, 9.0)}
    stats = [
        make_stats("kind", kind_nulls, unique=pair(3, 1)),
        make_stats("colour", 1, unique=pair(32)),
        make_stats("x", 2, **range),
    ]
    return MODEL.DataSplitStats(
        id="s", status=MODEL.SplitStatus.COMPLETE, start=0, schema=schema, stats=stats
    )


def test_facts_are_those_of_the_training_data():
    experiment = MODEL.Experiment(outcome="kind", outcome_type="string")

    facts = TrainingFacts.of_split(experiment, make_split(), "keep")

    assert (facts.records, facts.inputs, facts.classes, facts.labels) == (10, 3, 3, (0.0, 2.0))
    # A null is a category of its own, and a number of -1; unknown values are a further category.
    assert facts.categories == {"colour": 34}
    assert facts.numbers == {"x": (-1.0, 7.0)}
    values = fill_hyperparameters(TREE, {})
    with pytest.raises(ValueError, match=r"maxBins is 32.*'colour' \(34\).*Set maxBins to 34"):
        fit_parameters(TREE, values, facts)
    # Records without an outcome are left out, and with them perhaps the odd values.
    partial = TrainingFacts.of_split(experiment, make_split(4), "skip")
    assert (partial.records, partial.classes) == (6, 3)
    assert (partial.categories, partial.numbers) == ({}, {})
    with pytest.raises(ValueError, match="No record of the training data has an outcome 'kind'"):
        fit_parameters(TREE, values, TrainingFacts.of_split(experiment, make_split(10), "skip"))
