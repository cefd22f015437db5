"""The editor of SQL queries: highlighting, completion while typing, and a history.

Names of tables and columns, keywords and functions are completed. It also finds the statement at the
cursor, and the word that is being typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.geometry import Offset
from textual.message import Message
from textual.widgets import OptionList, TextArea
from textual.widgets.option_list import Option

from localcdap.api.sql_names import quote_identifier
from localcdap.datasets.sql import SqlTable
from localcdap.tui.lists import StudioOptionList
from localcdap.tui.studio import get_studio
from localcdap.tui.widgets.code_area import CodeArea

_MOST: Final = 8
_PLAIN: Final = re.compile(r"[a-z_][a-z0-9_]*")
_WORDS: Final = """
    SELECT FROM WHERE GROUP BY ORDER BY HAVING LIMIT OFFSET JOIN LEFT JOIN FULL JOIN CROSS JOIN ASOF JOIN
    USING ON AS AND OR NOT IN IS NULL LIKE ILIKE BETWEEN CASE WHEN THEN ELSE END DISTINCT UNION ALL EXCEPT
    INTERSECT WITH VALUES DESCRIBE SUMMARIZE EXPLAIN SHOW TABLES QUALIFY WINDOW OVER PARTITION BY EXCLUDE
    REPLACE PIVOT UNPIVOT UNNEST CAST TRY_CAST DESC ASC NULLS LAST FILTER SAMPLE
"""
_FUNCTIONS: Final = """
    count sum avg min max median mode stddev quantile_cont approx_count_distinct arg_max arg_min first last
    list string_agg histogram coalesce nullif ifnull greatest least abs round floor ceil lower upper trim
    length substring replace regexp_matches regexp_extract split_part concat strftime strptime date_trunc
    date_diff date_part year month day now today row_number rank lag lead
"""
_RESERVED: Final = {*_WORDS.lower().split(), "default", "table", "column", "user"}


@dataclass(frozen=True)
class SqlCompletion:
    """A completion of a word.

    :param detail: shown next to it, such as the type of a column.
    """

    text: str
    detail: str


def find_completions(
    text: str, rest: str, tables: Sequence[SqlTable], namespace: str
) -> tuple[str, list[SqlCompletion]]:
    """Return the beginning of the word before the cursor, and its completions.

    An empty word has completions only after the dot of a table or schema.

    :param text: the query up to the cursor.
    :param rest: the query after the cursor; tables that it names count too.
    :param tables: the tables of all schemas.
    :param namespace: the namespace whose tables need no schema before them.
    """
    typed = parse_typed_word(text)
    if typed is None or (typed[0] is None and not typed[1]):
        return "", []
    owner, word = typed
    whole = text + rest
    begun = word.lstrip('"').lower()
    candidates = (
        _list_members(owner, whole, tables) if owner else _list_all(whole, tables, namespace)
    )
    found: dict[str, SqlCompletion] = {}
    for each in candidates:
        if each.text.strip('"').lower().startswith(begun) and each.text.lower() != word.lower():
            found.setdefault(each.text.lower(), each)
    return word, list(found.values())[:_MOST]


def quote_where_needed(name: str) -> str:
    """Return a name as it is written in a query: in quotes where it needs them."""
    if _PLAIN.fullmatch(name) and name not in _RESERVED:
        return name
    return quote_identifier(name)


def _list_all(text: str, tables: Sequence[SqlTable], namespace: str) -> Iterator[SqlCompletion]:
    mentioned = [table for table in tables if _is_mentioned(table, text)]
    for table in mentioned:
        for column in table.columns:
            yield SqlCompletion(quote_where_needed(column.name), f"{column.type} of {table.name}")
    for table in tables:
        if table.schema == namespace:
            yield SqlCompletion(quote_where_needed(table.name), "table")
    for table in tables:
        if table.schema != namespace:
            name = f"{quote_where_needed(table.schema)}.{quote_where_needed(table.name)}"
            yield SqlCompletion(name, "table")
            yield SqlCompletion(quote_where_needed(table.schema), "schema")
    yield from (SqlCompletion(word, "") for word in _WORDS.split())
    yield from (SqlCompletion(name, "function") for name in _FUNCTIONS.split())


def _list_members(owner: str, text: str, tables: Sequence[SqlTable]) -> Iterator[SqlCompletion]:
    """Yield what can follow ``owner.``: columns of a table or of an alias, tables of a schema."""
    for table in tables:
        if table.schema.lower() == owner.lower():
            yield SqlCompletion(quote_where_needed(table.name), "table")
        if owner.lower() in (table.name.lower(), *_find_aliases(table, text)):
            for column in table.columns:
                yield SqlCompletion(quote_where_needed(column.name), column.type)


def _is_mentioned(table: SqlTable, text: str) -> bool:
    return re.search(rf"\b{re.escape(table.name)}\b", text, re.IGNORECASE) is not None


def _find_aliases(table: SqlTable, text: str) -> list[str]:
    found = re.findall(rf'\b{re.escape(table.name)}"?\s+(?:AS\s+)?(\w+)', text, re.IGNORECASE)
    return [alias.lower() for alias in found if alias.lower() not in _RESERVED]


_TOKEN: Final = re.compile(
    r"""--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*(?:'|\Z)|"(?:[^"]|"")*(?:"|\Z)|(\$\w*\$).*?(?:\1|\Z)|;""",
    re.DOTALL,
)
_WORD: Final = re.compile(r'(?:(?P<owner>\w+|"[^"]*")\.)?(?P<word>"?\w*)$')
_INSIDE: Final = re.compile(r"--[^\n]*$|/\*(?:(?!\*/).)*$|'(?:[^']|'')*$", re.DOTALL)


