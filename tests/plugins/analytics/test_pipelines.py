"""Models in pipelines: predictions of a model of the application, and Naive Bayes on texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localcdap.pipeline.methods import MethodCall, MethodPlugin
from localcdap.runs.model import RunRequest
from tests.plugins.analytics.conftest import SCHEMA, AnalyticsClient

pytestmark = pytest.mark.spark


def make_document(stages):
    names = [name for name, *_ in stages]
    return {
        "name": "p",
        "artifact": {"name": "cdap-data-pipeline", "version": "6.10.1", "scope": "SYSTEM"},
        "config": {
            "stages": [
                {"name": name, "plugin": {"type": type, "name": plugin, "properties": properties}}
                for name, type, plugin, properties in stages
            ],
            "connections": [{"from": a, "to": b} for a, b in zip(names, names[1:], strict=False)],
        },
    }


def run(client, stages):
    return run_document(client, make_document(stages))


def run_document(client, document):
    cdap = client.instance.cdap
    started = cdap.runs.start(RunRequest(json.dumps(document), client.namespace))
    while not started.status.is_end:
        started = cdap.runs.wait(started.run, started.version, 5)
    return started


def read_source(file, fields):
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": name, "type": [type, "null"]} for name, type in fields.items()],
    }
    properties = {"path": str(file), "format": "csv", "referenceName": "r"}
    return "read", "batchsource", "File", {**properties, "schema": json.dumps(schema)}, schema


@pytest.mark.slow
def test_a_model_predicts_in_a_pipeline(instance, animals, tmp_path):
    instance.cdap.namespaces.create("predicts")
    client = AnalyticsClient(instance, "predicts")
    client.put_experiment(animals)
    model = client.train(client.split(), "decision.tree.classifier")
    fields = {"size": "double", "colour": "string", "legs": "int", "weight": "double"}
    file = tmp_path / "new.csv"
    file.write_text("9.5,red,4,30\n0.5,blue,2,3\n5,purple,2,17\n")
    *source, schema = read_source(file, fields)
    output = {
        **schema,
        "fields": [*schema["fields"], {"name": "guess", "type": ["string", "null"]}],
    }
    predictor = {
        "experimentId": "e",
        "modelId": model["id"],
        "predictionField": "guess",
        "schema": json.dumps(output),
    }
    target = tmp_path / "out"
    sink = {"path": str(target), "format": "csv", "referenceName": "w"}

    done = run(
        client,
        [
            tuple(source),
            ("predict", "sparkcompute", "MLPredictor", predictor),
            ("write", "batchsink", "File", sink),
        ],
    )

    assert (done.status.value, done.error) == ("COMPLETED", None)
    lines = "".join(each.read_text() for each in sorted(target.glob("part-*"))).splitlines()
    assert [line.rpartition(",")[2] for line in lines] == ["cat", "dog"]
    # The record with a colour that the training data does not have is left out, and the counts show it.
    assert (done.stages["predict"].records_in, done.stages["predict"].records_out) == (3, 2)


def test_a_model_that_is_not_there_fails_before_the_first_record(client, animals, tmp_path):
    *source, schema = read_source(
        animals, {field["name"]: field["type"][0] for field in SCHEMA["fields"]}
    )
    output = {**schema, "fields": [*schema["fields"], {"name": "guess", "type": "double"}]}
    predictor = {
        "experimentId": "e",
        "modelId": "nothing",
        "predictionField": "guess",
        "schema": json.dumps(output),
    }

    done = run(
        client,
        [
            tuple(source),
            ("predict", "sparkcompute", "MLPredictor", predictor),
            ("end", "batchsink", "Trash", {}),
        ],
    )

    assert done.status.value == "FAILED"
    assert "Could not find model 'nothing' in experiment 'e'." in done.error.message


def train_in_pipeline(client, file, *more, **properties):
    *source, _ = read_source(file, {each["name"]: each["type"][0] for each in SCHEMA["fields"]})
    trainer = {"experimentId": "in", "modelId": "forest", "outcomeField": "kind", **properties}
    document = make_document([tuple(source), ("train", "sparksink", "ModelTrainer", trainer)])
    for name, plugin in more:
        stage = {
            "name": name,
            "plugin": {"type": "batchsink", "name": plugin, "properties": {"referenceName": "r"}},
        }
        document["config"]["stages"].append(stage)
        document["config"]["connections"].append({"from": "read", "to": name})
    return run_document(client, document)


@pytest.mark.slow
def test_a_pipeline_trains_a_model_that_another_one_uses(client, animals, tmp_path):
    tree = {"algorithm": "decision.tree.classifier", "trainingParameters": '{"maxDepth": 6}'}

    failed = train_in_pipeline(client, animals, ("fail", "FailPipeline"), **tree)

    assert failed.status.value == "FAILED"
    assert "'fail'" in failed.error.message
    assert client.do("GET", "experiments")["totalRowCount"] == 0
    done = train_in_pipeline(client, animals, **tree, predictionsDataset="guesses")
    assert done.error is None, done.error.message
    model = client.do("GET", "experiments/in/models/forest")
    assert (model["status"], model["algorithm"]) == ("Trained", tree["algorithm"])
    assert model["hyperparameters"]["maxDepth"] == "6"
    assert (model["features"], model["categoricalFeatures"]) == (
        ["size", "colour", "legs", "weight"],
        ["colour"],
    )
    assert model["evaluationMetrics"]["f1"] > 0.5
    assert client.do("GET", "experiments/in")["outcomeType"] == "string"
    again = train_in_pipeline(client, animals, **tree)
    assert "Model 'forest' in experiment 'in' already exists." in again.error.message
    replaced = train_in_pipeline(client, animals, **tree, overwrite="true")
    assert replaced.error is None, replaced.error.message
    predicted = predict(
        client, animals, tmp_path / "out", {"experimentId": "in", "modelId": "forest"}
    )
    kinds = [line.split(",")[3] for line in animals.read_text().splitlines()]
    assert sum(a == b for a, b in zip(kinds, predicted, strict=True)) > 0.9 * len(kinds)
    # The replaced model and its files are gone.
    newer = client.do("GET", "experiments/in/models/forest")
    assert newer["folder"] != model["folder"]
    assert not Path(model["folder"]).exists()
    assert ask(client, "list-experiments") == [
        {"name": "in", "outcome": "kind", "isCategorical": True}
    ]
    (found,) = ask(client, "list-models", experimentId="in")
    assert (found["id"], found["status"]) == ("forest", "Trained")
    assert found["features"] == newer["features"]
    assert ask(client, "list-models", experimentId="other") == []
    client.do("DELETE", "experiments/in")
    assert not Path(newer["folder"]).exists()


def ask(client, method, **properties):
    plugin = MethodPlugin("sparkcompute", "MLPredictor", properties=properties)
    call = MethodCall(plugin, method, namespace=client.namespace)
    return client.instance.cdap.methods.call(call).answer


def predict(client, file, target, model):
    *source, schema = read_source(
        file, {each["name"]: each["type"][0] for each in SCHEMA["fields"]}
    )
    guess = {"name": "guess", "type": ["string", "null"]}
    output = json.dumps({**schema, "fields": [*schema["fields"], guess]})
    sink = {"path": str(target), "format": "csv", "referenceName": "w"}
    predictor = {**model, "predictionField": "guess", "schema": output}
    done = run(
        client,
        [
            tuple(source),
            ("predict", "sparkcompute", "MLPredictor", predictor),
            ("write", "batchsink", "File", sink),
        ],
    )
    assert done.error is None, done.error.message
    lines = "".join(each.read_text() for each in sorted(target.glob("part-*"))).splitlines()
    return [line.rpartition(",")[2] for line in lines]


@pytest.mark.slow
def test_naive_bayes_learns_texts_and_classifies_them(client, tmp_path):
    train = tmp_path / "train.csv"
    train.write_text(
        "1.0,buy cheap pills now\n1.0,cheap cheap offer\n0.0,see you at lunch\n0.0,lunch at noon\n"
    )
    texts = tmp_path / "texts.csv"
    texts.write_text("cheap pills\nlunch now at noon\n")
    bayes = {
        "fileSetName": "spamModel",
        "path": "a",
        "fieldToClassify": "text",
        "numFeatures": "1000",
    }
    *source, _ = read_source(train, {"spam": "double", "text": "string"})

    trained = run(
        client,
        [
            tuple(source),
            ("train", "sparksink", "NaiveBayesTrainer", {**bayes, "predictionField": "spam"}),
        ],
    )

    assert (trained.status.value, trained.error) == ("COMPLETED", None)
    *source, _ = read_source(texts, {"text": "string"})
    target = tmp_path / "out"
    classifier = {**bayes, "predictionField": "spam"}
    sink = {"path": str(target), "format": "csv", "referenceName": "w"}
    done = run(
        client,
        [
            tuple(source),
            ("classify", "sparkcompute", "NaiveBayesClassifier", classifier),
            ("write", "batchsink", "File", sink),
        ],
    )
    assert (done.status.value, done.error) == ("COMPLETED", None)
    lines = "".join(each.read_text() for each in sorted(target.glob("part-*"))).splitlines()
    assert lines == ["cheap pills,1.0", "lunch now at noon,0.0"]
