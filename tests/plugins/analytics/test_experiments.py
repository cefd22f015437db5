"""Experiments, splits and models without Spark: mmds ``StoreTest``, texts, and the rules of namespaces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api import Schema
from localcdap.api.app import ConflictError, NamespaceSummary
from localcdap.artifacts.directories.contents import compute_digest
from localcdap.artifacts.loading import import_module

FOLDER = Path(__file__).resolve().parents[3] / "plugins_dir" / "analytics"
SCHEMA = {
    "type": "record",
    "name": "rec",
    "fields": [{"name": "outcome", "type": "string"}, {"name": "f1", "type": "string"}],
}
SPLIT = {"type": "random", "params": {}, "directives": ["drop :a"], "schema": SCHEMA}


def load(module: str) -> Any:
    return import_module(str(FOLDER), compute_digest(FOLDER), f"analytics.{module}")


@pytest.fixture
def app(cdap_app):
    return cdap_app(load("application").ModelManagementApp)


@pytest.fixture
def call(app):
    def call(method: str, path: str, body: Any = None, status: int = 200, **query: Any) -> Any:
        whole = f"/v2/contexts/default/{path}"
        send = getattr(app, method)
        answer = send(whole, body, **query) if body is not None else send(whole, **query)
        assert answer.status == status, answer.body
        return answer.body

    return call


def put(call, name: str, **more: Any) -> None:
    body = {"srcpath": "src", "outcome": "outcome", "outcomeType": "string", **more}
    call("put", f"experiments/{name}", body)


def names(page: Any) -> list[str]:
    return [each["name"] for each in page["experiments"]]


@pytest.fixture
def store(app):
    """Runs work on the store of the namespace ``default``."""
    found = app.context.get_namespace_summary("default")
    assert isinstance(found, NamespaceSummary)
    run = load("trainer_sink").run_in_store
    return lambda work: run(app.context.transactions, found, work)


def test_experiments_are_listed_in_pages_by_name(call):
    for name in ("abc123", "abd345", "bda345", "zsd345", "yea345"):
        put(call, name, srcpath="other" if name == "bda345" else "src")

    everything = call("get", "experiments")

    assert everything["totalRowCount"] == 5
    assert names(everything) == ["abc123", "abd345", "bda345", "yea345", "zsd345"]
    assert names(call("get", "experiments", sort="name desc")) == names(everything)[::-1]
    pages = [call("get", "experiments", sort="name desc", offset=n, limit=2) for n in (0, 2, 4, 6)]
    assert [names(each) for each in pages] == [
        ["zsd345", "yea345"],
        ["bda345", "abd345"],
        ["abc123"],
        [],
    ]
    assert names(call("get", "experiments", srcPath="other")) == ["bda345"]


def test_what_is_wrong_has_the_texts_of_the_original(call):
    def message(method: str, path: str, status: int, body: Any = None, **query: Any) -> str:
        text: str = call(method, path, body, status, **query)["message"]
        return text

    assert (
        message("get", "experiments", 400, offset=-1) == "Offset must be zero or a positive number"
    )
    assert message("get", "experiments", 400, limit=0) == "Limit must be a positive number"
    assert message("get", "experiments", 400, sort="srcpath asc") == (
        "Sorting only on name is supported"
    )
    assert message("put", "experiments/e", 400, {"outcome": "o"}) == (
        "Experiment srcpath must be provided."
    )
    wrong = {"srcpath": "s", "outcome": "o", "outcomeType": "bytes"}
    assert message("put", "experiments/e", 400, wrong) == (
        "Experiment outcomeType 'bytes' is invalid. Must be one of 'BOOLEAN,STRING,INT,LONG,FLOAT,DOUBLE'."
    )
    assert message("get", "experiments/e", 404) == "Experiment 'e' not found."
    put(call, "e")
    assert message("get", "experiments/e/models/m", 404) == (
        "Model 'm' in experiment 'e' not found."
    )
    assert message("get", "experiments/e/splits/s", 404) == (
        "Split 's' in experiment 'e' not found."
    )
    assert (
        message("post", "experiments/e/models", 400, {"description": ""}) == "Must specify a name"
    )
    both = {"name": "m", "split": "s", "directives": []}
    assert message("post", "experiments/e/models", 400, both) == (
        "Cannot specify both directives and a split."
    )
    other = {**SPLIT, "schema": {**SCHEMA, "fields": SCHEMA["fields"][1:]}}
    assert message("post", "experiments/e/splits", 400, other) == (
        "Invalid split schema. The split must contain the experiment outcome 'outcome'."
    )
    fields = [{"name": "outcome", "type": ["double", "null"]}]
    other = {**SPLIT, "schema": {**SCHEMA, "fields": fields}}
    assert message("post", "experiments/e/splits", 400, other) == (
        "Invalid split schema. Outcome field 'outcome' is of categorical type 'STRING' in the experiment , "
        "but is of non-categorical type 'DOUBLE' in the split."
    )
    percent = {**SPLIT, "params": {"testPercentage": "many"}}
    assert message("post", "experiments/e/splits", 400, percent) == (
        "Invalid modeler parameter testPercentage=many. Must be a valid integer."
    )
    assert message("post", "experiments/e/splits", 400, {**SPLIT, "type": "odd"}) == (
        "No splitter of type odd exists."
    )


def test_algorithms_and_splitters_are_described(app):
    algorithms = app.get("/algorithms").body

    assert [each["id"] for each in algorithms] == [
        "decision.tree.regression",
        "generalized.linear.regression",
        "gradient.boosted.tree.regression",
        "linear.regression",
        "random.forest.regression",
        "decision.tree.classifier",
        "gradient.boosted.tree.classifier",
        "logistic.regression",
        "multilayer.perceptron.classifier",
        "naive.bayes",
        "random.forest.classifier",
    ]
    forest = algorithms[-1]
    assert forest["type"] == "CLASSIFICATION"
    assert [(each["name"], each["defaultVal"]) for each in forest["hyperparameters"]] == [
        ("maxDepth", "5"),
        ("maxBins", "32"),
        ("minInstancesPerNode", "1"),
        ("minInfoGain", "0.0"),
        ("numTrees", "20"),
        ("subsamplingRate", "1.0"),
        ("featureSubsetStrategy", "sqrt"),
    ]
    assert forest["hyperparameters"][0]["range"] == {"min": "0", "isMinInclusive": True}
    assert app.get("/algorithms/x").body["message"] == "Algorithm x not found."
    assert app.get("/splitters/x").body["message"] == "Splitter x not found."
    assert [each["type"] for each in app.get("/splitters").body] == ["random"]
    assert [each["type"] for each in app.get("/splitters", all=True).body] == [
        "random",
        "stratified",
        "time",
        "key",
    ]


def test_the_life_of_a_model(call, store):
    put(call, "re")
    model = load("model")
    create = model.CreateModelRequest("model1", "desc", ["d1", "d2"])
    id = store(lambda s: s.add_model("re", create)).id
    request = model.TrainModelRequest("decision.tree.classifier")
    status = lambda: str(store(lambda s: s.get_model("re", id)).status)  # noqa: E731

    assert status() == "Preparing"
    call("put", f"experiments/re/models/{id}/directives", {"directives": ["d1", "d2", "d3"]})
    assert call("get", f"experiments/re/models/{id}")["directives"] == ["d1", "d2", "d3"]
    with pytest.raises(ConflictError) as caught:
        store(lambda s: s.unassign_split("re", id))
    assert str(caught.value) == (
        "Cannot unassign the split for a model in the 'Preparing' state. The model must be in the 'Split "
        "Failed', 'Training Failed', or 'Data Ready' state."
    )
    with pytest.raises(
        ConflictError, match="Cannot train a model that is in the 'Preparing' state"
    ):
        store(lambda s: s.train("re", id, request))

    split = model.DataSplit(
        type="random", directives=["d1", "d2", "d3"], schema=Schema.parse_record(SCHEMA)
    )
    made = store(lambda s: s.add_split("re", split)).id
    store(lambda s: s.set_split("re", id, made))
    assert status() == "Splitting"
    for work in (lambda s: s.unassign_split("re", id), lambda s: s.train("re", id, request)):
        with pytest.raises(ConflictError):
            store(work)
    store(lambda s: s.finish_split("re", made, ("train", "test"), [], {}))
    ready = call("get", f"experiments/re/models/{id}")
    assert (ready["status"], ready["features"]) == ("Data Ready", ["f1"])

    call("delete", f"experiments/re/models/{id}/split")
    assert call("get", "experiments/re/splits") == []
    assert status() == "Preparing"


def test_the_life_of_a_model_from_its_training_on(call, store):
    put(call, "re")
    model = load("model")
    id = store(lambda s: s.add_model("re", model.CreateModelRequest("model1"))).id
    request = model.TrainModelRequest("decision.tree.classifier")
    status = lambda: str(store(lambda s: s.get_model("re", id)).status)  # noqa: E731
    split = model.DataSplit(type="random", directives=["d"], schema=Schema.parse_record(SCHEMA))
    made = store(lambda s: s.add_split("re", split)).id
    store(lambda s: s.set_split("re", id, made))
    store(lambda s: s.finish_split("re", made, ("train", "test"), [], {}))
    store(lambda s: s.train("re", id, request))
    training = call("get", f"experiments/re/models/{id}")
    assert (training["status"], training["trainedtime"]) == ("Training", -1)
    assert training["hyperparameters"]["maxDepth"] == "5"
    refused = call("put", f"experiments/re/models/{id}/directives", {"directives": ["x"]}, 409)
    assert refused["message"] == (
        "Directives can only be set or modified if the model is in the Preparing state."
    )
    metrics = model.Metrics(0.5, 0.6, 0.7)
    store(
        lambda s: s.finish_training("re", id, metrics, ["f1"], {}, "folder", {}, {"maxDepth": "5"})
    )
    assert status() == "Trained"
    stats = call("get", "experiments/re")
    assert stats["evaluationMetrics"]["f1"]["max"] == 0.7
    assert "rmse" not in stats["evaluationMetrics"]
    assert stats["statuses"]["histo"] == [{"bin": "Trained", "count": 1}]
    call("post", f"experiments/re/models/{id}/deploy")
    call("post", f"experiments/re/models/{id}/deploy")
    assert call("get", f"experiments/re/models/{id}/status") == "Deployed"

    used = call("delete", f"experiments/re/splits/{made}", status=409)
    assert used["message"] == (f"Cannot delete split '{made}' since it is used by model(s) '{id}'.")
    second = call("post", "experiments/re/models", {"name": "model2", "split": made})["id"]
    assert call("get", f"experiments/re/models/{second}")["status"] == "Data Ready"
    unknown = {"algorithm": "magic"}
    assert call("post", f"experiments/re/models/{second}/train", unknown, 400)[
        "message"
    ].startswith(
        "No modeler found for algorithm 'magic'. Must be one of 'decision.tree.regression,"
    )
    odd = {"algorithm": "naive.bayes", "hyperparameters": {"depth": "3"}}
    assert call("post", f"experiments/re/models/{second}/train", odd, 400)["message"] == (
        "There is no parameter 'depth'; parameters: smoothing, type."
    )
    call("delete", "experiments/re")
    assert call("get", "experiments")["totalRowCount"] == 0
    put(call, "re")
    assert call("get", "experiments/re/models") == {"totalRowCount": 0, "models": []}


def test_a_split_that_cannot_be_submitted_has_failed_and_says_why(call):
    put(call, "e")
    id = call("post", "experiments/e/models", {"name": "m"})["id"]

    call("post", f"experiments/e/models/{id}/split", SPLIT)

    assert call("get", f"experiments/e/models/{id}/status") == "Split Failed"
    (split,) = call("get", "experiments/e/splits")
    assert split["status"] == "Failed"
    assert split["error"].startswith("Jobs cannot be submitted here")


def test_entities_are_those_of_a_namespace_and_go_with_it(app, call):
    assert app.put("/v2/contexts/nowhere/experiments/e", {}).status == 404
    app.namespaces.create("sales")
    body = {"srcpath": "s", "outcome": "o", "outcomeType": "string"}
    assert app.put("/v2/contexts/sales/experiments/e", body).status == 200
    assert names(call("get", "experiments")) == []

    app.namespaces.delete("sales")
    app.namespaces.create("sales")

    assert names(app.get("/v2/contexts/sales/experiments").body) == []


def test_histograms_are_those_of_the_original():
    histograms = load("histograms")

    bins = [each.label for each in histograms.make_bins(0.0, 50.0)]

    assert bins == [
        *("[0,5)", "[5,10)", "[10,15)", "[15,20)", "[20,25)", "[25,30)", "[30,35)", "[35,40)"),
        *("[40,45)", "[45,50]"),
    ]
    assert [each.label for each in histograms.make_bins(3.0, 3.0)] == ["[3,3]"]
    shown = [histograms.format_bound(each) for each in (0.0, 0.5, -0.25, 12.34567, 1234.5, 0.0001)]
    assert shown == ["0", ".5", "-.25", "12.3457", "1.23E3", "1.00E-4"]
    same = histograms.compare_words("c", {"a": 5, "b": 5}, {"a": 5, "b": 5})
    other = histograms.compare_words("c", {"a": 10}, {"b": 10})
    assert same.divergence == 0
    assert other.divergence == 1
    assert [each.bin for each in other.histo] == ["a", "b"]


@pytest.mark.parametrize(
    "values",
    [
        [-0.0446, -0.02, 0.05],
        [0.35, 0.9],
        [-1234.5, -1.0],
        [-5e-324, 0.0],
        [-1e308, 0.0, 1e308],
        [float("-inf"), 1.0, float("inf")],
        [0.1, 0.1],
    ],
)
def test_each_value_is_in_a_bin(values: list[float]):
    histograms = load("histograms")
    stats = histograms.count_numbers(values, min(values), max(values), histograms.BINS)
    assert sum(each.count for each in stats.histo) == len(values)


@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_any_numbers_are_in_bins(values: list[float]):
    histograms = load("histograms")
    stats = histograms.count_numbers(values, min(values), max(values), histograms.BINS)
    assert sum(each.count for each in stats.histo) == len(values)
    assert len(stats.histo) <= histograms.BINS


def test_models_of_pipelines_count_when_their_files_are_there(app, call, tmp_path):
    commits, model = load("trainer_sink"), load("model")
    experiment = model.Experiment(name="p", outcome="outcome", outcome_type="string")

    def note(run: str) -> Path:
        trained = model.Model(name="m", id="m", createtime=model.get_now(), outcome="outcome")
        trained.folder = str(tmp_path / "models" / "p" / "m" / run)
        app.context.transactions.run(
            lambda tx: commits.add_commit(tx, "default", experiment, trained, {"run": run}, run)
        )
        return Path(trained.folder)

    def find() -> Any:
        return app.context.transactions.run(lambda tx: commits.find_model(tx, "default", "p", "m"))

    first, second = note("a"), note("b")
    assert call("get", "experiments")["totalRowCount"] == 0
    assert find() is None
    (first / "model" / "metadata").mkdir(parents=True)
    assert find().folder == str(first)
    assert call("get", "experiments/p/models/m")["folder"] == str(first)
    assert call("get", "experiments/p/models/m/report") == {"run": "a"}
    (second / "model" / "metadata").mkdir(parents=True)
    assert call("get", "experiments/p/models/m")["folder"] == str(second)
    assert not first.exists()
    call("delete", "experiments/p")
    assert not (tmp_path / "models" / "p").exists()
