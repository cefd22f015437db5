"""The data that were opened last: what the prep area lists while no data are open."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from localcdap.host.cdap import Cdap
from localcdap.tui.dialogs.path_dialog import is_file
from localcdap.tui.labels import sanitize_name
from localcdap.tui.lists.filtered_list import FilteredList, ListEntry
from localcdap.tui.machine import OpenedData
from localcdap.tui.screens.prep.source import PrepSource
from localcdap.tui.studio import Studio, StudioNode

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
