"""The settings of a pipeline: what it is called, how it runs, and what has an effect only in CDAP.

They are chosen of what the instance has: profiles for runs, and the connections of stages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import msgspec
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Select, Static, Switch, TextArea

from localcdap.api.errors import NotFoundError
from localcdap.host.cdap import Cdap
from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.document.values import as_text
from localcdap.pipeline.editing.edits import CompoundEdit, Edit, SetSetting
from localcdap.pipeline.macros.evaluation import connections_used
from localcdap.runs.startup.profiles import NATIVE, PROFILE_ARGUMENT, ProfileSummary
from localcdap.text import sanitize_for_terminal
from localcdap.tui.dialogs.dialog_screen import DialogScreen, create_row
from localcdap.tui.dialogs.metadata import format_properties, parse_properties
from localcdap.tui.document.editor import Editor


class PipelineEnvironment(msgspec.Struct):
    """The profiles and connections of a pipeline."""

    profiles: list[ProfileSummary]
    profile: str
    """The profile that the pipeline's preference names; empty without one."""
    connections: dict[str, str | None]
    """The types of the connections that stages use, by name; None for one that does not exist."""


def list_connection_names(editor: Editor) -> list[str]:
    """Return the names of the connections that stages use."""
    document = editor.document
    stages = (*document.stages, *document.post_actions)
    found = (name for stage in stages for name in connections_used(stage.plugin.properties))
    return list(dict.fromkeys(found))


def read_environment(
    cdap: Cdap, namespace: str, pipeline: str, connections: Iterable[str]
) -> PipelineEnvironment:
    """Read the profiles of a namespace, the profile of a pipeline, and connections."""
    preference = cdap.preferences.get(PreferenceLevel(namespace, pipeline)).get(PROFILE_ARGUMENT)
    name = (preference or "").strip().rpartition(":")[2]
    return PipelineEnvironment(
        cdap.runs.list_profiles(namespace),
        NATIVE if name.lower() == NATIVE else name,
        {each: _find_type(cdap, namespace, each) for each in connections},
    )


def set_profile(cdap: Cdap, namespace: str, pipeline: str, profile: str) -> None:
    """Set the profile of a pipeline.

    :param profile: empty for the default of the namespace.
    """
    level = PreferenceLevel(namespace, pipeline)
    if profile:
        cdap.preferences.update(level, {PROFILE_ARGUMENT: profile})
    else:
        cdap.preferences.update(level, removed=[PROFILE_ARGUMENT])


def _find_type(cdap: Cdap, namespace: str, name: str) -> str | None:
    try:
        return cdap.connections.get(namespace, name).connection_type
    except NotFoundError:
        pass
    try:
        cdap.connections.get_properties(namespace, name)
    except NotFoundError:
        return None
    return "predefined"


@dataclass(frozen=True)
class NumberSetting:
    """A whole number of a setting, in a part of it where that is an object."""

    label: str
    key: str
    part: str | None = None
    unit: str = ""


_PREVIEW: Final = NumberSetting("preview records", "numOfRecordsPreview", unit="of each source")
_CONCURRENT: Final = NumberSetting(
    "concurrent runs", "maxConcurrentRuns", unit="at most; empty: any number"
)
_IN_CDAP: Final = (
    NumberSetting("executor memory", "resources", "memoryMB", "MB"),
    NumberSetting("executor cores", "resources", "virtualCores"),
    NumberSetting("driver memory", "driverResources", "memoryMB", "MB"),
    NumberSetting("driver cores", "driverResources", "virtualCores"),
)
_NUMBERS: Final = (_PREVIEW, _CONCURRENT, *_IN_CDAP)
_SWITCHES: Final = (("stage logging", "stageLoggingEnabled"), ("timing", "processTimingEnabled"))
_PROFILE_NOTE: Final = (
    "Where runs take place. It is kept as the preference system.profile.name of the pipeline; an argument of "
    "that name wins. [profiles.NAME] in localcdap.toml declares clusters."
)
_PROPERTIES_NOTE: Final = (
    "system.spark.NAME sets the property NAME of Spark for the run; all others have no effect here."
)
_SCHEDULE_NOTE: Final = (
    "A deployment makes the schedule dataPipelineSchedule, which is suspended: t in the library (6) enables "
    "it, and adds others. No more than 'concurrent runs' of it go on at once."
)
_TIMES: Final = 3
_NO_EFFECT_NOTE: Final = (
    "Kept for CDAP and Data Fusion, without effect here. Runs use Spark also where MapReduce is chosen. "
    "engine.memory in localcdap.toml is the memory of Spark here; a cluster has its own settings. Logs "
    "always name the stage."
)


