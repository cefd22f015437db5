"""The form of a stage: a field for each property, kept in step with the document in both directions."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final

from textual.containers import VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from localcdap.api.config import PluginProperty
from localcdap.studio.documents.lenient import as_properties
from localcdap.studio.editing.edits import SetProperty
from localcdap.tui.inspector.blame import Blame
from localcdap.tui.inspector.context import Context
from localcdap.tui.inspector.field import Field
from localcdap.tui.inspector.plan import planned
from localcdap.tui.pipeline.editor import Editor

SENT_AFTER_S: Final = 0.1
"""Seconds that what is typed waits to be sent, for what is typed with it."""
_ONE_STEP_S: Final = 1.0
"""Seconds of silence after which typing on in a property is another step of undo."""
_NARROW: Final = 56
"""Cells below which names stand above what they name."""


class Form(VerticalScroll, can_focus=False):
    """The properties of one stage at a time.

    What is typed becomes an edit after :data:`SENT_AFTER_S`; an edit made elsewhere changes the fields, but
    for one whose text is on its way.
    """

    DEFAULT_CSS = """
    Form { height: 1fr; padding: 0 1; scrollbar-size: 1 1; }
    Form .group { color: $text-muted; margin-top: 1; height: 1; }
    Form .left-out { color: $text-muted; margin-top: 1; height: auto; }
    """

    def __init__(self, editor: Editor, context: Context) -> None:
        super().__init__()
        self._editor = editor
        self._known = context
        self._stage: str | None = None
        self._typed: dict[str, str] = {}
        self._timer: Timer | None = None
        self._last: tuple[str, str, float] | None = None
        """Stage, property and time of the last edit from here."""
        self._declared: Mapping[str, PluginProperty] | None = None
        self._wanted: str | None = None

    @property
    def fields(self) -> dict[str, Field]:
        """By property."""
        return {each.plan.name: each for each in self.children if isinstance(each, Field)}

    async def show(self, stage: str | None, declared: Mapping[str, PluginProperty] | None) -> None:
        """Show the form of a stage.

        :param declared: what its plugin has; None when that is not there.
        """
        self.flush()
        self._stage, self._declared, self._last = stage, declared, None
        widgets: list[Widget] = []
        if stage is not None:
            widgets = self._composed(as_properties(self._editor.properties(stage)))
        with self.app.batch_update():
            await self.remove_children()
            await self.mount_all(widgets)
        self.scroll_home(animate=False)
        self._fit()
        if self._wanted is not None:
            self.go_to(self._wanted)

    def rename(self, stage: str) -> None:
        """The stage that is shown has another name now."""
        self._stage = stage

    async def refresh_values(self) -> None:
        """Take over what the document says now."""
        if self._stage is None:
            return
        properties = as_properties(self._editor.properties(self._stage))
        fields = self.fields
        if self._lacks(fields, properties):
            focused = self._focused_property()
            await self.show(self._stage, self._declared)
            if focused is not None:
                self.go_to(focused)
            return
        for name, field in fields.items():
            if name not in self._typed:
                field.put(properties.get(name, ""))

    def blame(self, by_property: Mapping[str, Sequence[Blame]]) -> None:
        for name, field in self.fields.items():
            field.blame(by_property.get(name, ()))

    def go_to(self, name: str) -> None:
        """Have the keys go to a property, as soon as it is there."""
        field = self.fields.get(name)
        self._wanted = name if field is None else None
        if field is not None:
            self.scroll_to_widget(field, animate=False)
            field.focus_control()

    def flush(self) -> None:
        """Send what was typed now."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        typed, self._typed = self._typed, {}
        stage = self._stage
        if stage is None or not self._editor.node(stage):
            return
        for name, text in typed.items():
            self._send(stage, name, text)

    def on_field_edited(self, event: Field.Edited) -> None:
        event.stop()
        self._typed[event.field.plan.name] = event.text
        if self._timer is None:
            self._timer = self.set_timer(SENT_AFTER_S, self.flush)

    def on_unmount(self) -> None:
        self.flush()

    def on_resize(self, event: Resize) -> None:
        self._fit()

    def _send(self, stage: str, name: str, text: str) -> None:
        before = as_properties(self._editor.properties(stage)).get(name, "")
        if text == before:
            return
        last, now = self._last, time.monotonic()
        continues = last is not None and last[:2] == (stage, name) and now - last[2] < _ONE_STEP_S
        self._last = (stage, name, now)
        self._editor.apply(SetProperty(stage, name, text or None, continues), by=self)

    def _composed(self, properties: Mapping[str, str]) -> list[Widget]:
        groups, left_out = planned(self._declared, list(properties))
        widgets: list[Widget] = []
        for group in groups:
            if group.heading:
                widgets.append(Static(Content(group.heading), classes="group"))
            widgets += [
                Field(plan, properties.get(plan.name, ""), self._known) for plan in group.fields
            ]
        if left_out:
            note = f"{left_out:,} more properties are not shown; they are kept as they are."
            widgets.append(Static(note, classes="left-out"))
        if not widgets:
            widgets.append(Static("This plugin has no properties.", classes="left-out"))
        return widgets

    def _lacks(self, fields: Mapping[str, Field], properties: Mapping[str, str]) -> bool:
        """Whether other properties are to be shown than are."""
        groups, _ = planned(self._declared, list(properties))
        wanted = [plan.name for group in groups for plan in group.fields]
        emptied = [
            name for name, field in fields.items() if name not in wanted and name in self._typed
        ]
        return [name for name in fields if name not in emptied] != wanted

    def _focused_property(self) -> str | None:
        return next((n for n, each in self.fields.items() if each.has_focus_within), None)

    def _fit(self) -> None:
        is_narrow = 0 < self.size.width < _NARROW
        for field in self.fields.values():
            field.set_class(is_narrow, "-narrow")
