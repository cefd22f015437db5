"""The settings of a pipeline: what it is called and how it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Input, Select, Static, Switch, TextArea

from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.document.values import as_text
from localcdap.pipeline.editing.edits import CompoundEdit, Edit, SetSetting
from localcdap.tui.dialogs.dialog_screen import DialogScreen
from localcdap.tui.document.editor import Editor


@dataclass(frozen=True)
class NumberSetting:
    """A whole number of a setting, in a part of it where that is an object."""

    label: str
    key: str
    part: str | None = None
    unit: str = ""


_NUMBERS: Final = (
    NumberSetting("preview records", "numOfRecordsPreview"),
    NumberSetting("concurrent runs", "maxConcurrentRuns", unit="at most; empty: any number"),
    NumberSetting("executor memory", "resources", "memoryMB", "MB, on a cluster"),
    NumberSetting("executor cores", "resources", "virtualCores", "on a cluster"),
    NumberSetting("driver memory", "driverResources", "memoryMB", "MB, on a cluster"),
    NumberSetting("driver cores", "driverResources", "virtualCores", "on a cluster"),
)
_SWITCHES: Final = (("stage logging", "stageLoggingEnabled"), ("timing", "processTimingEnabled"))


class PipelineSettingsDialog(DialogScreen[Edit]):
    """Lets its user change the settings of a pipeline; the answer is the edit that does."""

    DEFAULT_CSS = """
    PipelineSettingsDialog {
        align-horizontal: center;
        background: $background 60%;
        & > #settings {
            width: 84; max-width: 96%; height: 92%; max-height: 34; margin-top: 1; padding: 1 2 0 2;
            background: $surface;
        }
        & #settings-title { height: 1; text-style: bold; margin-bottom: 1; }
        & #settings-fields { height: 1fr; scrollbar-size: 1 1; }
        & .row { height: auto; }
        & .row.-tall { margin-bottom: 1; }
        & .row > .label { width: 20; color: $text-muted; }
        & .row > .unit { width: auto; color: $text-muted; padding-left: 1; }
        & .row > Input { width: 1fr; border: none; height: 1; padding: 0 1; background: $panel; }
        & .row > Input.number { width: 14; }
        & .row > Input.-invalid { background: $error 25%; }
        & .row > Switch { border: none; height: 1; padding: 0; }
        & .row > TextArea { width: 1fr; height: 4; border: none; padding: 0 1; background: $panel; }
        & .row > Select { width: 34; }
        & #settings-problem { height: auto; color: $text-error; }
        & #settings-buttons { height: 1; margin: 1 0; align-horizontal: right; }
        & Button { margin-left: 2; min-width: 12; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "take", "apply", priority=True),
    ]

    def __init__(self, editor: Editor) -> None:
        super().__init__()
        self._document: PipelineDocument = editor.document
        self._config: Mapping[str, Any] = editor.config

    def compose(self) -> ComposeResult:
        document = self._document
        with Vertical(id="settings"):
            yield Static("Settings of the pipeline", id="settings-title")
            with VerticalScroll(id="settings-fields", can_focus=False):
                yield from _compose_row("name", Input(document.name or "", id="name", compact=True))
                yield from _compose_row(
                    "description", TextArea(document.description or "", id="description")
                )
                engines = [("Spark", "SPARK"), ("MapReduce (runs on Spark)", "MAPREDUCE")]
                engine = Select(
                    engines, value=document.engine, allow_blank=False, id="engine", compact=True
                )
                yield from _compose_row("engine", engine)
                yield from _compose_row(
                    "properties",
                    TextArea(_format_properties(document.properties), id="properties"),
                    "name=value",
                )
                for number in _NUMBERS:
                    field = Input(
                        self._format_number(number),
                        id=_get_field_id(number),
                        classes="number",
                        compact=True,
                    )
                    yield from _compose_row(number.label, field, number.unit)
                yield from _compose_row(
                    "schedule", Input(document.schedule or "", id="schedule", compact=True)
                )
                for label, key in _SWITCHES:
                    yield from _compose_row(label, Switch(self._switch(key), id=key))
            yield Static(id="settings-problem")
            with Horizontal(id="settings-buttons"):
                yield Button("Cancel", id="cancel", compact=True)
                yield Button("Apply", id="take", variant="primary", compact=True)

    @on(Button.Pressed, "#cancel")
    def _cancel(self) -> None:
        self.dismiss(None)

    @on(Button.Pressed, "#take")
    def action_take(self) -> None:
        """Answer with what is different, or say what is wrong."""
        problems: list[str] = []
        edits = [
            *self._collect_text_edits(problems),
            *self._collect_number_edits(problems),
            *self._switch_edits(),
        ]
        if problems:
            self.query_one("#settings-problem", Static).update(Content(" ".join(problems)))
        else:
            self.dismiss(CompoundEdit(edits) if edits else None)

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
        properties = _parse_properties(self.query_one("#properties", TextArea).text, problems)
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


def _compose_row(label: str, field: Any, unit: str = "") -> ComposeResult:
    with Horizontal(classes="row -tall" if isinstance(field, TextArea) else "row"):
        yield Static(label, classes="label")
        yield field
        if unit:
            yield Static(unit, classes="unit")


def _get_field_id(number: NumberSetting) -> str:
    return number.key if number.part is None else f"{number.key}-{number.part}"


def _format_properties(properties: Mapping[str, str]) -> str:
    return "\n".join(f"{name}={value}" for name, value in properties.items())


def _parse_properties(text: str, problems: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        name, equals, value = line.partition("=")
        if name.strip() and equals:
            found[name.strip()] = value.strip()
        elif line.strip():
            problems.append(f"Line {number} of the properties is not name=value.")
    return found


def _with(part: Mapping[str, Any], key: str, value: int | None) -> dict[str, Any]:
    changed = {**part, key: value}
    if value is None:
        del changed[key]
    return changed
