"""The palette: plugins to choose a new stage from, live as artifacts come and go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from localcdap.api.app.events import ArtifactsChanged
from localcdap.artifacts.model import ArtifactSelector, CapabilityCount, PluginSummary
from localcdap.host.cdap import Cdap
from localcdap.pipeline.document.model import PipelineType
from localcdap.pipeline.rules.graph import (
    ACTIONS,
    ALERT_PUBLISHER,
    BATCH,
    CONDITION,
    ERROR_TRANSFORM,
    JOINER,
    POST_ACTION,
    SINKS,
    SOURCE,
    SOURCES,
    SPLITTER,
    STREAMING,
)
from localcdap.tui.canvas.stage_card import format_plugin_type
from localcdap.tui.dialogs.chooser import ListDialog
from localcdap.tui.lists import FilteredList, ListEntry, watch_topics
from localcdap.tui.widgets.lines import CapabilityFilter

_ORDER: Final = (
    SOURCE,
    "streamingsource",
    "transform",
    "batchaggregator",
    JOINER,
    "sparkcompute",
    "windower",
    SPLITTER,
    ERROR_TRANSFORM,
    "batchsink",
    "sparksink",
    "streamingsink",
    ALERT_PUBLISHER,
    CONDITION,
    "action",
    "sparkprogram",
    POST_ACTION,
)
_SOURCES_LAST: Final = ("streamingsource", SOURCE)


@dataclass(frozen=True)
class PaletteData:
    """The plugins that the palette lists."""

    plugins: list[PluginSummary]
    capabilities: list[CapabilityCount]
    all: int
    """Plugins, whatever they are capable of."""


class StagePalette(ListDialog[PluginSummary]):
    """Lets its user choose a plugin; the answer is None when there is none.

    :param behind: the type of the plugin of the stage that the new one will stand behind; None when it
        stands alone.
    :param where: what the title says of the place of the new stage.
    :param is_between: whether records come to the stage and leave it.
    """

    DEFAULT_CSS = """
    StagePalette {
        align: center top;
        & > #dialog { width: 84; height: 90%; max-height: 40; margin-top: 1; padding: 1 2 0 2; }
        & #palette-title { color: $text-muted; padding: 0 1; height: 1; }
        & CapabilityFilter { margin: 0 1 1 1; }
        & #palette-about { color: $text-muted; padding: 1 1; height: 4; }
    }
    """

    def __init__(
        self,
        namespace: str,
        app: PipelineType,
        behind: str | None,
        where: str = "",
        *,
        is_between: bool = False,
    ) -> None:
        super().__init__()
        self._namespace = namespace
        self._kind = app
        self._behind = behind
        self._where = where
        self._is_between = is_between
        self._plugins: dict[str, PluginSummary] = {}
        self._is_filled = False
        self._is_awaited = False
        """Whether enter was pressed before there was anything to take."""

    def compose_body(self) -> ComposeResult:
        yield Static(Content(f"Add a stage{self._where}"), id="palette-title")
        yield CapabilityFilter()
        yield FilteredList(empty="No plugin has all of these capabilities.")
        yield Static(id="palette-about")

    def on_mount(self) -> None:
        self.listing.query_one(".filter").display = True
        self.follow(watch_topics(ArtifactsChanged.topic), lambda _: self._load())

    @on(CapabilityFilter.Changed)
    def _load(self) -> None:
        """List the plugins that have the chosen capabilities; the highlight stays on its plugin."""
        wanted = self.query_one(CapabilityFilter).chosen
        namespace, app = self._namespace, ArtifactSelector(name=self._kind.value)

        def load(cdap: Cdap) -> PaletteData:
            plugins = cdap.artifacts.list_plugins(namespace, None, wanted, artifact=app)
            capabilities = cdap.artifacts.list_capabilities(namespace)
            return PaletteData(plugins, capabilities, len(cdap.artifacts.list_plugins(namespace)))

        self.call(load, self._show, group="palette")

    def _show(self, shelf: PaletteData) -> None:
        self._plugins = {
            _get_key(each): each for each in shelf.plugins if self._is_stage(each.type)
        }
        order = self._order()
        ordered = sorted(
            self._plugins.items(),
            key=lambda item: (order.index(item[1].type), item[1].name.lower()),
        )
        self.listing.set_entries(
            [
                ListEntry(
                    key,
                    plugin.name,
                    hint=f"{plugin.artifact.name} {plugin.artifact.version}",
                    group=format_plugin_type(plugin.type),
                    words=f"{format_plugin_type(plugin.type)} {plugin.type}",
                )
                for key, plugin in ordered
            ]
        )
        capabilities = self.query_one(CapabilityFilter)
        capabilities.show(
            [
                count
                for count in sorted(shelf.capabilities, key=lambda count: count.capability)
                # Without a choice, those of all or of no plugins tell none apart.
                if 0 < count.plugins < shelf.all or count.capability in capabilities.chosen
            ]
        )
        self._is_filled = True
        if self._is_awaited:
            self._is_awaited = False
            self.action_accept()

    def _is_stage(self, type: str) -> bool:
        stages = STREAMING | BATCH if self._kind is PipelineType.STREAMING else BATCH
        if self._is_between:
            return type in stages - SOURCES - SINKS - ACTIONS
        return type in stages or type == POST_ACTION

    def _order(self) -> list[str]:
        """Return the plugin types; when adding after a stage, those first that can follow it."""
        if self._behind is None or self._behind in SINKS:
            return list(_ORDER)
        rest = [type for type in _ORDER if type not in _SOURCES_LAST]
        return rest + [type for type in _ORDER if type in _SOURCES_LAST]

    @on(FilteredList.Highlighted)
    def _show_description(self, event: FilteredList.Highlighted) -> None:
        event.stop()
        plugin = self._plugins.get(event.key or "")
        about = plugin.description if plugin is not None else ""
        self.query_one("#palette-about", Static).update(Content(about))

    def action_accept(self) -> None:
        if self._is_filled:
            super().action_accept()
        else:
            self._is_awaited = True

    def take(self, key: str) -> None:
        self.dismiss(self._plugins[key])


def _get_key(plugin: PluginSummary) -> str:
    return f"{plugin.type}/{plugin.name}"
