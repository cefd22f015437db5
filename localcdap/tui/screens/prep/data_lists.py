"""What the prep area can open: connections with their folders and tables, and recent data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple

from rich.console import Group
from rich.table import Table
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.widgets import Static

from localcdap.api.app.connections import Connection
from localcdap.api.connector import (
    BrowseDetail,
    BrowseEntity,
    BrowseRequest,
    RecordSample,
    SampleRequest,
)
from localcdap.api.errors import LocalcdapError
from localcdap.connectors.entities import find_connection, format_property
from localcdap.host.cdap import Cdap
from localcdap.tui.dialogs.path_dialog import PathCompletion, PathDialog, is_file, split_path
from localcdap.tui.labels import sanitize_name
from localcdap.tui.lists import FilteredList, ListEntry, rank_matches
from localcdap.tui.machine import OpenedData
from localcdap.tui.screens.prep.source import PrepSource
from localcdap.tui.studio import Studio, StudioNode

_PEEKED: Final = 20
"""Records of a look into data."""
_MOST_COLUMNS: Final = 12
_WIDEST: Final = 24
"""Cells of a value that are shown."""


class ConnectionPlace(NamedTuple):
    """Data that a connection shows.

    :param columns: their names, as far as a look has found them.
    """

    connection: str
    path: str
    columns: Sequence[str] = ()


class ConnectionBrowser(PathDialog[ConnectionPlace]):
    """Lets its user choose data of a connection, by its path after the name of the connection and a colon.

    What is typed after the last slash is searched: among what is there, and where the system can, below it.

    :param typed: such as ``files:/2026/``.
    """

    DEFAULT_CSS = """
    ConnectionBrowser {
        & > #dialog { width: 140; }
        & #files-row { height: auto; max-height: 42vh; }
        & #files-list { width: 2fr; min-height: 8; }
        & #files-peek { width: 3fr; height: auto; min-height: 8; max-height: 42vh; margin-left: 1;
                        padding: 0 1; background: $boost; scrollbar-size: 1 1; }
        & #files-peek > Static { width: auto; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f3", "peek", "look into it", priority=True, show=False),
    ]
    help = "tab completes · ctrl+w goes up · f3 looks into it · enter opens it"

    def __init__(self, title: str, typed: str = "") -> None:
        super().__init__(title, typed)
        self._connections: dict[str, Connection] | None = None
        self._browsed: dict[str, BrowseDetail] = {}
        """What is at the places that were listed, by what is typed for them."""
        self._found: dict[str, BrowseEntity] = {}
        """The entities that are listed, by what is typed for them."""
        self._columns: dict[str, Sequence[str]] = {}
        self._problem = ""

    def compose_list(self) -> ComposeResult:
        with Horizontal(id="files-row"):
            yield from super().compose_list()
            with VerticalScroll(id="files-peek", can_focus=False):
                yield Static()

    # -- what is listed -------------------------------------------------------------------------

    async def find_completions(self, typed: str) -> list[PathCompletion]:
        self._problem = ""
        try:
            connections = await self._list_connections()
            name = find_connection(typed, connections)
            if name is None:
                return self._complete_name(typed, connections)
            return await self._complete_path(name, typed)
        except LocalcdapError as error:
            self._problem = f"{error.message} {error.corrective_action or ''}".strip()
            return []

    def mark_listed(self, typed: str) -> None:
        entity = self._found.get(self.highlighted.typed) if self.highlighted is not None else None
        self._show_peek(_describe(entity) if entity is not None else Text())
        if not self._problem and not self._connections:
            self._problem = (
                "This namespace has no connections; the area of namespaces creates them."
            )
        self.show_help(self._problem or ("" if self._entries else "Nothing here answers to that."))

    async def _list_connections(self) -> Mapping[str, Connection]:
        if self._connections is None:
            namespace = self.studio.namespace
            found = await self.call_and_wait(
                lambda cdap: cdap.connections.list_connections(namespace)
            )
            self._connections = {each.name: each for each in found}
        return self._connections

    def _complete_name(
        self, typed: str, connections: Mapping[str, Connection]
    ) -> list[PathCompletion]:
        self._found = {}
        names = [
            (name, PathCompletion(f"{name}  {each.connection_type}", f"{name}:/", is_folder=True))
            for name, each in connections.items()
        ]
        return [each for each, _ in rank_matches(typed.rstrip(":"), names)]

    async def _complete_path(self, name: str, typed: str) -> list[PathCompletion]:
        """Return what is in the folder of a typed path; of a search, also what the system finds below it."""
        head, last = split_path(typed)
        if not head:
            head, last = f"{name}:/", ""
        if head not in self._browsed:
            self._browsed[head] = await self._browse(name, head)
        detail = self._browsed[head]
        named = [(each.name, each) for each in detail.entities]
        found = [each for each, _ in rank_matches(last, named)]
        if last and not found:
            found = (await self._browse(name, head, last)).entities
        elif not last and detail.total_count > len(detail.entities):
            listed = f"{len(detail.entities):,} of {detail.total_count:,}"
            self._problem = f"{listed} are listed; type a part of a name."
        entries = [(_complete(name, each), each) for each in found]
        self._found = {entry.typed: each for entry, each in entries}
        return [entry for entry, _ in entries]

    async def _browse(self, name: str, head: str, search: str | None = None) -> BrowseDetail:
        path, namespace = head[len(name) + 1 :], self.studio.namespace
        request = BrowseRequest(path.rstrip("/") or "/", search=search)
        return await self.call_and_wait(
            lambda cdap: cdap.connectors.browse(namespace, name, request)
        )

    # -- a look ---------------------------------------------------------------------------------

    def on_option_list_option_highlighted(self) -> None:
        entity = self._found.get(self.highlighted.typed) if self.highlighted is not None else None
        self._show_peek(_describe(entity) if entity is not None else Text())

    def action_peek(self) -> None:
        """Show some records of the highlighted data."""
        self.when_listed(self._peek)

    def _peek(self) -> None:
        entry = self.highlighted
        entity = self._found.get(entry.typed) if entry is not None else None
        name = find_connection(self.typed, self._connections or {})
        if entry is None or entity is None or name is None or not entity.can_sample:
            self._show_peek(Text("It has no records to look at.", "italic"))
            return
        self._show_peek(Text("Some records are read.", "italic"))
        request, namespace, typed = (
            SampleRequest(entity.path, _PEEKED),
            self.studio.namespace,
            entry.typed,
        )

        def show(sample: RecordSample) -> None:
            self._columns[typed] = sample.schema.field_names if sample.schema is not None else []
            self._show_peek(format_sample(sample))

        self.call(
            lambda cdap: cdap.connectors.sample(namespace, name, request).result,
            show,
            on_error=lambda error: self._show_peek(
                Text(f"{error.message} {error.corrective_action or ''}")
            ),
            group="peek",
        )

    def _show_peek(self, what: Text | Group) -> None:
        self.query_one("#files-peek > Static", Static).update(what)

    # -- the answer -----------------------------------------------------------------------------

    def take(self, typed: str, entry: PathCompletion | None) -> None:
        """Go into what can be browsed, or answer with what can be sampled."""
        if entry is None:
            return
        entity = self._found.get(entry.typed)
        if entity is None or (entity.can_browse and not entity.can_sample):
            self.write(entry.typed)
        elif entity.can_sample:
            name = find_connection(typed, self._connections or {})
            assert name is not None  # its entities are listed
            self.dismiss(ConnectionPlace(name, entity.path, self._columns.get(entry.typed, ())))
        else:
            self.show_help(f"{entity.name} has no records: it is a {entity.type}.")


