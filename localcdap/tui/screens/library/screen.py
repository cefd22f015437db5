"""The library screen: the actions on deployed pipelines, drafts and plugin templates.

Those that change an item ask before: rename, duplicate, upgrade.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType

from localcdap.api.metadata import MetadataEntity
from localcdap.host.cdap import Cdap
from localcdap.pipeline.library.application_model import Application, Deployment, Draft
from localcdap.pipeline.validation.plugins import PluginTemplate
from localcdap.text import plural
from localcdap.tui.dialogs.schedules import SchedulesDialog
from localcdap.tui.routes import (
    DeployedTarget,
    DocumentTarget,
    DraftTarget,
    NavigationTarget,
    RunHistoryTarget,
    SchedulesTarget,
)
from localcdap.tui.screens.home.pipeline_import import import_pipeline
from localcdap.tui.screens.library import items as library
from localcdap.tui.screens.library.comparison import (
    ComparisonSide,
    PipelineComparisonDialog,
    compare_with_another,
    compare_with_file,
)
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


class LibraryScreen(LibraryListScreen):
    """Shows and manages deployed pipelines, drafts and plugin templates."""

    AREA = "library"
    CSS_PATH = "library.tcss"
    AUTO_FOCUS = "#library-items FilteredListOptions"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open", "open in studio", id="library.open"),
        Binding("c", "compare", "compare", id="library.compare"),
        Binding("C", "compare_file", "compare with a file", id="library.compare_file", show=False),
        Binding("i", "import_file", "import", id="library.import"),
        Binding("e", "export", "export", id="library.export"),
        Binding("u", "upgrade", "upgrade plugins", id="library.upgrade", show=False),
        Binding("n", "rename", "rename", id="library.rename", show=False),
        Binding("D", "duplicate", "duplicate", id="library.duplicate", show=False),
        Binding("d,delete", "delete", "delete", id="library.delete", show=False),
        Binding("b", "restore", "restore revision", id="library.restore", show=False),
        Binding("r", "runs", "runs", id="library.runs", show=False),
        Binding("t", "schedules", "schedules", id="library.schedules"),
        Binding("ctrl+z", "undo", "undo delete", id="library.undo", show=False),
        Binding("y", "copy", "copy JSON", id="library.copy", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._deleted: list[PluginTemplate] = []

    @property
    def entity(self) -> MetadataEntity | None:
        item = self.item
        if not isinstance(item, Application):
            return None
        return MetadataEntity.of_application(item.name, self.studio.namespace)

    def explain_disabled(self, action: str) -> str | None:
        item = self.item
        match action:
            case "undo" if not self._deleted:
                return "no template was deleted"
            case "open" | "rename" | "duplicate" | "delete" if item is None:
                return "nothing is highlighted"
            case "compare" | "compare_file" | "export" | "upgrade" | "copy" if (
                self.pipeline is None
            ):
                return "no pipeline is highlighted"
            case "metadata" if not isinstance(item, Application):
                return "only deployed pipelines have tags and properties"
            case "runs" | "schedules" if not isinstance(item, Application):
                return f"only deployed pipelines have {action}"
            case "restore" if not isinstance(item, Draft) or self.is_newest:
                return "no earlier revision of a draft is highlighted"
        return None

    def action_open(self) -> None:
        """Open the highlighted version in the studio, or a new pipeline with the highlighted template."""
        item, version = self.item, self.version
        match item:
            case Application():
                older = None if self.is_newest or not version else version.id
                self.studio.navigate(DeployedTarget(item.name, older))
            case Draft() if self.is_newest:
                self.studio.navigate(DraftTarget(item.id))
            case Draft():
                self.export_highlighted(
                    lambda text: self.studio.navigate(DocumentTarget(item.name, text))
                )
            case PluginTemplate():
                self.studio.navigate(
                    DocumentTarget("pipeline", library.build_document_with_template(item))
                )

    def action_runs(self) -> None:
        if isinstance(self.item, Application):
            self.studio.navigate(RunHistoryTarget(self.item.name))

    def show_target(self, target: NavigationTarget) -> None:
        if isinstance(target, SchedulesTarget):
            self.go_to(f"deployed {target.pipeline}")
            self._show_schedules(target.pipeline)

    def action_schedules(self) -> None:
        """Show the schedules of the highlighted pipeline."""
        if isinstance(self.item, Application):
            self._show_schedules(self.item.name)

    def _show_schedules(self, pipeline: str) -> None:
        self.app.push_screen(SchedulesDialog(pipeline), lambda _: self.reload())

    def action_copy(self) -> None:
        self.export_highlighted(lambda text: self.studio.copy_text(text, "pipeline"))

    @work
    async def action_compare(self) -> None:
        await compare_with_another(self)

    @work
    async def action_compare_file(self) -> None:
        await compare_with_file(self)

    @work
    async def action_import_file(self) -> None:
        path = await self.studio.pick_file("Import and deploy a pipeline file")
        if path is not None:
            import_pipeline(self, path, lambda name: self.go_to(f"deployed {name}"))

    @work
    async def action_export(self) -> None:
        """Save the highlighted version to a file."""
        item = self.pipeline
        if item is None:
            return
        typed = f"{item.name}.json"
        path = await self.studio.pick_file("Save as", for_saving=True, typed=typed)
        if path is not None:
            self.export_highlighted(lambda text: self.save_text(path, lambda _: text))

    @work
    async def action_rename(self) -> None:
        await rename(self)

    @work
    async def action_duplicate(self) -> None:
        await duplicate(self)

    @work
    async def action_delete(self) -> None:
        if self.details is None:
            return
        item = self.details.item
        if not isinstance(item, PluginTemplate):
            is_draft = isinstance(item, Draft)
            kind = "draft" if is_draft else "deployed pipeline"
            noun = "revision" if is_draft else "version"
            versions = plural(len(self.details.versions), noun)
            detail = f"{versions} will be deleted. This cannot be undone."
            if not await self.studio.confirm(f"Delete {kind} {item.name}?", detail):
                return
        namespace = self.studio.namespace

        def show_result(_: None) -> None:
            if isinstance(item, PluginTemplate):
                self._deleted.append(item)
                self.studio.show_notice(f"Deleted template {item.name}; ctrl+z restores it.")
            else:
                self.studio.show_notice(f"Deleted {item.name}.")
            self.reload()

        self.call(lambda cdap: library.delete_item(cdap, namespace, item), on_result=show_result)

    def action_undo(self) -> None:
        template, namespace = self._deleted.pop(), self.studio.namespace
        self.call(
            lambda cdap: cdap.templates.save(namespace, template), on_result=lambda _: self.reload()
        )

    def action_restore(self) -> None:
        """Make the highlighted revision of a draft the latest one."""
        item, version, namespace = self.pipeline, self.version, self.studio.namespace
        if isinstance(item, Draft) and version is not None:
            self.call(
                lambda cdap: cdap.drafts.restore(namespace, item.id, version.number),
                on_result=lambda _: self.reload(),
            )

    def action_upgrade(self) -> None:
        if self.pipeline is not None:
            upgrade(self, self.pipeline)
