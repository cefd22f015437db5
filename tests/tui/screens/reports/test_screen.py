"""The reports screen, with keys, on runs of the last days."""

from __future__ import annotations

import itertools

import pytest
from textual.widgets import OptionList, Static

from localcdap.engine.messages.spool import RunStatus
from localcdap.runs.model import RunError, StageCounts, get_now
from localcdap.tui.screens.reports.screen import ReportsScreen
from localcdap.tui.screens.runs.run_view import RunView
from tests.runs.stored_runs import change, write_run
from tests.tui.studio_driver import LARGE, SMALL, Driver

HOUR = 3_600_000
_numbers = itertools.count()


@pytest.fixture
def namespace(cdap):
    """One of its own for each test, which share an instance."""
    name = f"n{next(_numbers)}"
    cdap.namespaces.create(name)
    return name


@pytest.fixture
def runs(cdap, namespace):
    """Two days of two pipelines; one run failed, one is older than a week."""
    now = get_now()

    def write(pipeline: str, hours: float, **more: object):
        starting = now - int(hours * HOUR)
        return write_run(cdap, pipeline, namespace=namespace, starting=starting, **more)

    counts = {"In": StageCounts(0, 12_000, 0), "Out": StageCounts(12_000, 12_000, 0)}
    good = [write("orders", hours, took_ms=90_000, stages=counts) for hours in (30, 20, 3)]
    good[0].stage_times = {"Clean": 4200}
    good[0].stages["In"] = StageCounts(0, 12_000, 0, alerts=1234)
    change(cdap, good[0])
    error = RunError("File 'a.csv' does not exist.", "Check the path.", "In")
    failed = write("stock", 26, status=RunStatus.FAILED, error=error)
    write("stock", 1)
    old = write("ancient", 20 * 24)
    return good, failed, old


def text(driver: Driver, id: str) -> str:
    return str(driver.app.screen.query_one(f"#{id}", Static).render())


def prompts(driver: Driver, id: str) -> list[str]:
    options = driver.app.screen.query_one(f"#{id}", OptionList).options
    return [str(each.prompt) for each in options]


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_what_it_shows(cdap, namespace, runs, open_studio, size):
    async with open_studio(namespace=namespace, size=size) as driver:
        await driver.press("apostrophe")
        assert isinstance(driver.app.screen, ReportsScreen)
        title = text(driver, "reports-title")
        assert "last 7 days" in title
        assert "5 runs" in title
        assert "✗ 1 failed" in title
        assert "success 80 %" in title
        lines = prompts(driver, "reports-pipelines")
        assert [line.split()[1] for line in lines] == ["stock", "orders"]
        assert "1 min 30 s" in lines[1]
        assert ("36 k" in lines[1]) is (size == LARGE)
        assert "something it reads is missing" in prompts(driver, "reports-failures")[0]
        assert "✗" in text(driver, "reports-calendar")
        assert "orders › In" in text(driver, "reports-stages")
        assert "1,234" in text(driver, "reports-stages")
        assert "orders › Clean" in text(driver, "reports-stages")
        assert "4.2 s" in text(driver, "reports-stages")


async def test_runs_are_opened_and_other_days_shown(cdap, namespace, runs, open_studio):
    good, failed, _ = runs
    async with open_studio(namespace=namespace) as driver:
        await driver.press("apostrophe", "down", "enter")
        assert driver.app.current_mode == "runs"
        view = driver.app.screen.query_one(RunView)
        await driver.until(lambda: view.run is not None and view.run.run == good[2].run)
        await driver.press("apostrophe", "tab", "o")
        await driver.until(lambda: view.run is not None and view.run.run == failed.run)
        assert "Plugin: something it reads is missing" in text(driver, "run-error")
        await driver.press("apostrophe", "d", "down", "enter")
        assert "last 30 days" in text(driver, "reports-title")
        assert len(prompts(driver, "reports-pipelines")) == 3
        later = write_run(cdap, "later", namespace=namespace)
        await driver.until(lambda: "later" in prompts(driver, "reports-pipelines")[0])
        await driver.press("shift+tab", "p")
        assert driver.app.current_mode == "runs"
        assert later.pipeline


@pytest.mark.slow
@pytest.mark.parametrize(
    ("downs", "name", "start"),
    [(0, "out.html", "<!doctype html>"), (1, "out.md", "# Runs of"), (2, "out.csv", "namespace,")],
)
async def test_exports(cdap, namespace, runs, open_studio, tmp_path, downs, name, start):
    path = tmp_path / name
    async with open_studio(namespace=namespace) as driver:
        await driver.press("apostrophe", "x", *["down"] * downs, "enter")
        await driver.until(lambda: driver.app.focused is not None)
        driver.app.focused.value = ""
        await driver.type(str(path))
        await driver.press("enter")
        await driver.until(path.exists)
        await driver.settled()

    content = path.read_text()
    assert content.startswith(start)
    assert "orders" in content


@pytest.mark.slow
async def test_without_runs(namespace, open_studio):
    async with open_studio(namespace=namespace, size=SMALL) as driver:
        await driver.press("apostrophe")
        assert "No run began in this time" in text(driver, "reports-empty")
        await driver.press("x")
        assert isinstance(driver.app.screen, ReportsScreen)
        assert driver.app.screen.explain_disabled("export") == "no run began in this time"
