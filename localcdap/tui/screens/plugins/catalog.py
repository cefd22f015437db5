"""What the plugins screen shows, read from the artifact service at once, and its lines in the list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from localcdap.artifacts.model import (
    SYSTEM,
    ArtifactDetail,
    CapabilityCount,
    HiddenPlugin,
    PluginSummary,
)
from localcdap.host.cdap import Cdap
from localcdap.runs.profiles import ProfileSummary
from localcdap.text import plural
from localcdap.tui.lists.filtered_list import ListEntry


@dataclass(frozen=True)
class PluginCatalog:
    """The artifacts and plugins that a namespace sees."""

    plugins: Sequence[PluginSummary]
    """Those that have the capabilities asked for, of each name the one that stages get."""
    versions: Sequence[PluginSummary]
    """Those of all artifacts."""
    artifacts: Sequence[ArtifactDetail]
    hidden: Sequence[HiddenPlugin]
    capabilities: Sequence[CapabilityCount]
    required: Sequence[str]
    profiles: Sequence[ProfileSummary]
    """Where runs can take place."""
    is_narrowed: bool
    """Whether capabilities were asked for."""

    def plugin(self, key: str) -> PluginSummary | None:
        """The one of a list's key."""
        newest = (each for each in self.plugins if plugin_key(each) == key)
        return next(newest, None) or next((e for e in self.versions if _exact_key(e) == key), None)

    def hidden_plugin(self, key: str) -> HiddenPlugin | None:
        return next((each for each in self.hidden if _hidden_key(each) == key), None)

    def artifact(self, key: str) -> ArtifactDetail | None:
        return next((each for each in self.artifacts if _artifact_key(each) == key), None)

    def artifact_of(self, plugin: PluginSummary) -> ArtifactDetail | None:
        """The artifact that a plugin is from."""
        return next((each for each in self.artifacts if each.id == plugin.artifact), None)

    def profiles_of(self, plugin: PluginSummary) -> list[str]:
        """The names of the profiles that it is capable of running on."""
        able = set(plugin.capabilities)
        return [each.name for each in self.profiles if able.issuperset(each.required_capabilities)]

    def versions_of(self, plugin: PluginSummary) -> list[PluginSummary]:
        """The plugins of the same type and name, highest first."""
        same = [e for e in self.versions if (e.type, e.name) == (plugin.type, plugin.name)]
        return same[::-1]


def read_catalog(cdap: Cdap, namespace: str, capabilities: Sequence[str]) -> PluginCatalog:
    """:param capabilities: only plugins that have all of these."""
    artifacts = cdap.artifacts
    return PluginCatalog(
        plugins=artifacts.list_plugins(namespace, capabilities=list(capabilities)),
        versions=artifacts.list_plugins(namespace, all_versions=True),
        artifacts=artifacts.list_artifacts(namespace),
        hidden=artifacts.list_hidden(namespace),
        capabilities=artifacts.list_capabilities(namespace),
        required=artifacts.list_required_capabilities(),
        profiles=cdap.runs.profiles(namespace),
        is_narrowed=bool(capabilities),
    )


def build_entries_by_type(catalog: PluginCatalog, *, with_hidden: bool) -> list[ListEntry]:
    """Artifacts with problems first, then plugins under their types."""
    entries = [_artifact(each, "problems") for each in catalog.artifacts if each.error]
    entries += [_plugin(each, each.type) for each in catalog.plugins]
    if with_hidden:
        entries += [_hidden(each, "hidden") for each in catalog.hidden]
    return entries


def build_entries_by_artifact(catalog: PluginCatalog, *, with_hidden: bool) -> list[ListEntry]:
    """Every artifact, then its plugins."""
    return list(_by_artifact(catalog, with_hidden=with_hidden))


def plugin_key(plugin: PluginSummary) -> str:
    return f"plugin {plugin.type} {plugin.name}"


def _by_artifact(catalog: PluginCatalog, *, with_hidden: bool) -> Iterator[ListEntry]:
    for artifact in catalog.artifacts:
        known = catalog.plugins if catalog.is_narrowed else catalog.versions
        plugins = [each for each in known if each.artifact == artifact.id]
        hidden = [each for each in catalog.hidden if each.artifact == artifact.id]
        shown = hidden if with_hidden else []
        if catalog.is_narrowed and not plugins and not shown and not artifact.error:
            continue
        yield _artifact(artifact, "")
        for each in plugins:
            yield replace(_plugin(each, ""), key=_exact_key(each), hint=each.type)
        yield from (_hidden(each, "") for each in shown)


def _plugin(plugin: PluginSummary, group: str) -> ListEntry:
    artifact = plugin.artifact
    return ListEntry(
        plugin_key(plugin),
        plugin.name,
        hint=artifact.version if artifact.scope == SYSTEM else f"yours {artifact.version}",
        group=group,
        words=f"{plugin.type} {artifact.name} {plugin.description}",
    )


def _hidden(plugin: HiddenPlugin, group: str) -> ListEntry:
    return ListEntry(
        _hidden_key(plugin),
        plugin.name,
        mark="⊘",
        hint=f"lacks {', '.join(plugin.lacking)}",
        group=group,
        words=f"hidden {plugin.type} {plugin.artifact.name}",
        tone="$foreground 60%",
    )


def _artifact(artifact: ArtifactDetail, group: str) -> ListEntry:
    count = len(artifact.plugins) or len(artifact.applications)
    what = "plugin" if artifact.plugins or not artifact.applications else "app"
    return ListEntry(
        _artifact_key(artifact),
        f"{artifact.name} {artifact.version}".strip(),
        mark="✗" if artifact.error else "▪",
        hint="error" if artifact.error else plural(count, what),
        group=group,
        words=f"artifact {artifact.scope} {artifact.path}",
        tone="$text-error" if artifact.error else "bold",
    )


def _artifact_key(artifact: ArtifactDetail) -> str:
    return f"artifact {artifact.path}"


def _exact_key(plugin: PluginSummary) -> str:
    artifact = plugin.artifact
    return f"{plugin_key(plugin)} {artifact.scope} {artifact.name} {artifact.version}"


def _hidden_key(plugin: HiddenPlugin) -> str:
    return f"hidden {plugin.type} {plugin.name} {plugin.artifact.name} {plugin.artifact.version}"


def find_source_file(artifact: str, class_name: str) -> Path | None:
    """The file to open in an editor; None for a wheel, which has none.

    :param artifact: where the artifact lies.
    :param class_name: ``package.module.Class``; empty for the artifact itself.
    """
    path = Path(artifact)
    if not path.is_dir():
        return path if path.suffix == ".py" and path.is_file() else None
    module = class_name.rpartition(".")[0].replace(".", "/")
    for root in (path, path / "src"):
        for file in (root / f"{module}.py", root / module / "__init__.py"):
            if module and file.is_file():
                return file
    project = path / "pyproject.toml"
    return project if project.is_file() else None
