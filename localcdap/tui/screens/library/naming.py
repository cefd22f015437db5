"""Other names for what is in the library, and copies of it, which need one."""

from __future__ import annotations

from collections.abc import Callable

from localcdap.pipeline.library.model import Application, Deployment
from localcdap.pipeline.validation.plugin_templates import PluginTemplate
from localcdap.tui.screens.library import shelf
from localcdap.tui.screens.library.deploying import is_refused
from localcdap.tui.screens.library.shelf import Item
from localcdap.tui.screens.library.shelf_screen import ShelfScreen
from localcdap.tui.words import plural


async def rename(screen: ShelfScreen) -> None:
    """Ask for another name of the highlighted item."""
    opened = screen.opened
    if opened is None:
        return
    item, studio = opened.item, screen.studio
    name = await studio.ask(f"New name of {item.name}", item.name, check=_problem(screen, item))
    if name is None or name == item.name:
        return
    older = len(opened.versions) - 1
    if isinstance(item, Application) and older:
        lost = f"Its {plural(older, 'earlier version')} cannot be taken along."
        if not await studio.confirm(f"Rename {item.name} to {name}?", lost, "Rename"):
            return
    namespace = studio.namespace
    screen.call(
        lambda cdap: shelf.rename(cdap, namespace, item, name),
        done=lambda answer: _renamed(screen, item, name, answer),
    )


async def duplicate(screen: ShelfScreen) -> None:
    """Make a draft like the highlighted pipeline, or a template like the highlighted one."""
    item, studio = screen.item, screen.studio
    if item is None:
        return
    what = "template" if isinstance(item, PluginTemplate) else "draft"
    title, proposed = f"Name of the new {what}", f"{item.name}_copy"
    name = await studio.ask(title, proposed, check=_problem(screen, None))
    if name is not None:
        namespace = studio.namespace
        screen.call(lambda cdap: shelf.duplicate(cdap, namespace, item, name), done=screen.go_to)


def _renamed(screen: ShelfScreen, item: Item, name: str, answer: Deployment | None) -> None:
    if not is_refused(screen, answer, f"{item.name} keeps its name"):
        if isinstance(item, Application):
            screen.go_to(f"deployed {name}")
        else:
            screen.reload()


def _problem(screen: ShelfScreen, item: Item | None) -> Callable[[str], str | None]:
    """What says why a name cannot be taken.

    :param item: what gets it; None for a new one.
    """
    taken = {
        each.name
        for each in screen.items.values()
        if each is not item and (item is None or type(each) is type(item))
    }

    def problem(name: str) -> str | None:
        if not name.strip():
            return "It needs a name."
        return f"There is one called {name} already." if name in taken else None

    return problem
