"""What validation says of trainers, predictors and features of texts, in the words of the original."""

from __future__ import annotations

import pytest
from spark_plugins.texts import (
    SPARSE_VECTOR,
    HashingTFFeatureGenerator,
    NGramTransform,
    SkipGramFeatureGenerator,
    SkipGramTrainer,
    Tokenizer,
)
from spark_plugins.trainers import (
    DecisionTreePredictor,
    DecisionTreeTrainer,
    LogisticRegressionClassifier,
    LogisticRegressionTrainer,
    NaiveBayesTrainer,
)

from localcdap.api import Schema
from localcdap.testing import StageTester

FLIGHT = Schema.record(
    "flight",
    [
        ("day", Schema.INT),
        ("delay", Schema.DOUBLE.as_nullable),
        ("carrier", Schema.STRING),
        ("late", Schema.DOUBLE),
    ],
)
TEXTS = Schema.record(
    "texts", [("body", Schema.STRING.as_nullable), ("words", Schema.array(Schema.STRING))]
)
MODEL = {"fileSetName": "models", "path": "a"}
TREE = MODEL | {"labelField": "late", "featureFieldsToInclude": "day, delay"}


def problems(plugin, properties, schema=FLIGHT):
    return StageTester(plugin, properties, schema).problems


@pytest.mark.parametrize("trainer", [DecisionTreeTrainer, LogisticRegressionTrainer])
def test_trainers_want_numbers_and_a_double_as_label(trainer):
    assert problems(trainer, TREE) == []
    both = TREE | {"featureFieldsToExclude": "carrier"}
    assert problems(trainer, both) == [
        (
            "featureFieldsToInclude: Cannot specify values for both featuresToInclude and featuresToExclude. "
            "Please specify fields for one."
        )
    ]
    assert problems(trainer, MODEL | {"labelField": "late"}) == [
        "Features must be of type : int, double, float, long but was of type STRING for field carrier."
    ]
    assert problems(trainer, TREE | {"labelField": "lat"}) == [
        "labelField: Label field lat does not exists in the input schema."
    ]
    assert problems(trainer, TREE | {"labelField": "day"}) == [
        "labelField: Label field must be of type Double, but was INT."
    ]
    assert problems(trainer, TREE | {"featureFieldsToInclude": "dya"}) == [
        "There is no field that could be a feature."
    ]


def test_a_misspelt_feature_is_a_warning_as_the_original_leaves_it_out():
    stage = StageTester(DecisionTreeTrainer, TREE | {"featureFieldsToInclude": "day,dely"}, FLIGHT)

    assert stage.problems == []
    assert [each.message for each in stage.warnings] == [
        "Field 'dely' does not exist in the input schema, and is left out."
    ]


def test_categories_of_a_tree():
    def reject(mapping: str) -> list[str]:
        return problems(DecisionTreeTrainer, TREE | {"cardinalityMapping": mapping})

    assert reject("day:31") == []
    wrong = "cardinalityMapping: Invalid categorical feature mapping. "
    ending = ". Please make sure it is in the format 'feature':'cardinality'."
    assert reject("day") == [f"{wrong}Chunk [day] is not a valid entry{ending}"]
    assert reject("day:many") == [
        f"{wrong}Invalid cardinality many. Please specify valid integer for cardinality.{ending}"
    ]
    assert reject("day:3,day:4") == [f"{wrong}Duplicate key [day] found.{ending}"]
    assert reject("carrier:9") == [
        "cardinalityMapping: 'carrier' is not a feature, so it cannot be a category."
    ]
    assert problems(DecisionTreeTrainer, TREE | {"maxDepth": "-1", "maxBins": "1"}) == [
        "maxDepth: 'maxDepth' is -1, but must be at least 0.",
        "maxBins: 'maxBins' is 1, but must be at least 2.",
    ]


@pytest.mark.parametrize("predictor", [DecisionTreePredictor, LogisticRegressionClassifier])
def test_predictors_add_a_double(predictor):
    properties = MODEL | {"featureFieldsToExclude": "carrier", "predictionField": "guess"}

    stage = StageTester(predictor, properties, FLIGHT)

    assert stage.problems == []
    assert stage.output_schema == Schema.record(
        "flight.predicted", [*FLIGHT, ("guess", Schema.DOUBLE)]
    )
    assert problems(predictor, properties | {"predictionField": "late"}) == [
        "predictionField: Prediction field must not already exist in the input schema."
    ]


