"""A first look at a model by scikit-learn, the curve of its scores, and the check of a search."""

from __future__ import annotations

import builtins
import random
import sys

import msgspec
import pytest

from tests.plugins.analytics.test_experiments import load

FIELDS = {
    "size": "double",
    "colour": "string",
    "tame": "boolean",
    "kind": "string",
    "weight": "double",
}
SCHEMA = {
    "type": "record",
    "name": "animal",
    "fields": [{"name": name, "type": [type, "null"]} for name, type in FIELDS.items()],
}
LOOKS = "/v2/contexts/default/looks"


@pytest.fixture
def app(cdap_app):
    return cdap_app(load("application").ModelManagementApp)


def make_records(count: int = 400) -> list[dict[str, object]]:
    drawn = random.Random(3)
    records = []
    for number in range(count):
        size = drawn.uniform(0, 10)
        records.append(
            {
                "size": size,
                "colour": drawn.choice(["red", "green"]),
                "tame": drawn.random() > 0.5,
                "kind": "cat" if size + drawn.gauss(0, 1) > 5 else "dog",
                "weight": 3 * size + drawn.gauss(0, 0.2),
            }
        )
        if number % 50 == 0:
            records[-1] |= {"size": None, "colour": None}
    return records


def ask(app, status: int = 200, **more):
    body = {
        "outcome": "kind",
        "outcomeType": "string",
        "algorithm": "logistic.regression",
        "schema": SCHEMA,
        "records": make_records(),
        **more,
    }
    answer = app.post(LOOKS, body)
    assert answer.status == status, answer.body
    return answer.body


TREES = ("decision.tree", "random.forest", "gradient.boosted.tree")


@pytest.mark.slow
def test_a_look_at_classes(app):
    names = [f"{each}.classifier" for each in (*TREES, "multilayer.perceptron")]
    for name in [*names, "logistic.regression"]:
        look = ask(app, algorithm=name)

        assert look["by"].startswith("scikit-learn ")
        assert look["metrics"]["f1"] > 0.7, name
        assert look["metrics"]["rmse"] is None
        report = look["report"]
        assert sorted(report["labels"]) == ["cat", "dog"]
        evaluated = look["rows"]["test"] - look["rows"]["skipped"]
        assert sum(map(sum, report["confusion"])) == sum(map(sum, report["scores"])) == evaluated
        assert report["areaUnderRoc"] > 0.8
        importance = report["importance"]
        if importance:  # not of the perceptron
            assert max(importance, key=importance.get) in ("size", "weight")
            assert sum(importance.values()) == pytest.approx(1)


def test_a_look_at_numbers(app):
    for algorithm in ("linear", "generalized.linear", *TREES):
        name = f"{algorithm}.regression"

        look = ask(app, outcome="weight", outcomeType="double", algorithm=name)

        assert look["metrics"]["r2"] > 0.8, name
        evaluated = look["rows"]["test"] - look["rows"]["skipped"]
        assert sum(each[2] for each in look["report"]["residuals"]) == evaluated


def test_a_look_skips_or_keeps_unknown_categories(app):
    records = make_records(40)
    for number, each in enumerate(records):
        each["colour"] = f"colour {number}"

    assert ask(app, 400, records=records)["message"] == (
        "No test record of the sample is left: each has an unknown category."
    )
    kept = ask(app, records=records, handleInvalid="keep")
    assert kept["rows"] == {"train": 30, "test": 10, "skipped": 0}


