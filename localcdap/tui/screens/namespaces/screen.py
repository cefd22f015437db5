"""The namespaces screen: namespaces, their contents, preferences, secure keys and connections.

Contents are shown by kind: counts, first names, and the area that a line opens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static, TabbedContent, TabPane

from localcdap.api.errors import ConflictError, LocalcdapError, UnauthorizedError
from localcdap.api.metadata import MetadataEntity
from localcdap.artifacts.model import USER
from localcdap.host.cdap import Cdap
from localcdap.namespaces.model import (
    RESERVED,
    Namespace,
    NamespaceCreation,
    NamespaceDeletion,
    check_namespace_name,
)
from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.text import plural, sanitize_for_terminal
from localcdap.tui.area_screen import AreaScreen
from localcdap.tui.dialogs.path_dialog import expand_path
from localcdap.tui.labels import MUTED, sanitize_name
from localcdap.tui.lists import FilteredList, ListEntry, watch_topics
from localcdap.tui.routes import AreaTarget
from localcdap.tui.screens.namespaces.connections import ConnectionsPanel
from localcdap.tui.screens.namespaces.preferences import PreferencesPanel, SecureKeysPanel
from localcdap.tui.screens.namespaces.sync_dialog import SyncDialog
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
            on_error=self.report_unless_deleted,
            group="contents",
        )

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


class NamespaceList(FilteredList):
    """The list of namespaces, with the actions on them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "screen.create", "new namespace", id="namespaces.create"),
        Binding("n", "screen.describe", "edit description", id="namespaces.describe", show=False),
        Binding("d,delete", "screen.delete", "delete", id="namespaces.delete"),
        Binding("f", "screen.sync", "sync a folder", id="namespaces.sync"),
    ]


