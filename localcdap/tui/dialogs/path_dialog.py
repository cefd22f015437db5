"""Dialogs in which a path is typed and chosen from a list of what it may be completed to."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, OptionList, Static

from localcdap.pipeline.paths.entries import PathEntry, list_folder
from localcdap.tui.dialogs.dialog_screen import DialogScreen
from localcdap.tui.lists import StudioOptionList, ValueOption, rank_matches
from localcdap.tui.studio import get_studio


@dataclass(frozen=True)
class PathCompletion:
    """:param typed: what stands in the line when this one is taken; that of a folder ends with '/'."""

    name: str
    typed: str
    is_folder: bool

    @property
    def path(self) -> Path:
        return expand_path(self.typed)


def list_completions(typed: str, suffixes: Sequence[str]) -> list[PathCompletion]:
    """Return the completions of the last part of a typed path, best first: folders, and files with a suffix.

    Hidden ones are offered when the part begins with a dot. A folder that cannot be read offers nothing.
    """
    head, last = split_path(typed)
    entries = list_folder(expand_path(head or "."), hidden=last.startswith("."))
    return rank_completions(typed, (e for e in entries if _is_offered(e, suffixes)))


def rank_completions(typed: str, entries: Iterable[PathEntry]) -> list[PathCompletion]:
    """Return the entries of the folder of a typed path that match its last part, best first."""
    head, last = split_path(typed)
    names = ((f"{each.name}/" if each.is_folder else each.name, each) for each in entries)
    completions = [
        (name, PathCompletion(name, head + name, each.is_folder)) for name, each in names
    ]
    return [each for each, _ in rank_matches(last, completions)]


def split_path(typed: str) -> tuple[str, str]:
    """Return a typed path up to its last slash, and what follows it.

    >>> split_path("a/b/c"), split_path("c")
    (('a/b/', 'c'), ('', 'c'))
    """
    head, slash, last = typed.rpartition("/")
    return head + slash, last


def _is_offered(entry: PathEntry, suffixes: Sequence[str]) -> bool:
    return entry.is_folder or not suffixes or entry.name.lower().endswith(tuple(suffixes))


def expand_path(typed: str) -> Path:
    """Return the absolute path: '~' is the user's folder, relative paths are relative to the working
    folder.
    """
    try:
        return Path(typed).expanduser()
    except RuntimeError:  # a '~name' of nobody
        return Path(typed)


def strip_last_part(typed: str) -> str:
    """Return a typed path without its last part."""
    return typed.rstrip("/").rpartition("/")[0] + "/" if "/" in typed.rstrip("/") else ""


def is_file(path: Path) -> bool:
    """Whether there is a file, as far as the user may see that; a path of a few hundred letters is none."""
    with contextlib.suppress(OSError):
        return path.is_file()
    return False


def is_taken(path: Path) -> bool:
    """Whether there is a file or a folder, as far as the user may see that."""
    with contextlib.suppress(OSError):
        return path.exists()
    return False


_T = TypeVar("_T")


class PathDialog(DialogScreen[_T]):
    """A line for a path, and below it a list of completions, which follows what is typed."""

    DEFAULT_CSS = """
    PathDialog {
        align: center top;
        & > #dialog { width: 84; max-height: 80%; margin-top: 2; }
        & #files-title { color: $text-muted; padding: 0 1; }
        & #files-input { height: 1; border: none; padding: 0 1; margin-bottom: 1; background: $boost; }
        & #files-list {
            height: auto; max-height: 42vh; border: none; padding: 0; background: transparent;
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
    help: str = "tab completes · ctrl+w goes up a folder · enter takes it"
    """The keys of the dialog."""

    def __init__(self, title: str, typed: str = "") -> None:
        super().__init__()
        self._title = title
        self._typed = typed
        self._entries: list[PathCompletion] = []
        self._listed: str | None = None
        """What was typed for what is listed."""
        self._waiting: list[Callable[[], object]] = []
        """What is to be done when all that was typed is listed."""

    def compose_body(self) -> ComposeResult:
        yield Static(Content(self._title), id="files-title")
        hint = "path, or some letters of it"
        yield Input(self._typed, placeholder=hint, id="files-input", compact=True)
        yield from self.compose_list()
        yield Static(Content(self.help), id="files-help")

    def compose_list(self) -> ComposeResult:
        """Yield the list, and what stands beside it."""
        listed = StudioOptionList(id="files-list")
        listed.can_focus = False
        yield listed

    async def find_completions(self, typed: str) -> list[PathCompletion]:
        """Return what a typed path may be completed to, best first."""
        raise NotImplementedError

    def take(self, typed: str, entry: PathCompletion | None) -> None:
        """Answer with a typed path or the highlighted completion, or go into a folder.

        :param entry: None when nothing is highlighted.
        """
        raise NotImplementedError

    def on_mount(self) -> None:
        self._list_entries(self._typed)

    @on(Input.Changed)
    def _handle_typing(self, event: Input.Changed) -> None:
        self._list_entries(event.value)

    @on(Input.Submitted)
    def _handle_submit(self) -> None:
        self.when_listed(lambda: self.take(self._input.value.strip(), self.highlighted))

    @on(OptionList.OptionSelected)
    def _handle_selection(self, event: OptionList.OptionSelected) -> None:
        if isinstance(event.option, ValueOption):
            self.take(self._input.value.strip(), event.option.value)

    def action_move(self, by: int) -> None:
        self.when_listed(lambda: self._move(by))

    def action_complete(self) -> None:
        self.when_listed(self._complete)

    def action_up_a_folder(self) -> None:
        self.when_listed(lambda: self.write(strip_last_part(self._input.value)))

    def _move(self, by: int) -> None:
        listed = self._list
        if self._entries:
            listed.highlighted = ((listed.highlighted or 0) + by) % len(self._entries)

    def _complete(self) -> None:
        entry = self.highlighted
        if entry is not None:
            self.write(entry.typed)

    def when_listed(self, do: Callable[[], object]) -> None:
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
    def typed(self) -> str:
        """The path in the line."""
        return self._input.value.strip()

    @property
    def highlighted(self) -> PathCompletion | None:
        """The highlighted completion."""
        index = self._list.highlighted
        return self._entries[index] if index is not None and index < len(self._entries) else None

    def write(self, typed: str) -> None:
        """Put a path into the line."""
        self._input.value = typed
        self._input.cursor_position = len(typed)

    @work(exclusive=True)
    async def _list_entries(self, typed: str) -> None:
        calls = get_studio(self).calls
        calls.begin()
        try:
            found = await self.find_completions(typed)
        finally:
            calls.end()
        if len(self.query("#files-input, #files-list, #files-help")) < 3:
            return  # it was answered meanwhile, and its widgets go one after the other
        if found != self._entries:  # else what was chosen among them meanwhile stays so
            self._show(found)
        self.mark_listed(typed)
        self._listed = typed
        self._go_on()

    def mark_listed(self, typed: str) -> None:
        """Called when the completions of a path are shown."""
        self.show_help("" if self._entries else "Nothing here answers to that.")

    def _show(self, found: list[PathCompletion]) -> None:
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

    def show_help(self, problem: str) -> None:
        """Show a problem, or the keys when there is none."""
        self.query_one("#files-help", Static).update(Content(problem or self.help))


class FilePicker(PathDialog[Path]):
    """Lets its user choose a file.

    :param suffixes: of the files that are offered, in lower case; empty for all.
    :param for_saving: a file that is not there yet may be chosen too.
    :param recent: offered while nothing is typed.
    """

    def __init__(
        self,
        title: str,
        *,
        typed: str = "",
        suffixes: Sequence[str] = (".json",),
        for_saving: bool = False,
        recent: Sequence[str] = (),
    ) -> None:
        super().__init__(title, typed)
        self._suffixes = suffixes
        self._for_saving = for_saving
        self._recent = recent

    async def find_completions(self, typed: str) -> list[PathCompletion]:
        found = await asyncio.to_thread(list_completions, typed, self._suffixes)
        if typed:
            return found
        recent = [each for each in self._recent if is_file(Path(each))]
        return [PathCompletion(each, each, False) for each in recent] + found

    def take(self, typed: str, entry: PathCompletion | None) -> None:
        """Choose the typed path if it is a file or may be a new one; else the highlighted entry."""
        path = expand_path(typed)
        may_be_new = self._for_saving and not typed.endswith("/") and not is_taken(path)
        if typed and (may_be_new or is_file(path)):
            self.dismiss(path)
        elif entry is not None and entry.is_folder:
            self.write(entry.typed)
        elif entry is not None:
            self.dismiss(entry.path)
        else:
            self.show_help(f"There is no file at '{typed}'.")

    def mark_listed(self, typed: str) -> None:
        if self._for_saving:
            if typed:
                self._list.highlighted = None
            self.show_help("")
        else:
            super().mark_listed(typed)
