"""The preferences of a level, and the secure keys of a namespace.

Preferences are shown with the level that sets each. The values of secure keys can be set, but are never
read or shown.
"""

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
from localcdap.namespaces.secure_keys import SecureKey
from localcdap.tui.labels import format_age
from localcdap.tui.lists import FilteredList, ListEntry
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


_VAULTS = {"keyring": "in the keyring of the system", "file": "in a file that only you can read"}
"""The description of each place where values are stored."""


class SecureKeysPanel(StudioNode, Vertical):
    """Shows the secure keys of a namespace, sets and deletes them.

    :param on_change: called after each change; it has the panel show the keys again.
    """

    DEFAULT_CSS = """
    SecureKeysPanel {
        & > #secure-keys-title { height: auto; padding: 0 1 1 1; }
        & > FilteredList { height: 1fr; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "add", "new key", id="keys.new"),
        Binding("enter", "replace", "change value", id="keys.replace", show=False),
        Binding("d,delete", "remove", "delete key", id="keys.delete"),
        Binding("y", "copy", "copy macro", id="keys.copy", show=False),
    ]

    def __init__(self, on_change: Callable[[], object], id: str | None = None) -> None:
        super().__init__(id=id)
        self._on_change = on_change
        self._namespace = "default"
        self._keys: dict[str, SecureKey] = {}

    def compose(self) -> ComposeResult:
        yield Static(
            Content.styled(
                "Pipelines use the values as ${secure(name)}. They are never shown.",
                "$foreground 60%",
            ),
            id="secure-keys-title",
        )
        yield FilteredList(
            verb="change value",
            action="replace",
            id="secure-keys",
            empty="No secure keys. a creates one.",
        )

    def show(self, namespace: str) -> None:
        """Show the keys of a namespace; of the same namespace, read them again."""
        self._namespace = namespace
        self.call(
            lambda cdap: cdap.secure_keys.list_keys(namespace), on_result=self._fill, group="keys"
        )

    def explain_disabled(self, action: str) -> str | None:
        if action in ("replace", "remove", "copy") and self.query_one(FilteredList).key is None:
            return "no key is highlighted"
        return None

    @work
    async def action_add(self) -> None:
        name = await self.studio.ask(
            "Name of the secure key", detail="Lower-case letters, digits, '_' and '-'."
        )
        if name:
            description = await self.studio.ask(f"What is {name} for?", detail="Optional.")
            if description is not None:
                await self._ask_value(name, description)

    @work
    async def action_replace(self) -> None:
        key = self._keys.get(self.query_one(FilteredList).key or "")
        if key is not None:
            await self._ask_value(key.name, key.description)

    @work
    async def action_remove(self) -> None:
        name, namespace = self.query_one(FilteredList).key, self._namespace
        if name is not None and await self.studio.confirm(
            f"Delete secure key {name}?", "This cannot be undone."
        ):
            self.call(
                lambda cdap: cdap.secure_keys.delete(namespace, name),
                on_result=lambda _: self._on_change(),
            )

    def action_copy(self) -> None:
        self.studio.copy_text(f"${{secure({self.query_one(FilteredList).key})}}", "macro")

    async def _ask_value(self, name: str, description: str) -> None:
        namespace = self._namespace
        value = await self.studio.ask(
            f"Value of {name}",
            verb="Save",
            password=True,
            check=lambda text: None if text.strip() else "Enter a value.",
        )
        if value is None:
            return

        def show_result(key: SecureKey) -> None:
            self.studio.show_notice(f"Saved {name} {_VAULTS.get(key.vault, key.vault)}.")
            self.query_one(FilteredList).show(name)
            self._on_change()

        self.call(
            lambda cdap: cdap.secure_keys.put(namespace, name, value, description),
            on_result=show_result,
        )

    def _fill(self, keys: list[SecureKey]) -> None:
        self._keys = {key.name: key for key in keys}
        self.query_one(FilteredList).set_entries([_build_entry(key) for key in keys])


def _build_entry(key: SecureKey) -> ListEntry:
    label = f"{key.name}  ••••••••  {key.description}".rstrip()
    hint = f"{key.vault} · {format_age(key.last_modified_time)}"
    return ListEntry(key.name, label, hint=hint)
