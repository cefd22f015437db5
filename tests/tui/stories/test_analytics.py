"""The stories of two sets of real data: from a file to models, and to predictions in a pipeline."""

from __future__ import annotations

import pytest
from textual.widgets import Input

from localcdap.datasets.sql import SqlRequest
from localcdap.runs.model import RunRequest
from localcdap.tui.dialogs.chooser import Chooser
from localcdap.tui.routes import ExperimentTarget
from localcdap.tui.screens.analytics.form import FormDialog
from localcdap.tui.screens.analytics.screen import AnalyticsScreen
from tests.tui.screens.analytics.datasets import write_diabetes, write_tumours
from tests.tui.stories.newcomer import Newcomer
from tests.tui.studio_driver import LARGE, SMALL

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1200)]
LONG_S = 240
"""The longest wait for a job of Spark, in seconds."""


async def choose(newcomer: Newcomer, letters: str) -> None:
    """Choose what some letters find, as soon as there is something to choose from."""
    await newcomer.driver.until(lambda: isinstance(newcomer.driver.app.screen, Chooser))
    await newcomer.type(letters)
    await newcomer.press("enter")


async def accept(newcomer: Newcomer) -> None:
    """Accept a form as it is."""
    await newcomer.driver.until(lambda: isinstance(newcomer.driver.app.screen, FormDialog))
    await newcomer.press("ctrl+r")


async def create_experiment(newcomer: Newcomer, outcome: str) -> None:
    """Make an experiment of the data that were opened, and wait for its split."""
    await choose(newcomer, outcome)
    await accept(newcomer)
    await newcomer.sees("overlap of training and test data", timeout_s=LONG_S)


async def train(newcomer: Newcomer, algorithm: str, *seen: str) -> None:
    """Train a model with the defaults, and wait for its end."""
    await newcomer.press("t")
    await choose(newcomer, algorithm)
    await accept(newcomer)
    await newcomer.sees("trained now in", *seen, timeout_s=LONG_S)


async def test_from_tumours_to_a_diagnosis(open_studio, cdap, tmp_path, engine_directory):
    file = write_tumours(tmp_path / "tumours.csv")
    target = ExperimentTarget(path=str(file))
    card = tmp_path / "card.md"
    async with open_studio(size=LARGE, target=target) as driver:
        newcomer = Newcomer(driver)
        await create_experiment(newcomer, "diagnosis")
        await newcomer.sees("569 records read", "outcome, 569 values, 2 different")
        await train(newcomer, "logistic", "confusion matrix", "area under ROC", "threshold of")
        await newcomer.press("S")
        await choose(newcomer, "decision")
        await driver.until(lambda: isinstance(driver.app.screen, FormDialog))
        await newcomer.type("2 5")
        await newcomer.press("ctrl+r")
        await newcomer.sees("2 combinations on 3 folds", timeout_s=LONG_S)
    async with open_studio(size=SMALL) as driver:  # all of it is there in another studio
        newcomer = Newcomer(driver)
        await newcomer.press("quotation_mark", "enter", "down")
        await newcomer.sees("decision.tree.classifier", "2 combinations on 3 folds")
        await newcomer.press("t")
        await accept(newcomer)
        await newcomer.sees("decision tree classifier 1", "trained now in", timeout_s=LONG_S)
        screen = driver.app.screen
        assert isinstance(screen, AnalyticsScreen)
        await newcomer.press("c", "enter")
        await newcomer.sees("A decision tree", "B logistic", "algorithm")
        await newcomer.press("escape", "equals_sign", "d")
        await driver.until(lambda: screen.model and screen.model.model.status == "Deployed")
        await newcomer.press("x")
        await newcomer.is_in_field()
        driver.app.focused.value = ""
        await newcomer.type(str(card))
        await newcomer.press("enter")
        await driver.until(card.exists)
        await newcomer.press("p")
        editor = await driver.editor()
        document = editor.to_text()
        assert editor.is_valid
    assert "| f1 |" in card.read_text()
    run_pipeline(cdap, document)
    rows = query(cdap, "SELECT diagnosis, prediction FROM decision_tree_classifier_1_predictions")
    assert len(rows) == 569
    assert sum(each["diagnosis"] == each["prediction"] for each in rows) / len(rows) > 0.9


async def test_from_patients_to_a_number(open_studio, tmp_path, engine_directory):
    file = write_diabetes(tmp_path / "diabetes.csv")
    target = ExperimentTarget(path=str(file))
    async with open_studio(size=LARGE, target=target) as driver:
        newcomer = Newcomer(driver)
        await create_experiment(newcomer, "progression")
        await train(newcomer, "linear", "rmse", "residuals: outcome less prediction")
        await newcomer.press("a")
        await driver.until(lambda: isinstance(driver.app.screen, FormDialog))
        form = driver.app.screen
        assert isinstance(form, FormDialog)
        field = next(each for each in form.query(Input) if each.name == "regularizationParam")
        assert field.placeholder == "0.0"
        field.value = "5"
        await newcomer.press("ctrl+r")
        await newcomer.sees("linear regression 2", "regularizationParam 5", timeout_s=LONG_S)
        await newcomer.sees("trained now in", timeout_s=LONG_S)
        await newcomer.press("m")
        await choose(newcomer, "r2")
        await newcomer.sees("models, highest r2 first")


def run_pipeline(cdap, document: str) -> None:
    run = cdap.runs.start(RunRequest(document))
    while not run.status.is_end:
        run = cdap.runs.wait(run.run, run.version, 5)
    assert (run.status.value, run.error) == ("COMPLETED", None)


def query(cdap, text: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = cdap.sql.query(SqlRequest(text)).to_table().to_pylist()
    return found
