"""The canvas of an open pipeline, and what can be done to its stages on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final

from textual import work
from textual.binding import Binding, BindingType

from localcdap.api.errors import LocalcdapError
from localcdap.api.pipeline import StageConnection
from localcdap.artifacts.model import PluginSummary
from localcdap.pipeline.editing.edits import (
    AddStage,
    CompoundEdit,
    DuplicateStage,
    Edit,
    RemoveStage,
    RenameStage,
    SetNote,
)
from localcdap.pipeline.rules.plugin_types import POST_ACTION, SPLITTER
from localcdap.runs.model import StageCounts
from localcdap.tui.canvas.canvas import Canvas
from localcdap.tui.canvas.chart import chart_of
from localcdap.tui.canvas.stage_card import Face, Mark, face
from localcdap.tui.document.editor import Editor
from localcdap.tui.pipeline.connection_rules import Way, Wiring, cut, line_of, new_stage
from localcdap.tui.pipeline.plugin_palette import StagePalette
from localcdap.tui.pipeline.stage_clipboard import copied, pasted
from localcdap.tui.studio import Choice, StudioNode

_NEEDS_STAGE: Final = frozenset(
    ("connect", "disconnect", "rename", "duplicate", "remove", "copy_stage", "remark")
)


class Board(StudioNode, Canvas):
    """Shows the pipeline of an editor, and lets its user change it."""

    empty = "There is no stage yet: a adds one, p pastes some."

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "add", "add", id="stage.add"),
        Binding("c", "connect", "connect", id="stage.connect"),
        Binding("x", "disconnect", "disconnect", id="stage.disconnect", show=False),
        Binding("R,f2", "rename", "rename", id="stage.rename", show=False),
        Binding("d", "duplicate", "duplicate", id="stage.duplicate", show=False),
        Binding("delete,backspace", "remove", "delete", id="stage.delete", show=False),
        Binding("y", "copy_stage", "copy as JSON", id="stage.copy", show=False),
        Binding("Y", "copy_all", "copy all stages", id="stage.copy_all", show=False),
        Binding("m", "remark", "note about the stage", id="stage.note", show=False),
        Binding("p", "paste", "paste stages", id="stage.paste", show=False),
        Binding("escape", "select_none", "select nothing", id="stage.none", show=False),
        Binding("n", "next_problem(1)", "next failure", id="stage.next_failure", show=False),
        Binding(
            "N", "next_problem(-1)", "previous failure", id="stage.previous_failure", show=False
        ),
    ]

    def __init__(self, editor: Editor) -> None:
        super().__init__()
        self._editor = editor
        self._counts: Mapping[str, StageCounts] | None = None
        """Of the run that is shown, as far as they are known; None when none is shown."""
        self._marks: Mapping[str, Mark] = {}

    def on_mount(self) -> None:
        self._editor.changed.subscribe(self, self._on_change, immediate=True)
        self._editor.selection.subscribe(self, self._select)
        self._draw()

    def show_counts(
        self, counts: Mapping[str, StageCounts] | None, marks: Mapping[str, Mark] | None = None
    ) -> None:
        """Show the records of a run in the stages; None to show how the stages are again.

        :param marks: how the stages are in the run; by default they are running.
        """
        names = {*(self._counts or ()), *(counts or ())}
        self._counts, self._marks = counts, marks or {}
        self.show_faces(self._faces_of(names))

    @property
    def shows_counts(self) -> bool:
        """Whether a run is shown, though none of its records may be known yet."""
        return self._counts is not None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return None if self.explain_disabled(action) else True

    def explain_disabled(self, action: str) -> str | None:
        """Why an action cannot be done now."""
        editor = self._editor
        if action in _NEEDS_STAGE and editor.selected is None:
            return "no stage is selected"
        if action == "disconnect" and not self._connections():
            return "the stage is not connected"
        if action == "next_problem" and not editor.failures:
            return "there are no failures"
        if action == "select_none" and editor.selected is None and not self.shows_counts:
            return "nothing is selected"
        return None

    # -- showing ---------------------------------------------------------------------------------

    def _draw(self) -> None:
        self.show_chart(chart_of(self._editor.document))
        self.show_faces(self._faces_of(self._editor.stages))
        self._select(self._editor.selected)

    def _on_change(self, change: Editor.Changed) -> None:
        if change.is_edit and self.shows_counts:
            self._counts = None  # they are of another pipeline now
            self.show_faces(self._faces_of(self._editor.stages))
        if change.is_graph:
            self.show_chart(chart_of(self._editor.document), change.renamed)
        self.show_faces(self._faces_of(change.stages))

    def _faces_of(self, stages: Iterable[str]) -> dict[str, Face]:
        editor = self._editor
        loops = self.drawing.loops
        found: dict[str, Face] = {}
        for stage in stages:
            use = editor.use(stage)
            if use is not None:
                found[stage] = face(
                    stage,
                    use.plugin.name,
                    use.plugin.type,
                    editor.state(stage),
                    self._counts.get(stage) if self._counts is not None else None,
                    run_mark=self._marks.get(stage, Mark.RUNNING),
                    is_loop=stage in loops,
                    remark=editor.remark(stage),
                )
        return found

    def _select(self, stage: str | None) -> None:
        if (stage is None) != (self.selected is None):
            self.refresh_bindings()  # the hints that are shown ask for no more
        self.selected = stage

    # -- stages ------------------------------------------------------------------------------------

    @work(group="dialog", exclusive=True)
    async def action_add(self) -> None:
        editor = self._editor
        behind = editor.selected
        use = editor.use(behind) if behind is not None else None
        palette = StagePalette(
            editor.namespace,
            editor.document.type,
            use.plugin.type if use is not None else None,
            f" behind {behind}" if behind is not None else "",
        )
        plugin = await self.app.push_screen_wait(palette)
        if plugin is not None:
            await self._add(plugin, behind)

    async def _add(self, plugin: PluginSummary, behind: str | None) -> None:
        editor = self._editor
        node = new_stage(plugin, editor.stages)
        name = node["name"]
        edits: list[Edit] = [AddStage(node, post_action=plugin.type == POST_ACTION)]
        wiring = Wiring(editor.document)
        if behind is not None and wiring.refusal(behind, name, plugin.type) is None:
            way = await self._way(wiring, behind)
            if way is not None:
                edits.append(way.to(behind, name))
        if editor.apply(CompoundEdit(edits) if len(edits) > 1 else edits[0], by=self):
            editor.select(name)

    @work(group="dialog", exclusive=True)
    async def action_connect(self) -> None:
        editor = self._editor
        source = editor.selected
        if source is None:
            return
        wiring = Wiring(editor.document)
        listed = [
            Choice(
                stage,
                stage,
                hint=self._plugin_of(stage),
                reason=wiring.refusal(source, stage),
            )
            for stage in editor.stages
            if stage != source
        ]
        listed.sort(key=lambda choice: choice.reason is not None)
        target = await self.studio.choose(
            listed, title=f"Connect {source} to", on_highlight=self.show_stage
        )
        if target is not None:
            await self.connect(source, target)

    async def connect(self, source: str, target: str) -> None:
        """Connect two stages; the port is asked for where there are several."""
        wiring = Wiring(self._editor.document)
        refusal = wiring.refusal(source, target)
        if refusal is not None:
            self.studio.show_notice(
                f"{source} cannot be connected to {target}: {refusal}.", severity="warning"
            )
            return
        way = await self._way(wiring, source)
        if way is not None:
            self._editor.apply(way.to(source, target), by=self)

    def on_canvas_selected(self, event: Canvas.Selected) -> None:
        event.stop()
        self._editor.select(event.stage)

    def on_canvas_drawn(self, event: Canvas.Drawn) -> None:
        event.stop()
        self._connect(event.source, event.target)

    @work(group="dialog", exclusive=True)
    async def _connect(self, source: str, target: str) -> None:
        await self.connect(source, target)

    async def _way(self, wiring: Wiring, source: str) -> Way | None:
        """The way by which to leave a stage, asked for where it has several; None for none."""
        ways = wiring.ways(source, self._editor.state(source))
        if wiring.types.get(source) != SPLITTER:
            if len(ways) == 1:
                return ways[0]
            choices: list[Choice[Way | None]] = [Choice(each.label, each) for each in ways]
            return await self.studio.choose(choices, title=f"{source} is")
        listed: list[Choice[Way | None]] = [Choice(each.label, each) for each in ways]
        other = Way(port="")
        listed.append(Choice("another port …", other))
        way = await self.studio.choose(listed, title=f"Port of {source}") if ways else other
        if way is not other:
            return way
        port = await self.studio.ask(f"Port of {source}")
        return Way(port=port) if port else None

    @work(group="dialog", exclusive=True)
    async def action_disconnect(self) -> None:
        connections = self._connections()
        if not connections:
            return
        chosen: StageConnection | None = connections[0]
        if len(connections) > 1:
            choices = [Choice(line_of(each), each) for each in connections]
            chosen = await self.studio.choose(choices, title="Remove a connection")
        if chosen is not None:
            self._editor.apply(cut(chosen), by=self)

    @work(group="dialog", exclusive=True)
    async def action_rename(self) -> None:
        stage = self._editor.selected
        if stage is None:
            return
        taken = set(self._editor.stages) - {stage}

        def check(name: str) -> str | None:
            if not name.strip():
                return "A stage needs a name."
            return f"There is a stage '{name.strip()}' already." if name.strip() in taken else None

        name = await self.studio.ask(f"Rename {stage}", stage, verb="Rename", check=check)
        if name is not None and name.strip() != stage:
            self._editor.apply(RenameStage(stage, name.strip()), by=self)

    def action_duplicate(self) -> None:
        stage = self._editor.selected
        before = set(self._editor.stages)
        if stage is not None and self._editor.apply(DuplicateStage(stage), by=self):
            self._editor.select(next(iter(set(self._editor.stages) - before), None))

    def action_remove(self) -> None:
        """Delete the stage; what is undone with a key is not asked for."""
        stage = self._editor.selected
        if stage is None:
            return
        around = Wiring(self._editor.document).around(stage)
        near = next((c.source if c.target == stage else c.target for c in around), None)
        if self._editor.apply(RemoveStage(stage), by=self):
            self._editor.select(near)
            self.studio.show_notice(f"Deleted {stage}.", "ctrl+z brings it back.")

    @work(group="dialog", exclusive=True)
    async def action_remark(self) -> None:
        """Write something about the stage that stays with it."""
        stage = self._editor.selected
        if stage is None:
            return
        before = self._editor.remark(stage)
        text = await self.studio.ask(f"Note about {stage}", before, verb="Keep")
        if text is not None and text.strip() != before:
            self._editor.apply(SetNote(stage, text.strip() or None), by=self)

    def action_copy_stage(self) -> None:
        stage = self._editor.selected
        if stage is not None:
            self.studio.copy_text(copied([self._editor.node(stage)], []), f"stage {stage}")

    def action_copy_all(self) -> None:
        editor = self._editor
        nodes = [editor.node(stage.name) for stage in editor.document.stages]
        self.studio.copy_text(copied(nodes, editor.document.connections), "stages")

    def action_paste(self) -> None:
        self.paste(self.app.clipboard)

    def paste(self, text: str) -> None:
        """Add the stages that a text holds."""
        editor = self._editor
        try:
            edit, names = pasted(text, editor.stages)
        except LocalcdapError as error:
            self.studio.show_notice(error.message, error.corrective_action or "", "warning")
            return
        if editor.apply(edit, by=self):
            editor.select(names[0])
            self.show_stage(names[0])

    def action_select_none(self) -> None:
        if self.shows_counts:
            self.show_counts(None)
        else:
            self._editor.select(None)

    def action_next_problem(self, step: int) -> None:
        """Go to the next stage that something is wrong with."""
        wrong = self._wrong_stages()
        if not wrong:
            return
        here = self._editor.selected
        at = wrong.index(here) + step if here in wrong else (0 if step > 0 else -1)
        self._editor.select(wrong[at % len(wrong)])

    def _wrong_stages(self) -> Sequence[str]:
        editor = self._editor
        states = ((stage, editor.state(stage)) for stage in editor.stages)
        return [stage for stage, state in states if state is not None and state.errors]

    def _connections(self) -> list[StageConnection]:
        stage = self._editor.selected
        return [] if stage is None else Wiring(self._editor.document).around(stage)

    def _plugin_of(self, stage: str) -> str:
        use = self._editor.use(stage)
        return "" if use is None else use.plugin.name
