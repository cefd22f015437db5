"""The preferences of a level: the values in force, the level that sets each, and their changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from localcdap.host.cdap import Cdap
from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.tui.lists.filtered_list import FilteredList, ListEntry
from localcdap.tui.studio import Choice, StudioNode


@dataclass(frozen=True)
class EffectivePreference:
    """A preference that is in force at a level.

    :param origin: the level that sets the value.
    :param covers: the higher levels whose values it overrides, nearest first, with their values.
    """

    key: str
    value: str
    origin: PreferenceLevel
    covers: tuple[tuple[PreferenceLevel, str], ...] = ()


def read_preferences(cdap: Cdap, level: PreferenceLevel) -> list[EffectivePreference]:
    """Return the preferences that are in force at a level, by name."""
    levels = [PreferenceLevel()]
    if level.namespace is not None:
        levels.append(PreferenceLevel(level.namespace))
    if level.application is not None:
        levels.append(level)
    found: dict[str, EffectivePreference] = {}
    for each in levels:
        for key, value in cdap.preferences.get(each).items():
            before = found.get(key)
            overridden = (
                ((before.origin, before.value), *before.covers) if before is not None else ()
            )
            found[key] = EffectivePreference(key, value, each, overridden)
    return [found[key] for key in sorted(found)]


def format_level(level: PreferenceLevel) -> str:
    """Return the name of a level."""
    if level.application is not None:
        return f"pipeline {level.application}"
    return f"namespace {level.namespace}" if level.namespace is not None else "instance"


class PreferencesPanel(StudioNode, Vertical):
    """Shows and changes the preferences of a level.

    :param on_change: called after each change; it has the panel show the preferences again.
    """

    DEFAULT_CSS = """
    PreferencesPanel {
        & > #preferences-level { height: auto; padding: 0 1 1 1; }
        & > FilteredList { height: 1fr; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "add", "set a preference", id="preferences.set"),
        Binding("enter", "change", "change", id="preferences.change", show=False),
        Binding("d,delete", "remove", "remove", id="preferences.remove"),
        Binding("l", "level", "change level", id="preferences.level"),
        Binding("ctrl+z", "undo", "undo", id="preferences.undo", show=False),
    ]

    def __init__(self, on_change: Callable[[], object], id: str | None = None) -> None:
        super().__init__(id=id)
        self._on_change = on_change
        self.level = PreferenceLevel()
        self._preferences: dict[str, EffectivePreference] = {}
        self._undo: list[tuple[PreferenceLevel, str, str | None]] = []

    def compose(self) -> ComposeResult:
        yield Static(id="preferences-level")
        yield FilteredList(
            verb="change",
            action="change",
            id="preferences",
            empty="No preferences here or at a higher level. Press 'a' to set one.",
        )

    def show(self, level: PreferenceLevel) -> None:
        """Show the preferences of a level; of the same level, read them again."""
        self.level = level
        self.call(
            lambda cdap: read_preferences(cdap, level), on_result=self._fill, group="preferences"
        )

    def explain_disabled(self, action: str) -> str | None:
        found = self._highlighted
        match action:
            case "change" | "remove" if found is None:
                return "nothing is highlighted"
            case "remove" if found is not None and found.origin != self.level:
                return f"it is set at a higher level, {format_level(found.origin)}"
            case "undo" if not self._undo:
                return "nothing was changed"
        return None

    @work
    async def action_add(self) -> None:
        key = await self.studio.ask(
            f"Name of the preference of {format_level(self.level)}",
            detail="The name of a macro argument, such as input for ${input}.",
            suggestions=list(self._preferences),
            check=lambda text: None if text.strip() else "Enter a name.",
        )
        if key is not None:
            await self._ask_value(key.strip())

    @work
    async def action_change(self) -> None:
        """Change a value. The value of a higher level is overridden at this level."""
        if self._highlighted is not None:
            await self._ask_value(self._highlighted.key)

    def action_remove(self) -> None:
        found = self._highlighted
        if found is not None:
            self._set(found.key, None)

    def action_undo(self) -> None:
        level, key, value = self._undo.pop()
        self._change(level, key, value)

    @work
    async def action_level(self) -> None:
        """Let the user choose the level that is shown."""
        namespace = self.level.namespace or self.studio.namespace
        self.call(
            lambda cdap: [app.name for app in cdap.applications.list_applications(namespace)],
            on_result=lambda names: self._choose_level(namespace, names),
        )

    @work
    async def _choose_level(self, namespace: str, names: list[str]) -> None:
        levels = [
            PreferenceLevel(),
            PreferenceLevel(namespace),
            *(PreferenceLevel(namespace, name) for name in names),
        ]
        choices = [Choice(format_level(level), level) for level in levels]
        title = "Preferences of which level"
        chosen = await self.studio.choose(choices, title=title, current=self.level)
        if chosen is not None:
            self.show(chosen)

    async def _ask_value(self, key: str) -> None:
        found = self._preferences.get(key)
        detail = (
            f"Current value: {found.value}, from {format_level(found.origin)}."
            if found is not None
            else ""
        )
        value = await self.studio.ask(
            f"Value of {key} for {format_level(self.level)}",
            found.value if found is not None else "",
            detail=detail,
            verb="Set",
        )
        if value is not None:
            self._set(key, value)

    def _set(self, key: str, value: str | None) -> None:
        """Set or remove a value at this level, and remember the old value for undo."""
        found = self._preferences.get(key)
        before = found.value if found is not None and found.origin == self.level else None
        self._undo.append((self.level, key, before))
        self._change(self.level, key, value)

    def _change(self, level: PreferenceLevel, key: str, value: str | None) -> None:
        """Set a value at a level, or remove it there."""
        values = {key: value} if value is not None else {}
        removed = [key] if value is None else []
        self.query_one(FilteredList).show(key)
        self.call(
            lambda cdap: cdap.preferences.update(level, values, removed),
            on_result=lambda _: self._on_change(),
            group="change",
            ordered=True,
        )

    def _fill(self, preferences: list[EffectivePreference]) -> None:
        self._preferences = {each.key: each for each in preferences}
        self.query_one(FilteredList).set_entries([self._build_entry(each) for each in preferences])
        self.query_one("#preferences-level", Static).update(
            Content.assemble(
                Content.styled(format_level(self.level), "bold"),
                Content.styled(
                    "  default values of macro arguments; the nearest level takes precedence",
                    "$foreground 60%",
                ),
            )
        )

    def _build_entry(self, preference: EffectivePreference) -> ListEntry:
        is_own = preference.origin == self.level
        origin = "set here" if is_own else f"from {format_level(preference.origin)}"
        if preference.covers:
            level, value = preference.covers[0]
            origin += f", overrides {value} of {format_level(level)}"
        label = f"{preference.key} = {preference.value}"
        tone = "" if is_own else "$foreground 60%"
        return ListEntry(preference.key, label, "●" if is_own else "", origin, tone=tone)

    @property
    def _highlighted(self) -> EffectivePreference | None:
        key = self.query_one(FilteredList).key
        return self._preferences.get(key) if key is not None else None