def format_sample(sample: RecordSample) -> Group:
    """Return records as a table, with what they are a sample of."""
    names = sample.schema.field_names if sample.schema is not None else []
    hidden = len(names) - _MOST_COLUMNS
    how = [sample.properties[each] for each in ("format", "encoding") if each in sample.properties]
    parts = [sample.description, *how, *([f"{hidden:,} more columns"] if hidden > 0 else [])]
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in names[:_MOST_COLUMNS]:
        table.add_column(_format_sampled_cell(name), no_wrap=True, header_style="bold")
    for record in sample.records:
        table.add_row(*(_format_sampled_cell(record.get(name)) for name in names[:_MOST_COLUMNS]))
    return Group(Text(" · ".join(parts), "dim"), table)


def _format_sampled_cell(value: Any) -> Text:
    if value is None:
        return Text("null", "dim")
    text = sanitize_name(str(value))
    return Text(text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…")


def _complete(connection: str, entity: BrowseEntity) -> PathCompletion:
    slash = "/" if entity.can_browse and not entity.path.endswith("/") else ""
    name = sanitize_name(entity.name)
    return PathCompletion(
        name + slash,
        f"{connection}:{entity.path}{slash}",
        entity.can_browse and not entity.can_sample,
    )


def _describe(entity: BrowseEntity) -> Text:
    """Return the type and the properties of an entity."""
    text = Text.assemble((sanitize_name(entity.name), "bold"), f"  {entity.type}")
    for name, each in entity.properties.items():
        shown = sanitize_name(format_property(each))
        text.append(f"\n{name.lower():<15}", "dim").append(shown)
    if entity.can_sample:
        text.append("\n\nf3 shows some records", "dim")
    return text


_EMPTY: Final = """Nothing was opened in this namespace yet.

o opens a file, t a table, c data of a connection. Cells of a sheet that were copied can be pasted. \
What was opened is listed here then."""


class RecentData(StudioNode, Vertical):
    """Lists the files, tables and data of connections that were opened in a namespace, the newest first."""

    class Opened(Message):
        """Data were chosen."""

        def __init__(self, source: PrepSource) -> None:
            super().__init__()
            self.source = source

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._sources: dict[str, PrepSource] = {}

    def compose(self) -> ComposeResult:
        yield FilteredList(verb="open", empty=_EMPTY)

    def show(self) -> None:
        """List what was opened in the current namespace and is still there."""
        namespace = self.studio.namespace
        opened = self.studio.user_state.list_opened(namespace)
        self.call(
            lambda cdap: list_present(cdap, namespace, opened), on_result=self._fill, group="recent"
        )

    def focus_list(self) -> None:
        self.query_one(FilteredList).focus_list()

    def _fill(self, sources: Sequence[PrepSource]) -> None:
        self._sources = {each.key: each for each in sources}
        self.query_one(FilteredList).set_entries([_build_entry(each) for each in sources])

    @on(FilteredList.Chosen)
    def _open_chosen(self, event: FilteredList.Chosen) -> None:
        event.stop()
        self.post_message(self.Opened(self._sources[event.key]))


def remember(studio: Studio, source: PrepSource | None) -> None:
    """Keep what is shown among the data that were opened last; records of a stage are not kept."""
    if source is not None and source.stage is None:
        key = (source.path, source.table, source.connection, source.place)
        studio.user_state.remember_opened(OpenedData(studio.namespace, *key))
        studio.save_user_state()


def list_present(cdap: Cdap, namespace: str, opened: Sequence[OpenedData]) -> list[PrepSource]:
    """Return the data that are still there: the file, the table or the connection."""
    if not opened:
        return []
    tables = {each.name for each in cdap.tables.list_tables(namespace)}
    connections = {each.name for each in cdap.connections.list_connections(namespace)}
    return [
        PrepSource(each.path, each.table, connection=each.connection, place=each.place)
        for each in opened
        if each.table in tables
        or each.connection in connections
        or (each.path and is_file(Path(each.path)))
    ]


def _build_entry(source: PrepSource) -> ListEntry:
    if source.connection:
        hint = f"connection {source.connection} · {source.place}"
    elif source.path:
        hint = f"file in {Path(source.path).parent}"
    else:
        hint = "table"
    return ListEntry(
        source.key,
        sanitize_name(source.name),
        hint=sanitize_name(hint),
        words=hint,
    )
