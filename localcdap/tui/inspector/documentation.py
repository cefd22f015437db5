"""The documentation of a plugin."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Markdown

from localcdap.api.config import PluginProperty
from localcdap.artifacts.model import PluginInfo
from localcdap.host.cdap import Cdap
from localcdap.tui.inspector.plugin_details import to_selector
from localcdap.tui.studio import StudioNode


class DocumentationPane(StudioNode, VerticalScroll):
    """The plugin's own documentation, and a table of its fields."""

    DEFAULT_CSS = """
    DocumentationPane { height: 1fr; padding: 0 1; scrollbar-size: 1 1; }
    DocumentationPane Markdown { padding: 0; background: transparent; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._plugin: PluginInfo | None = None
        self._shown: PluginInfo | None = None

    def compose(self) -> ComposeResult:
        yield Markdown("")

    def show_plugin(self, plugin: PluginInfo | None) -> None:
        """Set the plugin whose documentation the pane shows."""
        self._plugin = plugin

    def show_documentation(self, namespace: str) -> None:
        """Show the documentation, when the pane becomes visible."""
        plugin = self._plugin
        if plugin is self._shown:
            return
        self._shown = plugin
        if plugin is None:
            self.query_one(Markdown).update("There is no plugin to read about.")
            return

        def ask(cdap: Cdap) -> str | None:
            exact = to_selector(plugin.artifact)
            return cdap.artifacts.read_documentation(namespace, plugin.type, plugin.name, exact)

        def take(text: str | None) -> None:
            if self._shown is plugin:
                self.query_one(Markdown).update(text or format_documentation(plugin))
                self.scroll_home(animate=False)

        self.call(ask, take, group="documentation")


def format_documentation(plugin: PluginInfo) -> str:
    """Documentation of a plugin that has none of its own: its description, and a table of its fields."""
    artifact = plugin.artifact
    capabilities = ", ".join(plugin.capabilities) or "none"
    place = f"A plugin of type `{plugin.type}` in `{artifact.name}` {artifact.version}."
    lines = [
        f"# {plugin.name}",
        "",
        plugin.description,
        "",
        f"{place} Capabilities: {capabilities}.",
        "",
    ]
    if plugin.properties:
        lines += ["| property | type | meaning |", "| --- | --- | --- |"]
        lines += [_row(each) for each in plugin.properties.values()]
    return "\n".join(lines)


def _row(declared: PluginProperty) -> str:
    type = declared.type + (", required" if declared.required else "")
    meaning = declared.description
    if declared.choices:
        meaning += f" One of {', '.join(declared.choices)}."
    if declared.default:
        meaning += f" Default: `{declared.default}`."
    if declared.macro_supported:
        meaning += " Macros."
    if declared.addition:
        meaning += f" Data Fusion has no such property: {declared.addition}"
    return f"| `{_cell(declared.name)}` | {type} | {_cell(meaning)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
