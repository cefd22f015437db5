"""The inspector alone on a screen, on real services and the shipped plugins."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.screen import Screen

from localcdap.home import Home
from localcdap.host.cdap import Cdap
from localcdap.pipeline.editing.edited_document import EditedDocument
from localcdap.tui.app import StudioApp
from localcdap.tui.area_screen import StudioFooter
from localcdap.tui.document.editor import Editor
from localcdap.tui.document.local_document import LocalDocument
from localcdap.tui.document.source import DocumentSource
from localcdap.tui.inspector.inspector import Inspector
from localcdap.tui.inspector.properties.form import Form
from localcdap.tui.pipeline.problem_list import ProblemList
from localcdap.tui.routes import DocumentTarget
from localcdap.tui.service_calls import HostConnection
from tests.tui.studio_driver import Driver


class BenchScreen(Screen[None]):
    """An editor, its inspector and its problems."""

    CSS = "BenchScreen ProblemList { width: 40%; } "

    def __init__(self, document: Any, stage: str | None) -> None:
        super().__init__()
        sheet, _ = EditedDocument.read(document)
        place = DocumentTarget("pipeline", sheet.to_text())
        self.editor = Editor(DocumentSource(place, "pipeline"), LocalDocument(sheet), "default")
        self.editor.selected = stage

    def compose(self) -> ComposeResult:
        yield self.editor
        with Horizontal():
            yield Inspector(self.editor)
            yield ProblemList(self.editor)
        yield StudioFooter()

    def on_problem_list_chosen(self, event: ProblemList.Chosen) -> None:
        if event.stage is not None:
            self.query_one(Inspector).show(event.stage, event.property)


class Workshop(StudioApp):
    """The studio without its areas, which this needs none of."""

    CSS_PATH = str(Path(inspect.getfile(StudioApp)).with_name("app.tcss"))
    MODES = {"home": Screen}


class Bench:
    """What tests ask of an inspector."""

    def __init__(self, driver: Driver, screen: BenchScreen) -> None:
        self.driver = driver
        self.app = driver.app
        self.editor = screen.editor
        self.inspector = screen.query_one(Inspector)
        self.problems = screen.query_one(ProblemList)

    @property
    def form(self) -> Form:
        return self.inspector.form

    async def settled(self) -> None:
        """Wait until all is typed, sent, validated and drawn."""
        self.inspector.flush()
        await self.driver.settled()
        await self.driver.validated(self.editor)
        await self.driver.until(lambda: self.form.is_ready)
        await self.driver.settled()

    async def type_into(self, name: str, text: str) -> None:
        """Type at the end of a field."""
        self.form.go_to(name)
        await self.driver.pilot.press("end")
        await self.driver.type(text)
        await self.settled()

    def picture(self, name: str) -> None:
        """Save what is on the screen, to be looked at."""
        Path(f"/tmp/{name}.svg").write_text(self.app.export_screenshot(), encoding="utf-8")


@contextlib.asynccontextmanager
async def inspecting(
    cdap: Cdap,
    home: Home,
    document: Any,
    stage: str | None = None,
    size: tuple[int, int] = (120, 40),
) -> AsyncIterator[Bench]:
    """An inspector on a document, when everything of it is known."""
    connection = HostConnection(home, lent=cdap)
    app = Workshop(connection)
    async with app.run_test(size=size) as pilot:
        driver = Driver(app, pilot)
        await driver.until(lambda: app.connected)
        screen = BenchScreen(document, stage)
        await app.push_screen(screen)
        bench = Bench(driver, screen)
        await bench.settled()
        yield bench
    connection.close()


def pipeline(stages: str, **properties: dict[str, Any]) -> dict[str, Any]:
    """A pipeline whose stages are connected in a row: ``File:batchsource Projection:transform``."""
    listed = [each.split(":") for each in stages.split()]
    names = [name for name, _ in listed]
    return {
        "name": "pipeline",
        "artifact": {"name": "cdap-data-pipeline", "version": "6.0.0", "scope": "SYSTEM"},
        "config": {
            "stages": [
                {
                    "name": name,
                    "plugin": {"name": name, "type": type, "properties": properties.get(name, {})},
                }
                for name, type in listed
            ],
            "connections": [{"from": a, "to": b} for a, b in zip(names, names[1:], strict=False)],
        },
    }
