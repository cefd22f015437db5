"""The search screen: results while the user types, and what is known of the highlighted one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from localcdap.api.errors import LocalcdapError
from localcdap.api.metadata import DATASET, MetadataEntity, MetadataScope, ScopedMetadata
from localcdap.tui.area_screen import AreaScreen
from localcdap.tui.labels import MUTED, format_title, join_parts, sanitize_name
from localcdap.tui.lists.filtered_list import FilteredList, ListEntry
from localcdap.tui.routes import LineageTarget
from localcdap.tui.screens.search.findings import (
    FIELD,
    FoundItem,
    SearchAnswer,
    search_everything,
)
from localcdap.tui.studio import Debouncer

_PAUSE_S: Final = 0.15
"""The pause after the last letter before the search, in seconds."""
_PLACEHOLDER: Final = "a name, a tag, owner:anna, tags:pii, schema:email …"
_EMPTY: Final = """Nothing found.

An entity is found when any word of the query matches: a word of its name, tags or values,
KEY:WORD for a property, tags:WORD, schema:FIELD, dataset:NAME. '+' makes a word required."""
_LONGEST_VALUE: Final = 400


class SearchScreen(AreaScreen):
    """Finds pipelines, tables, fields, plugins, runs, and all else that has metadata."""

    AREA = "search"
    CSS_PATH = "search.tcss"
    AUTO_FOCUS = "#search-query"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "query", "search", id="search.query"),
        Binding("W", "lineage", "lineage of a field", id="search.lineage"),
        Binding("y", "copy", "copy path", id="search.copy", show=False),
        Binding("escape", "clear", "clear the search", id="search.clear", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._findings: dict[str, FoundItem] = {}
        self._debouncer: Debouncer | None = None
        self._opens_first = False
        """Whether the first result is opened as soon as it is known."""

    def compose_body(self) -> ComposeResult:
        yield Input(placeholder=_PLACEHOLDER, id="search-query", compact=True)
        with Horizontal(id="search-body"):
            yield FilteredList(id="results", verb="open", can_filter=False, empty=_EMPTY)
            with VerticalScroll(id="search-detail", can_focus=False):
                yield Static(id="search-facts")
        yield Static(id="search-note")

    def on_mount(self) -> None:
        self._debouncer = Debouncer(self.query_one(Input), self._search, _PAUSE_S)

    def on_unmount(self) -> None:
        if self._debouncer is not None:
            self._debouncer.cancel()

    def on_screen_resume(self) -> None:
        self._search()

    def show_namespace(self, namespace: str) -> None:
        self._search()

    def explain_disabled(self, action: str) -> str | None:
        """Return why a key does nothing now; None when it works."""
        found = self._highlighted
        match action:
            case "lineage" if found is None or self._find_lineage(found) is None:
                return "no dataset and no field is highlighted"
            case "copy" if found is None:
                return "nothing is highlighted"
            case "clear" if not self.query_one(Input).value and not self.query_one(Input).has_focus:
                return "there is no query"
        return None

    @property
    def entity(self) -> MetadataEntity | None:
        found = self._highlighted
        return found.entity if found is not None else None

    # -- keys -----------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        if event.key == "down" and self.query_one(Input).has_focus:
            event.stop()
            self.query_one(FilteredList).focus_list()

    def action_query(self) -> None:
        self.query_one(Input).focus()

    def action_clear(self) -> None:
        """Clear the query; an empty one leaves the focus to the results."""
        field = self.query_one(Input)
        if field.value:
            field.value = ""
            field.focus()
        else:
            self.query_one(FilteredList).focus_list()

    def action_copy(self) -> None:
        if self._highlighted is not None:
            self.studio.copy_text(self._highlighted.key, "path")

    def action_lineage(self) -> None:
        target = self._find_lineage(self._highlighted) if self._highlighted else None
        if target is not None:
            self.studio.navigate(target)

    # -- the search -----------------------------------------------------------------------------

    @on(Input.Changed, "#search-query")
    def _search_soon(self, event: Input.Changed) -> None:
        event.stop()
        self._opens_first = False
        if self._debouncer is not None:
            self._debouncer.schedule()

    @on(Input.Submitted, "#search-query")
    def _open_first(self, event: Input.Submitted) -> None:
        """Open the highlighted result of what was typed, which may have to be searched first."""
        event.stop()
        self._opens_first = True
        if self._debouncer is not None:
            self._debouncer.cancel()
        self._search()

    def _search(self) -> None:
        text, namespace = self.query_one(Input).value, self.studio.namespace
        self.call(
            lambda cdap: search_everything(cdap, namespace, text),
            on_result=self._fill,
            on_error=self._show_error,
            group="search",
        )

    def _fill(self, answer: SearchAnswer) -> None:
        self._findings = {each.key: each for each in answer.findings}
        self.query_one(FilteredList).set_entries([_build_entry(e) for e in answer.findings])
        rest = answer.total - answer.shown
        more = f" · {rest:,} more match; more words show the best" if rest > 0 else ""
        self._show_note(f"{len(answer.findings):,} found{more}")
        self._show_details()
        if self._opens_first:
            self._opens_first = False
            if self._highlighted is not None:
                self._open(self._highlighted)

    def _show_error(self, error: LocalcdapError) -> None:
        self._findings = {}
        self.query_one(FilteredList).set_entries([])
        self._show_note(error.full_message)
        self._show_details()

    def _show_note(self, text: str) -> None:
        self.query_one("#search-note", Static).update(Content.styled(text, MUTED))

    @on(FilteredList.Chosen, "#results")
    def _open_chosen(self, event: FilteredList.Chosen) -> None:
        event.stop()
        found = self._findings.get(event.key)
        if found is not None:
            self._open(found)

    def _open(self, found: FoundItem) -> None:
        """Go to what was found; what is shown nowhere has its tags and properties shown."""
        if found.target is not None:
            self.studio.navigate(found.target)
        elif found.entity is not None:
            self.studio.show_metadata(found.entity)

    @property
    def _highlighted(self) -> FoundItem | None:
        return self._findings.get(self.query_one(FilteredList).key or "")

    def _find_lineage(self, found: FoundItem) -> LineageTarget | None:
        entity = found.entity
        if entity is None or DATASET not in entity.details:
            return None
        field = entity.details.get(FIELD)
        return LineageTarget(entity.details[DATASET], field, entity.namespace)

    @on(FilteredList.Highlighted)
    def _show_details(self) -> None:
        found = self._highlighted
        self.query_one("#search-facts", Static).update(_format_finding(found) if found else "")


def _build_entry(found: FoundItem) -> ListEntry:
    label, hint = (sanitize_name(t) for t in (found.label, found.hint))
    return ListEntry(found.key, label, found.mark, hint, found.group)


def _format_finding(found: FoundItem) -> Content:
    kind = found.entity.type if found.entity is not None else found.group.rstrip("s")
    parts = [
        format_title(sanitize_name(found.label), kind),
        Content.styled(sanitize_name(found.key), MUTED),
    ]
    if found.metadata is not None:
        parts += [Content("\n").join(lines) for lines in _list_lines(found.metadata) if lines]
    return join_parts(*parts)


def _list_lines(metadata: ScopedMetadata) -> Iterator[list[Content]]:
    """Yield tags and properties of users, then those of localcdap."""
    for scope in (MetadataScope.USER, MetadataScope.SYSTEM):
        own = metadata.get(scope)
        lines = [Content.assemble(("tags  ", MUTED), ", ".join(own.tags))] if own.tags else []
        for key, value in sorted(own.properties.items()):
            shown = sanitize_name(f"{key}  ")
            text = sanitize_name(value[:_LONGEST_VALUE])
            lines.append(Content.assemble((shown, MUTED), text))
        if lines and scope is MetadataScope.SYSTEM:
            lines.insert(0, Content.styled("written by localcdap", f"{MUTED} italic"))
        yield lines
