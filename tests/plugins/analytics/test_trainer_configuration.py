"""What validation says of ModelTrainer, with the properties of the original's own pipeline."""

from __future__ import annotations

import json

from localcdap.api import Schema
from localcdap.testing import StageTester
from tests.plugins.analytics.test_experiments import load

SALES = Schema.record(
    "etlSchemaBody",
    [
        ("price", Schema.DOUBLE.as_nullable),
        *((name, Schema.STRING.as_nullable) for name in ("city", "zip", "type", "beds", "baths")),
        ("size", Schema.DOUBLE.as_nullable),
        ("built", Schema.array(Schema.INT)),
    ],
)
REAL = {
    "outcomeIsCategorical": "false",
    "overwrite": "true",
    "experimentId": "realestate",
    "modelId": "gbt",
    "outcomeField": "price",
    "algorithm": "gradient.boosted.tree.regression",
    "predictionsDataset": "re-gbt-predictions",
    "featureBlacklist": "built",
}


def problems(**more: str) -> list[str]:
    return StageTester(load("trainer_sink").ModelTrainer, REAL | more, SALES).problems


def test_the_pipeline_of_the_original_is_valid():
    assert problems() == []
    assert problems(outcomeField="${outcome}", algorithm="${algorithm}") == []


def test_all_that_is_wrong_is_said_at_once():
    wrong = problems(
        experimentId="real estate",
        testSplitPercentage="100",
        modelMetaDataset="models",
        trainingParameters='{"depth": 3}',
        outcomeField="cost",
        categoricalFeatures="sise",
    )

    assert wrong == [
        "experimentId: 'real estate' is not an id: use letters, digits, '.', '_' and '-'.",
        "modelDataset: The model dataset and model meta dataset cannot have the same name.",
        "testSplitPercentage: The percentage of test records is 100, but must be from 1 to 99.",
        (
            "trainingParameters: There is no parameter 'depth'; parameters: maxDepth, maxBins, "
            "minInstancesPerNode, minInfoGain, maxIterations, subsamplingRate, stepSize, lossType."
        ),
        "outcomeField: Outcome field 'cost' does not exist in the input schema.",
        "categoricalFeatures: Field 'sise' does not exist in the input schema.",
    ]


def test_algorithms_and_outcomes_fit():
    classes = {"algorithm": "logistic.regression", "modelId": "m"}

    assert problems(**classes) == [
        (
            "algorithm: Algorithm 'logistic.regression' predicts classes, but the outcome 'price' is a "
            "number. Use an algorithm of type REGRESSION, or make the outcome a string."
        )
    ]
    assert problems(**classes, outcomeIsCategorical="true") == []
    assert problems(**classes, outcomeField="city") == []
    assert problems(algorithm="magic")[0].startswith("algorithm: ")
    assert problems(outcomeField="built", featureBlacklist="price") == [
        "outcomeField: Outcome field 'built' is of type 'array'."
    ]


def test_features_are_chosen_by_one_list():
    assert problems(featureWhitelist="city,size") == [
        "featureWhitelist: A feature whitelist must not be specified if a feature blacklist is specified."
    ]
    assert problems(featureBlacklist="") == [
        (
            "featureWhitelist: Features are booleans, strings and numbers; there are 'built' (array). "
            "Drop them, or convert them."
        )
    ]
    assert problems(featureBlacklist="", featureWhitelist="price") == [
        "featureWhitelist: There is no column besides the outcome."
    ]
    assert problems(trainingParameters="[]") == [
        "trainingParameters: The training parameters are not a JSON object."
    ]
    assert problems(trainingParameters=json.dumps({"maxDepth": 7, "stepSize": "0.2"})) == []
