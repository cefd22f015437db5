"""The library screen: the actions on deployed pipelines, drafts and plugin templates."""

from __future__ import annotations

from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType

from localcdap.api.metadata import MetadataEntity
from localcdap.pipeline.library.application_model import Application, Draft
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
from localcdap.tui.screens.library.actions import duplicate, rename, upgrade
from localcdap.tui.screens.library.comparison import compare_with_another, compare_with_file
from localcdap.tui.screens.library.list_screen import LibraryListScreen


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
