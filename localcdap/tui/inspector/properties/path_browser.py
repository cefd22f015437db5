"""The browser of a path property: folders, and a look into the highlighted file."""

from __future__ import annotations

from typing import ClassVar, Final, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Input, OptionList, Static

from localcdap.api.errors import LocalcdapError
from localcdap.pipeline.paths.format_guess import FormatGuess
from localcdap.pipeline.paths.service import FilePeek, PathQuery
from localcdap.text import format_size, sanitize_for_terminal
from localcdap.tui.dialogs.path_dialog import (
    PathCompletion,
    PathDialog,
    rank_completions,
    split_path,
)
from localcdap.tui.inspector.properties.field_plan import FieldContext
from localcdap.tui.labels import sanitize_name
from localcdap.tui.studio import Debouncer

_THIS: Final = "./  this folder"
_PATTERN: Final = frozenset("*?[{$")
"""Characters of paths that stand for other paths; such a path is taken as it is typed."""
_REST_S: Final = 0.05
"""Seconds that the highlight rests before a file is looked into."""


class ChosenPath(NamedTuple):
    """The answer of a path browser."""

    path: str
    """As it is written into the document."""
    guess: FormatGuess | None
    """The format to apply too; None for the path alone."""


class PathBrowser(PathDialog[ChosenPath]):
    """Lets its user choose a path as runs resolve it, and look into its file.

    :param only_folders: whether the property names a folder to write into; it may be a new one.
    :param takes_format: whether the guess of the format can be applied.
    """

    DEFAULT_CSS = """
    PathBrowser {
        & > #dialog { width: 130; }
        & #files-row { height: auto; max-height: 30; }
        & #files-list { width: 2fr; min-height: 6; max-height: 30; }
        & #files-peek { width: 3fr; height: auto; min-height: 6; max-height: 30; margin-left: 1; padding: 0 1;
                        background: $boost; scrollbar-size: 1 1; }
        & #files-peek > .lines { width: auto; margin-top: 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+g", "apply", "take it with its format", priority=True, show=False),
    ]

    def __init__(
        self,
        title: str,
        typed: str,
        context: FieldContext,
        *,
        only_folders: bool = False,
        takes_format: bool = False,
    ) -> None:
        super().__init__(title, typed)
        self._known = context
        self._only_folders = only_folders
        self._takes_format = takes_format
        self._peek: FilePeek | None = None
        self._peek_path: str | None = None
        """The path of the newest look into a file."""
        self._rest = Debouncer(self, self._look, _REST_S)
        self.help = "tab completes · ctrl+w goes up a folder · enter takes the path"
        if takes_format:
            self.help += " · ctrl+g takes it with format and schema"

    def compose_list(self) -> ComposeResult:
        with Horizontal(id="files-row"):
            yield from super().compose_list()
            with VerticalScroll(id="files-peek", can_focus=False):
                yield Static(classes="head")
                yield Static(classes="lines")

    async def find_completions(self, typed: str) -> list[PathCompletion]:
        query = self._create_query(typed)
        try:
            listing = await self.call_and_wait(lambda cdap: cdap.paths.list_entries(query))
        except LocalcdapError as error:
            self._show_peek_error(error)
            return []
        entries = (each for each in listing.entries if each.is_folder or not self._only_folders)
        found = rank_completions(typed, entries)
        head, last = split_path(typed)
        return [PathCompletion(_THIS, head, True), *found] if head and not last else found

    def take(self, typed: str, entry: PathCompletion | None) -> None:
        """Go into the highlighted folder, or answer with the highlighted file or with what is typed."""
        if entry is None or _PATTERN & set(typed):
            if typed:
                self.dismiss(ChosenPath(typed, None))
        elif entry.is_folder and entry.name != _THIS:
            self.write(entry.typed)
        else:
            self.dismiss(ChosenPath(_strip_slash(entry.typed), None))

    def action_apply(self) -> None:
        """Answer with the path and the guess of its format, once the file was looked into."""
        self.when_listed(self._apply)

    def _apply(self) -> None:
        if not self._takes_format:
            self.studio.show_notice("Only a source takes the format of a file.")
            return
        self._rest.flush()
        path = self._find_shown_path()
        peek = self._peek
        if peek is None or path != self._peek_path:
            self._look(is_to_apply=True)
        else:
            self.dismiss(ChosenPath(_strip_slash(path), peek.guess))

    def mark_listed(self, typed: str) -> None:
        if self._only_folders or self._entries:
            self.show_help("")
        else:
            self.show_help("Nothing here answers to that; enter takes it as it is typed.")
        self._rest.schedule()

    def on_unmount(self) -> None:
        self._rest.cancel()

    @on(OptionList.OptionHighlighted)
    def _handle_highlight(self) -> None:
        self._rest.schedule()

    def _find_shown_path(self) -> str:
        """Return the path to look into: the highlighted one, or a typed pattern."""
        entry, typed = self.highlighted, self.query_one("#files-input", Input).value.strip()
        return typed if entry is None or _PATTERN & set(typed) else entry.typed

    def _look(self, *, is_to_apply: bool = False) -> None:
        """Look into the file of the highlighted path.

        :param is_to_apply: whether the user wants its format applied.
        """
        path = self._find_shown_path()
        if not path or (path == self._peek_path and not is_to_apply):
            return
        self._peek, self._peek_path = None, path
        query = self._create_query(path)

        def show(peek: FilePeek) -> None:
            self._peek = peek
            self._show_peek(format_peek_head(peek), format_peek_lines(peek))
            if is_to_apply:
                self._apply()

        def show_error(error: LocalcdapError) -> None:
            self._show_peek_error(error)
            if is_to_apply:
                self.studio.show_notice(error.message, error.corrective_action or "", "warning")

        self.call(lambda cdap: cdap.paths.peek(query), show, on_error=show_error, group="peek")

    def _show_peek(self, head: Content, lines: Content) -> None:
        self.query_one("#files-peek > .head", Static).update(head)
        self.query_one("#files-peek > .lines", Static).update(lines)

    def _show_peek_error(self, error: LocalcdapError) -> None:
        self._show_peek(Content(error.message), Content(error.corrective_action or ""))

    def _create_query(self, path: str) -> PathQuery:
        return self._known.create_path_query(path)


def format_peek_head(peek: FilePeek) -> Content:
    """Return the name and the size of a file, and the guess of its format."""
    guess = peek.guess
    name = sanitize_name(peek.file.rpartition("/")[2])
    return Content.assemble(
        (name, "bold"),
        (f"  {format_size(peek.size)}\n", "$foreground 60%"),
        (guess.format, "$text-accent bold"),
        (f": {guess.reason}", "$foreground 60%"),
    )


def format_peek_lines(peek: FilePeek) -> Content:
    """Return the first lines of a file; of a binary or empty one, that it is."""
    if peek.guess.is_binary:
        return Content.styled("The file is binary; nothing of it is shown.", "italic")
    if not peek.lines:
        return Content.styled("The file is empty.", "italic")
    lines = [sanitize_for_terminal(line).expandtabs(4) for line in peek.lines]
    return Content("\n").join(map(Content, lines if peek.is_whole else [*lines, "…"]))


def _strip_slash(path: str) -> str:
    return path.rstrip("/") or path