def test_features_of_texts():
    mapped = {"outputColumnMapping": "body:a, words:b"}

    counted = StageTester(HashingTFFeatureGenerator, mapped, TEXTS)
    averaged = StageTester(SkipGramFeatureGenerator, MODEL | mapped, TEXTS)

    assert counted.problems == averaged.problems == []
    vector = Schema.array(Schema.DOUBLE)
    assert counted.output_schema == Schema.record(
        "record", [*TEXTS, ("a", SPARSE_VECTOR), ("b", SPARSE_VECTOR)]
    )
    assert averaged.output_schema == Schema.record("record", [*TEXTS, ("a", vector), ("b", vector)])

    def reject(**more: str) -> list[str]:
        return problems(HashingTFFeatureGenerator, mapped | more, TEXTS)

    assert reject(numFeatures="0") == [
        (
            "numFeatures: Number of features cannot be negative. Please provide a validate positive "
            "value for number of features."
        )
    ]
    assert reject(pattern="(")[0].startswith(
        "pattern: Invalid expression - (. Please provide a valid"
    )
    assert reject(pattern="x*") == ["pattern: The pattern may not match the empty string: x*"]
    assert reject(outputColumnMapping="body") == [
        (
            "outputColumnMapping: Invalid output column mapping body. Please provide a valid output column "
            "mapping which can be used to store the generated sparse vector. 'outputColumnMapping' should be "
            "in the format "
            "'input-column':'transformed-output-column'. Chunk [body] is not a valid entry."
        )
    ]
    assert reject(outputColumnMapping="body:words,nobody:x") == [
        (
            "outputColumnMapping: Output column name words for column body is already present in the "
            "input schema. Please provide a different output field name."
        ),
        "outputColumnMapping: Input field nobody does not exist in the input schema.",
    ]


def test_a_trainer_of_words():
    properties = MODEL | {"inputCol": "words"}
    assert problems(SkipGramTrainer, properties, TEXTS) == []
    assert problems(SkipGramTrainer, properties | {"inputCol": "day"}, FLIGHT) == [
        (
            "inputCol: Field to be transformed should be of type String or Nullable String or Array of "
            "type String or Nullable String . But was INT for field day."
        )
    ]
    assert problems(
        SkipGramTrainer, properties | {"vectorSize": "-1", "windowSize": "0"}, TEXTS
    ) == [
        (
            "vectorSize: Value for vector size cannot be negative. Please provide a valid positive value for "
            "vector size"
        ),
        (
            "windowSize: Value for window size must be at least 1. Please provide a valid positive value for "
            "window size"
        ),
    ]
    assert problems(
        NaiveBayesTrainer, MODEL | {"fieldToClassify": "day", "predictionField": "late"}
    ) == ["fieldToClassify: Field to classify must be of type String, but was int."]


def test_words_and_sequences_of_words():
    words = {"columnToBeTokenized": "body", "patternSeparator": " ", "outputColumn": "w"}
    pairs = {"fieldToBeTransformed": "words", "ngramSize": "2", "outputField": "pairs"}

    assert StageTester(Tokenizer, words, TEXTS).output_schema == Schema.record(
        "record", [*TEXTS, ("w", Schema.array(Schema.STRING))]
    )
    assert StageTester(NGramTransform, pairs, TEXTS).output_schema == Schema.record(
        "outputSchema", [("pairs", Schema.array(Schema.STRING))]
    )
    assert problems(
        Tokenizer, words | {"columnToBeTokenized": "words", "outputColumn": "body"}, TEXTS
    ) == [
        "columnToBeTokenized: Column to be tokenized words must be of type String, but was of type ARRAY.",
        "outputColumn: Output column body already exists.",
    ]
    assert problems(
        NGramTransform, pairs | {"fieldToBeTransformed": "body", "ngramSize": "0"}, TEXTS
    ) == [
        (
            "fieldToBeTransformed: Features to be transformed body should be of type ARRAY, but was of "
            "type STRING."
        ),
        "ngramSize: The n-gram size is 0, but must be at least 1.",
    ]
