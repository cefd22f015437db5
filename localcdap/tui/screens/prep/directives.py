"""The line in which directives are written, and the menu with those that fit a column.

The line completes names, and shows what is wrong below it. The menu fills in the column and the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input, Static

from localcdap.tui.labels import sanitize_name
from localcdap.tui.studio import Debouncer
from localcdap.workspace_views import ColumnView, ValueCluster

CURSOR: Final = "‸"
"""Stands in a directive where a text is missing, which the user types."""
CLUSTER_METHODS: Final = {
    "fingerprint": "same words, whatever case, accents, order and punctuation",
    "ngram-fingerprint": "same pairs of letters, so that small typing errors do not count",
    "cologne-phonetic": "same sound in German",
    "distance": "few different letters",
}
"""The methods by which values are compared, with what they find."""
_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]*")
_TEXT: Final = frozenset({"string"})
_NUMBER: Final = frozenset({"int", "long", "float", "double", "decimal"})
_MOMENT: Final = frozenset({"timestamp-micros"})
_ARRAY: Final = frozenset({"array"})
_MEMBERS: Final = frozenset({"record", "map"})
_ANY_DATE: Final = "Find dates of any form"
_EMPTY: Final = "{c} == null || {c}.trim().empty()"
_LONGEST: Final = 80
"""Characters of a value that a directive of the menu quotes."""


@dataclass(frozen=True)
class MenuEntry:
    """A directive of the menu.

    :param directive: with :data:`CURSOR` where a text is missing.
    """

    group: str
    label: str
    directive: str

    @property
    def is_complete(self) -> bool:
        return CURSOR not in self.directive


_ENTRIES: Final[tuple[tuple[str, str, str, frozenset[str] | None], ...]] = (
    ("column", "Rename", "rename :{c} :‸", None),
    ("column", "Drop", "drop :{c}", None),
    ("column", "Keep only this column", "keep :{c}", None),
    ("column", "Copy", "copy :{c} :‸", None),
    ("column", "Join with another column", "merge :{c} :‸ :{c}_merged ' '", None),
    ("column", "Compute", "set-column :{c} exp:{{c}‸}", None),
    ("rows", "Drop rows without a value", f"filter-row exp:{{{_EMPTY}}} true", _TEXT),
    ("rows", "Drop rows with null", "filter-empty-or-null :{c}", None),
    ("rows", "Drop rows where …", "filter-row exp:{{c} ‸} true", None),
    ("rows", "Send rows to error where …", "send-to-error exp:{{c} ‸}", None),
    ("values", "Fill null and empty", "fill-null-or-empty :{c} '‸'", None),
    ("text", "Trim blanks", "trim :{c}", _TEXT),
    ("text", "UPPERCASE", "uppercase :{c}", _TEXT),
    ("text", "lowercase", "lowercase :{c}", _TEXT),
    ("text", "Title Case", "titlecase :{c}", _TEXT),
    ("text", "Find and replace", "find-and-replace :{c} s/‸//g", _TEXT),
    ("text", "Take characters", "cut-character :{c} :{c}_part ‸1-3", _TEXT),
    ("text", "Extract with a pattern", "extract-regex-groups :{c} '(‸)'", _TEXT),
    ("text", "Split into columns", "split-to-columns :{c} '‸,'", _TEXT),
    ("text", "Split into rows", "split-to-rows :{c} '‸,'", _TEXT),
    ("text", "Length", "set-column :{c}_length exp:{{c}.length()}", _TEXT),
    ("parse", "Parse as CSV", "parse-as-csv :{c} ',' false", _TEXT),
    ("parse", "Parse as JSON", "parse-as-json :{c} 1", _TEXT),
    ("parse", "Parse as XML", "parse-as-xml :{c}", _TEXT),
    ("parse", "Parse as a date of a form", "parse-as-simple-date :{c} '‸yyyy-MM-dd'", _TEXT),
    ("parse", _ANY_DATE, "parse-as-date :{c}", _TEXT),
    ("parse", "Parse as a currency", "parse-as-currency :{c} :{c}_amount 'en_US'", _TEXT),
    ("parse", "Parse as an Apache log", "parse-as-log :{c} 'combined'", _TEXT),
    ("type", "To int", "set-type :{c} int", _TEXT | _NUMBER),
    ("type", "To long", "set-type :{c} long", _TEXT | _NUMBER),
    ("parts", "One row for each element", "flatten :{c}", _ARRAY),
    ("parts", "Number of elements", "set-column :{c}_count exp:{{c}.size()}", _ARRAY),
    ("parts", "Members become columns", "parse-as-json :{c} 1", _MEMBERS),
    ("parts", "All inner members become columns", "parse-as-json :{c} 9", _MEMBERS),
    ("parts", "Take a value by its path", "json-path :{c} :{c}_value '$.‸'", _MEMBERS | _ARRAY),
    ("type", "To double", "set-type :{c} double", _TEXT | _NUMBER),
    ("type", "To decimal", "set-type :{c} decimal", _TEXT | _NUMBER),
    ("type", "To boolean", "set-type :{c} boolean", _TEXT),
    ("type", "To text", "set-type :{c} string", _NUMBER | {"boolean"}),
    ("number", "Round", "set-column :{c} exp:{math:round({c})}", _NUMBER),
    ("number", "Absolute value", "set-column :{c} exp:{math:abs({c})}", _NUMBER),
    ("time", "Format", "format-date :{c} '‸yyyy-MM-dd'", _MOMENT),
    ("time", "Difference to now", "diff-date :now :{c} :{c}_age", _MOMENT),
    ("privacy", "Mask all but four characters", "mask-number :{c} 'xxxxxxxxxxxx####'", _TEXT),
    ("privacy", "Shuffle characters", "mask-shuffle :{c}", _TEXT),
    ("privacy", "Hash", "hash :{c} 'SHA-256' true", _TEXT),
    ("text", "Encode as Base64", "encode base64 :{c}", _TEXT),
    ("text", "Decode from Base64", "decode base64 :{c}", _TEXT),
)


def is_plain_name(name: str) -> bool:
    """Return whether directives can name a column."""
    return _NAME.fullmatch(name) is not None


def list_entries(column: ColumnView, value: str | None) -> list[MenuEntry]:
    """Return the entries for a column, those of the value under the cursor first.

    :param value: None for null.
    """
    entries = [*_list_value_entries(column, value), *_list_date_entries(column)]
    has_dates = any(each.group == "parse" for each in entries)
    for group, label, directive, types in _ENTRIES:
        if has_dates and label == _ANY_DATE:
            continue
        if types is None or column.type in types:
            entries.append(MenuEntry(group, label, directive.replace("{c}", column.name)))
    order = list(dict.fromkeys(each.group for each in entries))
    return sorted(entries, key=lambda each: order.index(each.group))


def build_filter(column: ColumnView, value: str | None, *, keeps: bool) -> str | None:
    """Return the directive that drops the rows with a value, or keeps only these; None when none can."""
    literal = _write_literal(column, value)
    if literal is None:
        return None
    return f"filter-row exp:{{{column.name} == {literal}}} {str(not keeps).lower()}"


def _list_value_entries(column: ColumnView, value: str | None) -> Iterator[MenuEntry]:
    shown = "null" if value is None else f"‹{value[:20]}›"
    for label, keeps in (
        (f"Keep only rows with {shown}", True),
        (f"Drop rows with {shown}", False),
    ):
        directive = build_filter(column, value, keeps=keeps)
        if directive is not None:
            yield MenuEntry("value", label, directive)
    if value is not None and column.type in _TEXT and len(value) <= _LONGEST:
        directive = build_replacement(column, [value], "")
        if directive is not None:
            completed = directive.replace("$//g'", f"$/{CURSOR}/g'")
            yield MenuEntry("value", f"Replace {shown}", completed)


def _list_date_entries(column: ColumnView) -> Iterator[MenuEntry]:
    """Yield the parsing of dates in the forms that the values have."""
    for form in column.profile.date_forms if column.profile is not None else ():
        directive = f'parse-as-simple-date :{column.name} "{form}"'
        yield MenuEntry("parse", f"Parse as dates of the form {form}", directive)


def _write_literal(column: ColumnView, value: str | None) -> str | None:
    """Return a value as expressions write it; None for one that they cannot compare."""
    if value is None:
        return "null"
    if column.type in _NUMBER | {"boolean"}:
        return value
    if column.type not in _TEXT or len(value) > _LONGEST or not value.isprintable():
        return None
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def build_replacement(column: ColumnView, values: Sequence[str], into: str) -> str | None:
    """Return the directive that replaces whole values by another one; None when none can."""
    if any(not each.isprintable() or "'" in each for each in (*values, into)):
        return None
    alternatives = "|".join(map(_escape_pattern, values))
    target = re.sub(r"([\\$/])", r"\\\1", into)
    return f"find-and-replace :{column.name} 's/^({alternatives})$/{target}/g'"


def build_cluster_replacement(column: ColumnView, cluster: ValueCluster) -> str | None:
    """Return the directive that replaces values of a cluster by the most frequent one; None when none can."""
    first, *others = (each.value for each in cluster.values)
    return build_replacement(column, others, first)


def format_cluster(cluster: ValueCluster) -> str:
    """Return a line such as ``Rome 450 ← rome 3, Roma 2``."""
    first, *others = (f"{each.value} {each.count:,}" for each in cluster.values)
    return f"{first} ← {', '.join(others)}"


def _escape_pattern(text: str) -> str:
    return re.sub(r"([^\w ])", r"\\\1", text)


_PAUSE_S: Final = 0.15
_WORD: Final = re.compile(r"(?:^|(?<=[\s:,{(+*/=<>!&|-]))[\w-]+$")


class _DirectiveSuggester(Suggester):
    """Completes the word before the cursor: a directive at the beginning, else a column or a function."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self.directives: Sequence[str] = ()
        self.columns: Sequence[str] = ()

    async def get_suggestion(self, value: str) -> str | None:
        word = _WORD.search(value)
        if word is None:
            if value.endswith(":") and self.columns:
                return value + self.columns[0]
            return None
        typed = word[0]
        names = self.directives if word.start() == 0 else self.columns
        found = next((each for each in names if each.startswith(typed) and each != typed), None)
        return None if found is None else value[: word.start()] + found


