"""What is told of a plugin, an artifact, a hidden plugin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.content import Content

from localcdap.api.config import PluginProperty
from localcdap.artifacts.model import ArtifactDetail, HiddenPlugin, PluginInfo, PluginSummary
from localcdap.tui.screens.plugins.catalog import PluginCatalog

_MUTED = "$foreground 60%"
_GRAINS = {
    "record": "record by record",
    "batch": "by Arrow batches",
    "dataframe": "as Spark DataFrames",
}


def of_plugin(plugin: PluginInfo, catalog: PluginCatalog) -> Content:
    """Everything of a plugin but its documentation."""
    artifact = catalog.artifact_of(plugin)
    facts = [
        ("artifact", _artifact_name(plugin)),
        ("works", _GRAINS.get(plugin.grain, "")),
        ("capable of", ", ".join(plugin.capabilities)),
        ("runs on", ", ".join(catalog.profiles_of(plugin)) or "no profile of this instance"),
        ("for", ", ".join(artifact.parents) if artifact is not None else ""),
        ("file", artifact.path if artifact is not None else ""),
        ("class", plugin.class_name),
    ]
    versions = catalog.versions_of(plugin)
    if len(versions) > 1:
        facts.insert(1, ("versions", ", ".join(_artifact_name(each) for each in versions)))
    methods = [(f"{method.name}", method.description) for method in plugin.methods]
    return _joined(
        _title(plugin.name, plugin.type),
        Content(plugin.description),
        _facts(facts),
        _section("properties", [_property(each) for each in plugin.properties.values()]),
        _section("can be asked", [_line(name, text) for name, text in methods]),
    )


def of_artifact(artifact: ArtifactDetail, trace: Sequence[str]) -> Content:
    """:param trace: where its code fails, see the artifact service."""
    facts = [
        ("scope", f"{artifact.scope}, namespace {artifact.namespace}"),
        ("file", artifact.path),
        ("for", ", ".join(artifact.parents)),
        ("in use", "" if artifact.digest else "nothing of it ever worked"),
    ]
    plugins = [_line(plugin.name, plugin.type) for plugin in artifact.plugins]
    apps = [_line(app.name, "system application") for app in artifact.applications]
    errors = [Content.styled(f"✗ {line}", "$text-error") for line in _lines(artifact.error)]
    return _joined(
        _title(artifact.name, artifact.version),
        _section("what is wrong", errors),
        _section("traceback, innermost last", [Content(line) for line in trace]),
        _facts(facts),
        _section("plugins", [*plugins, *apps]),
    )


def of_hidden(plugin: HiddenPlugin, required: Sequence[str]) -> Content:
    lacking = ", ".join(plugin.lacking)
    return _joined(
        _title(plugin.name, plugin.type),
        Content(plugin.description),
        Content.styled(f"⊘ Hidden: it lacks {lacking}.", "$text-warning"),
        Content.styled(
            f"This instance requires {', '.join(required)} of every plugin (plugin.required.capabilities "
            "in the settings). No pipeline can use this one.",
            _MUTED,
        ),
        _facts(
            [
                ("artifact", _artifact_name(plugin)),
                ("capable of", ", ".join(plugin.capabilities)),
            ]
        ),
    )


def _artifact_name(plugin: PluginSummary) -> str:
    artifact = plugin.artifact
    return f"{artifact.name} {artifact.version} ({artifact.scope})"


def _title(name: str, kind: str) -> Content:
    return Content.assemble(Content.styled(name, "bold"), Content.styled(f"  {kind}", _MUTED))


def _facts(facts: Sequence[tuple[str, str]]) -> Content:
    told = [(name, text) for name, text in facts if text]
    return Content("\n").join(
        Content.assemble(Content.styled(f"{name:<11}", _MUTED), Content(text))
        for name, text in told
    )


def _section(heading: str, lines: Sequence[Content]) -> Content:
    if not lines:
        return Content("")
    return Content("\n").join([Content.styled(heading, f"{_MUTED} italic"), *lines])


def _line(name: str, text: str) -> Content:
    return Content.assemble(name, Content.styled(f"  {text}", _MUTED))


def _property(declared: PluginProperty) -> Content:
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
        Content.styled(
            f"  {', '.join(notes)}", "$text-accent 70%" if declared.required else _MUTED
        ),
        Content.styled(f"\n{declared.description}", _MUTED),
    )


def _lines(text: str | None) -> Iterator[str]:
    yield from (text or "").splitlines()


def _joined(*parts: Content) -> Content:
    return Content("\n\n").join(part for part in parts if part.plain)
