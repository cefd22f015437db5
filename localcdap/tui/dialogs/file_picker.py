"""Choosing a file by typing some of its letters."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static

from localcdap.tui.dialogs import path_completion as paths
from localcdap.tui.dialogs.dialog_screen import DialogScreen
from localcdap.tui.lists.options import StudioOptionList, ValueOption
from localcdap.tui.studio import get_studio


class FilePicker(DialogScreen[Path]):
    """Lets its user choose a file.

    :param suffixes: of the files that are offered, in lower case; empty for all.
    :param for_saving: a file that is not there yet may be chosen too.
    :param recent: offered while nothing is typed.
    """

    DEFAULT_CSS = """
    FilePicker {
        align-horizontal: center;
        background: $background 60%;
        & > #files { width: 84; max-width: 96%; height: auto; max-height: 80%; margin-top: 2; padding: 1 2;
                     background: $surface; }
        & #files-title { color: $text-muted; padding: 0 1; }
        & #files-input { height: 1; border: none; padding: 0 1; margin-bottom: 1; background: $boost; }
        & #files-list {
            height: auto; max-height: 100%; border: none; padding: 0; background: transparent;
            & > .option-list--option { padding: 0 1; }
        }
        & #files-help { color: $text-muted; padding: 1 1 0 1; height: auto; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,ctrl+n,ctrl+j", "move(1)", "next", show=False, priority=True),
        Binding("up,ctrl+p,ctrl+k", "move(-1)", "previous", show=False, priority=True),
        Binding("tab", "complete", "complete", show=False, priority=True),
        Binding("ctrl+w", "up_a_folder", "up a folder", show=False, priority=True),
    ]

    def __init__(
        self,
        title: str,
        *,
        typed: str = "",
        suffixes: Sequence[str] = (".json",),
        for_saving: bool = False,
        recent: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self._title = title
        self._typed = typed
        self._suffixes = suffixes
        self._for_saving = for_saving
        self._recent = [Path(each) for each in recent]
        self._entries: list[paths.PathEntry] = []
        self._listed: str | None = None
        """What was typed for what is listed."""
        self._waiting: list[Callable[[], object]] = []
        """What is to be done when all that was typed is listed."""

    def compose(self) -> ComposeResult:
        with Vertical(id="files"):
            yield Static(self._title, id="files-title")
            yield Input(
                self._typed,
                placeholder="path, or some letters of it",
                id="files-input",
                compact=True,
            )
            listed = StudioOptionList(id="files-list")
            listed.can_focus = False
            yield listed
            yield Static(
                "tab completes · ctrl+w goes up a folder · enter takes it", id="files-help"
            )

    def on_mount(self) -> None:
        self._list_entries(self._typed)

    @on(Input.Changed)
    def _handle_typing(self, event: Input.Changed) -> None:
        self._list_entries(event.value)

    @on(Input.Submitted)
    def _handle_submit(self) -> None:
        self._when_listed(lambda: self._take(self._highlighted))

    @on(OptionList.OptionSelected)
    def _handle_selection(self, event: OptionList.OptionSelected) -> None:
        if isinstance(event.option, ValueOption):
            self._take(event.option.value)

    def action_move(self, by: int) -> None:
        self._when_listed(lambda: self._move(by))

    def action_complete(self) -> None:
        self._when_listed(self._complete)

    def action_up_a_folder(self) -> None:
        self._when_listed(lambda: self._write(paths.strip_last_part(self._input.value)))

    def _move(self, by: int) -> None:
        listed = self._list
        if self._entries:
            listed.highlighted = ((listed.highlighted or 0) + by) % len(self._entries)

    def _complete(self) -> None:
        entry = self._highlighted
        if entry is not None:
            self._write(entry.typed)

    def _when_listed(self, do: Callable[[], object]) -> None:
        """Do something with what answers to all that was typed before, once it is listed."""

        def run_later() -> None:
            self._waiting.append(do)
            self._go_on()

        self._input.call_later(run_later)

    def _go_on(self) -> None:
        while self._waiting and self._listed == self._input.value:
            self._waiting.pop(0)()

    @property
    def _input(self) -> Input:
        return self.query_one("#files-input", Input)

    @property
    def _list(self) -> OptionList:
        return self.query_one("#files-list", OptionList)

    @property
    def _highlighted(self) -> paths.PathEntry | None:
        index = self._list.highlighted
        return self._entries[index] if index is not None and index < len(self._entries) else None

    def _write(self, typed: str) -> None:
        self._input.value = typed
        self._input.cursor_position = len(typed)

    def _take(self, entry: paths.PathEntry | None) -> None:
        """Choose the typed path if it is a file or may be a new one; else the highlighted entry."""
        typed = self._input.value.strip()
        path = paths.expand_path(typed)
        may_be_new = self._for_saving and not typed.endswith("/") and not path.is_dir()
        if typed and (may_be_new or path.is_file()):
            self.dismiss(path)
        elif entry is not None and entry.is_folder:
            self._write(entry.typed)
        elif entry is not None:
            self.dismiss(entry.path)
        else:
            self._show_help(f"There is no file at '{typed}'.")

    @work(exclusive=True)
    async def _list_entries(self, typed: str) -> None:
        calls = get_studio(self).calls
        calls.begin()
        try:
            found = await asyncio.to_thread(paths.list_entries, typed, self._suffixes)
        finally:
            calls.end()
        if not typed:
            recent = [path for path in self._recent if path.is_file()]
            found = [paths.PathEntry(str(path), str(path), path, False) for path in recent] + found
        if not self.query("#files-list"):  # it was answered meanwhile
            return
        if found != self._entries:  # else what was chosen among them meanwhile stays so
            self._show(found)
        if self._for_saving and typed:
            self._list.highlighted = None
        self._show_help("" if found or self._for_saving else "Nothing here answers to that.")
        self._listed = typed
        self._go_on()

    def _show(self, found: list[paths.PathEntry]) -> None:
        self._entries = found
        listed = self._list
        listed.clear_options()
        listed.add_options(
            [
                ValueOption(
                    Content.styled(entry.name, "$primary" if entry.is_folder else ""), entry
                )
                for entry in found
            ]
        )
        listed.highlighted = 0 if found else None

    def _show_help(self, problem: str) -> None:
        text = problem or "tab completes · ctrl+w goes up a folder · enter takes it"
        self.query_one("#files-help", Static).update(Content(text))
