"""The editor of a query: highlighting, completion of names while typing, a history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.geometry import Offset
from textual.message import Message
from textual.widgets import OptionList, TextArea
from textual.widgets.option_list import Option

from localcdap.datasets.sql import SqlTable
from localcdap.tui.lists.options import StudioOptionList
from localcdap.tui.screens.tables.completion import SqlCompletion, find_completions, find_statement
from localcdap.tui.widgets.code_area import CodeArea


class QueryText(CodeArea):
    """The text; keys that choose a completion go there while some are shown."""

    class Pressed(Message):
        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    choosing = False

    async def _on_key(self, event: events.Key) -> None:
        if self.choosing and event.key in ("up", "down", "tab", "enter", "escape"):
            event.stop()
            event.prevent_default()
            self.post_message(self.Pressed(event.key))
            return
        await super()._on_key(event)


class QueryEditor(Container):
    """Where a query is written. :class:`Run` asks for it to be run."""

    DEFAULT_CSS = """
    QueryEditor {
        layers: text above;
        & > QueryText { layer: text; border: none; padding: 0; height: 1fr; background: $surface; }
        & > QueryText:focus { border: none; }
        & > #completions {
            layer: above; display: none; width: 44; height: auto; max-height: 8; border: none;
            padding: 0; background: $panel;
        }
        & > #completions.-open { display: block; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f5,ctrl+enter,ctrl+j", "run", "run", id="sql.run", priority=True),
        Binding("f8", "history", "history", id="sql.history", priority=True),
        Binding("alt+up", "older(1)", "older query", id="sql.older", show=False, priority=True),
        Binding("alt+down", "older(-1)", "newer query", id="sql.newer", show=False, priority=True),
        Binding("ctrl+@,ctrl+space", "complete", "complete", id="sql.complete", show=False),
    ]

    class Run(Message):
        """The query is to be run.

        :param placed: the query behind as many lines and blanks as stand before it here, so that the places
            of errors are those in the editor.
        """

        def __init__(self, sql: str, placed: str) -> None:
            super().__init__()
            self.sql = sql
            self.placed = placed

    class HistoryRequested(Message):
        """An earlier query is to be chosen."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.tables: Sequence[SqlTable] = ()
        self.namespace = "default"
        self.history: Sequence[str] = ()
        self._offered: list[SqlCompletion] = []
        self._word = ""
        self._back = 0
        self._unsent = ""
        self._quiet = False

    def compose(self) -> ComposeResult:
        yield QueryText(
            "", language="sql", show_line_numbers=True, tab_behavior="focus", id="sql-text"
        )
        options = StudioOptionList(id="completions")
        options.can_focus = False
        yield options

    @property
    def area(self) -> TextArea:
        return self.query_one(QueryText)

    @property
    def is_completing(self) -> bool:
        return self.query_one(QueryText).choosing

    def put(self, text: str) -> None:
        """Write another text into the editor; ctrl+z brings the old one back."""
        self._quiet = True
        area = self.area
        area.replace(text, area.document.start, area.document.end)
        area.move_cursor(area.document.end)
        self._hide()

    def go(self, line: int, column: int) -> None:
        """Put the cursor on a place, from 1 on."""
        last = self.area.document.line_count
        row = min(line, last) - 1
        self.area.move_cursor((row, min(column - 1, len(self.area.document.get_line(row)))))

    def action_run(self) -> None:
        area = self.area
        text, sql = area.text, area.selected_text
        if sql.strip():
            row, column = min(area.selection.start, area.selection.end)
        else:
            sql = find_statement(text, _index(area))
            before = text[: text.find(sql)]
            row, column = before.count("\n"), len(before) - before.rfind("\n") - 1
        self._hide()
        self._back = 0
        self.post_message(self.Run(sql.strip(), "\n" * row + " " * column + sql.rstrip()))

    def action_history(self) -> None:
        self.post_message(self.HistoryRequested())

    def action_older(self, by: int) -> None:
        back = self._back + by
        if not 0 <= back <= len(self.history):
            return
        if self._back == 0:
            self._unsent = self.area.text
        self._back = back
        self.put(self.history[back - 1] if back else self._unsent)

    def action_complete(self) -> None:
        self._offer()

    @on(TextArea.Changed)
    def _typed(self, event: TextArea.Changed) -> None:
        event.stop()
        if self._quiet:
            self._quiet = False
        elif self.area.has_focus:
            self._offer()

    @on(TextArea.SelectionChanged)
    def _moved(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        if self.is_completing and not self._word_before().endswith(self._word):
            self._hide()

    def on_descendant_blur(self) -> None:
        self._hide()

    @on(QueryText.Pressed)
    def _key(self, event: QueryText.Pressed) -> None:
        event.stop()
        options = self.query_one("#completions", OptionList)
        if event.key == "escape":
            self._hide()
        elif event.key == "up":
            options.action_cursor_up()
        elif event.key == "down":
            options.action_cursor_down()
        else:
            self._take(options.highlighted or 0)

    @on(OptionList.OptionSelected, "#completions")
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._take(event.option_index)

    def _word_before(self) -> str:
        row, column = self.area.cursor_location
        return self.area.document.get_line(row)[:column]

    def _offer(self) -> None:
        area = self.area
        at = _index(area)
        text = area.text
        self._word, self._offered = find_completions(
            text[:at], text[at:], self.tables, self.namespace
        )
        if not self._offered:
            self._hide()
            return
        options = self.query_one("#completions", OptionList)
        options.clear_options()
        options.add_options([Option(_line(each)) for each in self._offered])
        options.highlighted = 0
        options.styles.offset = self._beside_cursor(len(self._offered))
        options.add_class("-open")
        self.query_one(QueryText).choosing = True

    def _beside_cursor(self, lines: int) -> Offset:
        """Below the word; above it where there is no room below."""
        cursor = self.area.cursor_screen_offset - self.region.offset
        x = max(0, min(cursor.x - len(self._word), self.size.width - 44))
        below = cursor.y + 1
        room = self.size.height - below
        return Offset(x, below if room >= min(lines, 8) else max(0, cursor.y - min(lines, 8)))

    def _take(self, index: int) -> None:
        if index >= len(self._offered):
            return
        row, column = self.area.cursor_location
        self._quiet = True
        start = (row, column - len(self._word))
        self.area.replace(self._offered[index].text, start, (row, column))
        self._hide()

    def _hide(self) -> None:
        self.query_one("#completions", OptionList).remove_class("-open")
        self.query_one(QueryText).choosing = False


def _line(completion: SqlCompletion) -> Content:
    space = max(1, 42 - len(completion.text) - len(completion.detail))
    return Content.assemble(
        f" {completion.text}", " " * space, Content.styled(completion.detail, "$foreground 60%")
    )


def _index(area: TextArea) -> int:
    """Where in the text the cursor is."""
    row, column = area.cursor_location
    return sum(len(area.document.get_line(each)) + 1 for each in range(row)) + column
