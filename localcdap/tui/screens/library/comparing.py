"""What the highlighted version of a pipeline is compared with: another pipeline or version, or a file."""

from __future__ import annotations

from localcdap.host.cdap import Cdap
from localcdap.pipeline.validation.plugin_templates import PluginTemplate
from localcdap.tui.manners.choosing import Choice
from localcdap.tui.screens.library import shelf
from localcdap.tui.screens.library.comparison import ComparisonScreen, Side
from localcdap.tui.screens.library.shelf import Pipeline, Version
from localcdap.tui.screens.library.shelf_screen import ShelfScreen
from localcdap.tui.screens.welcome import beginnings
from localcdap.tui.words import ago

_Which = tuple[Pipeline, Version | None]


async def compare_with_another(screen: ShelfScreen) -> None:
    """Have another version or pipeline chosen, and show what is different in the highlighted one."""
    item, version = screen.pipeline, screen.version
    if item is None or screen.opened is None:
        return
    others = [each for each in screen.opened.versions if each != version]
    choices: list[Choice[_Which]] = [
        Choice(shelf.title_of(item, each), (item, each), ago(each.when), each.told)
        for each in others
    ]
    choices += [
        Choice(shelf.title_of(other, None), (other, None))
        for other in screen.items.values()
        if other != item and not isinstance(other, PluginTemplate)
    ]
    title = f"Compare {shelf.title_of(item, version)} with"
    chosen = await screen.studio.choose(choices, title=title)
    if chosen is None:
        return
    namespace = screen.studio.namespace
    screen.call(
        lambda cdap: (_side(cdap, namespace, *chosen), _side(cdap, namespace, item, version)),
        done=lambda sides: screen.app.push_screen(ComparisonScreen(*sides)),
    )


async def compare_with_file(screen: ShelfScreen) -> None:
    """Have a file chosen, and show what is different in the highlighted version."""
    item, version = screen.pipeline, screen.version
    path = await screen.studio.pick_file("Compare a file with it")
    if path is None or item is None:
        return
    namespace = screen.studio.namespace
    screen.call(
        lambda cdap: (
            Side(path.name, beginnings.read(path)),
            _side(cdap, namespace, item, version),
        ),
        done=lambda sides: screen.app.push_screen(ComparisonScreen(*sides)),
    )


def _side(cdap: Cdap, namespace: str, item: Pipeline, version: Version | None) -> Side:
    text = shelf.text_at(cdap, namespace, item, version)
    return Side(shelf.title_of(item, version), text)