@dataclass(frozen=True)
class ChangedSettings:
    """The changes that a user made."""

    edit: Edit | None
    """The edit of the document; None when nothing in it changes."""
    profile: str | None
    """The chosen profile, empty for the default of the namespace; None when it does not change."""


class PipelineSettingsDialog(DialogScreen[ChangedSettings]):
    """Lets its user change the settings of a pipeline.

    :param environment: what the instance has for the pipeline.
    """

    DEFAULT_CSS = """
    PipelineSettingsDialog {
        align: center top;
        & > #dialog { width: 84; height: 92%; max-height: 34; margin-top: 1; }
        & #settings-fields { height: 1fr; scrollbar-size: 1 1; }
        & .row > .unit { width: auto; color: $text-muted; padding-left: 1; }
        & .row > Input.number { width: 14; }
        & .row > Input.-invalid { background: $error 25%; }
        & .row > Switch { border: none; height: 1; padding: 0; }
        & .row > TextArea { height: 4; margin-bottom: 1; }
        & .row > Select { width: 34; }
        & .part { height: 1; margin-top: 1; text-style: bold; }
        & .note { height: auto; color: $text-muted; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "accept", "apply", priority=True),
    ]

    def __init__(self, editor: Editor, environment: PipelineEnvironment) -> None:
        super().__init__()
        self._document: PipelineDocument = editor.document
        self._config: Mapping[str, Any] = editor.config
        self._environment = environment

    def compose_body(self) -> ComposeResult:
        document = self._document
        yield Static("Settings of the pipeline", id="dialog-title")
        with VerticalScroll(id="settings-fields", can_focus=False):
            yield create_row("name", Input(document.name or "", id="name", compact=True))
            area = _create_area(document.description or "", "description")
            yield create_row("description", area)
            yield from self._compose_runs()
            yield from self._compose_connections()
            yield from self._compose_schedule()
            yield from self._compose_rest()
        yield Static(id="dialog-problem")
        yield from self.compose_buttons("Apply")

    def _compose_runs(self) -> ComposeResult:
        yield Static("Runs", classes="part")
        found = self._environment
        default = next((each.name for each in found.profiles if each.is_default), "")
        choices = [(f"default ({default})", ""), *((p.name, p.name) for p in found.profiles)]
        if found.profile not in {name for _, name in choices}:
            choices.append((f"{found.profile} (not declared)", found.profile))
        profile = Select(
            choices, value=found.profile, allow_blank=False, id="profile", compact=True
        )
        yield create_row("profile", profile)
        yield _create_note(_PROFILE_NOTE)
        yield self._create_number(_PREVIEW)
        area = _create_area(format_properties(self._document.properties), "properties")
        yield create_row("properties", area, _create_unit("name=value"))
        yield _create_note(_PROPERTIES_NOTE)

    def _compose_connections(self) -> ComposeResult:
        yield Static("Connections of stages", classes="part")
        lines = [
            f"{name}: {kind}" if kind is not None else f"{name}: not in this namespace"
            for name, kind in self._environment.connections.items()
        ]
        yield Static(Content("\n".join(lines) or "No stage uses a connection."), id="connections")
        yield _create_note(
            "Stages use them as ${conn(name)}. 7, then o, lists, changes and imports those of a namespace."
        )

    def _compose_schedule(self) -> ComposeResult:
        yield Static("Schedule", classes="part")
        schedule = self._document.schedule or ""
        yield create_row("schedule", Input(schedule, id="schedule", compact=True))
        yield self._create_number(_CONCURRENT)
        yield Static(_SCHEDULE_NOTE, classes="note", id="schedule-times")

    @on(Input.Changed, "#schedule")
    def _show_times(self, event: Input.Changed) -> None:
        """Show when the schedule would be due next, or what is wrong with it."""
        cron = event.value.strip()
        if not cron:
            self._set_times("")
            return
        self.call(
            lambda cdap: cdap.schedules.list_times(cron, None, _TIMES),
            on_result=lambda found: self._set_times(", ".join(each.text for each in found)),
            on_error=lambda error: self._set_times(error.message),
            group="times",
        )

    def _set_times(self, text: str) -> None:
        shown = "\n".join(filter(None, (text, _SCHEDULE_NOTE)))
        self.query_one("#schedule-times", Static).update(Content(sanitize_for_terminal(shown)))

    def _compose_rest(self) -> ComposeResult:
        yield Static("No effect here", classes="part")
        yield _create_note(_NO_EFFECT_NOTE)
        engines = [("Spark", "SPARK"), ("MapReduce", "MAPREDUCE")]
        engine = Select(
            engines, value=self._document.engine, allow_blank=False, id="engine", compact=True
        )
        yield create_row("engine", engine)
        for number in _IN_CDAP:
            yield self._create_number(number)
        for label, key in _SWITCHES:
            yield create_row(label, Switch(self._switch(key), id=key))

    def _create_number(self, number: NumberSetting) -> Horizontal:
        field = Input(
            self._format_number(number), id=_get_field_id(number), classes="number", compact=True
        )
        return create_row(number.label, field, _create_unit(number.unit))

    def action_accept(self) -> None:
        """Answer with what is different, or say what is wrong."""
        problems: list[str] = []
        edits = [
            *self._collect_text_edits(problems),
            *self._collect_number_edits(problems),
            *self._switch_edits(),
        ]
        if problems:
            self.show_problem(" ".join(problems))
            return
        profile = str(self.query_one("#profile", Select).value)
        is_same = profile == self._environment.profile
        self.dismiss(
            ChangedSettings(CompoundEdit(edits) if edits else None, None if is_same else profile)
        )

    def _collect_text_edits(self, problems: list[str]) -> list[Edit]:
        document = self._document
        edits: list[Edit] = []
        texts = (
            ("name", self.query_one("#name", Input).value.strip(), document.name),
            ("description", self.query_one("#description", TextArea).text, document.description),
            ("schedule", self.query_one("#schedule", Input).value.strip(), document.schedule),
        )
        edits += [SetSetting(key, new or None) for key, new, old in texts if new != (old or "")]
        engine = self.query_one("#engine", Select).value
        if engine != document.engine:
            edits.append(SetSetting("engine", str(engine).lower()))
        properties = parse_properties(self.query_one("#properties", TextArea).text, problems)
        if properties != document.properties:
            edits.append(SetSetting("properties", properties))
        return edits

    def _collect_number_edits(self, problems: list[str]) -> list[Edit]:
        changed: dict[str, Any] = {}
        for number in _NUMBERS:
            field = self.query_one(f"#{_get_field_id(number)}", Input)
            text = field.value.strip()
            is_wrong = bool(text) and not (text.isdecimal() and 0 < int(text) < 2**31)
            field.set_class(is_wrong, "-invalid")
            if is_wrong:
                problems.append(f"'{number.label}' is a whole number above 0.")
            elif text != self._format_number(number):
                value = int(text) if text else None
                if number.part is None:
                    changed[number.key] = value
                else:
                    before = changed.get(number.key, self._get_object(number.key))
                    changed[number.key] = _with(before, number.part, value)
        return [SetSetting(key, value) for key, value in changed.items()]

    def _switch_edits(self) -> list[Edit]:
        found = [(key, self.query_one(f"#{key}", Switch).value) for _, key in _SWITCHES]
        return [SetSetting(key, value) for key, value in found if value != self._switch(key)]

    def _format_number(self, number: NumberSetting) -> str:
        """Return the number as it is in the document; empty if it is missing."""
        if number.part is None:
            return as_text(self._config.get(number.key)) or ""
        return as_text(self._get_object(number.key).get(number.part)) or ""

    def _get_object(self, key: str) -> Mapping[str, Any]:
        value = self._config.get(key)
        return value if isinstance(value, Mapping) else {}

    def _switch(self, key: str) -> bool:
        if key == "stageLoggingEnabled":
            return self._document.stage_logging_enabled
        return self._document.process_timing_enabled


def _create_unit(text: str) -> Static:
    return Static(text, classes="unit")


def _create_area(text: str, id: str) -> TextArea:
    return TextArea(text, tab_behavior="focus", id=id)


def _create_note(text: str) -> Static:
    return Static(Content(text), classes="note")


def _get_field_id(number: NumberSetting) -> str:
    return number.key if number.part is None else f"{number.key}-{number.part}"


def _with(part: Mapping[str, Any], key: str, value: int | None) -> dict[str, Any]:
    changed = {**part, key: value}
    if value is None:
        del changed[key]
    return changed
