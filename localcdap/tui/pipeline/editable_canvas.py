"""The canvas of an open pipeline, with the actions on its stages."""

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
from localcdap.pipeline.rules.graph import POST_ACTION, SOURCES, SPLITTER
from localcdap.runs.model import StageCounts
from localcdap.tui.canvas.canvas import Canvas
from localcdap.tui.canvas.chart import build_chart
from localcdap.tui.canvas.stage_card import StageCard, StageMark, build_card
from localcdap.tui.document.editor import Editor
from localcdap.tui.document.local_document import DocumentChange
from localcdap.tui.pipeline.actions import RecordingActions
from localcdap.tui.pipeline.insertion import (
    ConnectionRules,
    OutputBranch,
    build_stage,
    disconnect_edit,
    format_connection,
    format_stages,
    parse_stages,
)
from localcdap.tui.pipeline.plugin_palette import StagePalette
from localcdap.tui.studio import Choice, StudioNode

_NEEDS_STAGE: Final = frozenset(
    (
        *(
            "connect",
            "disconnect",
            "insert",
            "rename",
            "duplicate",
            "remove",
            "copy_stage",
            "remark",
        ),
        "record",
    )
)


class EditableCanvas(StudioNode, Canvas):
    """Shows the pipeline of an editor and edits it."""

    empty = "There is no stage yet: a adds one, p pastes some."

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "add", "add", id="stage.add"),
        Binding("A", "insert", "insert into a connection", id="stage.insert", show=False),
        Binding("c", "connect", "connect", id="stage.connect"),
        Binding("x", "disconnect", "disconnect", id="stage.disconnect", show=False),
        Binding("R,f2", "rename", "rename", id="stage.rename", show=False),
        Binding("d", "duplicate", "duplicate", id="stage.duplicate", show=False),
        Binding("delete,backspace", "remove", "delete", id="stage.delete", show=False),
        Binding("y", "copy_stage", "copy as JSON", id="stage.copy", show=False),
        Binding("Y", "copy_all", "copy all stages", id="stage.copy_all", show=False),
        Binding("m", "remark", "note about the stage", id="stage.note", show=False),
        Binding("t", "record", "recording of the stage", id="stage.record", show=False),
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
        """The counts of the run that is shown, as far as they are known; None when no run is shown."""
        self._marks: Mapping[str, StageMark] = {}
        self._hints_for_source: bool | None = None
        """Whether the hints of the footer are those for a source; None for no selected stage."""

    def on_mount(self) -> None:
        self._editor.document_changed.subscribe(self, self._show_document, immediate=True)
        self._editor.validation_changed.subscribe(self, self._show_validation, immediate=True)
        self._editor.selection.subscribe(self, self._select)
        self._draw()

    def show_counts(
        self, counts: Mapping[str, StageCounts] | None, marks: Mapping[str, StageMark] | None = None
    ) -> None:
        """Show the record counts of a run in the stages; None to show their validation again.

        :param marks: the state of the stages in the run; by default they are running.
        """
        names = {*(self._counts or ()), *(counts or ())}
        self._counts, self._marks = counts, marks or {}
        self.show_cards(self._build_cards(names))
        self.show_flow(counts)

    @property
    def shows_counts(self) -> bool:
        """Whether a run is shown, even while its counts are not known yet."""
        return self._counts is not None

    def explain_disabled(self, action: str) -> str | None:
        """Return why an action cannot be done now."""
        editor = self._editor
        if action in _NEEDS_STAGE and editor.selected is None:
            return "no stage is selected"
        if action in ("disconnect", "insert") and not self._list_connections():
            return "the stage is not connected"
        if action == "next_problem" and not editor.failures:
            return "there are no failures"
        if action == "select_none" and editor.selected is None and not self.shows_counts:
            return "nothing is selected"
        return None

    def explain_no_effect(self, reason: str) -> None:
        self.studio.explain_no_effect(reason)

    # -- showing ---------------------------------------------------------------------------------

    def _draw(self) -> None:
        self.show_chart(build_chart(self._editor.document))
        self.show_cards(self._build_cards(self._editor.stages))
        self._select(self._editor.selected)

    def _show_document(self, change: DocumentChange) -> None:
        if change.is_edit and self.shows_counts:
            self._counts = None  # they belong to the document before the edit
            self.show_flow(None)
            self.show_cards(self._build_cards(self._editor.stages))
        if change.is_graph:
            self.show_chart(build_chart(self._editor.document), change.renamed)
        self.show_cards(self._build_cards(change.stages))

    def _show_validation(self, stages: frozenset[str]) -> None:
        self.show_cards(self._build_cards(stages))

    def _build_cards(self, stages: Iterable[str]) -> dict[str, StageCard]:
        editor = self._editor
        loops = self.drawing.loops
        found: dict[str, StageCard] = {}
        for stage in stages:
            use = editor.get_stage(stage)
            if use is not None:
                found[stage] = build_card(
                    stage,
                    use.plugin.name,
                    use.plugin.type,
                    editor.get_state(stage),
                    self._counts.get(stage) if self._counts is not None else None,
                    run_mark=self._marks.get(stage, StageMark.RUNNING),
                    is_loop=stage in loops,
                    remark=editor.get_note(stage),
                )
        return found

    def _select(self, stage: str | None) -> None:
        is_source = self._is_source(stage)
        if is_source is not self._hints_for_source:
            self._hints_for_source = is_source
            self.refresh_bindings()  # the footer shows only hints that depend on this
        self.selected = stage

    def _is_source(self, stage: str | None) -> bool | None:
        """Return whether a stage is a source; None for no stage."""
        use = self._editor.get_stage(stage) if stage is not None else None
        return None if use is None else use.plugin.type in SOURCES

    # -- stages ------------------------------------------------------------------------------------

    @work(group="dialog", exclusive=True)
    async def action_add(self) -> None:
        """Add a stage behind the selected one, connected to it, and open its properties."""
        after = self._editor.selected
        plugin = await self._choose_plugin(after, f" after {after}" if after is not None else "")
        if plugin is not None:
            await self._add(plugin, after)

    async def _choose_plugin(
        self, after: str | None, where: str, *, is_between: bool = False
    ) -> PluginSummary | None:
        editor = self._editor
        use = editor.get_stage(after) if after is not None else None
        type = use.plugin.type if use is not None else None
        return await self.app.push_screen_wait(
            StagePalette(editor.namespace, editor.document.type, type, where, is_between=is_between)
        )

    async def _add(self, plugin: PluginSummary, after: str | None) -> None:
        node = build_stage(plugin, self._editor.stages)
        name = node["name"]
        edits: list[Edit] = [AddStage(node, post_action=plugin.type == POST_ACTION)]
        rules = ConnectionRules(self._editor.document)
        if after is not None and rules.rejection_reason(after, name, plugin.type) is None:
            branch = await self._choose_branch(rules, after)
            if branch is not None:
                edits.append(branch.connect_edit(after, name))
        self._apply_new(name, edits)

    @work(group="dialog", exclusive=True)
    async def action_insert(self) -> None:
        """Insert a stage into a connection of the selected one, and open its properties."""
        connection = await self._choose_connection("Insert into a connection")
        if connection is None:
            return
        where = f" between {connection.source} and {connection.target}"
        plugin = await self._choose_plugin(connection.source, where, is_between=True)
        if plugin is not None:
            await self._insert(plugin, connection)

    async def _insert(self, plugin: PluginSummary, connection: StageConnection) -> None:
        node = build_stage(plugin, self._editor.stages)
        name, source, target = node["name"], connection.source, connection.target
        rules = ConnectionRules(self._editor.document)
        rules.types[name] = plugin.type
        reason = rules.rejection_reason(source, name) or rules.rejection_reason(name, target)
        if reason is not None:
            self.studio.show_notice(
                f"{plugin.name} cannot stand between {source} and {target}: {reason}.",
                severity="warning",
            )
            return
        branch = await self._choose_branch(rules, name)
        if branch is not None:
            before = disconnect_edit(connection)
            into = OutputBranch(before.port, before.condition).connect_edit(source, name)
            onward = branch.connect_edit(name, target)
            self._apply_new(name, [AddStage(node), before, into, onward])

    def _apply_new(self, name: str, edits: list[Edit]) -> None:
        """Apply the edits that add a stage, and open its properties."""
        if self._editor.apply(CompoundEdit(edits) if len(edits) > 1 else edits[0], origin=self):
            self._editor.select(name)
            self.post_message(Canvas.Opened(name))

    @work(group="dialog", exclusive=True)
    async def action_connect(self) -> None:
        editor = self._editor
        source = editor.selected
        if source is None:
            return
        rules = ConnectionRules(editor.document)
        listed = [
            Choice(
                stage,
                stage,
                hint=self._get_plugin_name(stage),
                reason=rules.rejection_reason(source, stage),
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
        """Connect two stages; ask for the port where there are several."""
        rules = ConnectionRules(self._editor.document)
        reason = rules.rejection_reason(source, target)
        if reason is not None:
            self.studio.show_notice(
                f"{source} cannot be connected to {target}: {reason}.", severity="warning"
            )
            return
        branch = await self._choose_branch(rules, source)
        if branch is not None:
            self._editor.apply(branch.connect_edit(source, target), origin=self)

    def on_canvas_selected(self, event: Canvas.Selected) -> None:
        event.stop()
        self._editor.select(event.stage)

    def on_canvas_drawn(self, event: Canvas.Drawn) -> None:
        event.stop()
        self._connect(event.source, event.target)

    @work(group="dialog", exclusive=True)
    async def _connect(self, source: str, target: str) -> None:
        await self.connect(source, target)

    async def _choose_branch(self, rules: ConnectionRules, source: str) -> OutputBranch | None:
        """Return the output of a stage to connect; ask where there are several. None when cancelled."""
        branches = rules.list_branches(source, self._editor.get_state(source))
        if rules.types.get(source) != SPLITTER:
            if len(branches) == 1:
                return branches[0]
            choices: list[Choice[OutputBranch | None]] = [
                Choice(each.label, each) for each in branches
            ]
            return await self.studio.choose(choices, title=f"{source} is")
        listed: list[Choice[OutputBranch | None]] = [Choice(each.label, each) for each in branches]
        other = OutputBranch(port="")
        listed.append(Choice("another port …", other))
        branch = await self.studio.choose(listed, title=f"Port of {source}") if branches else other
        if branch is not other:
            return branch
        port = await self.studio.ask(f"Port of {source}")
        return OutputBranch(port=port) if port else None

    @work(group="dialog", exclusive=True)
    async def action_disconnect(self) -> None:
        chosen = await self._choose_connection("Remove a connection")
        if chosen is not None:
            self._editor.apply(disconnect_edit(chosen), origin=self)

    async def _choose_connection(self, title: str) -> StageConnection | None:
        """Return a connection of the selected stage; ask where there are several, those from it first."""
        stage, connections = self._editor.selected, self._list_connections()
        if len(connections) < 2:
            return connections[0] if connections else None
        connections.sort(key=lambda each: each.source != stage)
        choices: list[Choice[StageConnection | None]] = [
            Choice(format_connection(each), each) for each in connections
        ]
        return await self.studio.choose(choices, title=title)

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
            self._editor.apply(RenameStage(stage, name.strip()), origin=self)

    def action_duplicate(self) -> None:
        stage = self._editor.selected
        before = set(self._editor.stages)
        if stage is not None and self._editor.apply(DuplicateStage(stage), origin=self):
            self._editor.select(next(iter(set(self._editor.stages) - before), None))

    def action_remove(self) -> None:
        """Delete the stage without a question: a key undoes it."""
        stage = self._editor.selected
        if stage is None:
            return
        neighbours = ConnectionRules(self._editor.document).list_connections(stage)
        near = next((c.source if c.target == stage else c.target for c in neighbours), None)
        if self._editor.apply(RemoveStage(stage), origin=self):
            self._editor.select(near)
            self.studio.show_notice(f"Deleted {stage}.", "ctrl+z restores it.")

    @work(group="dialog", exclusive=True)
    async def action_remark(self) -> None:
        """Edit the note about the stage."""
        stage = self._editor.selected
        if stage is None:
            return
        before = self._editor.get_note(stage)
        text = await self.studio.ask(f"Note about {stage}", before, verb="Save")
        if text is not None and text.strip() != before:
            self._editor.apply(SetNote(stage, text.strip() or None), origin=self)

    @work(group="dialog", exclusive=True)
    async def action_record(self) -> None:
        """Ask what stands in for the selected stage."""
        if self._editor.selected is not None:
            await RecordingActions(self, self._editor).change(self._editor.selected)

    def action_copy_stage(self) -> None:
        stage = self._editor.selected
        if stage is not None:
            self.studio.copy_text(
                format_stages([self._editor.get_node(stage)], []), f"stage {stage}"
            )

    def action_copy_all(self) -> None:
        editor = self._editor
        nodes = [editor.get_node(stage.name) for stage in editor.document.stages]
        self.studio.copy_text(format_stages(nodes, editor.document.connections), "stages")

    def action_paste(self) -> None:
        self.paste(self.app.clipboard)

    def paste(self, text: str) -> None:
        """Add the stages in a text."""
        editor = self._editor
        try:
            edit, names = parse_stages(text, editor.stages)
        except LocalcdapError as error:
            self.studio.show_notice(error.message, error.corrective_action or "", "warning")
            return
        if editor.apply(edit, origin=self):
            editor.select(names[0])
            self.show_stage(names[0])

    def action_select_none(self) -> None:
        if self.shows_counts:
            self.show_counts(None)
        else:
            self._editor.select(None)

    def action_next_problem(self, step: int) -> None:
        """Select the next stage with a failure."""
        failing, here = self._list_failing_stages(), self._editor.selected
        if not set(failing) - {here}:
            other = "other " if failing else ""
            self.explain_no_effect(f"no {other}stage has a failure; P lists all problems")
            return
        at = failing.index(here) + step if here in failing else (0 if step > 0 else -1)
        self._editor.select(failing[at % len(failing)])

    def _list_failing_stages(self) -> Sequence[str]:
        editor = self._editor
        states = ((stage, editor.get_state(stage)) for stage in editor.stages)
        return [stage for stage, state in states if state is not None and state.errors]

    def _list_connections(self) -> list[StageConnection]:
        stage = self._editor.selected
        return (
            [] if stage is None else ConnectionRules(self._editor.document).list_connections(stage)
        )

    def _get_plugin_name(self, stage: str) -> str:
        use = self._editor.get_stage(stage)
        return "" if use is None else use.plugin.name
