"""``python -m tests.tui.stories.screenshots``: take the pictures of the README from the sample pipeline."""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from pathlib import Path

from localcdap.home import Home
from localcdap.host import demo
from localcdap.host.cdap import Cdap
from localcdap.runs.model import RunRequest
from localcdap.tui.inspector.inspector import Inspector
from localcdap.tui.routes import PipelineFileTarget, RunTarget
from tests.tui.studio_driver import Driver, studio

SIZE = (156, 38)
FOLDER = Path(__file__).resolve().parents[3] / "docs"
SHOWN_HOME = "/home/ada/cdap/projects"
"""What stands in the pictures for the temporary folder they are taken in, as long as that one below /tmp."""


async def _take(cdap: Cdap, home: Home, run: str) -> None:
    file = demo.install_demo(home)
    text = file.read_text()
    file.write_text(text.replace('"csv"', '"cvs"', 1))
    async with studio(cdap, home, size=SIZE, target=PipelineFileTarget(file)) as driver:
        editor = await driver.editor()
        editor.select("Customers")
        await driver.until(lambda: driver.app.screen.query_one(Inspector).form.is_ready)
        await _keep(driver, "studio")
    file.write_text(text)
    async with studio(cdap, home, size=SIZE, target=RunTarget(run)) as driver:
        await driver.until(lambda: driver.app.current_mode == "runs")
        await asyncio.sleep(1)
        await _keep(driver, "runs")
    async with studio(cdap, home, size=SIZE) as driver:
        await driver.press("apostrophe")
        await _keep(driver, "reports")


async def _keep(driver: Driver, name: str) -> None:
    await driver.settled()
    await asyncio.sleep(0.5)
    await driver.settled()
    shown = re.sub(r"terminal-\d+", "terminal", driver.app.export_screenshot())
    shown = shown.replace(str(driver.app.connection.home.path), SHOWN_HOME)
    (FOLDER / f"{name}.svg").write_text(shown, encoding="utf-8")


def _run(cdap: Cdap, file: Path, name: str, arguments: dict[str, str]) -> str:
    """Run the sample pipeline under a name, and return the id of the run when it has ended."""
    document = json.loads(file.read_text()) | {"name": name}
    run = cdap.runs.start(RunRequest(document, arguments=arguments))
    while not run.status.is_end:
        run = cdap.runs.wait(run.run, run.version, 2)
    return run.run


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="localcdap-") as folder:
        home = Home(Path(folder))
        cdap = Cdap(home)
        try:
            file = demo.install_demo(home)
            good = demo.get_arguments(file)
            _run(cdap, file, "nightly", {"demo.folder": "/data/nightly"})  # there is no such folder
            runs = [_run(cdap, file, demo.NAME, good) for _ in range(3)]
            asyncio.run(_take(cdap, home, runs[-1]))
        finally:
            cdap.close()


if __name__ == "__main__":
    main()
