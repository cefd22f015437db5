"""Pipelines taken to the newest plugins that are here, after a look at what that changes."""

from __future__ import annotations

from localcdap.host.cdap import Cdap
from localcdap.pipeline.library.model import Application, Deployment
from localcdap.tui.screens.library import shelf
from localcdap.tui.screens.library.comparison import ComparisonScreen, Side
from localcdap.tui.screens.library.deploying import is_refused
from localcdap.tui.screens.library.shelf import Pipeline
from localcdap.tui.screens.library.shelf_screen import ShelfScreen


def upgrade(screen: ShelfScreen, item: Pipeline) -> None:
    namespace = screen.studio.namespace

    def work(cdap: Cdap) -> tuple[str, str, int]:
        text = shelf.text_at(cdap, namespace, item, None)
        upgraded, repairs = shelf.upgrade(cdap, namespace, text)
        return text, upgraded, len(repairs)

    screen.call(work, done=lambda found: _offer(screen, item, *found), group="upgrade")


def _offer(screen: ShelfScreen, item: Pipeline, text: str, upgraded: str, count: int) -> None:
    if not count:
        screen.studio.tell(f"{item.name} uses the newest plugins that are here.")
        return
    namespace = screen.studio.namespace

    def answered(is_wanted: bool | None) -> None:
        if is_wanted:
            screen.call(
                lambda cdap: shelf.keep_upgraded(cdap, namespace, item, upgraded),
                done=lambda answer: _kept(screen, item, answer),
            )

    verb = "Deploy" if isinstance(item, Application) else "Save"
    sides = Side(item.name, text), Side("with the newest plugins", upgraded)
    screen.app.push_screen(ComparisonScreen(*sides, verb=verb), answered)


def _kept(screen: ShelfScreen, item: Pipeline, answer: Deployment | None) -> None:
    if not is_refused(screen, answer, f"{item.name} stays as it was"):
        screen.studio.tell(f"{item.name} uses the newest plugins now.")
        screen.reload()
