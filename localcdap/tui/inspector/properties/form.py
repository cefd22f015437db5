"""The form of a stage: a field for each property, kept in step with the document in both directions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from textual.containers import VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Button, Static

from localcdap.api.config import PluginProperty
from localcdap.api.methods import PluginMethod
from localcdap.pipeline.document.values import as_properties
from localcdap.pipeline.editing.edits import SetProperty
from localcdap.tui.document.editor import Editor
from localcdap.tui.inspector.heading import PropertyFailure
from localcdap.tui.inspector.properties.field import PropertyField
from localcdap.tui.inspector.properties.field_plan import FieldContext, plan_form
from localcdap.tui.studio import get_studio

SENT_AFTER_S: Final = 0.1
"""Seconds that what is typed waits to be sent, for what is typed with it."""
_ONE_STEP_S: Final = 1.0
"""Seconds of silence after which typing on in a property is another step of undo."""
_AT_ONCE: Final = 4
"""Fields that are made before keys are looked at again."""
_NARROW: Final = 56
"""Cells below which names stand above what they name."""


class MethodButton(Button):
    """Calls a method of the plugin."""

    def __init__(self, method: PluginMethod) -> None:
        tooltip = method.description or None
        super().__init__(Content(method.name), compact=True, tooltip=tooltip)
        self.method = method


class Form(VerticalScroll, can_focus=False):
    """The properties of one stage at a time.

    What is typed becomes an edit after :data:`SENT_AFTER_S`; an edit made elsewhere changes the fields, but
    for one whose text is on its way.
    """

    DEFAULT_CSS = """
    Form { height: 1fr; padding: 0 1; scrollbar-size: 1 1; }
    Form .group { color: $text-muted; margin-top: 1; height: 1; }
    Form MethodButton { margin-left: 2; content-align: left middle; text-align: left; }
    Form .left-out { color: $text-muted; margin-top: 1; height: auto; }
    """

    def __init__(self, editor: Editor, context: FieldContext) -> None:
        super().__init__()
        self._editor = editor
        self._known = context
        self._stage: str | None = None
        self._typed: dict[tuple[str, str], str] = {}
        """Texts that are not sent yet, by stage and property."""
        self._timer: Timer | None = None
        self._last: tuple[str, str, float] | None = None
        """Stage, property and time of the last edit from here."""
        self._declared: Mapping[str, PluginProperty] | None = None
        self._methods: Sequence[PluginMethod] = []
        self._wanted: str | None = None
        self._changing = asyncio.Lock()
        self.is_ready = True
        """Whether all fields of the stage are there."""

    @property
    def fields(self) -> dict[str, PropertyField]:
        """The fields by property."""
        return {each.plan.name: each for each in self.children if isinstance(each, PropertyField)}

    class Asked(Message):
        """The user wants to call a method of the plugin."""

        def __init__(self, method: PluginMethod) -> None:
            super().__init__()
            self.method = method

    async def show(
        self,
        stage: str | None,
        declared: Mapping[str, PluginProperty] | None,
        methods: Sequence[PluginMethod] = (),
    ) -> None:
        """Show the form of a stage. The first fields are there at once, others a few at a time.

        :param declared: what its plugin has; None when that is not there.
        :param methods: what it can be asked; each is a button below the fields.
        """
        self.flush()
        async with self._changing:
            self._stage, self._last = stage, None
            before = (self._declared, self._methods)
            self._declared, self._methods = declared, list(methods)
            properties = as_properties(self._editor.get_properties(stage)) if stage else {}
            is_same = stage is not None and before == (declared, self._methods)
            if is_same and not self._lacks_fields(properties):
                self._put(properties)
            else:
                await self._build(
                    self._compose_fields(stage, properties) if stage is not None else iter(())
                )
            self.scroll_home(animate=False)
        if self._wanted is not None:
            self.go_to(self._wanted)

    def rename(self, stage: str) -> None:
        """Change the name of the stage that the form shows."""
        before, self._stage = self._stage, stage
        for field in self.fields.values():
            field.stage = stage
        self._typed = {(stage if s == before else s, n): t for (s, n), t in self._typed.items()}

    async def refresh_values(self) -> None:
        """Take over what the document says now."""
        async with self._changing:
            if self._stage is None:
                return
            properties = as_properties(self._editor.get_properties(self._stage))
            if not self._lacks_fields(properties):
                self._put(properties)
                return
            focused = self._find_focused_property()
            await self._build(self._compose_fields(self._stage, properties))
        if focused is not None:
            self.go_to(focused)

    def show_failures(self, by_property: Mapping[str, Sequence[PropertyFailure]]) -> None:
        for name, field in self.fields.items():
            field.show_failures(by_property.get(name, ()))

    def go_to(self, name: str, stage: str | None = None) -> None:
        """Have the keys go to a property, as soon as it is there.

        :param stage: the stage whose form has it: the form of the one before may still be there, and have
            a property of the same name. None for the form as it is.
        """
        is_there = stage is None or (self._stage == stage and not self._changing.locked())
        field = self.fields.get(name) if is_there else None
        self._wanted = name if field is None else None
        if field is not None:
            self.scroll_to_widget(field, animate=False)
            field.focus_control()

    def flush(self) -> None:
        """Send what was typed now."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
            get_studio(self).calls.end()
        for name, field in self.fields.items():
            text = field.take_pending_text()
            if text is not None:
                self._typed[field.stage, name] = text
        typed, self._typed = self._typed, {}
        for (stage, name), text in typed.items():
            if self._editor.get_node(stage):
                self._send(stage, name, text)

    def on_property_field_edited(self, event: PropertyField.Edited) -> None:
        event.stop()
        self._typed[event.stage, event.property] = event.text
        if self._timer is None:
            get_studio(self).calls.begin()  # the screen does not show yet what was typed
            self._timer = self.set_timer(SENT_AFTER_S, self.flush)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if isinstance(event.button, MethodButton):
            self.post_message(self.Asked(event.button.method))

    def on_unmount(self) -> None:
        self.flush()

    def on_resize(self, event: Resize) -> None:
        self._fit()

    def _send(self, stage: str, name: str, text: str) -> None:
        before = as_properties(self._editor.get_properties(stage)).get(name, "")
        if text == before:
            return
        last, now = self._last, time.monotonic()
        continues = last is not None and last[:2] == (stage, name) and now - last[2] < _ONE_STEP_S
        self._last = (stage, name, now)
        self._editor.apply(SetProperty(stage, name, text or None, continues), origin=self)

    def _compose_fields(self, stage: str, properties: Mapping[str, str]) -> Iterator[Widget]:
        groups, left_out = plan_form(self._declared, list(properties))
        for group in groups:
            if group.heading:
                yield Static(Content(group.heading), classes="group")
            for plan in group.fields:
                yield PropertyField(plan, stage, properties.get(plan.name, ""), self._known)
        if left_out:
            note = f"{left_out:,} more properties are not shown; they are kept as they are."
            yield Static(note, classes="left-out")
        if self._methods:
            yield Static("ask the plugin", classes="group")
            yield from map(MethodButton, self._methods)
        if not (any(group.fields for group in groups) or self._methods):
            yield Static("This plugin has no properties.", classes="left-out")

    async def _build(self, widgets: Iterator[Widget]) -> None:
        self.is_ready = False
        await self.remove_children()
        while some := list(islice(widgets, _AT_ONCE)):
            await self.mount_all(some)
            self._fit()
            await asyncio.sleep(0)  # keys that came meanwhile go first
        self.is_ready = True

    def _put(self, properties: Mapping[str, str]) -> None:
        assert self._stage is not None
        for name, field in self.fields.items():
            field.stage = self._stage
            if (self._stage, name) not in self._typed:
                field.put(properties.get(name, ""))

    def _lacks_fields(self, properties: Mapping[str, str]) -> bool:
        """Whether other properties are to be shown than are."""
        groups, _ = plan_form(self._declared, list(properties))
        wanted = [plan.name for group in groups for plan in group.fields]
        typed = {name for stage, name in self._typed if stage == self._stage}
        shown = [name for name in self.fields if name in wanted or name not in typed]
        return not self.is_ready or shown != wanted

    def _find_focused_property(self) -> str | None:
        return next((n for n, each in self.fields.items() if each.has_focus_within), None)

    def _fit(self) -> None:
        is_narrow = 0 < self.size.width < _NARROW
        for field in self.fields.values():
            field.fit(is_narrow=is_narrow)
