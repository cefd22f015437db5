"""The stage that is selected, with all that can be seen and done of it."""

from __future__ import annotations

from typing import ClassVar, Final

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.notifications import SeverityLevel
from textual.widgets import TabbedContent

from localcdap.api.errors import LocalcdapError
from localcdap.api.failures import ArtifactId
from localcdap.api.methods import PluginMethod
from localcdap.artifacts.model import PluginInfo
from localcdap.pipeline.document.model import PluginUse, StageUse
from localcdap.pipeline.document.values import artifact_to_json
from localcdap.pipeline.editing.edits import SetPlugin, SetProperty
from localcdap.pipeline.editing.incremental_validator import StageState
from localcdap.pipeline.method_calls import SCHEMA, DetectedSchema, detect_output_schema
from localcdap.pipeline.paths.format_guess import FormatGuess, build_properties
from localcdap.tui.document.editor import Editor
from localcdap.tui.document.local_document import DocumentChange
from localcdap.tui.inspector import heading, preparation
from localcdap.tui.inspector.heading import FieldHelp, StageFailures, group_failures
from localcdap.tui.inspector.plugin_details import (
    MethodDialog,
    MethodInput,
    PluginCandidate,
    PluginDetails,
    build_call,
    choose_method,
    choose_version,
    list_candidates,
    read_plugin_details,
    select_use,
    watch_artifacts,
)
from localcdap.tui.inspector.preparation import (
    change_properties,
    describe_detection,
    explain_no_schema,
)
from localcdap.tui.inspector.properties.field import PropertyField
from localcdap.tui.inspector.properties.field_plan import FieldContext
from localcdap.tui.inspector.properties.form import Form
from localcdap.tui.inspector.tabs import InspectorTabs
from localcdap.tui.studio import Debouncer, StudioNode
from localcdap.tui.widgets.lines import CachedStatic

_REST_S: Final = 0.04
"""Seconds that the selection rests before its stage is shown: who walks on sees the canvas move at once."""
_AGE_S: Final = 30.0
"""Seconds between updates of the age of the connected check."""