class DirectiveLine(Vertical):
    """An input for one directive, with a line for what is wrong."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "back to the rows", id="prep.cancel"),
        Binding("tab", "complete", "complete", id="prep.complete", priority=True),
    ]
    DEFAULT_CSS = """
    DirectiveLine { height: 2; }
    DirectiveLine Input { border: none; height: 1; padding: 0 1; background: $surface; }
    DirectiveLine .problem { height: 1; padding: 0 1; color: $text-muted; }
    DirectiveLine .problem.-error { color: $text-error; }
    """

    class Changed(Message):
        """The text has changed, and its typist pauses."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Accepted(Message):
        """The text is to become a step."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Left(Message):
        """The text is not wanted."""

    def compose(self) -> ComposeResult:
        self._suggester = _DirectiveSuggester()
        yield Input(
            placeholder="i writes a directive, m shows those that fit",
            suggester=self._suggester,
            compact=True,
            select_on_focus=False,
        )
        yield Static("", markup=False, classes="problem")

    def on_mount(self) -> None:
        self._pause = Debouncer(self, self._announce, _PAUSE_S)

    def on_unmount(self) -> None:
        self._pause.cancel()

    @property
    def input(self) -> Input:
        return self.query_one(Input)

    def write(self, directive: str) -> None:
        """Show a directive to be completed, with the cursor where a text is missing."""
        before, _, after = directive.partition(CURSOR)
        self.input.value = before + after
        self.input.cursor_position = len(before)
        self.input.focus()

    def clear(self) -> None:
        """Show no directive."""
        self._pause.cancel()
        with self.prevent(Input.Changed):
            self.input.value = ""
        self.show_problem("")

    def show_problem(self, text: str, *, is_error: bool = False) -> None:
        """Show what is wrong with the directive."""
        line = self.query_one(".problem", Static)
        line.update(sanitize_name(text))
        line.set_class(is_error, "-error")

    def know(self, columns: Sequence[str], directives: Sequence[str]) -> None:
        """Take the names that can be completed."""
        self._suggester.columns = columns
        self._suggester.directives = directives

    def action_complete(self) -> None:
        """Take the suggestion; without one, go to the next part of the screen."""
        before = self.input.value
        self.input.action_cursor_right()
        if self.input.value == before:
            self.screen.focus_next()

    def action_leave(self) -> None:
        self.clear()
        self.post_message(self.Left())

    def _announce(self) -> None:
        self.post_message(self.Changed(self.input.value.strip()))

    @on(Input.Changed)
    def _schedule(self, event: Input.Changed) -> None:
        event.stop()
        self._pause.schedule()

    @on(Input.Submitted)
    def _accept(self, event: Input.Submitted) -> None:
        event.stop()
        self._pause.cancel()
        self.post_message(self.Accepted(event.value.strip()))
