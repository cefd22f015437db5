"""Pipeline files deployed from the library, and what is told of a deployment that is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from localcdap.host.cdap import Cdap
from localcdap.pipeline.library.application_model import Application, Deployment
from localcdap.pipeline.validation.plugin_templates import PluginTemplate
from localcdap.text import plural
from localcdap.tui import routes as places
from localcdap.tui.screens.home import pipeline_import as beginnings
from localcdap.tui.screens.home.pipeline_import import FailedImportDialog
from localcdap.tui.screens.library import items as shelf
from localcdap.tui.screens.library.comparison import ComparisonSide, PipelineComparisonDialog
from localcdap.tui.screens.library.items import LibraryItem, SavedPipeline
from localcdap.tui.screens.library.list_screen import LibraryListScreen


def deploy_file(screen: LibraryListScreen, path: Path, *, fix: bool = False) -> None:
    """Deploy a file; when it has failures, have its user choose what becomes of it.

    :param fix: whether plugins of other versions are taken where those that it names are not here.
    """
    namespace = screen.studio.namespace
    screen.call(
        lambda cdap: beginnings.deploy(cdap, path, namespace, fix=fix),
        on_result=lambda answer: _deployed(screen, path, answer),
    )


def is_refused(screen: LibraryListScreen, answer: Deployment | None, what: str) -> bool:
    """Tell why a pipeline was not deployed, when it was not.

    :param answer: None where nothing was to be deployed.
    """
    if answer is None or answer.application is not None:
        return False
    failures = "\n".join(f"{each.stage or 'pipeline'}: {each.message}" for each in answer.errors)
    screen.studio.show_notice(
        f"{what}: the pipeline has {plural(len(answer.errors), 'failure')}.", failures, "error"
    )
    return True


def _deployed(screen: LibraryListScreen, path: Path, answer: Deployment) -> None:
    if answer.application is None:
        screen.run_worker(_offer_repair(screen, path, answer))
        return
    changed = "\n".join(str(each) for each in (*answer.repairs, *answer.upgrades))
    screen.studio.show_notice(
        f"{answer.name} is deployed, version {answer.application.number}.", changed
    )
    screen.go_to(f"deployed {answer.name}")


async def _offer_repair(screen: LibraryListScreen, path: Path, answer: Deployment) -> None:
    match await screen.app.push_screen_wait(FailedImportDialog(answer)):
        case "fix":
            deploy_file(screen, path, fix=True)
        case "open":
            screen.studio.navigate(places.PipelineFileTarget(path.absolute()))


async def rename(screen: LibraryListScreen) -> None:
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
        on_result=lambda answer: _renamed(screen, item, name, answer),
    )


async def duplicate(screen: LibraryListScreen) -> None:
    """Make a draft like the highlighted pipeline, or a template like the highlighted one."""
    item, studio = screen.item, screen.studio
    if item is None:
        return
    what = "template" if isinstance(item, PluginTemplate) else "draft"
    title, proposed = f"Name of the new {what}", f"{item.name}_copy"
    name = await studio.ask(title, proposed, check=_problem(screen, None))
    if name is not None:
        namespace = studio.namespace
        screen.call(
            lambda cdap: shelf.duplicate(cdap, namespace, item, name), on_result=screen.go_to
        )


def _renamed(
    screen: LibraryListScreen, item: LibraryItem, name: str, answer: Deployment | None
) -> None:
    if not is_refused(screen, answer, f"{item.name} keeps its name"):
        if isinstance(item, Application):
            screen.go_to(f"deployed {name}")
        else:
            screen.reload()


def _problem(screen: LibraryListScreen, item: LibraryItem | None) -> Callable[[str], str | None]:
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


def upgrade(screen: LibraryListScreen, item: SavedPipeline) -> None:
    namespace = screen.studio.namespace

    def work(cdap: Cdap) -> tuple[str, str, int]:
        text = shelf.export_version(cdap, namespace, item, None)
        upgraded, repairs = shelf.upgrade(cdap, namespace, text)
        return text, upgraded, len(repairs)

    screen.call(work, on_result=lambda found: _offer(screen, item, *found), group="upgrade")


def _offer(
    screen: LibraryListScreen, item: SavedPipeline, text: str, upgraded: str, count: int
) -> None:
    if not count:
        screen.studio.show_notice(f"{item.name} uses the newest plugins that are here.")
        return
    namespace = screen.studio.namespace

    def answered(is_wanted: bool | None) -> None:
        if is_wanted:
            screen.call(
                lambda cdap: shelf.save_upgraded(cdap, namespace, item, upgraded),
                on_result=lambda answer: _kept(screen, item, answer),
            )

    verb = "Deploy" if isinstance(item, Application) else "Save"
    sides = ComparisonSide(item.name, text), ComparisonSide("with the newest plugins", upgraded)
    screen.app.push_screen(PipelineComparisonDialog(*sides, verb=verb), answered)


def _kept(screen: LibraryListScreen, item: SavedPipeline, answer: Deployment | None) -> None:
    if not is_refused(screen, answer, f"{item.name} stays as it was"):
        screen.studio.show_notice(f"{item.name} uses the newest plugins now.")
        screen.reload()
