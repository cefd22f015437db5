"""The screen of the plugins area: the index by type or by artifact, and what is highlighted of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Markdown, Static

from localcdap.api.errors import LocalcdapError
from localcdap.artifacts.model import ArtifactDetail, ArtifactSelector, PluginInfo, PluginSummary
from localcdap.authoring.artifact import plugin_types, write_artifact
from localcdap.authoring.names import derive_names
from localcdap.host.cdap import Cdap
from localcdap.text import plural
from localcdap.tui.area_screen import AreaScreen
from localcdap.tui.lists.changes import watch_topics
from localcdap.tui.lists.filtered_list import FilteredList
from localcdap.tui.routes import NavigationTarget, PluginTarget
from localcdap.tui.screens.plugins import details
from localcdap.tui.screens.plugins.capability_filter import CapabilityFilter
from localcdap.tui.screens.plugins.catalog import (
    PluginCatalog,
    build_entries_by_artifact,
    build_entries_by_type,
    find_source_file,
    read_catalog,
)
from localcdap.tui.studio import Choice
from localcdap.tui.system.external_editor import edit_file


class PluginsScreen(AreaScreen):
    """Plugins and artifacts; live as files change."""

    AREA = "plugins"
    CSS_PATH = "plugins.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]
    AUTO_FOCUS = "#plugins FilteredListOptions"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "group", "by type or artifact", id="plugins.group"),
        Binding("x", "hidden", "show hidden", id="plugins.hidden"),
        Binding("a", "new", "new plugin", id="plugins.new"),
        Binding("e", "edit", "open in $EDITOR", id="plugins.edit"),
        Binding("d,delete", "remove", "remove artifact", id="plugins.remove", show=False),
        Binding("ctrl+z", "undo", "undo removal", id="plugins.undo", show=False),
        Binding("i", "inspect", "inspect broken ones again", id="plugins.inspect", show=False),
        Binding("y", "copy", "copy name", id="plugins.copy", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._catalog: PluginCatalog | None = None
        self._is_by_artifact = False
        self._shows_hidden = False
        self._removed: list[tuple[str, str]] = []
        """Where removed artifacts are kept, and where they were."""

    def compose_body(self) -> ComposeResult:
        yield CapabilityFilter()
        with Horizontal(id="plugins-body"):
            yield FilteredList(id="plugins", empty="No plugin fits.")
            with VerticalScroll(id="plugin-detail"):
                yield Static(id="plugin-facts")
                yield Markdown(id="plugin-documentation")
        yield Static(id="plugins-note")

    def on_mount(self) -> None:
        self.follow(watch_topics("artifacts", "entities"), self._changed)

    def show_namespace(self, namespace: str) -> None:
        self.reload()

    def show_target(self, target: NavigationTarget) -> None:
        if isinstance(target, PluginTarget):
            self.query_one("#plugins", FilteredList).show(f"plugin {target.type} {target.name}")

    def reload(self) -> None:
        namespace, asked = self.studio.namespace, self.query_one(CapabilityFilter).chosen
        self.call(
            lambda cdap: read_catalog(cdap, namespace, asked), on_result=self._put, group="index"
        )

    # -- the list ---------------------------------------------------------------------------------

    def _changed(self, happened: bool) -> None:
        if happened:
            self.reload()

    def _put(self, catalog: PluginCatalog) -> None:
        self._catalog = catalog
        self.query_one(CapabilityFilter).show(catalog.capabilities)
        self._fill()

    def _fill(self) -> None:
        catalog = self._catalog
        if catalog is None:
            return
        entries = build_entries_by_artifact if self._is_by_artifact else build_entries_by_type
        listing = self.query_one("#plugins", FilteredList)
        listing.put(entries(catalog, with_hidden=self._shows_hidden))
        self.query_one("#plugins-note", Static).update(_note(catalog, self._shows_hidden))
        self._show(listing.key)
        self.refresh_bindings()

    @on(CapabilityFilter.Changed)
    def _narrow(self, event: CapabilityFilter.Changed) -> None:
        event.stop()
        self.reload()

    @on(FilteredList.Highlighted, "#plugins")
    def _highlighted(self, event: FilteredList.Highlighted) -> None:
        event.stop()
        self._show(event.key)
        self.refresh_bindings()

    @on(FilteredList.Chosen, "#plugins")
    def _chosen(self, event: FilteredList.Chosen) -> None:
        event.stop()
        self.query_one("#plugin-detail").focus()

    # -- one of it --------------------------------------------------------------------------------

    def _show(self, key: str | None) -> None:
        catalog = self._catalog
        if catalog is None or key is None:
            self._tell(Content(""))
            return
        plugin, artifact, hidden = (
            catalog.plugin(key),
            catalog.artifact(key),
            catalog.hidden_plugin(key),
        )
        if hidden is not None:
            self.discard_results("detail")
            self._tell(details.of_hidden(hidden, catalog.required))
        elif artifact is not None:
            self._show_artifact(artifact)
        elif plugin is not None:
            namespace = self.studio.namespace
            self.call(
                lambda cdap: _described(cdap, namespace, plugin),
                on_result=lambda found: self._tell(
                    details.of_plugin(found[0], catalog), found[1] or ""
                ),
                on_error=lambda _: None,  # it has gone meanwhile; the list hears of it
                group="detail",
            )

    def _show_artifact(self, artifact: ArtifactDetail) -> None:
        def done(trace: Sequence[str]) -> None:
            self._tell(details.of_artifact(artifact, trace))

        if not artifact.error:
            self.discard_results("detail")
            done([])
            return
        path = artifact.path
        self.call(
            lambda cdap: cdap.artifacts.trace(path),
            on_result=done,
            on_error=lambda _: done([]),
            group="detail",
        )

    def _tell(self, facts: Content, documentation: str = "") -> None:
        self.query_one("#plugin-facts", Static).update(facts)
        written = self.query_one("#plugin-documentation", Markdown)
        written.display = bool(documentation)
        if documentation:
            written.update(documentation)

    # -- what can be done -------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if not self.is_mounted or self.explain_disabled(action) is not None:
            return None
        return super().check_action(action, parameters)

    def explain_disabled(self, action: str) -> str | None:
        artifact = self._artifact()
        match action:
            case "edit" if artifact is None or self._source() is None:
                return "there is no file of Python here"
            case "remove" if artifact is None:
                return "no artifact is highlighted"
            case "remove" if artifact is not None and artifact.scope == "SYSTEM":
                return "it comes with localcdap"
            case "undo" if not self._removed:
                return "nothing was removed"
            case "hidden" if self._catalog is None or not (
                self._catalog.hidden or self._shows_hidden
            ):
                return "nothing is hidden"
            case "copy" if self.query_one("#plugins", FilteredList).key is None:
                return "nothing is highlighted"
        return None

    def action_group(self) -> None:
        self._is_by_artifact = not self._is_by_artifact
        self._fill()

    def action_hidden(self) -> None:
        self._shows_hidden = not self._shows_hidden
        self._fill()

    def action_copy(self) -> None:
        key = self.query_one("#plugins", FilteredList).key
        if key is not None:
            self.studio.copy_text(key.partition(" ")[2], "name")

    def action_inspect(self) -> None:
        self.call(
            lambda cdap: cdap.artifacts.sync(retry_errors=True), on_result=lambda _: self.reload()
        )

    def action_edit(self) -> None:
        """Open the file of what is highlighted; the index hears of what is saved."""
        source = self._source()
        if source is None:
            return
        try:
            with self.app.suspend():
                edit_file(source)
        except LocalcdapError as error:
            self.studio.show_notice(error.message, error.corrective_action or "", "error")
        except Exception as error:  # a terminal that cannot be lent
            self.studio.show_notice("The editor could not be opened.", str(error), "error")

    def action_remove(self) -> None:
        """Put the artifact away; ctrl+z brings it back."""
        artifact = self._artifact()
        if artifact is None:
            return
        path, name = artifact.path, f"{artifact.name} {artifact.version}".strip()

        def done(kept: str) -> None:
            self._removed.append((kept, path))
            self.studio.show_notice(f"Removed {name}; ctrl+z brings it back.", f"Kept in {kept}")
            self.reload()

        self.call(lambda cdap: cdap.artifacts.remove(path), on_result=done)

    def action_undo(self) -> None:
        kept, path = self._removed.pop()

        def done(_: None) -> None:
            self.studio.show_notice(f"{path} is back.")
            self.reload()

        self.call(lambda cdap: cdap.artifacts.put_back(kept, path), on_result=done)

    @work
    async def action_new(self) -> None:
        """Write an artifact with a plugin to begin with, and open it."""
        choices = [Choice(type, type) for type in plugin_types()]
        type = await self.studio.choose(choices, title="What shall the plugin be?")
        if type is None:
            return
        name = await self.studio.ask(
            f"Name of the {type}",
            detail="That of its class, such as CleanText.",
            check=_name_problem,
        )
        if name is None:
            return
        namespace = self.studio.namespace

        def done(folder: Path) -> None:
            self.query_one("#plugins", FilteredList).show(f"plugin {type} {name}")
            self.studio.show_notice(f"Wrote plugin {name} with its tests; e opens it.", str(folder))
            self.reload()

        self.call(
            lambda cdap: _write(cdap, namespace, name, type),
            on_result=done,
            group="new",
            ordered=True,
        )

    def _artifact(self) -> ArtifactDetail | None:
        """What is highlighted, or the artifact that it is from."""
        key = self.query_one("#plugins", FilteredList).key
        if key is None or self._catalog is None:
            return None
        plugin = self._catalog.plugin(key) or self._catalog.hidden_plugin(key)
        return self._catalog.artifact_of(plugin) if plugin else self._catalog.artifact(key)

    def _source(self) -> Path | None:
        key, artifact = self.query_one("#plugins", FilteredList).key, self._artifact()
        if key is None or artifact is None or self._catalog is None:
            return None
        plugin = self._catalog.plugin(key) or self._catalog.hidden_plugin(key)
        return find_source_file(artifact.path, plugin.class_name if plugin is not None else "")


def _described(cdap: Cdap, namespace: str, plugin: PluginSummary) -> tuple[PluginInfo, str | None]:
    artifact = plugin.artifact
    selector = ArtifactSelector(artifact.scope, artifact.name, artifact.version)
    which = (namespace, plugin.type, plugin.name, selector)
    return cdap.artifacts.get_plugin(*which), cdap.artifacts.read_documentation(*which)


def _write(cdap: Cdap, namespace: str, name: str, type: str) -> Path:
    folder = write_artifact(
        derive_names(name), type, Path(cdap.artifacts.get_plugin_folder(namespace))
    )
    cdap.artifacts.sync()
    return folder


def _name_problem(name: str) -> str | None:
    try:
        derive_names(name)
    except LocalcdapError as error:
        return error.full_message
    return None


def _note(catalog: PluginCatalog, shows_hidden: bool) -> Content:
    """What is shown, and what the instance requires."""
    broken = sum(1 for each in catalog.artifacts if each.error)
    parts = [plural(len(catalog.plugins), "plugin"), plural(len(catalog.artifacts), "artifact")]
    if broken:
        parts.append(f"✗ {broken} with problems")
    required = ", ".join(catalog.required)
    parts.append(
        f"the instance requires {required}" if required else "the instance requires nothing"
    )
    parts += [
        f"profile {each.name} requires {', '.join(each.required_capabilities)}"
        for each in catalog.profiles
        if each.required_capabilities
    ]
    if catalog.hidden:
        told = "shown" if shows_hidden else "hidden, x shows them"
        parts.append(f"⊘ {len(catalog.hidden)} {told}")
    return Content.styled(" · ".join(parts), "$foreground 60%")
