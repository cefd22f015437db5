"""Splits and models on Spark, from the file to the prediction."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def trained(instance, animals):
    """A namespace with a split, and one model of classes and one of numbers."""
    from tests.plugins.analytics.conftest import AnalyticsClient

    instance.cdap.namespaces.create("trained")
    client = AnalyticsClient(instance, "trained")
    client.put_experiment(animals)
    split = client.split()
    return client, split


@pytest.fixture(scope="module")
def numbers(instance, animals):
    """A namespace with a split whose outcome is a number."""
    from tests.plugins.analytics.conftest import AnalyticsClient

    instance.cdap.namespaces.create("numbers")
    client = AnalyticsClient(instance, "numbers")
    client.put_experiment(animals, "weight", "double")
    return client, client.split()


def test_a_split_has_statistics_of_both_parts(trained):
    client, split = trained

    made = client.do("GET", f"experiments/e/splits/{split}")

    assert (made["status"], made["error"]) == ("Complete", None)
    assert made["rows"]["read"] == made["rows"]["prepared"] == 160
    assert made["rows"]["train"] + made["rows"]["test"] == 160
    stats = {each["field"]: each for each in made["stats"]}
    assert list(stats) == ["size", "colour", "legs", "kind", "weight"]
    assert stats["colour"]["unique"] == {"train": 3, "test": 3, "total": 3}
    assert stats["size"]["numTotal"]["total"] == 160
    assert sum(each["count"]["total"] for each in stats["size"]["histo"]) == 160
    assert stats["size"]["histo"][0]["bin"].startswith("[")
    assert Path(made["trainingPath"]).is_dir()


def test_a_classifier_is_trained_and_saved(trained):
    client, split = trained

    model = client.train(split, "logistic.regression", hyperparameters={"maxIterations": "50"})

    assert (model["status"], model["error"]) == ("Trained", None)
    assert model["hyperparameters"]["maxIterations"] == "50"
    assert model["hyperparameters"]["family"] == "auto"
    assert model["categoricalFeatures"] == ["colour"]
    assert model["features"] == ["size", "colour", "legs", "weight"]
    assert model["evaluationMetrics"]["f1"] > 0.7
    assert model["evaluationMetrics"]["rmse"] is None
    report = client.do("GET", f"experiments/e/models/{model['id']}/report")
    assert sorted(report["labels"]) == ["cat", "dog"]
    assert sum(map(sum, report["confusion"])) == sum(map(sum, report["scores"]))
    assert report["roc"][0] == [0, 0]
    assert report["roc"][-1] == [1, 1]
    assert 0.8 < report["areaUnderRoc"] <= 1
    assert sum(report["importance"].values()) == pytest.approx(1)
    folder = Path(model["folder"])
    assert sorted(each.name for each in folder.iterdir()) == [
        "featuregen",
        "mlflow",
        "model",
        "targetindices",
    ]


@pytest.fixture(scope="module")
def mlflow_folder(trained):
    client, split = trained
    return Path(client.train(split, "naive.bayes")["folder"]) / "mlflow"


@pytest.mark.slow
def test_mlflow_reads_a_model_which_predicts_over_connect(mlflow_folder, spark):
    from mlflow.models import Model
    from pyspark.ml import PipelineModel

    rows = [(9.5, "red", 4, 30.0), (0.5, "blue", 2, 3.0), (5.0, "green", 3, 12.5)]
    data = spark.createDataFrame(rows, "size double, colour string, legs int, weight double")

    described = Model.load(str(mlflow_folder))
    flavor = described.flavors["spark"]
    predicted = PipelineModel.load(f"{mlflow_folder}/{flavor['model_data']}").transform(data)

    assert described.signature.inputs.input_names() == ["size", "colour", "legs", "weight"]
    found = [row["_prediction"] for row in predicted.collect()]
    assert len(found) == 3
    assert set(found) <= {"cat", "dog"}


LOAD = """
import sys
import pandas
from mlflow.pyfunc import load_model
data = pandas.DataFrame({"size": [9.5], "colour": ["red"], "legs": [4], "weight": [30.0]})
data["legs"] = data["legs"].astype("int32")
print(load_model(sys.argv[1]).predict(data)[0])
"""


@pytest.mark.slow
def test_mlflow_loads_a_model_with_a_spark_of_its_own(mlflow_folder, tmp_path):
    """Its Spark flavour works with a classic session alone (3.17)."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("a classic Spark needs Java")
    names = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_LOCAL_REMOTE")
    environment = {name: text for name, text in os.environ.items() if name not in names}
    command = [sys.executable, "-c", LOAD, str(mlflow_folder)]

    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=300
    )

    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split()[-1] in ("cat", "dog")


@pytest.mark.slow
@pytest.mark.parametrize(
    "algorithm",
    [
        "decision.tree.classifier",
        "gradient.boosted.tree.classifier",
        "multilayer.perceptron.classifier",
        "naive.bayes",
        "random.forest.classifier",
    ],
)
def test_the_other_classifiers(trained, algorithm):
    client, split = trained

    model = client.train(split, algorithm)

    assert (model["status"], model["error"]) == ("Trained", None)
    assert 0 < model["evaluationMetrics"]["f1"] <= 1
    # The layers that were used: three numbers that count twice, one category, and two classes.
    assert model["hyperparameters"].get("layers", "7,50,2") == "7,50,2"


@pytest.mark.slow
def test_a_search_compares_parameters_on_folds(trained):
    client, split = trained
    grid = {"maxDepth": ["1", "4"], "maxBins": ["2", "32"]}
    asked = {"algorithm": "decision.tree.classifier", "grid": grid, "folds": 2, "limit": 3}
    path = f"experiments/e/splits/{split}/search"
    assert client.call("POST", path, {**asked, "metric": "rmse"}).status == 400

    id = client.do("POST", path, asked)["id"]
    client.wait_for_jobs()

    (job,) = client.do("GET", "experiments/e/searches")
    assert (job["id"], job["status"], job["error"]) == (id, "COMPLETED", None)
    found = job["result"]
    assert (found["metric"], found["folds"], found["combinations"]) == ("f1", 2, 4)
    good = [each for each in found["candidates"] if each["error"] is None]
    bad = found["candidates"][len(good) :]
    assert len(good) + len(bad) == 3
    # Two bins are too few for a category with three values.
    assert bad
    assert all("maxBins" in each["error"] and not each["metrics"] for each in bad)
    scores = [each["metrics"]["f1"] for each in good]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 0.7
    assert found["candidates"][0]["spread"] is not None
    assert client.do("GET", f"experiments/e/splits/{split}")["status"] == "Complete"


@pytest.mark.slow
@pytest.mark.parametrize(
    "algorithm",
    [
        "linear.regression",
        "decision.tree.regression",
        "generalized.linear.regression",
        "gradient.boosted.tree.regression",
        "random.forest.regression",
    ],
)
def test_the_regressions(numbers, algorithm):
    client, split = numbers

    model = client.train(split, algorithm)

    assert (model["status"], model["error"]) == ("Trained", None)
    metrics = model["evaluationMetrics"]
    assert metrics["r2"] > 0.7
    assert metrics["precision"] is None
    report = client.do("GET", f"experiments/e/models/{model['id']}/report")
    evaluated = sum(each[2] for each in report["residuals"])
    rows = client.do("GET", f"experiments/e/splits/{split}")["rows"]
    assert evaluated + model["skippedRows"]["test"] == rows["test"]
    assert model["skippedRows"]["test"] == 0
