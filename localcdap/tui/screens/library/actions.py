"""Actions on the items of the library that ask before they change something: rename, duplicate, upgrade."""

from __future__ import annotations

from collections.abc import Callable

from localcdap.host.cdap import Cdap
from localcdap.pipeline.library.application_model import Application, Deployment
from localcdap.pipeline.validation.plugins import PluginTemplate
from localcdap.text import plural
from localcdap.tui.screens.library import items as library
from localcdap.tui.screens.library.comparison import ComparisonSide, PipelineComparisonDialog
from localcdap.tui.screens.library.items import LibraryItem, SavedPipeline
from localcdap.tui.screens.library.list_screen import LibraryListScreen


async def rename(screen: LibraryListScreen) -> None:
    """Ask for a new name of the highlighted item, and rename the item."""
    details = screen.details
    if details is None:
        return
    item, studio = details.item, screen.studio
    check = _build_name_check(screen, item)
    name = await studio.ask(f"New name of {item.name}", item.name, check=check)
    if name is None or name == item.name:
        return
    older = len(details.versions) - 1
    if isinstance(item, Application) and older:
        detail = f"{plural(older, 'earlier version')} will be deleted."
        if not await studio.confirm(f"Rename {item.name} to {name}?", detail, "Rename"):
            return
    namespace = studio.namespace

    def show_result(deployment: Deployment | None) -> None:
        if _report_failures(screen, deployment, f"{item.name} was not renamed"):
            return
        if isinstance(item, Application):
            screen.go_to(f"deployed {name}")
        else:
            screen.reload()

    screen.call(
        lambda cdap: library.rename_item(cdap, namespace, item, name), on_result=show_result
    )


async def duplicate(screen: LibraryListScreen) -> None:
    """Save the highlighted pipeline as a new draft, or the highlighted template as a new one."""
    item, studio = screen.item, screen.studio
    if item is None:
        return
    kind = "template" if isinstance(item, PluginTemplate) else "draft"
    check = _build_name_check(screen, None)
    name = await studio.ask(f"Name of the new {kind}", f"{item.name}_copy", check=check)
    if name is not None:
        namespace = studio.namespace
        screen.call(
            lambda cdap: library.duplicate_item(cdap, namespace, item, name),
            on_result=screen.go_to,
        )


def upgrade(screen: LibraryListScreen, item: SavedPipeline) -> None:
    """Show what the newest plugins would change in a pipeline, and save it when the user agrees."""
    namespace = screen.studio.namespace

    def upgrade_text(cdap: Cdap) -> tuple[str, str, int]:
        text = library.export_version(cdap, namespace, item, None)
        upgraded, repairs = library.upgrade_pipeline(cdap, namespace, text)
        return text, upgraded, len(repairs)

    screen.call(
        upgrade_text,
        on_result=lambda result: _confirm_upgrade(screen, item, *result),
        group="upgrade",
    )


def _confirm_upgrade(
    screen: LibraryListScreen, item: SavedPipeline, text: str, upgraded: str, count: int
) -> None:
    if not count:
        screen.studio.show_notice(f"{item.name} uses the newest plugins already.")
        return
    namespace = screen.studio.namespace

    def save(is_wanted: bool | None) -> None:
        if is_wanted:
            screen.call(
                lambda cdap: library.save_upgraded(cdap, namespace, item, upgraded),
                on_result=show_result,
            )

    def show_result(deployment: Deployment | None) -> None:
        if not _report_failures(screen, deployment, f"{item.name} was not upgraded"):
            screen.studio.show_notice(f"{item.name} now uses the newest plugins.")
            screen.reload()

    verb = "Deploy" if isinstance(item, Application) else "Save"
    sides = ComparisonSide(item.name, text), ComparisonSide("with the newest plugins", upgraded)
    screen.app.push_screen(PipelineComparisonDialog(*sides, verb=verb), save)


def _report_failures(screen: LibraryListScreen, deployment: Deployment | None, what: str) -> bool:
    """Show the failures of a deployment; return whether it was refused.

    :param deployment: None for a draft or template, which is saved with failures too.
    """
    if deployment is None or deployment.application is not None:
        return False
    errors = deployment.errors
    failures = "\n".join(f"{each.stage or 'pipeline'}: {each.message}" for each in errors)
    screen.studio.show_notice(
        f"{what}: the pipeline has {plural(len(errors), 'failure')}.", failures, "error"
    )
    return True


def _build_name_check(
    screen: LibraryListScreen, item: LibraryItem | None
) -> Callable[[str], str | None]:
    """Return a function that says why a name cannot be used.

    :param item: the item to be renamed; None for a new item.
    """
    used = {
        each.name
        for each in screen.items.values()
        if each is not item and (item is None or type(each) is type(item))
    }

    def check_name(name: str) -> str | None:
        if not name.strip():
            return "Enter a name."
        return f"The name {name} is already in use." if name in used else None

    return check_name
