"""The contents of a namespace as lines, each of which opens the area of its kind."""

from __future__ import annotations

from typing import Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Static

from localcdap.api.errors import LocalcdapError, NotFoundError
from localcdap.tui.lists.filtered_list import FilteredList
from localcdap.tui.routes import AreaTarget
from localcdap.tui.screens.namespaces.contents import (
    ContentCounts,
    build_entries,
    format_facts,
    format_namespace,
    read_contents,
)
from localcdap.tui.studio import StudioNode

_AREAS: Final = {
    "deployed pipeline": "library",
    "draft": "library",
    "template": "library",
    "schedule": "library",
    "run": "runs",
    "table": "data",
    "dataset": "data",
    "artifact": "plugins",
}
"""The area of each kind that has one."""
_TABS: Final = {"preference": "preferences", "secure key": "keys", "connection": "connections"}
"""The tab of this screen for each kind that has one."""
_WITHOUT_AREA: Final = {"topic": "topics have no area in the studio; localcdap topics shows them"}


class ContentsPanel(StudioNode, Vertical):
    """Shows how much of each kind a namespace contains, and opens the area of a kind."""

    DEFAULT_CSS = """
    ContentsPanel {
        & > #contents-title { height: auto; padding: 0 1 1 1; }
        & > FilteredList { height: 1fr; min-height: 3; }
        & > #contents-facts { height: auto; max-height: 40%; padding: 1 1 0 1; }
        & > Static { text-wrap: nowrap; text-overflow: ellipsis; }
    }
    """

    class TabWanted(Message):
        """A kind was chosen that a tab of the screen shows."""

        def __init__(self, tab: str) -> None:
            super().__init__()
            self.tab = tab

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._namespace = "default"

    def compose(self) -> ComposeResult:
        yield Static(id="contents-title")
        yield FilteredList(verb="open", can_filter=False, id="contents")
        yield Static(id="contents-facts")

    def show(self, namespace: str) -> None:
        """Show the contents of a namespace; of the same namespace, read them again."""
        self._namespace = namespace
        self.call(
            lambda cdap: read_contents(cdap, namespace),
            on_result=self._fill,
            on_error=self._report_error,
            group="contents",
        )

    def _report_error(self, error: LocalcdapError) -> None:
        # Of a namespace that was deleted the screen hears by an event.
        if not isinstance(error, NotFoundError):
            self.studio.report_error(error)

    def _fill(self, contents: ContentCounts) -> None:
        is_current = contents.namespace.name == self.studio.namespace
        title = format_namespace(contents, is_current=is_current)
        self.query_one("#contents-title", Static).update(title)
        self.query_one(FilteredList).set_entries(build_entries(contents))
        self.query_one("#contents-facts", Static).update(format_facts(contents))

    @on(FilteredList.Chosen)
    def _open_chosen(self, event: FilteredList.Chosen) -> None:
        """Open the area or the tab of a kind; an area shows the current namespace, so this one becomes it."""
        event.stop()
        kind = event.key
        if kind in _TABS:
            self.post_message(self.TabWanted(_TABS[kind]))
        elif kind in _AREAS:
            if self.studio.namespace != self._namespace:
                self.studio.namespace = self._namespace
                self.studio.show_notice(f"Switched to namespace {self._namespace}.")
            self.studio.navigate(AreaTarget(_AREAS[kind]))
        else:
            self.studio.explain_no_effect(_WITHOUT_AREA[kind], "open")
