"""Models that one pipeline trains, and another one uses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.runs.model import Run
from localcdap.testing.instance import TemporaryInstance

pytestmark = pytest.mark.spark
FIELDS = {"day": "int", "size": "double", "late": "double", "text": "string"}
NUMBERS = {"featureFieldsToInclude": "day,size"}


@pytest.fixture(scope="module")
def instance(
    tmp_path_factory: pytest.TempPathFactory, cdap_engine_directory: Path
) -> Iterator[TemporaryInstance]:
    with TemporaryInstance(tmp_path_factory.mktemp("models")) as made:
        yield made


def read(file: Path) -> tuple[str, str, dict[str, str]]:
    fields = [{"name": name, "type": [type, "null"]} for name, type in FIELDS.items()]
    schema = json.dumps({"type": "record", "name": "r", "fields": fields})
    return (
        "batchsource",
        "File",
        {"path": str(file), "format": "csv", "referenceName": "r", "schema": schema},
    )


def run(
    instance: TemporaryInstance,
    stages: dict[str, tuple[str, str, dict[str, str]]],
    connections: list[tuple[str, str]],
) -> Run:
    artifact = {"name": "cdap-data-pipeline", "version": "6.10.1", "scope": "SYSTEM"}
    listed = [
        {"name": name, "plugin": {"type": type, "name": plugin, "properties": properties}}
        for name, (type, plugin, properties) in stages.items()
    ]
    pairs = [{"from": source, "to": target} for source, target in connections]
    document = {
        "name": "p",
        "artifact": artifact,
        "config": {"stages": listed, "connections": pairs},
    }
    return instance.run(document)


def train(instance: TemporaryInstance, file: Path, **sinks: tuple[str, dict[str, str]]) -> Run:
    stages = {"read": read(file)}
    for name, (plugin, properties) in sinks.items():
        stages[name] = ("sparksink", plugin, {"fileSetName": "models", "path": name} | properties)
    return run(instance, stages, [("read", name) for name in sinks])


@pytest.fixture(scope="module")
def models(instance: TemporaryInstance, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Records are late when the size is above 5, or the day is 1."""
    lines = [
        f"{day},{size},{1.0 if size > 5 or day == 1 else 0.0},{'slow train' if size > 5 else 'fast bus'}"
        for day in range(4)
        for size in range(10)
    ]
    file = tmp_path_factory.mktemp("trained") / "trips.csv"
    file.write_text("\n".join(lines) + "\n")
    return train(
        instance,
        file,
        tree=(
            "DecisionTreeTrainer",
            NUMBERS | {"labelField": "late", "cardinalityMapping": "day:4"},
        ),
        logit=("LogisticRegressionTrainer", NUMBERS | {"labelField": "late"}),
        bayes=("NaiveBayesTrainer", {"fieldToClassify": "text", "predictionField": "late"}),
        grams=("SkipGramTrainer", {"inputCol": "text", "vectorSize": "3"}),
    )


def test_trained_models_are_in_the_file_set(instance, models):
    assert models.error is None, models.error.message
    assert models.stages["tree"].records_in == 40
    (folder,) = instance.home.path.glob("**/models/tree")
    assert (folder / "metadata").is_dir()


@pytest.mark.slow
def test_a_pipeline_predicts_with_them(instance, models, tmp_path):
    file, target = tmp_path / "new.csv", tmp_path / "out"
    file.write_text("2,9.5,,slow train\n3,0.5,,fast fast bus\n1,0.5,,\n")
    places: dict[str, Any] = {"fileSetName": "models"}
    stages = {
        "read": read(file),
        "drop": ("transform", "Projection", {"drop": "late"}),
        "tree": (
            "sparkcompute",
            "DecisionTreePredictor",
            places | NUMBERS | {"path": "tree", "predictionField": "t"},
        ),
        "logit": (
            "sparkcompute",
            "LogisticRegressionClassifier",
            places | NUMBERS | {"path": "logit", "predictionField": "l"},
        ),
        "count": (
            "sparkcompute",
            "HashingTFFeatureGenerator",
            {"outputColumnMapping": "text:counts", "numFeatures": "1000"},
        ),
        "average": (
            "sparkcompute",
            "SkipGramFeatureGenerator",
            places | {"path": "grams", "outputColumnMapping": "text:mean"},
        ),
        "words": (
            "sparkcompute",
            "Tokenizer",
            {"columnToBeTokenized": "text", "patternSeparator": " ", "outputColumn": "words"},
        ),
        "write": (
            "batchsink",
            "File",
            {"path": str(target), "format": "json", "referenceName": "w"},
        ),
    }
    names = list(stages)

    done = run(instance, stages, list(zip(names, names[1:], strict=False)))

    assert done.error is None, done.error.message
    lines = "".join(each.read_text() for each in sorted(target.glob("part-*"))).splitlines()
    slow, fast, empty = map(json.loads, lines)
    assert (slow["t"], fast["t"], empty["t"]) == (1.0, 0.0, 1.0)
    assert (slow["l"], fast["l"]) == (1.0, 0.0)
    assert slow["words"] == ["slow", "train"]
    assert sorted(fast["counts"]["vectorValues"]) == [1.0, 2.0]
    assert fast["counts"]["indices"] == sorted(fast["counts"]["indices"])
    assert empty["counts"] == {"size": 1000, "indices": [], "vectorValues": []}
    assert len(slow["mean"]) == 3
    assert any(slow["mean"])
    assert empty["mean"] == [0.0, 0.0, 0.0]


@pytest.mark.slow
def test_what_is_wrong_fails_the_run_with_its_reason(instance, models, tmp_path):
    file = tmp_path / "few.csv"
    file.write_text("1,2,7.0,x\n")

    other = train(
        instance, file, classes=("LogisticRegressionTrainer", NUMBERS | {"labelField": "late"})
    )
    file.write_text("1,2,,x\n")
    nothing = train(instance, file, empty=("DecisionTreeTrainer", NUMBERS | {"labelField": "late"}))
    end = ("batchsink", "Trash", {"referenceName": "r"})
    features = {"featureFieldsToInclude": "size", "predictionField": "p", "fileSetName": "models"}

    def predict(path: str) -> str:
        predictor = ("sparkcompute", "DecisionTreePredictor", features | {"path": path})
        done = run(
            instance,
            {"read": read(file), "predict": predictor, "end": end},
            [("read", "predict"), ("predict", "end")],
        )
        assert done.status.value == "FAILED"
        return str(done.error.message)

    assert "The label 7.0 is not one of 2 classes: 0 to 1." in other.error.message
    assert nothing.status.value == "COMPLETED"
    assert not list(instance.home.path.glob("**/models/empty/metadata"))
    assert "The model was trained with 2 features; here are 1: size." in predict("tree")
    assert "Failed to find model to use for classification. Location does not exist: " in predict(
        "x"
    )
