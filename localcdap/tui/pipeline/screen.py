"""The screen of the studio area."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar, Final

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from localcdap.api.metadata import MetadataEntity
from localcdap.host.cdap import Cdap
from localcdap.tui.area_screen import AreaScreen
from localcdap.tui.commands import Command
from localcdap.tui.document.editor import Editor
from localcdap.tui.document.local_document import LocalDocument
from localcdap.tui.document.source import DocumentSource, load_document
from localcdap.tui.pipeline.insertion import build_insertion, list_places
from localcdap.tui.pipeline.view import PipelineView
from localcdap.tui.routes import (
    DeployedTarget,
    DraftTarget,
    InsertionTarget,
    NavigationTarget,
    NewPipelineTarget,
    PipelineFileTarget,
)
from localcdap.tui.screens.home.pipeline_import import read_pipeline_file
from localcdap.tui.screens.library.comparison import ComparisonSide, PipelineComparisonDialog
from localcdap.tui.studio import Choice

_FILE: Final = PipelineFileTarget(Path())
"""Stands for a file that is still to be chosen."""
_NOTHING_OPEN: Final = """\
Nothing is open.

[$text-accent]ctrl+n[/]  begin a pipeline
[$text-accent]o[/]       open a draft, a deployed pipeline or a file"""


class PipelineScreen(AreaScreen):
    """Shows one pipeline at a time."""

    AREA = "studio"
    HORIZONTAL_BREAKPOINTS = []
    CSS = """
    #nothing { height: 1fr; align: center middle; }
    #nothing > Static { width: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+n", "new", "new pipeline", id="studio.new", show=False),
        Binding("o", "open", "open", id="studio.open", show=False),
    ]

    def compose_body(self) -> ComposeResult:
        with Vertical(id="nothing"):
            yield Static(_NOTHING_OPEN)

    @property
    def view(self) -> PipelineView | None:
        """The pipeline that is open."""
        # A query would match the selector with every widget of the screen; much asks for the view often.
        return next((child for child in self.children if isinstance(child, PipelineView)), None)

    @property
    def editor(self) -> Editor | None:
        desk = self.view
        return None if desk is None else desk.editor

    @property
    def entity(self) -> MetadataEntity | None:
        """The deployed pipeline that is open."""
        editor = self.editor
        if editor is None or editor.source.application is None:
            return None
        return MetadataEntity.of_application(editor.source.application, editor.namespace)

    def explain_disabled(self, action: str) -> str | None:
        """Return why a key does nothing now; None when it works."""
        is_unknown = action == "metadata" and self.entity is None
        return "only deployed pipelines have tags and properties" if is_unknown else None

    def show_target(self, target: NavigationTarget) -> None:
        """Open a pipeline; ask about unsaved changes of the open one."""
        if isinstance(target, InsertionTarget):
            self._insert(target)
            return
        stage = getattr(target, "stage", None)
        editor = self.editor
        if editor is not None and _is_same(editor.target, target):
            self._go_to(stage)
        else:
            self._open(target, stage)

    def show_namespace(self, namespace: str) -> None:
        editor = self.editor
        if editor is not None:
            editor.set_namespace(namespace)

    def reload(self) -> None:
        """Validate the pipeline with the plugins and preferences installed now, or reload its file."""
        editor = self.editor
        if editor is None:
            return
        if editor.is_file_changed and editor.source.path is not None:
            self._ask_about_file(editor, editor.source.path)
        else:
            editor.revalidate()

    def list_commands(self) -> Iterable[Command]:
        """Return the commands that the palette has besides the key actions."""
        if self.view is not None:
            yield Command("studio: close the pipeline", self.close_pipeline)

    def action_new(self) -> None:
        self.show_target(NewPipelineTarget())

    @work(group="open", exclusive=True)
    async def action_open(self) -> None:
        """Choose what to open among drafts, deployed pipelines and files."""
        namespace = self.studio.namespace

        def list_choices(cdap: Cdap) -> list[Choice[NavigationTarget]]:
            drafts = cdap.drafts.list_drafts(
                namespace, sort_by="updatedTimeMillis", sort_order="DESC"
            )
            deployed = cdap.applications.list_applications(namespace)
            found: list[Choice[NavigationTarget]] = [
                Choice(each.name, DraftTarget(each.id), hint="draft") for each in drafts
            ]
            found += [
                Choice(a.name, DeployedTarget(a.name), hint=f"version {a.number}") for a in deployed
            ]
            return found

        choices = [
            Choice[NavigationTarget]("a file …", _FILE),
            Choice[NavigationTarget]("a new pipeline", NewPipelineTarget()),
        ]
        choices += await self.call_and_wait(list_choices)
        target = await self.studio.choose(choices, title="Open")
        if target is _FILE:
            path = await self.studio.pick_file("Open a pipeline")
            target = None if path is None else PipelineFileTarget(path)
        if target is not None:
            self.show_target(target)

    @work(group="open", exclusive=True)
    async def close_pipeline(self) -> None:
        if await self.confirm_leave():
            await self.query(PipelineView).remove()
            self.query_one("#nothing").display = True

    @work(group="open", exclusive=True)
    async def _open(self, target: NavigationTarget, stage: str | None) -> None:
        await self._load(target, stage)

    @work(group="open", exclusive=True)
    async def _insert(self, target: InsertionTarget) -> None:
        """Put stages into a pipeline, at a place that the user chooses."""
        wanted, editor = target.pipeline, self.editor
        if wanted is not None and (editor is None or not _is_same(editor.target, wanted)):
            await self._load(wanted, None)
        desk = self.view
        if desk is None and wanted is None:
            self.studio.explain_no_effect("no pipeline is open in the studio", "insert")
        if desk is None or (wanted is not None and not _is_same(desk.editor.target, wanted)):
            return  # it could not be opened, or the open one was to stay
        editor = desk.editor
        choices = list_places(editor.document, has_source=bool(target.branch))
        place = await self.studio.choose(choices, title=f"Where in {editor.title}?")
        if place is not None:
            edit, name = build_insertion(target, place, editor.document, editor.stages)
            if editor.apply(edit):
                self._go_to(name)

    async def _load(
        self, target: NavigationTarget, stage: str | None, *, is_confirmed: bool = False
    ) -> None:
        """Read a document and show it.

        :param is_confirmed: whether unsaved changes may be lost.
        """
        namespace = self.studio.namespace
        source, paper = await self.call_and_wait(
            lambda cdap: load_document(cdap, namespace, target)
        )
        if is_confirmed or await self.confirm_leave():
            await self._show(source, paper, namespace)
            self._go_to(stage)

    async def confirm_leave(self) -> bool:
        """Return whether the open pipeline may be closed; ask about unsaved changes."""
        desk, editor = self.view, self.editor
        if desk is None or editor is None:
            return True
        desk.inspector.flush()
        if not editor.is_changed:
            return True
        source = editor.source
        choices = [Choice("Save as a draft", "draft"), Choice("Discard the changes", "discard")]
        if source.path is not None:
            choices.insert(0, Choice(f"Save {source.path.name}", "save"))
        elif source.draft is not None:
            choices[0] = Choice("Save the draft", "save")
        answer = await self.studio.choose(choices, title=f"{editor.title} has unsaved changes")
        if answer == "save":
            await desk.save_actions.save()
        elif answer == "draft":
            await desk.save_actions.save_as()
        return answer == "discard" or not editor.is_changed

    @work(group="open", exclusive=True)
    async def _ask_about_file(self, editor: Editor, path: Path) -> None:
        """Offer what can be done about a file that another program has changed."""
        lost = "Your unsaved changes are lost." if editor.is_changed else ""
        choices = [
            Choice("Reload the file", "reload", detail=lost),
            Choice("Show the differences", "compare"),
            Choice("Keep what is open here", "keep", detail="ctrl+s asks before it overwrites."),
        ]
        title = f"{path.name} was changed by another program"
        while (answer := await self.studio.choose(choices, title=title)) == "compare":
            other = await self.call_and_wait(lambda _: read_pipeline_file(path))
            sides = (
                ComparisonSide("open here", editor.to_text()),
                ComparisonSide(str(path), other),
            )
            await self.app.push_screen_wait(PipelineComparisonDialog(*sides))
        if answer == "reload":
            await self._load(editor.target, editor.selected, is_confirmed=True)

    async def _show(self, source: DocumentSource, paper: LocalDocument, namespace: str) -> None:
        await self.query(PipelineView).remove()
        self.query_one("#nothing").display = False
        desk = PipelineView(Editor(source, paper, namespace))
        await self.mount(desk, before="StudioFooter")
        desk.canvas.focus()

    def _go_to(self, stage: str | None) -> None:
        desk = self.view
        if desk is not None and stage is not None:
            desk.show_stage(stage)


def _is_same(one: NavigationTarget, other: NavigationTarget) -> bool:
    """Whether two places are the same document, whatever their stages; a new one is always another."""
    if isinstance(one, NewPipelineTarget) or type(one) is not type(other):
        return False
    how = {"stage": None, "takes_fixes": False}  # it is looked at, not which it is
    return {**vars(one), **how} == {**vars(other), **how}
