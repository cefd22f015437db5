"""The artifacts and plugins of a namespace, their lines in the list, and their source files."""

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
from localcdap.runs.startup.profiles import ProfileSummary
from localcdap.text import plural
from localcdap.tui.lists.filtered_list import ListEntry


@dataclass(frozen=True)
class PluginCatalog:
    """The artifacts and plugins that a namespace sees."""

    plugins: Sequence[PluginSummary]
    """The plugins with all required capabilities: of each name, the version that stages use."""
    versions: Sequence[PluginSummary]
    """The plugins of all artifacts, in all versions."""
    artifacts: Sequence[ArtifactDetail]
    hidden: Sequence[HiddenPlugin]
    capabilities: Sequence[CapabilityCount]
    required: Sequence[str]
    profiles: Sequence[ProfileSummary]
    """The compute profiles for runs."""
    is_narrowed: bool
    """Whether the list shows only plugins with certain capabilities."""

    def find_plugin(self, key: str) -> PluginSummary | None:
        """Return the plugin of a key in the list."""
        newest = (each for each in self.plugins if build_plugin_key(each) == key)
        return next(newest, None) or next(
            (e for e in self.versions if _build_version_key(e) == key), None
        )

    def find_hidden_plugin(self, key: str) -> HiddenPlugin | None:
        return next((each for each in self.hidden if _build_hidden_key(each) == key), None)

    def find_artifact(self, key: str) -> ArtifactDetail | None:
        return next((each for each in self.artifacts if _build_artifact_key(each) == key), None)

    def get_artifact_of(self, plugin: PluginSummary) -> ArtifactDetail | None:
        """Return the artifact that contains a plugin."""
        return next((each for each in self.artifacts if each.id == plugin.artifact), None)

    def list_profiles(self, plugin: PluginSummary) -> list[str]:
        """Return the names of the profiles that a plugin can run on."""
        able = set(plugin.capabilities)
        return [each.name for each in self.profiles if able.issuperset(each.required_capabilities)]

    def list_versions(self, plugin: PluginSummary) -> list[PluginSummary]:
        """Return the plugins of the same type and name, highest version first."""
        same = [e for e in self.versions if (e.type, e.name) == (plugin.type, plugin.name)]
        return same[::-1]


def read_catalog(cdap: Cdap, namespace: str, capabilities: Sequence[str]) -> PluginCatalog:
    """Read the catalog through the services.

    :param capabilities: the capabilities that listed plugins must have.
    """
    artifacts = cdap.artifacts
    return PluginCatalog(
        plugins=artifacts.list_plugins(namespace, capabilities=list(capabilities)),
        versions=artifacts.list_plugins(namespace, all_versions=True),
        artifacts=artifacts.list_artifacts(namespace),
        hidden=artifacts.list_hidden(namespace),
        capabilities=artifacts.list_capabilities(namespace),
        required=artifacts.list_required_capabilities(),
        profiles=cdap.runs.list_profiles(namespace),
        is_narrowed=bool(capabilities),
    )


def build_entries_by_type(catalog: PluginCatalog, *, with_hidden: bool) -> list[ListEntry]:
    """Return artifacts with errors, those with warnings, then plugins under their types."""
    entries = [_build_artifact_entry(each, "errors") for each in catalog.artifacts if each.error]
    entries += [
        _build_artifact_entry(each, "warnings")
        for each in catalog.artifacts
        if each.warnings and not each.error
    ]
    entries += [_build_plugin_entry(each, each.type) for each in catalog.plugins]
    if with_hidden:
        entries += [_build_hidden_entry(each, "hidden") for each in catalog.hidden]
    return entries


def build_entries_by_artifact(catalog: PluginCatalog, *, with_hidden: bool) -> list[ListEntry]:
    """Return every artifact, followed by its plugins."""
    return list(_iterate_by_artifact(catalog, with_hidden=with_hidden))


def build_plugin_key(plugin: PluginSummary) -> str:
    return f"plugin {plugin.type} {plugin.name}"


def _iterate_by_artifact(catalog: PluginCatalog, *, with_hidden: bool) -> Iterator[ListEntry]:
    for artifact in catalog.artifacts:
        known = catalog.plugins if catalog.is_narrowed else catalog.versions
        plugins = [each for each in known if each.artifact == artifact.id]
        hidden = [each for each in catalog.hidden if each.artifact == artifact.id]
        shown = hidden if with_hidden else []
        if catalog.is_narrowed and not plugins and not shown and not artifact.error:
            continue
        yield _build_artifact_entry(artifact, "")
        for each in plugins:
            entry = _build_plugin_entry(each, "")
            yield replace(entry, key=_build_version_key(each), hint=each.type)
        yield from (_build_hidden_entry(each, "") for each in shown)


def _build_plugin_entry(plugin: PluginSummary, group: str) -> ListEntry:
    artifact = plugin.artifact
    return ListEntry(
        build_plugin_key(plugin),
        plugin.name,
        hint=artifact.version if artifact.scope == SYSTEM else f"user {artifact.version}",
        group=group,
        words=f"{plugin.type} {artifact.name} {plugin.description}",
    )


def _build_hidden_entry(plugin: HiddenPlugin, group: str) -> ListEntry:
    return ListEntry(
        _build_hidden_key(plugin),
        plugin.name,
        mark="⊘",
        hint=f"without {', '.join(plugin.lacking)}",
        group=group,
        words=f"hidden {plugin.type} {plugin.artifact.name}",
        tone="$foreground 60%",
    )


def _build_artifact_entry(artifact: ArtifactDetail, group: str) -> ListEntry:
    count = len(artifact.plugins) or len(artifact.applications)
    what = "plugin" if artifact.plugins or not artifact.applications else "app"
    if artifact.error:
        mark, hint, tone = "✗", "error", "$text-error"
    elif artifact.warnings:
        mark, hint, tone = "⚠", plural(len(artifact.warnings), "warning"), "$text-warning"
    else:
        mark, hint, tone = "▪", plural(count, what), "bold"
    return ListEntry(
        _build_artifact_key(artifact),
        f"{artifact.name} {artifact.version}".strip(),
        mark=mark,
        hint=hint,
        group=group,
        words=f"artifact {artifact.scope} {artifact.path}",
        tone=tone,
    )


def _build_artifact_key(artifact: ArtifactDetail) -> str:
    return f"artifact {artifact.path}"


def _build_version_key(plugin: PluginSummary) -> str:
    artifact = plugin.artifact
    return f"{build_plugin_key(plugin)} {artifact.scope} {artifact.name} {artifact.version}"


def _build_hidden_key(plugin: HiddenPlugin) -> str:
    return f"hidden {plugin.type} {plugin.name} {plugin.artifact.name} {plugin.artifact.version}"


def find_source_file(artifact: str, class_name: str) -> Path | None:
    """Return the source file of a plugin or artifact; None for a wheel.

    :param artifact: the path of the artifact.
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
