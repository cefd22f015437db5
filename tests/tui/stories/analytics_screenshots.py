"""``python -m tests.tui.stories.analytics_screenshots``: take the pictures of ``docs/analytics.md``."""

from __future__ import annotations

import asyncio
import re
import tempfile
from pathlib import Path

from textual.widgets import OptionList

from localcdap.home import Home
from localcdap.host.cdap import Cdap
from localcdap.tui.dialogs.chooser import Chooser
from localcdap.tui.routes import ExperimentTarget
from localcdap.tui.screens.analytics.form import FormDialog
from tests.tui.screens.analytics.datasets import write_diabetes, write_tumours
from tests.tui.stories.newcomer import Newcomer
from tests.tui.stories.screenshots import FOLDER, SHOWN_HOME
from tests.tui.studio_driver import studio

SIZE = (150, 42)
PATIENCE_S = 900


async def _keep(newcomer: Newcomer, folder: Path, name: str) -> None:
    await newcomer.driver.settled()
    shown = re.sub(r"terminal-\d+", "terminal", newcomer.driver.app.export_screenshot())
    shown = shown.replace(str(folder), SHOWN_HOME)
    (FOLDER / f"analytics-{name}.svg").write_text(shown, encoding="utf-8")


async def _choose(newcomer: Newcomer, letters: str) -> None:
    await newcomer.driver.until(lambda: isinstance(newcomer.driver.app.screen, Chooser))
    await newcomer.type(letters)
    await newcomer.press("enter")


async def _accept(newcomer: Newcomer, typed: str = "") -> None:
    await newcomer.driver.until(lambda: isinstance(newcomer.driver.app.screen, FormDialog))
    if typed:
        await newcomer.type(typed)
    await newcomer.press("ctrl+r")


async def _create(newcomer: Newcomer, outcome: str) -> None:
    await _choose(newcomer, outcome)
    await _accept(newcomer)
    await newcomer.sees("overlap of training", timeout_s=PATIENCE_S)
    newcomer.driver.app.screen.query_one("#analytics-entries").query_one(OptionList).focus()


async def _train(newcomer: Newcomer, algorithm: str) -> None:
    await newcomer.press("t")
    await _choose(newcomer, algorithm)
    await _accept(newcomer)
    await newcomer.sees("trained now in", timeout_s=PATIENCE_S)


async def _tell_tumours(cdap: Cdap, home: Home, folder: Path) -> None:
    target = ExperimentTarget(path=str(write_tumours(folder / "tumours.csv")))
    async with studio(cdap, home, size=SIZE, target=target) as driver:
        newcomer = Newcomer(driver)
        await _create(newcomer, "diagnosis")
        await _keep(newcomer, folder, "split")
        await _train(newcomer, "logistic")
        await newcomer.press("equals_sign")
        await _keep(newcomer, folder, "model")
        await newcomer.press("S")
        await _choose(newcomer, "decision")
        await _accept(newcomer, "2 5 8")
        await newcomer.sees("combinations on 3 folds", timeout_s=PATIENCE_S)
        await newcomer.press("t")
        await _accept(newcomer)
        await newcomer.sees("decision tree classifier 1 D", timeout_s=PATIENCE_S)
        await newcomer.sees("trained now in", timeout_s=PATIENCE_S)
        await newcomer.press("c", "enter")
        await newcomer.sees("parameters that differ")
        await _keep(newcomer, folder, "compare")


async def _tell_diabetes(cdap: Cdap, home: Home, folder: Path) -> None:
    target = ExperimentTarget(path=str(write_diabetes(folder / "diabetes.csv")))
    async with studio(cdap, home, size=SIZE, target=target) as driver:
        newcomer = Newcomer(driver)
        await _create(newcomer, "progression")
        await _train(newcomer, "linear")
        await newcomer.sees("residuals")
        await _keep(newcomer, folder, "residuals")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="localcdap-") as folder:
        home = Home(Path(folder) / "home")
        cdap = Cdap(home)
        try:
            asyncio.run(_tell_tumours(cdap, home, Path(folder)))
            asyncio.run(_tell_diabetes(cdap, home, Path(folder)))
        finally:
            cdap.close()


if __name__ == "__main__":
    main()
