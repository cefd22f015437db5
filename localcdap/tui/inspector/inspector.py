"""The stage that is selected, with all that can be seen and done of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import ClassVar, Final, cast

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import TabbedContent, TabPane, Tabs

from localcdap.api.errors import LocalcdapError
from localcdap.api.failures import ArtifactId, ValidationFailure
from localcdap.api.methods import PluginMethod
from localcdap.artifacts.model import PluginInfo
from localcdap.host.link import Cdap
from localcdap.studio.documents.lenient import artifact_json, as_properties
from localcdap.studio.documents.model import PluginUse, StageUse
from localcdap.studio.editing.edits import SetPlugin
from localcdap.studio.editing.view import StageState
from localcdap.studio.methods import MethodCall, MethodPlugin
from localcdap.tui.calls import Calling
from localcdap.tui.inspector.asking import MethodDialog
from localcdap.tui.inspector.blame import Blamed, blamed
from localcdap.tui.inspector.context import Context
from localcdap.tui.inspector.documentation import DocumentationPane
from localcdap.tui.inspector.field import Field
from localcdap.tui.inspector.form import Form
from localcdap.tui.inspector.plugins import Candidate, candidates, plugin_of, selector
from localcdap.tui.inspector.preview_pane import PreviewPane
from localcdap.tui.inspector.schema_pane import SchemaPane
from localcdap.tui.inspector.trial_pane import TrialPane
from localcdap.tui.manners.choosing import Choice
from localcdap.tui.manners.habits import Habits
from localcdap.tui.pipeline.editor import Editor
from localcdap.tui.rest import Rest
from localcdap.tui.told import Told

_POLL_S: Final = 2.0
_REST_S: Final = 0.04
"""Seconds that the selection rests before its stage is shown: who walks on sees the canvas move at once."""
_AGE_S: Final = 30.0
"""Seconds after which the age of what was found in files is told anew."""


class Inspector(Calling, Vertical):
    """Follows the selection of an editor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "ctrl+pagedown,right_square_bracket",
            "tab(1)",
            "next tab",
            id="stage.next_tab",
            show=False,
        ),
        Binding(
            "ctrl+pageup,left_square_bracket",
            "tab(-1)",
            "previous tab",
            id="stage.previous_tab",
            show=False,
        ),
        Binding("f6", "version", "version, repair", id="stage.version"),
        Binding("f8", "methods", "ask the plugin", id="stage.methods", show=False),
        Binding("f7", "detect", "look at files", id="stage.detect", show=False),
        Binding("f9,ctrl+enter", "try", "try the stage", id="trial.run"),
        Binding("f3", "fill", "records from …", id="trial.fill"),
        Binding("alt+i", "input", "next input", id="trial.input", show=False),
    ]
    DEFAULT_CSS = """
    Inspector { height: 1fr; }
    Inspector > .title { height: auto; padding: 0 1; }
    Inspector > .banner { display: none; height: auto; max-height: 8; padding: 0 1; }
    Inspector > .help { display: none; height: 4; padding: 0 1; background: $surface; }
    Inspector > .help.-low { height: 2; }
    Inspector Tabs { height: 1; }
    Inspector Underline { display: none; }
    Inspector TabbedContent { height: 1fr; }
    Inspector TabPane { padding: 0; height: 1fr; }
    """

    def __init__(self, editor: Editor, id: str | None = None) -> None:
        super().__init__(id=id)
        self._editor = editor
        self._known = Context()
        self._stage: str | None = None
        self._plugin: PluginInfo | None = None
        self._asked: tuple[str, PluginUse] | None = None
        """What the plugin that is shown was asked for with."""
        self._blamed = Blamed({}, [], [], None)
        self._shown_stage: str | None = None
        """Whose form is there, or is being made."""
        self._is_entered = False
        """Whether its user went into a form that is still being made."""
        self._rest = Rest(self, self._follow_selection, _REST_S)

    def compose(self) -> ComposeResult:
        yield Told(classes="title")
        yield Told(classes="banner")
        with TabbedContent(id="inspector-tabs"):
            with TabPane("properties", id="tab-properties"):
                yield Form(self._editor, self._known)
            with TabPane("schema", id="tab-schema"):
                yield SchemaPane()
            with TabPane("docs", id="tab-docs"):
                yield DocumentationPane()
            preview = PreviewPane(self._editor)
            with TabPane("try it", id="tab-try"):
                yield TrialPane(self._editor, self._known, preview)
            with TabPane("preview data", id="tab-preview"):
                yield preview
        yield Told(classes="help")

    def on_mount(self) -> None:
        self._editor.changed.subscribe(self, self._document_changed)
        self._editor.selection.subscribe(self, self._selection_moved)
        self.follow(_artifact_changes, self._artifacts_polled)
        self.set_interval(_AGE_S, self._show_title)
        self._selected(self._editor.selected)

    def on_unmount(self) -> None:
        self._rest.drop()

    @property
    def stage(self) -> str | None:
        """The stage that is shown."""
        return self._stage

    @property
    def form(self) -> Form:
        return self.query_one(Form)

    @property
    def plugin(self) -> PluginInfo | None:
        """The plugin of the stage; None while it is not known, or when it is not there."""
        return self._plugin

    @property
    def state(self) -> StageState | None:
        return self._editor.state(self._stage) if self._stage is not None else None

    def show(self, stage: str, property: str | None = None) -> None:
        """Go to a stage, and to one of its properties."""
        self._editor.select(stage)
        self.settle()
        if property is not None:
            self._open("tab-properties")
            self.form.go_to(property)

    def settle(self) -> None:
        """Show the selected stage now: its user goes into it."""
        self._rest.now()

    def go_in(self) -> None:
        """Have the keys go to what the open tab shows; in a form to what is wrong, or else what is first."""
        self.settle()
        tabs = self._tabs
        pane = tabs.active_pane
        self._is_entered = pane is not None and pane.id == "tab-properties" and not self._is_shown
        into = None if self._is_entered or pane is None else self._entrance(pane)
        (into or tabs.query_one(Tabs)).focus()

    def flush(self) -> None:
        """Send what is being typed now: before the document is saved or run."""
        self.form.flush()

    def preview(self, preview: str) -> None:
        """Show what becomes of a preview that was started, unless its user is at something else here."""
        self.query_one(PreviewPane).follow_preview(preview)
        if not self.has_focus_within:
            self.open_tab("preview")

    def open_tab(self, name: str) -> None:
        """:param name: ``properties``, ``schema``, ``docs``, ``try`` or ``preview``."""
        self._open(f"tab-{name}")

    def _open(self, pane: str) -> None:
        """Open a pane; the keys, when they go to another one, go to the row of tabs."""
        tabs = self._tabs
        if tabs.active != pane:
            active = tabs.active_pane
            if active is not None and active.has_focus_within:
                tabs.query_one(Tabs).focus()
            tabs.active = pane

    @property
    def _is_shown(self) -> bool:
        """Whether the form is that of the stage, with all of its fields."""
        return self._shown_stage == self._stage and self.form.is_ready

    def _entrance(self, pane: TabPane) -> Widget | None:
        """What gets the keys when its user goes into a pane; None when nothing there takes keys."""
        chain = [each for each in self.screen.focus_chain if pane in each.ancestors]
        wrong = {field for field in self.form.fields.values() if field.blames}
        first = next(iter(chain), None)
        return next((each for each in chain if not wrong.isdisjoint(each.ancestors)), first)

    def _enter_form(self) -> None:
        """Go on into a form that was not there yet, unless the keys went elsewhere meanwhile."""
        if self._is_entered:
            self._is_entered = False
            if self._tabs.query_one(Tabs).has_focus and self._tabs.active == "tab-properties":
                self.go_in()

    # -- following the editor ----------------------------------------------------------------------

    def _selection_moved(self, stage: str | None) -> None:
        self.form.flush()
        self._rest.ask()

    def _follow_selection(self) -> None:
        self._selected(self._editor.selected)

    def _selected(self, stage: str | None) -> None:
        if stage != self._stage:
            self.form.flush()
            self._stage, self._asked = stage, None
            self._ask_for_plugin()
            self._show_state()

    def _document_changed(self, change: Editor.Changed) -> None:
        stage = self._stage
        if stage is not None and stage in change.renamed:
            self._stage = stage = change.renamed[stage]
            self.form.rename(stage)
        if stage is not None and not self._editor.node(stage):
            self._selected(None)
            return
        if stage is not None and stage not in change.stages:
            return
        if change.is_edit:
            if change.by is not self.form:
                self._refresh()
            self._ask_for_plugin()
        self._show_state()

    @work(group="form")
    async def _refresh(self) -> None:
        await self.form.refresh_values()
        self._show_state()

    # -- its plugin ----------------------------------------------------------------------------------

    @property
    def _use(self) -> StageUse | None:
        return self._editor.use(self._stage) if self._stage is not None else None

    def _ask_for_plugin(self, *, anew: bool = False) -> None:
        """Ask for the declaration of the plugin, unless it is the one that is shown."""
        use, namespace = self._use, self._editor.namespace
        if use is None:
            self._asked = None
            self._show_plugin(None)
            return
        stage, title = use.name, self._editor.title
        plugin = PluginUse(use.plugin.type, use.plugin.name, {}, use.plugin.artifact)
        if (namespace, plugin) == self._asked and not anew:
            return
        self._asked = (namespace, plugin)

        def ask(cdap: Cdap) -> tuple[PluginInfo | None, dict[str, str], list[str]]:
            preferences = cdap.preferences.of_pipeline(namespace, title)
            keys = [key.name for key in cdap.secure_keys.list_keys(namespace)]
            return plugin_of(cdap, namespace, plugin), preferences, keys

        def take(answer: tuple[PluginInfo | None, dict[str, str], list[str]]) -> None:
            if self._stage == stage:
                info, self._known.preferences, self._known.secure_keys = answer
                if not (self._shown_stage == stage and info == self._plugin):
                    self._show_plugin(info)

        self.call(ask, take, failed=self._plugin_failed, group="plugin")

    def _artifacts_polled(self, is_other: bool) -> None:
        if is_other:
            self._ask_for_plugin(anew=True)

    def _plugin_failed(self, error: LocalcdapError) -> None:
        self._show_plugin(
            None
        )  # an artifact that cannot be read is among the failures of the stage

    def _show_plugin(self, info: PluginInfo | None) -> None:
        self._plugin = info
        self._shown_stage = self._stage
        self.query_one(DocumentationPane).show_plugin(info)
        self._fill_pane()
        self._build()

    @work(group="form", exclusive=True)
    async def _build(self) -> None:
        plugin = self._plugin
        await self.form.show(
            self._stage,
            plugin.properties if plugin is not None else None,
            plugin.methods if plugin is not None else (),
        )
        if self.is_attached:
            self._show_state()
            self._enter_form()

    # -- its state -----------------------------------------------------------------------------------

    def _show_state(self) -> None:
        state = self.state
        self._known.take(state)
        self._known.arguments = self._editor.arguments
        errors = state.errors if state is not None else []
        warnings = state.warnings if state is not None else []
        self._blamed = blamed(errors, warnings, self.form.fields.keys() if self._is_shown else None)
        if self._is_shown:
            self.form.blame(self._blamed.by_property)
        self._fill_pane()
        self._show_title()
        self._show_banner()

    def _show_title(self) -> None:
        self.query_one("Inspector > .title", Told).put(self._title(self.state))

    def _show_banner(self) -> None:
        lines: list[Content] = []
        missing = self._blamed.missing
        if missing is not None:
            lines.append(Content.styled(f"✗ {missing.message}", "$text-error"))
            suggested = missing.suggested_artifact
            offer = (
                f"f6 uses {suggested.name} {suggested.version} ({suggested.scope})"
                if suggested is not None
                else missing.corrective_action or ""
            )
            lines.append(Content.styled(f"  {offer}", "$foreground 60%"))
        for failure in self._blamed.others:
            lines += _told(failure, "✗", "$text-error")
        for warning in self._blamed.remarks:
            lines += _told(warning, "!", "$text-warning")
        self.query_one(".banner", Told).put_lines(lines)

    def _title(self, state: StageState | None) -> Content:
        use = self._use
        if use is None:
            return Content.styled("Select a stage to see its properties.", "$foreground 60%")
        artifact = state.artifact if state is not None else None
        return Content.assemble(
            Content.styled(use.name, "bold"),
            "  ",
            _verdict(state),
            Content.styled(_age(state), "$foreground 60%"),
            "\n",
            Content.styled(
                f"{use.plugin.name} · {use.plugin.type} · {_named(artifact)}", "$foreground 60%"
            ),
        )

    # -- keys ----------------------------------------------------------------------------------------

    @property
    def _tabs(self) -> TabbedContent:
        return self.query_one("#inspector-tabs", TabbedContent)

    def action_tab(self, by: int) -> None:
        panes = [pane.id or "" for pane in self._tabs.query(TabPane)]
        self._open(panes[(panes.index(self._tabs.active) + by) % len(panes)])

    def action_detect(self) -> None:
        """Look at files and databases for this stage; the results come as changes."""
        if self._stage is not None:
            self.form.flush()
            self._editor.detect([self._stage])

    def action_try(self) -> None:
        """Try the stage, and show what it gives."""
        self.form.flush()
        self.open_tab("try")
        pane = self.query_one(TrialPane)
        pane.show_stage(self._stage)
        pane.try_stage()

    def action_fill(self) -> None:
        self.query_one(TrialPane).fill()

    def action_input(self) -> None:
        self.query_one(TrialPane).next_input()

    @work
    async def action_methods(self) -> None:
        """Choose a method of the plugin and call it."""
        plugin = self._plugin
        if plugin is None or not plugin.methods:
            return
        methods = plugin.methods
        chosen: PluginMethod | None = methods[0]
        if len(methods) > 1:
            choices = [Choice(each.name, each, detail=each.description) for each in methods]
            title = f"What to ask {plugin.name}?"
            chosen = await cast(Habits, self.app).choose(choices, title=title)
        if chosen is not None:
            self._ask(chosen)

    @on(Form.Asked)
    def _asked_in_form(self, event: Form.Asked) -> None:
        event.stop()
        self._ask(event.method)

    def _ask(self, method: PluginMethod) -> None:
        """Call a method with the properties that are filled in so far."""
        use, plugin = self._use, self._plugin
        if use is None or plugin is None:
            return
        self.form.flush()
        properties = as_properties(self._editor.properties(use.name))
        of = MethodPlugin(plugin.type, plugin.name, selector(plugin.artifact), properties)
        call = MethodCall(of, method.name, None, self._editor.namespace, self._editor.arguments)
        self.app.push_screen(MethodDialog(method, call))

    def action_version(self) -> None:
        """Use what a failure suggests, or choose among the versions of the plugin."""
        use, missing = self._use, self._blamed.missing
        if use is None:
            return
        if missing is not None and missing.suggested_artifact is not None:
            self._use_artifact(use.plugin.name, missing.suggested_artifact)
            return
        namespace, plugin = self._editor.namespace, use.plugin
        self.call(lambda cdap: candidates(cdap, namespace, plugin), self._offer, group="versions")

    @work
    async def _offer(self, found: list[Candidate]) -> None:
        use = self._use
        if use is None:
            return
        choices = [
            Choice(f"{c.name}  {_named(c.artifact)}", c, detail=c.description) for c in found
        ]
        title = f"Which {use.plugin.name} shall '{use.name}' use?"
        chosen = await cast(Habits, self.app).choose(choices, title=title)
        if chosen is not None:
            self._use_artifact(chosen.name, chosen.artifact)

    def _use_artifact(self, name: str, artifact: ArtifactId) -> None:
        use = self._use
        if use is not None:
            type, changed = use.plugin.type, artifact_json(artifact)
            self._editor.apply(SetPlugin(use.name, type, name, changed), by=self)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("fill", "input") and self.is_mounted and self._tabs.active != "tab-try":
            return False
        return None if self.disabled_reason(action) else True

    def disabled_reason(self, action: str) -> str | None:
        if action in ("version", "detect", "methods", "try") and self._stage is None:
            return "no stage is selected"
        if action == "methods" and (self._plugin is None or not self._plugin.methods):
            return "the plugin has no methods"
        return None

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self.settle()
        help = self.query_one(".help", Told)
        field = next(
            (each for each in event.widget.ancestors_with_self if isinstance(each, Field)), None
        )
        help.put(field.help if field is not None else Content())
        help.display = field is not None

    @on(TabbedContent.TabActivated)
    def _tab_shown(self, event: TabbedContent.TabActivated) -> None:
        event.stop()
        if event.pane.id != "tab-properties":
            self.query_one(".help").display = False
        self.refresh_bindings()
        self._fill_pane()

    def _fill_pane(self) -> None:
        """Have the pane that is looked at show the stage; the others wait until they are."""
        match self._tabs.active:
            case "tab-schema":
                self.query_one(SchemaPane).put(self.state)
            case "tab-docs":
                self.query_one(DocumentationPane).arrive(self._editor.namespace)
            case "tab-try":
                self.query_one(TrialPane).show_stage(self._stage)
            case "tab-preview":
                pane = self.query_one(PreviewPane)
                pane.show_stage(self._stage)
                pane.arrive()