class NamespacesScreen(AreaScreen):
    """Shows and manages namespaces. Enter switches the whole studio to the highlighted namespace."""

    AREA = "namespaces"
    CSS_PATH = "namespaces.tcss"
    AUTO_FOCUS = "#namespaces FilteredListOptions"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "tab('contents')", "contents", id="namespaces.contents"),
        Binding("p", "tab('preferences')", "preferences", id="namespaces.preferences"),
        Binding("s", "tab('keys')", "secrets", id="namespaces.keys"),
        Binding("o", "tab('connections')", "connections", id="namespaces.connections"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._namespaces: dict[str, Namespace] = {}
        self._shown: str | None = None

    def compose_body(self) -> ComposeResult:
        with Horizontal(id="namespaces-body"):
            yield NamespaceList(verb="switch", id="namespaces")
            with TabbedContent(id="namespace-tabs", initial="contents-tab"):
                with TabPane("Contents", id="contents-tab"):
                    yield ContentsPanel(id="contents-panel")
                with TabPane("Preferences", id="preferences-tab"):
                    yield PreferencesPanel(self.reload, id="preferences-panel")
                with TabPane("Secure keys", id="keys-tab"):
                    yield SecureKeysPanel(self.reload, id="keys-panel")
                with TabPane("Connections", id="connections-tab"):
                    yield ConnectionsPanel(self.reload, id="connections-panel")

    def on_mount(self) -> None:
        self.follow(watch_topics("entities"), lambda _: self.reload())

    def on_screen_resume(self) -> None:
        self.reload()

    def show_namespace(self, namespace: str) -> None:
        self.query_one("#namespaces", FilteredList).show(namespace)
        self.reload()

    def reload(self) -> None:
        self.call(
            lambda cdap: cdap.namespaces.list_namespaces(), on_result=self._fill, group="namespaces"
        )

    def _fill(self, namespaces: list[Namespace]) -> None:
        self._namespaces = {each.name: each for each in namespaces}
        current = self.studio.namespace
        listing = self.query_one("#namespaces", FilteredList)
        listing.set_entries([_build_entry(each, current) for each in namespaces])
        self._show(listing.key)
        if current not in self._namespaces:  # another process deleted it
            self.studio.show_notice(
                f"Namespace {current} was deleted. Switched to default.", severity="warning"
            )
            self.studio.namespace = "default"

    @on(FilteredList.Highlighted, "#namespaces")
    def _show_highlighted(self, event: FilteredList.Highlighted) -> None:
        event.stop()
        self._show(event.key)

    @on(FilteredList.Chosen, "#namespaces")
    def _switch_to_chosen(self, event: FilteredList.Chosen) -> None:
        event.stop()
        self.studio.namespace = event.key
        self.studio.show_notice(f"Switched to namespace {event.key}.")

    def _show(self, name: str | None) -> None:
        if name is None or name not in self._namespaces:
            return
        self.query_one(ContentsPanel).show(name)
        preferences = self.query_one(PreferencesPanel)
        preferences.show(preferences.level if name == self._shown else PreferenceLevel(name))
        self._shown = name
        self.query_one(SecureKeysPanel).show(name)
        self.query_one(ConnectionsPanel).show(name)

    @on(ContentsPanel.TabWanted)
    def _show_wanted_tab(self, event: ContentsPanel.TabWanted) -> None:
        event.stop()
        self.action_tab(event.tab)

    # -- actions ---------------------------------------------------------------------------------

    @property
    def entity(self) -> MetadataEntity | None:
        name = self.query_one("#namespaces", FilteredList).key
        return MetadataEntity.of_namespace(name) if name is not None else None

    def explain_disabled(self, action: str) -> str | None:
        name = self.query_one("#namespaces", FilteredList).key
        if action in ("delete", "describe", "sync") and name is None:
            return "no namespace is highlighted"
        if action == "delete" and name in RESERVED:
            return f"{name} cannot be deleted"
        return None

    def action_tab(self, name: str) -> None:
        tabs = self.query_one(TabbedContent)
        tabs.active = f"{name}-tab"
        tabs.get_pane(f"{name}-tab").query_one(FilteredList).focus_list()

    @work
    async def action_create(self) -> None:
        name = await self.studio.ask(
            "Name of the new namespace",
            detail="Letters, digits and '_'.",
            verb="Create",
            check=self._check_new_name,
        )
        if name is None:
            return
        description = await self.studio.ask(f"Description of {name}", detail="Optional.")
        if description is None:
            return

        def show_result(_: NamespaceCreation) -> None:
            self.query_one("#namespaces", FilteredList).show(name)
            self.studio.show_notice(f"Created namespace {name}; enter switches to it.")
            self.reload()

        self.call(lambda cdap: cdap.namespaces.create(name, description), on_result=show_result)

    @work
    async def action_describe(self) -> None:
        namespace = self._namespaces.get(self.query_one("#namespaces", FilteredList).key or "")
        if namespace is None:
            return
        text = await self.studio.ask(f"Description of {namespace.name}", namespace.description)
        if text is not None:
            self.call(
                lambda cdap: cdap.namespaces.update(namespace.name, text),
                on_result=lambda _: self.reload(),
            )

    @work
    async def action_sync(self) -> None:
        name = self.query_one("#namespaces", FilteredList).key
        if name is None:
            return
        known = await self.call_and_wait(lambda cdap: cdap.sync.list_synchronized(name))
        folder = await self.studio.ask(
            f"Folder to synchronize with namespace {name}",
            known[0] if known else "",
            detail="Its JSON files are made for Git; it is made if it is not there.",
            verb="Compare",
            check=lambda typed: None if typed.strip() else "Enter the path of a folder.",
            suggestions=known,
        )
        if folder is not None:
            await self.app.push_screen_wait(SyncDialog(name, expand_path(folder)))
            self.reload()

    def action_delete(self) -> None:
        name = self.query_one("#namespaces", FilteredList).key
        if name is not None:
            self.call(lambda cdap: read_contents(cdap, name), on_result=self._ask_to_delete)

    @work
    async def _ask_to_delete(self, contents: ContentCounts) -> None:
        name = contents.namespace.name
        lost = [plural(count, noun) for noun, count in contents.counts.items() if count]
        detail = f"This also deletes {', '.join(lost)}." if lost else "The namespace is empty."
        question = f"Delete namespace {name}? This cannot be undone."
        if await self.studio.confirm_by_name(name, question, detail):
            self._delete(name)

    def _delete(self, name: str, *, force: bool = False) -> None:
        def handle_error(error: LocalcdapError) -> None:
            if isinstance(error, ConflictError) and not force:
                self._ask_to_force(name, error)
            else:
                self.studio.report_error(error)

        def delete(cdap: Cdap) -> NamespaceDeletion:
            return cdap.namespaces.delete(name, force)

        self.call(delete, on_result=self._show_deletion, on_error=handle_error)

    @work
    async def _ask_to_force(self, name: str, error: ConflictError) -> None:
        if await self.studio.confirm(error.message, "Stop active runs and delete?"):
            self._delete(name, force=True)

    def _show_deletion(self, deletion: NamespaceDeletion) -> None:
        kept = f"Your files were moved to {', '.join(deletion.kept)}." if deletion.kept else ""
        self.studio.show_notice(f"Deleted namespace {deletion.name}.", kept)
        if self.studio.namespace == deletion.name:
            self.studio.namespace = "default"
        self.reload()

    def _check_new_name(self, name: str) -> str | None:
        if name in self._namespaces:
            return f"Namespace {name} already exists."
        try:
            check_namespace_name(name, self._namespaces)
        except LocalcdapError as error:
            return error.full_message
        return None


def _build_entry(namespace: Namespace, current: str) -> ListEntry:
    is_current = namespace.name == current
    hint = "current" if is_current else namespace.description
    mark = "●" if is_current else ""
    return ListEntry(namespace.name, namespace.name, mark, hint, words=namespace.description)
