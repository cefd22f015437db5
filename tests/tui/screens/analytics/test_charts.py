"""Charts, thresholds, overlaps and cards of models, without a studio."""

from __future__ import annotations

import pytest

from localcdap.decoders import convert
from localcdap.tui.screens.analytics.calls import (
    Algorithm,
    ColumnStats,
    Experiment,
    Model,
    Report,
    Split,
)
from localcdap.tui.screens.analytics.charts import (
    draw_bar,
    draw_confusion,
    draw_curve,
    draw_importance,
    draw_levels,
    draw_residuals,
    format_metric,
)
from localcdap.tui.screens.analytics.leaderboard import draw_split, order_models
from localcdap.tui.screens.analytics.model_text import (
    ModelView,
    count_at,
    draw_comparison,
    draw_model,
    find_best,
    list_parameters,
    write_card,
)
from localcdap.tui.screens.analytics.sources import build_pipeline

SCORES = [[0, 0] for _ in range(101)]
SCORES[10], SCORES[40], SCORES[60], SCORES[90] = [50, 1], [8, 4], [2, 10], [0, 25]
REPORT = Report(
    labels=["benign", "malignant"],
    confusion=[[58, 2], [5, 35]],
    scores=SCORES,
    roc=[(0, 0), (0, 0.6), (0.03, 0.9), (1, 1)],
    area_under_roc=0.96,
    importance={"area": 0.75, "colour": 0.25},
    warnings=["Imbalance: few records are of class 'malignant'."],
)
TREE = convert(
    {
        "id": "decision.tree.classifier",
        "label": "Decision Tree Classifier",
        "type": "CLASSIFICATION",
        "hyperparameters": [
            {"type": "int", "name": "maxDepth", "label": "Max Depth", "defaultVal": "5"},
            {"type": "int", "name": "maxBins", "label": "Max Bins", "defaultVal": "32"},
        ],
    },
    Algorithm,
)
EXPERIMENT = Experiment(
    name="tumours", srcpath="/data/tumours.csv", outcome="diagnosis", outcome_type="string"
)


def make_model(name: str = "tree", depth: str = "8", f1: float | None = 0.93) -> Model:
    return Model(
        id=name,
        name=name,
        algorithm=TREE.id,
        split="s",
        hyperparameters={"maxDepth": depth, "maxBins": "32"},
        status="Trained",
        outcome="diagnosis",
        features=["area", "colour"],
        categorical_features=["colour"],
        evaluation_metrics={"f1": f1, "precision": 0.9, "rmse": None},
        skipped_rows={"test": 3},
        folder="/models/tree",
        trainingtime=0,
        trainedtime=4000,
    )


def make_view(**more: object) -> ModelView:
    return ModelView(make_model(**more), REPORT, None, TREE, 100)


def make_column(
    name: str, counts: list[tuple[str, int, int]], divergence: float = 0.0
) -> ColumnStats:
    train, test = sum(each[1] for each in counts), sum(each[2] for each in counts)

    def parts(one: int, other: int) -> dict[str, int]:
        return {"train": one, "test": other, "total": one + other}

    histo = [{"bin": label, "count": parts(one, other)} for label, one, other in counts]
    return convert(
        {
            "field": name,
            "numTotal": parts(train, test),
            "numNull": parts(0, 0),
            "unique": {
                "train": sum(each[1] > 0 for each in counts),
                "test": sum(each[2] > 0 for each in counts),
                "total": len(counts),
            },
            "histo": histo,
            "divergence": divergence,
        },
        ColumnStats,
    )


def make_split() -> Split:
    return Split(
        id="s",
        type="random",
        params={"testPercentage": "20"},
        directives=["drop :id"],
        schema={"fields": [{"name": "area", "type": ["double", "null"]}]},
        status="Complete",
        stats=[
            make_column("colour", [("red", 30, 0), ("green", 10, 8), ("grey", 0, 2)], 0.4),
            make_column("diagnosis", [("benign", 20, 5), ("malignant", 20, 5)]),
        ],
        rows={"read": 60, "prepared": 50, "train": 40, "test": 10},
        start=0,
        end=1000,
    )


def test_bars():
    assert draw_bar(0, 4) == "    "
    assert draw_bar(1, 4) == "████"
    assert draw_bar(0.5, 3) == "█▌ "
    assert draw_bar(7, 2) == "██"
    assert draw_levels([0, 1, 9]) == " ▁█"
    assert draw_levels([]) == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0.12345, "0.123"), (-3.0, "-3.000"), (54321.0, "5.432e+04"), (1e9, "1.000e+09")],
)
def test_metrics(value, text):
    assert format_metric(value) == text


def test_a_confusion_matrix_has_recall_and_precision():
    lines = draw_confusion(REPORT.labels, REPORT.confusion).plain.splitlines()

    assert lines[1].split() == ["is", "benign", "malignant", "recall"]
    assert lines[2].split() == ["benign", "58", "2", "96.7%"]
    assert lines[3].split() == ["malignant", "5", "35", "87.5%"]
    assert lines[4].split() == ["precision", "92.1%", "94.6%"]
    assert len({len(line) for line in lines[1:4]}) == 1
    many = [f"class {n}" for n in range(40)]
    drawn = draw_confusion(many, [[0] * 40 for _ in many]).plain
    assert "the first 12 of 40 classes" in drawn


