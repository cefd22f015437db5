"""The artifacts and plugins of a namespace: lines of the list, source files, details as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from textual.content import Content

from localcdap.api.config import PluginProperty
from localcdap.artifacts.model import (
    SYSTEM,
    ArtifactDetail,
    CapabilityCount,
    HiddenPlugin,
    PluginInfo,
    PluginSummary,
)
from localcdap.host.cdap import Cdap
from localcdap.runs.startup.profiles import ProfileSummary
from localcdap.text import plural
from localcdap.tui.labels import MUTED, format_title, join_parts
from localcdap.tui.lists import ListEntry


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


_GRAINS = {
    "record": "on single records",
    "batch": "on Arrow batches",
    "dataframe": "on Spark DataFrames",
}


def format_plugin(plugin: PluginInfo, catalog: PluginCatalog) -> Content:
    """Return the details of a plugin without its documentation."""
    artifact = catalog.get_artifact_of(plugin)
    facts = [
        ("artifact", _format_artifact_id(plugin)),
        ("works", _GRAINS.get(plugin.grain, "")),
        ("capabilities", ", ".join(plugin.capabilities)),
        ("runs on", ", ".join(catalog.list_profiles(plugin)) or "no profile of this instance"),
        ("for", ", ".join(artifact.parents) if artifact is not None else ""),
        ("file", artifact.path if artifact is not None else ""),
        ("class", plugin.class_name),
    ]
    versions = catalog.list_versions(plugin)
    if len(versions) > 1:
        facts.insert(1, ("versions", ", ".join(_format_artifact_id(each) for each in versions)))
    methods = [(f"{method.name}", method.description) for method in plugin.methods]
    return join_parts(
        format_title(plugin.name, plugin.type),
        Content(plugin.description),
        _format_facts(facts),
        _format_section(
            "properties", [_format_property(each) for each in plugin.properties.values()]
        ),
        _format_section("methods", [_format_line(name, text) for name, text in methods]),
    )


def format_artifact(artifact: ArtifactDetail, trace: Sequence[str]) -> Content:
    """Return the details of an artifact.

    :param trace: the stack frames of the error in its code, see the artifact service.
    """
    facts = [
        ("scope", f"{artifact.scope}, namespace {artifact.namespace}"),
        ("file", artifact.path),
        ("for", ", ".join(artifact.parents)),
        ("in use", "" if artifact.digest else "no version of it has loaded yet"),
    ]
    plugins = [_format_line(plugin.name, plugin.type) for plugin in artifact.plugins]
    apps = [_format_line(app.name, "system application") for app in artifact.applications]
    errors = [
        Content.styled(f"✗ {line}", "$text-error") for line in (artifact.error or "").splitlines()
    ]
    warnings = [Content.styled(f"⚠ {line}", "$text-warning") for line in artifact.warnings]
    return join_parts(
        format_title(artifact.name, artifact.version),
        _format_section("errors", errors),
        _format_section("warnings", warnings),
        _format_section("traceback, innermost last", [Content(line) for line in trace]),
        _format_facts(facts),
        _format_section("plugins", [*plugins, *apps]),
    )


def format_hidden_plugin(plugin: HiddenPlugin, required: Sequence[str]) -> Content:
    """Return the details of a plugin that lacks required capabilities."""
    missing = ", ".join(plugin.lacking)
    return join_parts(
        format_title(plugin.name, plugin.type),
        Content(plugin.description),
        Content.styled(f"⊘ Hidden: the plugin does not have {missing}.", "$text-warning"),
        Content.styled(
            f"This instance requires {', '.join(required)} of every plugin (plugin.required.capabilities "
            "in the settings). No pipeline can use this plugin.",
            MUTED,
        ),
        _format_facts(
            [
                ("artifact", _format_artifact_id(plugin)),
                ("capabilities", ", ".join(plugin.capabilities)),
            ]
        ),
    )


def _format_artifact_id(plugin: PluginSummary) -> str:
    artifact = plugin.artifact
    return f"{artifact.name} {artifact.version} ({artifact.scope})"


def _format_facts(facts: Sequence[tuple[str, str]]) -> Content:
    return Content("\n").join(
        Content.assemble(Content.styled(f"{name:<14}", MUTED), Content(text))
        for name, text in facts
        if text
    )


def _format_section(heading: str, lines: Sequence[Content]) -> Content:
    if not lines:
        return Content("")
    return Content("\n").join([Content.styled(heading, f"{MUTED} italic"), *lines])


def _format_line(name: str, text: str) -> Content:
    return Content.assemble(name, Content.styled(f"  {text}", MUTED))


def _format_property(declared: PluginProperty) -> Content:
    notes = [declared.type]
    if declared.required:
        notes.append("required")
    if declared.default not in (None, ""):
        notes.append(f"default {declared.default}")
    if declared.choices:
        notes.append(" | ".join(declared.choices))
    notes += ["secret"] * declared.secret + ["macro"] * declared.macro_supported
    return Content.assemble(
        Content.styled(declared.name, "bold" if declared.required else ""),
        Content.styled(f"  {', '.join(notes)}", "$text-accent 70%" if declared.required else MUTED),
        Content.styled(f"\n{declared.description}", MUTED),
    )