WRONG = [
    ({"records": []}, "The sample has 0 records with an outcome, which is too few"),
    (
        {"records": [{"size": 1.0, "kind": "cat"}] * 9},
        "The outcome 'kind' has only one class in the sample.",
    ),
    (
        {"algorithm": "linear.regression"},
        "Algorithm 'linear.regression' predicts numbers, but the outcome 'kind' is a class.",
    ),
    ({"algorithm": "x"}, "No modeler found for algorithm 'x'."),
    ({"hyperparameters": {"maxIterations": "many"}}, "Invalid modeler parameter"),
    ({"outcome": "none"}, "Invalid split schema."),
    (
        {
            "records": [{"size": -2.0 * n, "kind": "cat" if n % 2 else "dog"} for n in range(9)],
            "algorithm": "naive.bayes",
        },
        "scikit-learn cannot learn from the sample: Negative values",
    ),
]


def test_what_a_look_rejects(app):
    for more, message in WRONG:
        assert message in ask(app, 400, **more)["message"], more


def test_without_scikit_learn_a_look_says_how_to_install_it(app, monkeypatch):
    import_module = builtins.__import__

    def refuse(name, *args, **more):
        if name.partition(".")[0] == "sklearn":
            raise ImportError(name)
        return import_module(name, *args, **more)

    monkeypatch.delitem(sys.modules, "sklearn", raising=False)
    monkeypatch.setattr(builtins, "__import__", refuse)

    answer = ask(app, 400)

    assert "needs scikit-learn, which is not installed" in answer["message"]
    assert answer["correctiveAction"] == "Install it: pip install 'localcdap[sklearn]'"


def test_the_curve_of_scores():
    evaluation = load("evaluation")
    perfect = [[10, 0], [0, 0], [0, 5]]
    mixed = [[2, 1], [1, 2]]

    assert evaluation.trace_roc(perfect) == [[0, 0], [0, 1], [1, 1]]
    assert evaluation.measure_area(evaluation.trace_roc(perfect)) == 1
    assert evaluation.measure_area(evaluation.trace_roc(mixed)) == pytest.approx(2 / 3)
    assert evaluation.trace_roc([[3, 0], [1, 0]]) == []
    assert evaluation.measure_area([]) is None


def test_the_combinations_of_a_search():
    model, search = load("model"), load("parameter_search")
    experiment = model.Experiment(srcpath="s", outcome="kind", outcome_type="string")
    request = search.SearchRequest(
        "decision.tree.classifier", {"maxDepth": ["2", "4"], "impurity": ["gini", "entropy"]}
    )

    request.check(experiment)
    every = request.list_combinations()

    assert len(every) == 4
    assert {"maxDepth": "4", "impurity": "gini"} in every
    request.limit = 3
    few = request.list_combinations()
    assert len(few) == 3
    assert all(each in every for each in few)
    assert few == request.list_combinations()
    request.grid = {f"p{n}": ["a"] * 100 for n in range(30)}
    assert len(request.list_combinations()) == 3  # of 100 ** 30
    wrong = [
        ({"metric": "rmse"}, "Invalid metric 'rmse'. Must be one of 'f1,precision,recall'"),
        ({"folds": 1}, "Invalid folds 1."),
        ({"limit": 0}, "Invalid limit 0."),
        ({"grid": {"maxDepth": []}}, "has no values"),
        ({"grid": {"maxDepth": ["2", "x"]}}, "Invalid modeler parameter maxDepth=x"),
        ({"grid": {"depth": ["2"]}}, "There is no parameter 'depth'"),
        ({"algorithm": None}, "Must specify an algorithm"),
        ({"algorithm": "linear.regression"}, "predicts numbers"),
    ]
    for more, text in wrong:
        with pytest.raises(search.BadRequestError, match="(?s).*") as caught:
            msgspec.structs.replace(search.SearchRequest("decision.tree.classifier"), **more).check(
                experiment
            )
        assert text in str(caught.value), more


def test_candidates_are_ordered_by_the_metric():
    search = load("parameter_search")
    found = [{"metrics": {"rmse": 3.0}}, {"metrics": {}}, {"metrics": {"rmse": 1.0}}]

    ordered = search.sort_candidates(found, "rmse")

    assert [each["metrics"].get("rmse") for each in ordered] == [1.0, 3.0, None]
