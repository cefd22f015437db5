"""Properties of the plugins of spark-plugins and mmds-app, for tests of all plugins."""

from __future__ import annotations

from localcdap.api import Schema

PAIRS = {"fieldToBeTransformed": "words", "ngramSize": "2", "outputField": "pairs"}
WORDS = {
    "in": (
        Schema.record("w", [("words", Schema.array(Schema.STRING)), ("n", Schema.INT)]),
        [{"words": ["a", "b", "c"], "n": 1}],
    )
}
"""The input of NGramTransform."""
TEXT_PROPERTIES = {
    ("sparkcompute", "Tokenizer"): {
        "columnToBeTokenized": "name",
        "patternSeparator": " ",
        "outputColumn": "words",
    },
    ("sparkcompute", "HashingTFFeatureGenerator"): {
        "outputColumnMapping": "name:vector",
        "numFeatures": "50",
    },
}
"""By plugin; its input has a text ``name``."""
_TRAINERS = ("DecisionTree", "LogisticRegression", "Model", "NaiveBayes", "SkipGram")
_PREDICTORS = (
    *("DecisionTreePredictor", "LogisticRegressionClassifier", "MLPredictor"),
    *("NaiveBayesClassifier", "SkipGramFeatureGenerator"),
)
NEEDS_A_MODEL = {
    *(("sparksink", f"{name}Trainer") for name in _TRAINERS),
    *(("sparkcompute", name) for name in _PREDICTORS),
}
"""They load or save models in an instance; analytics/test_pipelines.py and test_runs.py run them in one."""
