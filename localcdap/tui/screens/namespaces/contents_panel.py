"""What a namespace contains, by kind: counts, first names, and the area that a line opens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from localcdap.api.errors import LocalcdapError, NotFoundError, UnauthorizedError
from localcdap.artifacts.model import USER
from localcdap.host.cdap import Cdap
from localcdap.namespaces.model import Namespace
from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.text import plural, sanitize_for_terminal
from localcdap.tui.labels import MUTED, sanitize_name
from localcdap.tui.lists.filtered_list import FilteredList, ListEntry
from localcdap.tui.routes import AreaTarget
from localcdap.tui.studio import StudioNode

_LABEL: Final = 20
"""The width of the names of kinds, in cells."""
_MOST_NAMES: Final = 30


@dataclass(frozen=True)
class ContentCounts:
    """A namespace with the number of its resources of each kind."""

    namespace: Namespace
    counts: dict[str, int]
    """The counts by kind, a noun in the singular."""
    names: dict[str, Sequence[str]]
    """The names of the resources by kind; those of runs are the names of their pipelines. A dataset with a
    table of its name counts as a table.
    """
    default_profile: str

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def read_contents(cdap: Cdap, name: str) -> ContentCounts:
    """Read the contents of a namespace through the services."""
    runs = cdap.runs.list_by_pipeline(name, recent=1)
    artifacts = cdap.artifacts.list_artifacts(name, scope=USER)
    profiles = cdap.runs.list_profiles(name)
    schedules = [each.schedule for each in cdap.schedules.list_schedules(name)]
    tables = [each.name for each in cdap.tables.list_tables(name)]
    names: dict[str, Sequence[str]] = {
        "deployed pipeline": [each.name for each in cdap.applications.list_applications(name)],
        "draft": [each.name for each in cdap.drafts.list_drafts(name)],
        "template": [each.name for each in cdap.templates.list_templates(name)],
        "schedule": [f"{each.application} {each.name}" for each in schedules],
        "run": [f"{each.pipeline} {each.count:,}" for each in runs],
        "table": tables,
        "dataset": [each for each in _list_datasets(cdap, name) if each not in tables],
        "artifact": [each.name for each in artifacts if each.namespace == name],
        "preference": sorted(cdap.preferences.get(PreferenceLevel(name))),
        "secure key": [each.name for each in cdap.secure_keys.list_keys(name)],
        "connection": [each.name for each in cdap.connections.list_connections(name)],
        "topic": [each.name for each in cdap.messaging.list_topics(name)],
    }
    counts = {noun: len(found) for noun, found in names.items()}
    return ContentCounts(
        cdap.namespaces.describe(name),
        counts | {"run": sum(each.count for each in runs)},
        names,
        next((each.name for each in profiles if each.is_default), ""),
    )


def _list_datasets(cdap: Cdap, name: str) -> list[str]:
    """Return the datasets of a namespace; none when the user may not see them."""
    try:
        return [each.name for each in cdap.datasets.list_datasets(name)]
    except UnauthorizedError:
        return []


def format_namespace(contents: ContentCounts, *, is_current: bool) -> Content:
    """Return the name and the description of a namespace."""
    namespace = contents.namespace
    current = "  current namespace" if is_current else ""
    title = Content.assemble((namespace.name, "bold"), (current, "$text-accent"))
    text = sanitize_for_terminal(namespace.description)
    return Content.assemble(title, f"\n{text}" if text else "")


def format_facts(contents: ContentCounts) -> Content:
    """Return the settings of a namespace, one on each line."""
    facts = {"default profile": contents.default_profile, **contents.namespace.config}
    return Content("\n").join(
        Content.assemble((f"{name}  ", MUTED), sanitize_name(text)) for name, text in facts.items()
    )


def build_entries(contents: ContentCounts) -> list[ListEntry]:
    """Return a line for each kind: how many there are, and the names of the first ones."""
    return [
        ListEntry(
            noun,
            _format_kind(noun, count, contents.names[noun]),
            tone="" if count else MUTED,
        )
        for noun, count in contents.counts.items()
    ]


def _format_kind(noun: str, count: int, names: Sequence[str]) -> str:
    label = plural(count, noun).partition(" ")[2]
    listed = sanitize_name(", ".join(names[:_MOST_NAMES]))
    return f"{count:>5,}  {label:<{_LABEL}}{listed}".rstrip()


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
