"""The settings screen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from localcdap.api.errors import BadRequestError, SettingsError
from localcdap.settings import Settings, load_settings
from localcdap.tui.area_screen import AreaScreen
from localcdap.tui.canvas.painter import pad
from localcdap.tui.lists import FilteredList, ListEntry
from localcdap.tui.screens.settings import settings_file as toml
from localcdap.tui.screens.settings.settings_file import (
    SettingRow,
    ask_location,
    build_rows,
    read_settings_text,
)

_KEY_CELLS = 30
_MOST_KEY_CELLS = 60
_VALUE_CELLS = 24


class SettingsScreen(AreaScreen):
    """Shows every setting in force with its origin and description, and changes the settings file."""

    AREA = "settings"
    AUTO_FOCUS = "#settings-list FilteredListOptions"
    CSS_PATH = "settings.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "change", "change", id="settings.change", key_display="enter"),
        Binding("x", "restore", "restore default", id="settings.restore"),
        Binding("n", "add_location", "add location", id="settings.location"),
        Binding("e", "edit_file", "edit file", id="settings.edit"),
        Binding("a", "apply", "apply now", id="settings.apply"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._rows: dict[str, SettingRow] = {}
        self._is_changed = False

    def compose_body(self) -> ComposeResult:
        with Vertical(id="settings"):
            yield Static(id="settings-file", classes="heading")
            yield FilteredList(verb="change", action="change", id="settings-list")
            yield Static(id="settings-detail")

    def on_mount(self) -> None:
        self._read()

    def on_screen_resume(self) -> None:
        self._read()

    def reload(self) -> None:
        self._read()

    def explain_disabled(self, action: str) -> str | None:
        """Return why a key does nothing now; None when it works."""
        row = self._row
        match action:
            case "apply" if not self._is_changed:
                return "no setting was changed since the instance was opened"
            case "change" | "restore" if row is None:
                return "no setting is highlighted"
            case "change" | "restore" if row is not None and row.variable is not None:
                return f"the environment variable ${row.variable} sets it"
            case "change" if row is not None and not row.is_simple:
                return "it has several values; e edits the file"
            case "restore" if row is not None and row.is_default:
                return "it has its default value"
        return None

    @work(group="settings", exclusive=True)
    async def action_change(self) -> None:
        row = self._row
        if row is None:
            return
        if isinstance(row.value, bool):
            self._set(row, not row.value)
            return
        typed = await self.studio.ask(
            row.key,
            row.text,
            detail=row.description,
            verb="Save",
            check=lambda text: self._check_value(row, text),
        )
        if typed is not None:
            self._set(row, toml.parse_value(row.key, typed))

    @work(group="settings", exclusive=True)
    async def action_add_location(self) -> None:
        if await ask_location(self.studio):
            self._is_changed = True
            self._read()
            self._list.show(list(self._rows)[-1])

    def action_restore(self) -> None:
        row = self._row
        if row is not None:
            self._change(lambda text: toml.remove_value(text, row.path))

    @work(group="settings", exclusive=True)
    async def action_edit_file(self) -> None:
        text = self._read_file()
        while text is not None:
            edited = await self.studio.edit_text(text, ".toml")
            if edited is None:
                return
            problem = toml.find_problem(edited, self._file)
            if problem is None:
                self._write(edited)
                return
            again = await self.studio.confirm("Could not save.", problem, verb="Edit again")
            text = edited if again else None

    def action_apply(self) -> None:
        self._is_changed = False
        self.studio.reopen(self._note_refusal)

    def _note_refusal(self) -> None:
        self._is_changed = True
        self.refresh_bindings()

    @on(FilteredList.Highlighted)
    def _show_description(self) -> None:
        row = self._row
        if row is not None:
            origin = f"Set in {row.origin}." if row.origin else "Default value."
            detail = Content.assemble(row.description, "\n", (origin, "$foreground 60%"))
            self.query_one("#settings-detail", Static).update(detail)

    @property
    def _file(self) -> Path:
        return self.studio.connection.home.settings_file

    @property
    def _list(self) -> FilteredList:
        return self.query_one(FilteredList)

    @property
    def _row(self) -> SettingRow | None:
        """The highlighted setting."""
        return self._rows.get(self._list.key or "")

    def _read(self) -> None:
        problem = ""
        try:
            settings = load_settings(self._file)
        except SettingsError as error:
            settings, problem = Settings(origins={}), error.message
        self._rows = {row.key: row for row in build_rows(settings)}
        title = Content.assemble(str(self._file), (f"\n✗ {problem}" if problem else "", "$error"))
        heading = self.query_one("#settings-file", Static)
        heading.update(title)
        heading.styles.height = "auto"
        longest = max(map(len, self._rows), default=0)
        width = min(max(longest, _KEY_CELLS), _MOST_KEY_CELLS, max(self.size.width // 2, 1))
        self._list.set_entries([_build_entry(row, width) for row in self._rows.values()])
        self._show_description()

    def _check_value(self, row: SettingRow, typed: str) -> str | None:
        text = self._read_file()
        if text is None:
            return "The settings file cannot be read."
        return toml.find_problem(
            toml.set_value(text, row.path, toml.parse_value(row.key, typed)), self._file
        )

    def _set(self, row: SettingRow, value: object) -> None:
        self._change(lambda text: toml.set_value(text, row.path, value))

    def _change(self, change: Callable[[str], str]) -> None:
        text = self._read_file()
        if text is None:
            return
        changed = change(text)
        problem = toml.find_problem(changed, self._file)
        if problem is not None:
            self.studio.show_notice("Could not save.", problem, "error")
        elif changed != text:
            self._write(changed)

    def _write(self, text: str) -> None:
        try:
            toml.write(self._file, text)
        except BadRequestError as error:
            self.studio.show_notice("The settings file cannot be written.", error.message, "error")
            return
        self._is_changed = True
        self.studio.show_notice("Saved.", "a applies the change now.")
        self._read()

    def _read_file(self) -> str | None:
        try:
            return read_settings_text(self._file)
        except (OSError, UnicodeDecodeError) as error:
            self.studio.show_notice("The settings file cannot be read.", str(error), "error")
            return None


def _build_entry(row: SettingRow, width: int) -> ListEntry:
    """Return the line of a setting.

    :param width: the width of the column of keys.
    """
    text = row.text or "(none)"
    value = text if len(text) <= 3 * _VALUE_CELLS else text[: 3 * _VALUE_CELLS - 1] + "…"
    label = f"{pad(row.key, width)} {value:<{_VALUE_CELLS}}"
    hint = f"${row.variable}" if row.variable else row.origin
    return ListEntry(row.key, label, "" if row.is_default else "●", hint)
