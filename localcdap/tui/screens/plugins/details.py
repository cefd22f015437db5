"""The details of a plugin, an artifact or a hidden plugin as text."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from localcdap.api.config import PluginProperty
from localcdap.artifacts.model import ArtifactDetail, HiddenPlugin, PluginInfo, PluginSummary
from localcdap.tui.labels import MUTED, format_title, join_parts
from localcdap.tui.screens.plugins.catalog import PluginCatalog

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