def find_statement(text: str, offset: int) -> str:
    """Return the statement at an offset; between two statements, the first of them."""
    chosen = ""
    for start, end in _split_statements(text):
        if text[start:end].strip():
            chosen = text[start:end]
            if offset <= end + 1:
                break
    return chosen


def _split_statements(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each statement. Semicolons in quotes and comments end no statement."""
    start = 0
    for found in _TOKEN.finditer(text):
        if found[0] == ";":
            yield start, found.start()
            start = found.end()
    yield start, len(text)


def parse_typed_word(text: str) -> tuple[str | None, str] | None:
    """Return the owner (``owner.``) of the word at the end of a text, and the beginning of the word.

    :returns: None inside a quoted text or a comment, where nothing is completed.
    """
    plain = re.sub(r"'(?:[^']|'')*'|/\*.*?\*/|--[^\n]*\n", " ", text, flags=re.DOTALL)
    if _INSIDE.search(plain):
        return None
    found = _WORD.search(text)
    if found is None:
        return None
    owner = found["owner"]
    return (owner.strip('"') if owner else None), found["word"]


class QueryText(CodeArea):
    """The text area. While completions are shown it posts the keys that choose one."""

    class CompletionKey(Message):
        """A key for the list of completions was pressed."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    is_choosing = False
    """Whether completions are shown."""

    async def _on_key(self, event: events.Key) -> None:
        if self.is_choosing and event.key in ("up", "down", "tab", "enter", "escape"):
            event.stop()
            event.prevent_default()
            self.post_message(self.CompletionKey(event.key))
            return
        await super()._on_key(event)


class QueryEditor(Container):
    """Edits queries, and posts :class:`RunRequested` to run one."""

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

    class RunRequested(Message):
        """The user wants to run a query.

        :param positioned_sql: the query after as many line ends and blanks as precede it in the editor, so
            that line and column of an error are those in the editor.
        """

        def __init__(self, sql: str, positioned_sql: str) -> None:
            super().__init__()
            self.sql = sql
            self.positioned_sql = positioned_sql

    class HistoryRequested(Message):
        """The user wants to choose an earlier query."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.tables: Sequence[SqlTable] = ()
        self.namespace = "default"
        self.history: Sequence[str] = ()
        self._completions: list[SqlCompletion] = []
        self._word = ""
        """The beginning of the word that is completed."""
        self._history_position = 0
        """The number of queries back in the history; 0 is the text that was not run yet."""
        self._unsent = ""
        self._ignores_change = False
        """Whether the next change of the text comes from this widget and offers no completions."""

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
        return self.query_one(QueryText).is_choosing

    def replace_text(self, text: str) -> None:
        """Replace the text; ctrl+z restores the old text."""
        self._ignores_change = True
        area = self.area
        area.replace(text, area.document.start, area.document.end)
        area.move_cursor(area.document.end)
        self._hide()

    def go_to(self, line: int, column: int) -> None:
        """Move the cursor to a line and a column, both counted from 1."""
        last = self.area.document.line_count
        row = min(line, last) - 1
        self.area.move_cursor((row, min(column - 1, len(self.area.document.get_line(row)))))

    def action_run(self) -> None:
        area = self.area
        text, sql = area.text, area.selected_text
        if sql.strip():
            row, column = min(area.selection.start, area.selection.end)
        else:
            sql = find_statement(text, _get_cursor_offset(area))
            before = text[: text.find(sql)]
            row, column = before.count("\n"), len(before) - before.rfind("\n") - 1
        self._hide()
        self._history_position = 0
        self.post_message(self.RunRequested(sql.strip(), "\n" * row + " " * column + sql.rstrip()))

    def action_history(self) -> None:
        self.post_message(self.HistoryRequested())

    def action_older(self, by: int) -> None:
        position = self._history_position + by
        if not 0 <= position <= len(self.history):
            age = "older" if by > 0 else "newer"
            get_studio(self).explain_no_effect(f"there is no {age} query")
            return
        if self._history_position == 0:
            self._unsent = self.area.text
        self._history_position = position
        self.replace_text(self.history[position - 1] if position else self._unsent)

    def action_complete(self) -> None:
        self._show_completions()
        if not self._completions:
            get_studio(self).explain_no_effect("nothing completes what is typed")

    @on(TextArea.Changed)
    def _complete_typed(self, event: TextArea.Changed) -> None:
        event.stop()
        if self._ignores_change:
            self._ignores_change = False
        elif self.area.has_focus:
            self._show_completions()

    @on(TextArea.SelectionChanged)
    def _hide_when_moved(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        if self.is_completing and not self._get_text_before_cursor().endswith(self._word):
            self._hide()

    def on_descendant_blur(self) -> None:
        self._hide()

    @on(QueryText.CompletionKey)
    def _handle_key(self, event: QueryText.CompletionKey) -> None:
        event.stop()
        options = self.query_one("#completions", OptionList)
        if event.key == "escape":
            self._hide()
        elif event.key == "up":
            options.action_cursor_up()
        elif event.key == "down":
            options.action_cursor_down()
        else:
            self._insert(options.highlighted or 0)

    @on(OptionList.OptionSelected, "#completions")
    def _insert_chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._insert(event.option_index)

    def _get_text_before_cursor(self) -> str:
        row, column = self.area.cursor_location
        return self.area.document.get_line(row)[:column]

    def _show_completions(self) -> None:
        area = self.area
        at = _get_cursor_offset(area)
        text = area.text
        self._word, self._completions = find_completions(
            text[:at], text[at:], self.tables, self.namespace
        )
        if not self._completions:
            self._hide()
            return
        options = self.query_one("#completions", OptionList)
        options.clear_options()
        options.add_options([Option(_format_completion(each)) for each in self._completions])
        options.highlighted = 0
        options.styles.offset = self._find_offset(len(self._completions))
        options.add_class("-open")
        self.query_one(QueryText).is_choosing = True

    def _find_offset(self, lines: int) -> Offset:
        """Return the position of the list: below the word, or above it where there is no space below."""
        cursor = self.area.cursor_screen_offset - self.region.offset
        x = max(0, min(cursor.x - len(self._word), self.size.width - 44))
        below = cursor.y + 1
        space = self.size.height - below
        return Offset(x, below if space >= min(lines, 8) else max(0, cursor.y - min(lines, 8)))

    def _insert(self, index: int) -> None:
        if index >= len(self._completions):
            return
        row, column = self.area.cursor_location
        self._ignores_change = True
        start = (row, column - len(self._word))
        self.area.replace(self._completions[index].text, start, (row, column))
        self._hide()

    def _hide(self) -> None:
        self.query_one("#completions", OptionList).remove_class("-open")
        self.query_one(QueryText).is_choosing = False


def _format_completion(completion: SqlCompletion) -> Content:
    space = max(1, 42 - len(completion.text) - len(completion.detail))
    return Content.assemble(
        f" {completion.text}", " " * space, Content.styled(completion.detail, "$foreground 60%")
    )


def _get_cursor_offset(area: TextArea) -> int:
    """Return the offset of the cursor in the text."""
    row, column = area.cursor_location
    return sum(len(area.document.get_line(each)) + 1 for each in range(row)) + column