def _artifact_changes(cdap: Cdap) -> Iterator[bool]:
    """After each poll, whether artifacts changed."""
    last = cdap.messaging.newest()
    while True:
        messages = cdap.messaging.fetch("system", "artifacts", last, wait_s=_POLL_S)
        last = messages[-1].id if messages else last
        yield bool(messages)


def _told(failure: ValidationFailure, glyph: str, style: str) -> Iterator[Content]:
    yield Content.styled(f"{glyph} {failure.message}", style)
    if failure.corrective_action:
        yield Content.styled(f"  {failure.corrective_action}", "$foreground 60%")


def _verdict(state: StageState | None) -> Content:
    if state is None or state.checking:
        return Content.styled("… checking", "$foreground 60%")
    if state.errors:
        count = len(state.errors)
        return Content.styled(f"✗ {count} failure{'s' * (count != 1)}", "$text-error")
    if state.warnings:
        count = len(state.warnings)
        return Content.styled(f"! {count} warning{'s' * (count != 1)}", "$text-warning")
    return Content.styled("✓ valid", "$text-success")


def _named(artifact: ArtifactId | None) -> str:
    if artifact is None:
        return "no artifact"
    return f"{artifact.name} {artifact.version}" + (" user" if artifact.scope == "USER" else "")


def _age(state: StageState | None) -> str:
    """When files were looked at for the stage."""
    if state is None or state.detected_ms is None:
        return ""
    seconds = max(0, time.time() - state.detected_ms / 1000)
    if seconds < 60:
        return "  looked at files just now"
    if seconds < 3600:
        return f"  looked at files {seconds // 60:.0f} min ago"
    return f"  looked at files {seconds // 3600:.0f} h ago"
