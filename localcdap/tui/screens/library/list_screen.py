"""What the library shows: the shelf, what is highlighted there, its versions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from localcdap.pipeline.document.model import PipelineDocument, PipelineType
from localcdap.pipeline.library.draft_model import Draft
from localcdap.pipeline.validation.plugin_templates import PluginTemplate
from localcdap.text import plural
from localcdap.tui.area_screen import AreaScreen
from localcdap.tui.labels import format_age
from localcdap.tui.lists.changes import watch_topics
from localcdap.tui.lists.filtered_list import FilteredList, ListEntry
from localcdap.tui.screens.library import items as shelf
from localcdap.tui.screens.library.items import ItemDetails, ItemVersion, LibraryItem, SavedPipeline

_EMPTY: Final = """Nothing is kept here yet.

i imports a pipeline file; the studio (2) saves drafts and deploys."""


class LibraryListScreen(AreaScreen):
    """Follows what is highlighted; a subclass says what can be done with it."""

    def __init__(self) -> None:
        super().__init__()
        self.items: dict[str, LibraryItem] = {}
        """All of the namespace, by their keys."""
        self.opened: ItemDetails | None = None
        """What is highlighted."""

    def compose_body(self) -> ComposeResult:
        with Horizontal(id="library"):
            yield FilteredList(id="shelf", empty=_EMPTY)
            with Vertical(id="library-detail"):
                with VerticalScroll(id="library-facts"):
                    yield Static(id="library-told")
                yield Static(id="versions-title")
                yield FilteredList(id="versions", can_filter=False)
        yield Static(id="library-note")

    def on_mount(self) -> None:
        self.follow(watch_topics("entities"), self._changed)

    def on_screen_resume(self) -> None:
        self.reload()

    def show_namespace(self, namespace: str) -> None:
        self.reload()

    def reload(self) -> None:
        namespace = self.studio.namespace
        self.call(
            lambda cdap: shelf.list_items(cdap, namespace), on_result=self._fill, group="shelf"
        )

    # -- the list ---------------------------------------------------------------------------------

    def _changed(self, happened: bool) -> None:
        if happened:
            self.reload()

    def _fill(self, items: list[LibraryItem]) -> None:
        self.items = {shelf.build_key(item): item for item in items}
        listing = self.query_one("#shelf", FilteredList)
        listing.put([shelf.build_entry(item) for item in items])
        note = Content.styled(shelf.count_items(items), "$foreground 60%")
        self.query_one("#library-note", Static).update(note)
        self._look(listing.key)

    @on(FilteredList.Highlighted, "#shelf")
    def _highlighted(self, event: FilteredList.Highlighted) -> None:
        event.stop()
        self._look(event.key)

    @on(FilteredList.Highlighted, "#versions")
    def _version_highlighted(self, event: FilteredList.Highlighted) -> None:
        event.stop()
        self.refresh_bindings()

    def _look(self, key: str | None) -> None:
        item = self.items.get(key) if key is not None else None
        if item is None:
            self._show(None)
            return
        namespace = self.studio.namespace
        self.call(
            lambda cdap: shelf.open_item(cdap, namespace, item),
            on_result=self._show,
            on_error=lambda _: None,  # it has gone meanwhile; the list hears of it
            group="item",
        )

    def _show(self, opened: ItemDetails | None) -> None:
        self.opened = opened
        self.query_one("#library-told", Static).update(told(opened) if opened else "")
        versions = opened.versions if opened is not None else ()
        noun = "revisions" if opened and isinstance(opened.item, Draft) else "versions"
        title = self.query_one("#versions-title", Static)
        title.update(Content.styled(noun if versions else "", "$foreground 60% italic"))
        listing = self.query_one("#versions", FilteredList)
        listing.display = bool(versions)
        listing.put([_entry(each) for each in versions])
        self.refresh_bindings()

    # -- what is highlighted ----------------------------------------------------------------------

    @property
    def item(self) -> LibraryItem | None:
        """The one that is highlighted."""
        return self.opened.item if self.opened is not None else None

    @property
    def pipeline(self) -> SavedPipeline | None:
        """The one that is highlighted, unless it is a template."""
        item = self.item
        return None if isinstance(item, PluginTemplate) else item

    @property
    def version(self) -> ItemVersion | None:
        """The one that is highlighted among those of the item."""
        key = self.query_one("#versions", FilteredList).key
        versions = self.opened.versions if self.opened is not None else ()
        return next((each for each in versions if each.id == key), None)

    @property
    def is_newest(self) -> bool:
        version = self.version
        return version is None or self.opened is None or version == self.opened.versions[0]

    def with_text(self, use: Callable[[str], object]) -> None:
        """Have something done with the JSON of the highlighted version."""
        item, version, namespace = self.pipeline, self.version, self.studio.namespace
        if item is not None:
            self.call(
                lambda cdap: shelf.export_version(cdap, namespace, item, version), on_result=use
            )

    def go_to(self, key: str) -> None:
        """Read everything again, and highlight an item."""
        self.query_one("#shelf", FilteredList).show(key)
        self.reload()


def _entry(version: ItemVersion) -> ListEntry:
    label = f"{version.number}  {version.told}".rstrip()
    return ListEntry(version.id, label, hint=f"{version.author} {format_age(version.when)}".strip())


_MUTED = "$foreground 60%"


def told(opened: ItemDetails) -> Content:
    """Everything but the versions."""
    item = opened.item
    if isinstance(item, PluginTemplate):
        return _joined(
            _title(item.name, f"template of {item.plugin_type} {item.plugin_name}"),
            item.description,
            Content("\n").join(_properties(item)),
        )
    kind = "draft" if isinstance(item, Draft) else "deployed"
    document = opened.document
    assert document is not None
    streaming = "real-time " if document.app is PipelineType.STREAMING else ""
    return _joined(
        _title(item.name, f"{kind} {streaming}pipeline, {plural(len(document.stages), 'stage')}"),
        item.description or "",
        Content("\n").join(_stages(document)),
    )


def _stages(document: PipelineDocument) -> Iterator[Content]:
    width = max((len(stage.name) for stage in document.stages), default=0)
    for stage in (*document.stages, *document.post_actions):
        artifact = stage.plugin.artifact
        version = f" {artifact.version}" if artifact is not None and artifact.version else ""
        plugin = f"{stage.plugin.type} {stage.plugin.name}{version}"
        yield Content.assemble(f"{stage.name:<{width}}  ", Content.styled(plugin, _MUTED))


def _properties(template: PluginTemplate) -> Iterator[Content]:
    width = max(map(len, template.properties), default=0)
    for name, value in template.properties.items():
        locked = "  locked" if name in template.locked else ""
        yield Content.assemble(
            Content.styled(f"{name:<{width}}  ", _MUTED),
            value,
            Content.styled(locked, "$text-accent"),
        )


def _title(name: str, kind: str) -> Content:
    return Content.assemble(Content.styled(name, "bold"), Content.styled(f"  {kind}", _MUTED))


def _joined(*parts: Content | str) -> Content:
    contents = [Content(part) if isinstance(part, str) else part for part in parts]
    return Content("\n\n").join(part for part in contents if part.plain)
