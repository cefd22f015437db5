"""The list of library items, the details of the highlighted item, and its versions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from localcdap.pipeline.document.model import PipelineDocument, PipelineType
from localcdap.pipeline.library.application_model import Draft
from localcdap.pipeline.validation.plugins import PluginTemplate
from localcdap.schedules.model import EventKind, ScheduleStatus, ScheduleSummary
from localcdap.schedules.triggers import describe_trigger
from localcdap.text import format_time, plural
from localcdap.tui.area_screen import AreaScreen
from localcdap.tui.canvas.drawing_view import PipelineChart
from localcdap.tui.labels import MUTED, format_age, format_title, join_parts, sanitize_name
from localcdap.tui.lists import FilteredList, ListEntry, watch_topics
from localcdap.tui.screens.library import items as library
from localcdap.tui.screens.library.items import ItemDetails, ItemVersion, LibraryItem, SavedPipeline

_EMPTY: Final = """The library is empty.

i imports a pipeline file; the studio (2) saves drafts and deploys pipelines."""


class LibraryListScreen(AreaScreen):
    """Shows the items and the details of the highlighted one; a subclass adds the actions."""

    def __init__(self) -> None:
        super().__init__()
        self.items: dict[str, LibraryItem] = {}
        """All items of the namespace by their keys."""
        self.details: ItemDetails | None = None
        """The details of the highlighted item."""

    def compose_body(self) -> ComposeResult:
        with Horizontal(id="library"):
            yield FilteredList(id="library-items", action="open", empty=_EMPTY)
            with Vertical(id="library-detail"):
                yield PipelineChart(id="library-drawing")
                with VerticalScroll(id="library-facts"):
                    yield Static(id="library-summary")
                yield Static(id="versions-title")
                yield FilteredList(id="versions", action="open", can_filter=False)
        yield Static(id="library-note")

    def on_mount(self) -> None:
        self.follow(watch_topics("entities"), lambda _: self.reload())

    def on_screen_resume(self) -> None:
        self.reload()

    def show_namespace(self, namespace: str) -> None:
        self.call(
            lambda cdap: library.list_items(cdap, namespace), on_result=self._fill, group="items"
        )

    # -- the list ---------------------------------------------------------------------------------

    def _fill(self, items: list[LibraryItem]) -> None:
        self.items = {library.build_key(item): item for item in items}
        listing = self.query_one("#library-items", FilteredList)
        listing.set_entries([library.build_entry(item) for item in items])
        note = Content.styled(library.count_items(items), "$foreground 60%")
        self.query_one("#library-note", Static).update(note)
        self._read_details(listing.key)

    @on(FilteredList.Highlighted, "#library-items")
    def _show_highlighted(self, event: FilteredList.Highlighted) -> None:
        event.stop()
        self._read_details(event.key)

    def _read_details(self, key: str | None) -> None:
        item = self.items.get(key) if key is not None else None
        if item is None:
            self._show(None)
            return
        namespace = self.studio.namespace
        self.call(
            lambda cdap: library.read_details(cdap, namespace, item),
            on_result=self._show,
            on_error=lambda _: None,  # the item was deleted; the list is read again
            group="item",
        )

    def _show(self, details: ItemDetails | None) -> None:
        self.details = details
        self.query_one("#library-summary", Static).update(_format_item(details) if details else "")
        self.query_one(PipelineChart).show_document(details.document if details else None)
        versions = details.versions if details is not None else ()
        noun = "revisions" if details and isinstance(details.item, Draft) else "versions"
        title = self.query_one("#versions-title", Static)
        title.update(Content.styled(noun if versions else "", "$foreground 60% italic"))
        listing = self.query_one("#versions", FilteredList)
        listing.display = bool(versions)
        listing.set_entries([_build_version_entry(each) for each in versions])

    # -- the highlighted item ----------------------------------------------------------------------

    @property
    def item(self) -> LibraryItem | None:
        """The highlighted item."""
        return self.details.item if self.details is not None else None

    @property
    def pipeline(self) -> SavedPipeline | None:
        """The highlighted item when it is a pipeline."""
        item = self.item
        return None if isinstance(item, PluginTemplate) else item

    @property
    def version(self) -> ItemVersion | None:
        """The highlighted version of the item."""
        key = self.query_one("#versions", FilteredList).key
        versions = self.details.versions if self.details is not None else ()
        return next((each for each in versions if each.id == key), None)

    @property
    def is_newest(self) -> bool:
        """Whether the newest version of the item is highlighted."""
        version = self.version
        return version is None or self.details is None or version == self.details.versions[0]

    def export_highlighted(self, on_text: Callable[[str], object]) -> None:
        """Read the JSON of the highlighted version and pass it to a function."""
        item, version, namespace = self.pipeline, self.version, self.studio.namespace
        if item is not None:
            self.call(
                lambda cdap: library.export_version(cdap, namespace, item, version),
                on_result=on_text,
            )

    def go_to(self, key: str) -> None:
        """Read all items again, and highlight one of them."""
        self.query_one("#library-items", FilteredList).show(key)
        self.reload()


def _build_version_entry(version: ItemVersion) -> ListEntry:
    label = f"{version.number}  {version.description}".rstrip()
    return ListEntry(version.id, label, hint=f"{version.author} {format_age(version.when)}".strip())


def _format_item(details: ItemDetails) -> Content:
    """Return name, description and stages or properties of an item."""
    item = details.item
    if isinstance(item, PluginTemplate):
        return join_parts(
            format_title(item.name, f"plugin template of {item.plugin_type} {item.plugin_name}"),
            item.description,
            Content("\n").join(_format_properties(item)),
        )
    kind = "draft" if isinstance(item, Draft) else "deployed"
    document = details.document
    assert document is not None
    streaming = "real-time " if document.type is PipelineType.STREAMING else ""
    return join_parts(
        format_title(
            item.name, f"{kind} {streaming}pipeline, {plural(len(document.stages), 'stage')}"
        ),
        item.description or "",
        Content("\n").join(map(_format_schedule, details.schedules)),
        Content("\n").join(_format_stages(document)),
    )


def _format_schedule(summary: ScheduleSummary) -> Content:
    """Return when a schedule starts the pipeline, and what became of its last trigger if no run did."""
    schedule, last = summary.schedule, summary.last_event
    state = "suspended"
    if schedule.status is ScheduleStatus.SCHEDULED:
        due = summary.next_runtime
        state = f"next {format_time(due)}" if due is not None else "enabled"
    said = ""
    if last is not None and last.kind is not EventKind.STARTED:
        said = f"  last {last.kind.lower().replace('_', ' ')}"
    when = f"{schedule.name}  {describe_trigger(schedule.trigger)}"
    return Content.assemble(
        ("schedule  ", MUTED),
        sanitize_name(when),
        (f"  {state}", MUTED),
        (said, "$text-warning"),
    )


def _format_stages(document: PipelineDocument) -> Iterator[Content]:
    width = max((len(stage.name) for stage in document.stages), default=0)
    for stage in (*document.stages, *document.post_actions):
        artifact = stage.plugin.artifact
        version = f" {artifact.version}" if artifact is not None and artifact.version else ""
        plugin = f"{stage.plugin.type} {stage.plugin.name}{version}"
        yield Content.assemble(f"{stage.name:<{width}}  ", Content.styled(plugin, MUTED))


def _format_properties(template: PluginTemplate) -> Iterator[Content]:
    width = max(map(len, template.properties), default=0)
    for name, value in template.properties.items():
        locked = "  locked" if name in template.locked else ""
        yield Content.assemble(
            Content.styled(f"{name:<{width}}  ", MUTED),
            value,
            Content.styled(locked, "$text-accent"),
        )