def test_a_curve_and_residuals():
    drawn = draw_curve(REPORT.roc, 20, 5, 0.96).plain
    assert "area 0.960" in drawn
    assert all(len(line) <= 60 for line in drawn.splitlines())
    assert any("\u2800" < character <= "\u28ff" for character in drawn)
    lines = draw_residuals([(-2.0, -1.0, 3), (-1.0, 0.5, 12), (0.5, 2.0, 4)], 60).plain.splitlines()
    assert [" 0 " in line for line in lines] == [False, True, False]
    assert lines[1].rstrip().endswith("12")


def test_importance_is_ordered():
    lines = draw_importance({"a": 0.2, "b": 0.8}, 60).plain.splitlines()

    assert [line.split()[0] for line in lines] == ["b", "a"]
    assert lines[0].endswith("80.0%")


def test_a_threshold_changes_precision_and_recall():
    low, middle, high = (count_at(SCORES, step) for step in (0, 50, 100))

    assert low.recall == 1
    assert low.precision == pytest.approx(0.4)
    assert (middle.true_positives, middle.false_positives) == (35, 2)
    assert (high.recall, high.precision, high.f1) == (0, None, 0)
    assert sum(map(sum, middle.matrix)) == 100
    best = find_best(SCORES)
    assert 40 < best <= 60
    assert count_at(SCORES, best).f1 == max(count_at(SCORES, n).f1 or 0 for n in range(101))


def test_the_overlap_of_a_column():
    colour, diagnosis = make_split().stats

    assert colour.overlap == pytest.approx(0.25)
    assert colour.unknown == 1
    assert diagnosis.overlap == 1
    assert make_column("none", []).overlap is None
    drawn = draw_split(make_split(), "diagnosis", None, 80).plain
    assert "60 records read · 50 after the recipe · 40 to train, 10 to test" in drawn
    assert "25%" in drawn
    assert "1 value only in test" in drawn
    assert drawn.index("outcome, 50 values") < drawn.index("30")


def test_the_details_of_a_model_show_what_matters():
    drawn = draw_model(make_view(), 90, 50).plain

    for text in (
        "Decision Tree Classifier",
        "⚠ Imbalance",
        "f1 0.930",
        "area under ROC 0.960",
        "threshold of the score of 'malignant'",
        "3 of 100 test records were left out",
        "maxBins   32  default",
        "maxDepth  8",
        "colour (category)",
    ):
        assert text in drawn
    assert ("maxDepth", "8", False) in list_parameters({"maxDepth": "8"}, TREE)
    assert list_parameters({"old": "1"}, None) == [("old", "1", False)]


def test_models_are_ordered_by_any_metric():
    models = [make_model("a", f1=0.5), make_model("b", f1=None), make_model("c", f1=0.9)]

    assert [each.name for each in order_models(models, "f1")] == ["c", "a", "b"]
    for number, each in enumerate(models):
        each.evaluation_metrics["rmse"] = float(number)
    assert [each.name for each in order_models(models, "rmse")] == ["a", "b", "c"]


def test_two_models_are_compared():
    drawn = draw_comparison(make_view(), make_view(name="deep", depth="9", f1=0.8)).plain

    assert "A tree" in drawn
    assert "B deep" in drawn
    assert [line.split() for line in drawn.splitlines() if line.startswith("maxDepth")] == [
        ["maxDepth", "8", "9"]
    ]
    assert "maxBins" not in drawn


def test_a_card_is_markdown():
    view = make_view(name="tree | one")

    card = write_card(EXPERIMENT, make_split(), view)

    assert card.startswith("# tree \\| one\n")
    assert "| f1 | 0.930 |" in card
    assert "3 test records were left out" in card
    assert "- Imbalance: few records" in card
    assert "| benign | 58 | 2 |" in card
    assert "- records: 40 to train, 10 to test" in card
    assert "| maxBins | 32 | default |" in card
    assert "drop :id" in card
    assert "split:" not in write_card(EXPERIMENT, None, view)


def test_the_pipeline_of_a_model_has_its_recipe():
    experiment = Experiment(
        name="tumours",
        srcpath="table:tumours",
        outcome="diagnosis",
        outcome_type="string",
        directives=["drop :id"],
    )

    document = build_pipeline(experiment, make_split(), make_model(), TREE)

    stages = {each["name"]: each["plugin"] for each in document["config"]["stages"]}
    assert list(stages) == ["Source", "Prepare", "Predict", "Sink"]
    assert stages["Source"]["properties"]["name"] == "tumours"
    assert stages["Predict"]["properties"]["modelId"] == "tree"
    assert '"prediction", "type": ["string", "null"]' in stages["Sink"]["properties"]["schema"]