class Inspector(StudioNode, Vertical):
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
        Binding("f7", "get_schema", "get schema", id="stage.get_schema"),
        Binding("f6", "version", "plugin version", id="stage.version"),
        Binding("f8", "methods", "methods of the plugin", id="stage.methods", show=False),
        Binding("f11,alt+w", "prepare", "prepare the data", id="stage.prepare", show=False),
        Binding("f9,ctrl+enter", "try", "try the stage", id="trial.run"),
        Binding("f3", "fill", "choose records", id="trial.fill"),
        Binding("alt+i", "input", "next input", id="trial.input", show=False),
    ]
    DEFAULT_CSS = """
    Inspector { height: 1fr; }
    Inspector > .title { height: auto; padding: 0 1; }
    Inspector > .banner { display: none; height: auto; max-height: 8; padding: 0 1; }
    """

    def __init__(self, editor: Editor, id: str | None = None) -> None:
        super().__init__(id=id)
        self._editor = editor
        self._known = FieldContext()
        self._stage: str | None = None
        self._plugin: PluginInfo | None = None
        self._asked: tuple[str, PluginUse] | None = None
        """What the plugin that is shown was asked for with."""
        self._blamed = StageFailures({}, [], [], None)
        self._shown_stage: str | None = None
        """Whose form is there, or is being made."""
        self._is_entered = False
        """Whether its user went into a form that is still being made."""
        self._rest = Debouncer(self, self._follow_selection, _REST_S)

    def compose(self) -> ComposeResult:
        yield CachedStatic(classes="title")
        yield CachedStatic(classes="banner")
        yield InspectorTabs(self._editor, self._known)
        yield FieldHelp()

    def on_mount(self) -> None:
        self._editor.document_changed.subscribe(self, self._take_change)
        self._editor.validation_changed.subscribe(self, self._take_validation)
        self._editor.selection.subscribe(self, self._selection_moved)
        self.follow(watch_artifacts, self._artifacts_polled)
        self.set_interval(_AGE_S, self._show_title)
        self._show_stage(self._editor.selected)

    def on_unmount(self) -> None:
        self._rest.cancel()

    @property
    def stage(self) -> str | None:
        """The stage that is shown."""
        return self._stage

    @property
    def _panes(self) -> InspectorTabs:
        return self.query_one(InspectorTabs)

    @property
    def form(self) -> Form:
        return self._panes.form

    @property
    def plugin(self) -> PluginInfo | None:
        """The plugin of the stage; None while it is not known, or when it is not there."""
        return self._plugin

    @property
    def state(self) -> StageState | None:
        return self._editor.get_state(self._stage) if self._stage is not None else None

    def show(self, stage: str, property: str | None = None) -> None:
        """Go to a stage, and to one of its properties."""
        self._editor.select(stage)
        self.show_selected()
        if property is not None:
            self.open_tab("properties")
            self.form.go_to(property, stage)

    def show_selected(self) -> None:
        """Show the selected stage now: its user goes into it."""
        self._rest.flush()

    def focus_content(self) -> None:
        """Have the keys go to what the open tab shows; in a form to what is wrong, or else what is first."""
        if not self.is_attached:
            return
        self.show_selected()
        self._is_entered = self._panes.open == "properties" and not self._is_shown
        if self._is_entered:
            self._panes.tab_row.focus()
        else:
            self._panes.focus_content()

    def flush(self) -> None:
        """Send what is being typed now: before the document is saved or run."""
        self.form.flush()

    def show_preview(self, preview: str) -> None:
        """Show what becomes of a preview that was started, unless its user is at something else here."""
        self._panes.preview.follow_preview(preview)
        if not self.has_focus_within:
            self.open_tab("preview")

    def open_tab(self, name: str) -> None:
        """:param name: ``properties``, ``schema``, ``docs``, ``try`` or ``preview``."""
        self._panes.open_pane(name)

    @property
    def _is_shown(self) -> bool:
        """Whether the form is that of the stage, with all of its fields."""
        return self._shown_stage == self._stage and self.form.is_ready

    def _enter_form(self) -> None:
        """Go on into a form that was not there yet, unless the keys went elsewhere meanwhile."""
        if self._is_entered:
            self._is_entered = False
            if self._panes.tab_row.has_focus and self._panes.open == "properties":
                self.focus_content()

    # -- following the editor ----------------------------------------------------------------------

    def _selection_moved(self, stage: str | None) -> None:
        self.form.flush()
        self._rest.schedule()

    def _follow_selection(self) -> None:
        self._show_stage(self._editor.selected)

    def _show_stage(self, stage: str | None) -> None:
        if stage != self._stage:
            self.form.flush()
            self._stage, self._asked = stage, None
            self._ask_for_plugin()
            self._show_state()

    def _take_change(self, change: DocumentChange) -> None:
        stage = self._stage
        if stage is not None and stage in change.renamed:
            self._stage = stage = change.renamed[stage]
            self.form.rename(stage)
        if stage is not None and not self._editor.get_node(stage):
            self._show_stage(None)
            return
        if stage is None or stage in change.stages:
            if change.is_edit:
                if change.origin is not self.form:
                    self._refresh()
                self._ask_for_plugin()
            self._show_state()

    def _take_validation(self, stages: frozenset[str]) -> None:
        if self._stage is None or self._stage in stages:
            self._show_state()

    @work(group="form")
    async def _refresh(self) -> None:
        await self.form.refresh_values()
        if self.is_attached:
            self._show_state()

    # -- its plugin ----------------------------------------------------------------------------------

    @property
    def _use(self) -> StageUse | None:
        return self._editor.get_stage(self._stage) if self._stage is not None else None

    def _ask_for_plugin(self, *, anew: bool = False) -> None:
        """Ask for the declaration of the plugin, unless it is the one that is shown."""
        use, namespace = self._use, self._editor.namespace
        if use is None:
            self._asked = None
            self._show_plugin(None)
            return
        stage, title = use.name, self._editor.title
        plugin = select_use(use.plugin, self._plugin)
        if (namespace, plugin) == self._asked and not anew:
            return
        self._asked = (namespace, plugin)

        def take(found: PluginDetails) -> None:
            if self._stage == stage:
                self._known.set_names(found.preferences, found.secure_keys, found.connections)
                if not (self._shown_stage == stage and found.plugin == self._plugin):
                    self._show_plugin(found.plugin)
                    self._ask_for_plugin()  # now it is known which properties name other plugins

        self.call(
            lambda cdap: read_plugin_details(cdap, namespace, title, plugin),
            take,
            on_error=self._plugin_failed,
            group="plugin",
        )

    def _artifacts_polled(self, is_other: bool) -> None:
        if is_other:
            self._ask_for_plugin(anew=True)

    def _plugin_failed(self, error: LocalcdapError) -> None:
        # An artifact that cannot be read is among the failures of the stage.
        self._show_plugin(None)

    def _show_plugin(self, info: PluginInfo | None) -> None:
        self._plugin = info
        self._shown_stage = self._stage
        self._panes.documentation.show_plugin(info)
        self._show_pane()
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
        self._known.update(state)
        self._known.namespace = self._editor.namespace
        self._known.arguments = self._editor.arguments
        errors = state.errors if state is not None else []
        warnings = state.warnings if state is not None else []
        self._blamed = group_failures(
            errors, warnings, self.form.fields.keys() if self._is_shown else None
        )
        if self._is_shown:
            self.form.show_failures(self._blamed.by_property)
        self._show_pane()
        self._show_title()
        self.query_one(".banner", CachedStatic).update_lines(heading.format_banner(self._blamed))

    def _show_pane(self) -> None:
        self._panes.show(self._stage, self.state)

    def _show_title(self) -> None:
        self.query_one("Inspector > .title", CachedStatic).update_if_changed(
            heading.format_title(self._use, self.state)
        )

    # -- keys ----------------------------------------------------------------------------------------

    def action_tab(self, by: int) -> None:
        self._panes.open_next(by)

    def action_get_schema(self) -> None:
        """Have the source look at its data, and take the schema that it finds."""
        self.show_selected()
        if self._stage is not None:
            self.form.flush()
            self._take_from_data(self._stage, {}, None)

    @on(PropertyField.FormatChosen)
    def _apply_format(self, event: PropertyField.FormatChosen) -> None:
        """Take a path, the format of its file, and the schema that the source then finds, as one edit."""
        event.stop()
        guess, plugin = event.chosen.guess, self._plugin
        if guess is None or plugin is None or event.stage != self._stage:
            return
        self.form.flush()
        values = build_properties(guess, plugin.properties)
        if not values:
            self.studio.show_notice(
                f"{plugin.name} does not read files of the format {guess.format}.",
                "Only the path was taken.",
                "warning",
            )
        self._take_from_data(event.stage, {event.property: event.chosen.path, **values}, guess)

    def _take_from_data(
        self, stage: str, values: dict[str, str | None], guess: FormatGuess | None
    ) -> None:
        """Set properties of a source, and the schema that it finds with them.

        :param guess: the format that the properties stand for; None when they stay as they are.
        """
        plugin, editor = self._plugin, self._editor
        if plugin is not None and SCHEMA not in plugin.properties and guess is None:
            self.studio.show_notice(f"{plugin.name} has no property '{SCHEMA}' to fill.")
            return
        namespace, arguments = editor.namespace, editor.arguments
        node = change_properties(editor.get_node(stage), values)

        def take(found: DetectedSchema) -> None:
            if not editor.get_node(stage):
                return  # it was removed meanwhile
            taken = preparation.build_schema_value(found)
            before = editor.get_properties(stage).get(SCHEMA)
            edit = preparation.build_edit(editor, stage, {**values, **taken})
            if edit is not None:
                editor.apply(edit, origin=self)
            is_new = bool(taken) and before != taken[SCHEMA]
            notice = describe_detection(stage, found, is_new=is_new)
            said = f"{stage} reads {guess.format}: {guess.reason}. " if guess is not None else ""
            severity: SeverityLevel = "warning" if notice.is_warning else "information"
            self.studio.show_notice(said + notice.message, notice.detail, severity)

        self.call(
            lambda cdap: detect_output_schema(
                cdap.studio, node, namespace=namespace, arguments=arguments
            ),
            take,
            group="schema",
        )

    def action_try(self) -> None:
        """Try the stage, and show what it gives."""
        self.form.flush()
        self.open_tab("try")
        self._panes.debug.show_stage(self._stage)
        self._panes.debug.run_stage()

    def action_prepare(self) -> None:
        """Show the records that reach the stage in the prep area, with the recipe of the stage."""
        use, schema = self._use, self._known.first_input
        if use is not None and schema is not None:
            self.form.flush()
            read = preparation.prepare_stage(self._editor, use.name, schema, self.app)
            self.call(read, self.studio.navigate, group="prepare")

    def action_fill(self) -> None:
        self._panes.debug.choose_records()

    def action_input(self) -> None:
        self._panes.debug.select_next_input()

    @work
    async def action_methods(self) -> None:
        """Choose a method of the plugin and call it."""
        plugin = self._plugin
        if plugin is not None and plugin.methods:
            chosen = await choose_method(self.studio, plugin)
            if chosen is not None:
                self._ask(chosen)

    @on(Form.Asked)
    def _call_method(self, event: Form.Asked) -> None:
        event.stop()
        self._ask(event.method)

    @work
    async def _ask(self, method: PluginMethod) -> None:
        """Call a method with the properties that are filled in so far."""
        use, plugin = self._use, self._plugin
        if use is None or plugin is None:
            return
        self.form.flush()
        first, trial = self._known.first_input, self._panes.debug
        trial.show_stage(use.name)
        schema = plugin.properties.get("schema")
        dialog = MethodDialog(
            method,
            build_call(method, plugin, use.name, self._editor),
            MethodInput(first.to_json() if first is not None else None, trial.read_samples),
            takes_schema=schema is not None and schema.type == "schema",
        )
        taken = await self.app.push_screen_wait(dialog)
        if taken is not None and self._editor.get_node(use.name):
            self._editor.apply(SetProperty(use.name, "schema", taken), origin=self)

    def action_version(self) -> None:
        """Use what a failure suggests, or choose among the versions of the plugin."""
        use, missing = self._use, self._blamed.missing
        if use is None:
            return
        if missing is not None and missing.suggested_artifact is not None:
            self._use_artifact(use.plugin.name, missing.suggested_artifact)
            return
        namespace, plugin = self._editor.namespace, use.plugin
        self.call(
            lambda cdap: list_candidates(cdap, namespace, plugin), self._offer, group="versions"
        )

    @work
    async def _offer(self, found: list[PluginCandidate]) -> None:
        use = self._use
        if use is None:
            return
        chosen = await choose_version(self.studio, use, found)
        if chosen is not None:
            self._use_artifact(chosen.name, chosen.artifact)

    def _use_artifact(self, name: str, artifact: ArtifactId) -> None:
        use = self._use
        if use is not None:
            type, changed = use.plugin.type, artifact_to_json(artifact)
            self._editor.apply(SetPlugin(use.name, type, name, changed), origin=self)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("fill", "input") and self.is_mounted and self._panes.open != "try":
            return False
        return super().check_action(action, parameters)

    def explain_disabled(self, action: str) -> str | None:
        if action in ("version", "methods", "try") and self._stage is None:
            return "no stage is selected"
        if action == "get_schema":
            return explain_no_schema(self._use)
        if action == "prepare":
            return preparation.explain_no_preparation(self._use, self._known.first_input)
        if action == "methods" and (self._plugin is None or not self._plugin.methods):
            return "the plugin has no methods"
        return None

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self.show_selected()
        field = next(
            (each for each in event.widget.ancestors_with_self if isinstance(each, PropertyField)),
            None,
        )
        self.query_one(FieldHelp).show_text(field.help if field is not None else None)

    @on(TabbedContent.TabActivated)
    def _tab_shown(self, event: TabbedContent.TabActivated) -> None:
        event.stop()
        if event.pane.id != "tab-properties":
            self.query_one(FieldHelp).show_text(None)
        self.refresh_bindings()
        self._show_pane()
