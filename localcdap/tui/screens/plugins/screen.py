"""The plugins screen: plugins by type or by artifact, with the details of the highlighted one."""

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
from localcdap.api.metadata import MetadataEntity
from localcdap.artifacts.model import (
    ArtifactDetail,
    ArtifactSelector,
    PluginInfo,
    PluginSummary,
    SyncReport,
)
from localcdap.authoring.artifact import derive_names, list_plugin_types, write_artifact
from localcdap.host.cdap import Cdap
from localcdap.metadata.system_metadata import get_plugin_entity
from localcdap.text import plural
from localcdap.tui.area_screen import AreaScreen
from localcdap.tui.lists import FilteredList, watch_topics
from localcdap.tui.machine import edit_file
from localcdap.tui.routes import NavigationTarget, PluginTarget
from localcdap.tui.screens.plugins.catalog import (
    PluginCatalog,
    build_entries_by_artifact,
    build_entries_by_type,
    find_source_file,
    format_artifact,
    format_hidden_plugin,
    format_plugin,
    read_catalog,
)
from localcdap.tui.studio import Choice
from localcdap.tui.widgets.lines import CapabilityFilter


class PluginsScreen(AreaScreen):
    """Shows plugins and artifacts, and follows changes of their files."""

    AREA = "plugins"
    CSS_PATH = "plugins.tcss"
    AUTO_FOCUS = "#plugins FilteredListOptions"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "group", "by type or artifact", id="plugins.group"),
        Binding("x", "hidden", "show hidden plugins", id="plugins.hidden"),
        Binding("a", "new", "new plugin", id="plugins.new"),
        Binding("e", "edit", "open in $EDITOR", id="plugins.edit"),
        Binding("d,delete", "remove", "remove artifact", id="plugins.remove", show=False),
        Binding("ctrl+z", "undo", "undo removal", id="plugins.undo", show=False),
        Binding("i", "inspect", "inspect broken artifacts again", id="plugins.inspect", show=False),
        Binding("y", "copy", "copy name", id="plugins.copy", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._catalog: PluginCatalog | None = None
        self._is_by_artifact = False
        self._shows_hidden = False
        self._removed: list[tuple[str, str]] = []
        """The backup path and the original path of each removed artifact."""

    def compose_body(self) -> ComposeResult:
        yield CapabilityFilter()
        with Horizontal(id="plugins-body"):
            yield FilteredList(id="plugins", empty="No plugin has all of these capabilities.")
            with VerticalScroll(id="plugin-detail"):
                yield Static(id="plugin-facts")
                yield Markdown(id="plugin-documentation")
        yield Static(id="plugins-note")

    def on_mount(self) -> None:
        self.follow(watch_topics("artifacts", "entities"), lambda _: self.reload())

    def show_target(self, target: NavigationTarget) -> None:
        if isinstance(target, PluginTarget):
            self.query_one("#plugins", FilteredList).show(f"plugin {target.type} {target.name}")

    def show_namespace(self, namespace: str) -> None:
        required = self.query_one(CapabilityFilter).chosen
        self.call(
            lambda cdap: read_catalog(cdap, namespace, required),
            on_result=self._show_catalog,
            group="catalog",
        )

    # -- the list ---------------------------------------------------------------------------------

    def _show_catalog(self, catalog: PluginCatalog) -> None:
        self._catalog = catalog
        self.query_one(CapabilityFilter).show(catalog.capabilities)
        self._fill()

    def _fill(self) -> None:
        catalog = self._catalog
        if catalog is None:
            return
        entries = build_entries_by_artifact if self._is_by_artifact else build_entries_by_type
        listing = self.query_one("#plugins", FilteredList)
        listing.set_entries(entries(catalog, with_hidden=self._shows_hidden))
        self.query_one("#plugins-note", Static).update(_format_note(catalog, self._shows_hidden))
        self._show_details(listing.key)

    @on(CapabilityFilter.Changed)
    def _filter_by_capability(self, event: CapabilityFilter.Changed) -> None:
        event.stop()
        self.reload()

    @on(FilteredList.Highlighted, "#plugins")
    def _show_highlighted(self, event: FilteredList.Highlighted) -> None:
        event.stop()
        self._show_details(event.key)

    @on(FilteredList.Chosen, "#plugins")
    def _focus_details(self, event: FilteredList.Chosen) -> None:
        event.stop()
        self.query_one("#plugin-detail").focus()

    # -- the details ------------------------------------------------------------------------------

    def _show_details(self, key: str | None) -> None:
        catalog = self._catalog
        if catalog is None or key is None:
            self._update_details(Content(""))
            return
        plugin, artifact, hidden = (
            catalog.find_plugin(key),
            catalog.find_artifact(key),
            catalog.find_hidden_plugin(key),
        )
        if hidden is not None:
            self.discard_results("detail")
            self._update_details(format_hidden_plugin(hidden, catalog.required))
        elif artifact is not None:
            self._show_artifact(artifact)
        elif plugin is not None:
            namespace = self.studio.namespace
            self.call(
                lambda cdap: _read_plugin(cdap, namespace, plugin),
                on_result=lambda found: self._update_details(
                    format_plugin(found[0], catalog), found[1] or ""
                ),
                on_error=lambda _: None,  # the plugin was removed; the list is read again
                group="detail",
            )

    def _show_artifact(self, artifact: ArtifactDetail) -> None:
        def show(trace: Sequence[str]) -> None:
            self._update_details(format_artifact(artifact, trace))

        if not artifact.error:
            self.discard_results("detail")
            show([])
            return
        path = artifact.path
        self.call(
            lambda cdap: cdap.artifacts.trace(path),
            on_result=show,
            on_error=lambda _: show([]),
            group="detail",
        )

    def _update_details(self, facts: Content, documentation: str = "") -> None:
        self.query_one("#plugin-facts", Static).update(facts)
        markdown = self.query_one("#plugin-documentation", Markdown)
        markdown.display = bool(documentation)
        if documentation:
            markdown.update(documentation)

    # -- actions -----------------------------------------------------------------------------------

    @property
    def entity(self) -> MetadataEntity | None:
        artifact, key = self._get_artifact(), self.query_one("#plugins", FilteredList).key
        if artifact is None or key is None or self._catalog is None or not artifact.version:
            return None
        found = MetadataEntity.of_artifact(artifact.name, artifact.version, artifact.namespace)
        plugin = self._catalog.find_plugin(key)
        return found if plugin is None else get_plugin_entity(found, plugin.type, plugin.name)

    def explain_disabled(self, action: str) -> str | None:
        artifact = self._get_artifact()
        match action:
            case "edit" if artifact is None or self._find_source() is None:
                return "there is no Python file to edit"
            case "remove" if artifact is None:
                return "no artifact is highlighted"
            case "remove" if artifact is not None and artifact.scope == "SYSTEM":
                return "it is part of localcdap"
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
        def show(report: SyncReport) -> None:
            count = plural(len(report.changes), "change")
            self.studio.show_notice(f"The plugin folders were inspected: {count}.")
            self.reload()

        self.call(lambda cdap: cdap.artifacts.sync(retry_errors=True), on_result=show)

    def action_edit(self) -> None:
        """Open the source file of the highlighted plugin or artifact in an editor."""
        source = self._find_source()
        if source is None:
            return
        try:
            with self.app.suspend():
                edit_file(source)
        except LocalcdapError as error:
            self.studio.show_notice(error.message, error.corrective_action or "", "error")
        except Exception as error:  # such as a terminal that cannot be suspended
            self.studio.show_notice("The editor could not be opened.", str(error), "error")

    def action_remove(self) -> None:
        """Move the artifact to a backup folder; ctrl+z restores it."""
        artifact = self._get_artifact()
        if artifact is None:
            return
        path, name = artifact.path, f"{artifact.name} {artifact.version}".strip()

        def show_result(backup: str) -> None:
            self._removed.append((backup, path))
            self.studio.show_notice(f"Removed {name}; ctrl+z restores it.", f"Backup: {backup}")
            self.reload()

        self.call(lambda cdap: cdap.artifacts.remove(path), on_result=show_result)

    def action_undo(self) -> None:
        backup, path = self._removed.pop()

        def show_result(_: None) -> None:
            self.studio.show_notice(f"Restored {path}.")
            self.reload()

        self.call(lambda cdap: cdap.artifacts.put_back(backup, path), on_result=show_result)

    @work
    async def action_new(self) -> None:
        """Create an artifact with a first plugin and its tests."""
        choices = [Choice(type, type) for type in list_plugin_types()]
        type = await self.studio.choose(choices, title="Type of the new plugin")
        if type is None:
            return
        name = await self.studio.ask(
            f"Name of the {type}",
            detail="The name of its class, such as CleanText.",
            check=_check_plugin_name,
        )
        if name is None:
            return
        namespace = self.studio.namespace

        def show_result(folder: Path) -> None:
            self.query_one("#plugins", FilteredList).show(f"plugin {type} {name}")
            self.studio.show_notice(
                f"Created plugin {name} with its tests; e opens it.", str(folder)
            )
            self.reload()

        self.call(
            lambda cdap: _create_plugin(cdap, namespace, name, type),
            on_result=show_result,
            group="new",
            ordered=True,
        )

    def _get_artifact(self) -> ArtifactDetail | None:
        """Return the highlighted artifact, or the artifact of the highlighted plugin."""
        key = self.query_one("#plugins", FilteredList).key
        if key is None or self._catalog is None:
            return None
        plugin = self._catalog.find_plugin(key) or self._catalog.find_hidden_plugin(key)
        return self._catalog.get_artifact_of(plugin) if plugin else self._catalog.find_artifact(key)

    def _find_source(self) -> Path | None:
        key, artifact = self.query_one("#plugins", FilteredList).key, self._get_artifact()
        if key is None or artifact is None or self._catalog is None:
            return None
        plugin = self._catalog.find_plugin(key) or self._catalog.find_hidden_plugin(key)
        return find_source_file(artifact.path, plugin.class_name if plugin is not None else "")


def _read_plugin(
    cdap: Cdap, namespace: str, plugin: PluginSummary
) -> tuple[PluginInfo, str | None]:
    artifact = plugin.artifact
    selector = ArtifactSelector(artifact.scope, artifact.name, artifact.version)
    which = (namespace, plugin.type, plugin.name, selector)
    return cdap.artifacts.get_plugin(*which), cdap.artifacts.read_documentation(*which)


def _create_plugin(cdap: Cdap, namespace: str, name: str, type: str) -> Path:
    folder = write_artifact(
        derive_names(name), type, Path(cdap.artifacts.get_plugin_folder(namespace))
    )
    cdap.artifacts.sync()
    return folder


def _check_plugin_name(name: str) -> str | None:
    """Return the error message for the name of a plugin; None when it is valid."""
    try:
        derive_names(name)
    except LocalcdapError as error:
        return error.full_message
    return None


def _format_note(catalog: PluginCatalog, shows_hidden: bool) -> Content:
    """Return the counts of plugins and artifacts, and the capabilities that the instance requires."""
    broken = sum(1 for each in catalog.artifacts if each.error)
    parts = [plural(len(catalog.plugins), "plugin"), plural(len(catalog.artifacts), "artifact")]
    if broken:
        parts.append(f"✗ {broken} with errors")
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
        state = "shown" if shows_hidden else "hidden, x shows them"
        parts.append(f"⊘ {len(catalog.hidden)} {state}")
    return Content.styled(" · ".join(parts), "$foreground 60%")
