"""Finds the plugin of a stage: its declaration, its other versions and its methods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from localcdap.api.config import NamedPlugins, PluginProperty
from localcdap.api.errors import NotFoundError
from localcdap.api.failures import ArtifactId
from localcdap.api.methods import PluginMethod
from localcdap.artifacts.model import ArtifactSelector, PluginInfo
from localcdap.host.cdap import Cdap
from localcdap.pipeline.document.model import PluginUse, StageUse
from localcdap.tui.inspector.heading import format_artifact
from localcdap.tui.studio import Choice, Studio

_POLL_S: Final = 2.0


class PluginDetails(msgspec.Struct):
    """The details of the plugin of a stage, and the names that its properties can refer to."""

    plugin: PluginInfo | None
    preferences: dict[str, str]
    secure_keys: list[str]
    """Their names."""
    connections: list[str]
    """Their names."""


class PluginCandidate(msgspec.Struct):
    """A plugin that a stage could use."""

    name: str
    artifact: ArtifactId
    description: str


def read_plugin_details(cdap: Cdap, namespace: str, pipeline: str, use: PluginUse) -> PluginDetails:
    """Read the plugin of a stage, and the names that its properties can use.

    :param pipeline: the name of the stage's pipeline.
    """
    preferences = cdap.preferences.resolve_for_pipeline(namespace, pipeline)
    keys = [key.name for key in cdap.secure_keys.list_keys(namespace)]
    connections = [each.name for each in cdap.connections.list_connections(namespace)]
    return PluginDetails(find_plugin(cdap, namespace, use), preferences, keys, connections)


def find_plugin(cdap: Cdap, namespace: str, use: PluginUse) -> PluginInfo | None:
    """Return the plugin of a stage, with the properties of the formats that it names; None when there is
    none.
    """
    try:
        found = cdap.artifacts.get_plugin(namespace, use.type, use.name, use.artifact)
    except NotFoundError:
        return None
    properties = dict(found.properties)
    for name, shared in _list_sharing(found).items():
        known = [each.name for each in cdap.artifacts.list_plugins(namespace, shared.type)]
        properties[name] = _offer_words(properties[name], known)
        for other in set(known) & {use.properties.get(name, "")}:
            added = cdap.artifacts.get_plugin(namespace, shared.type, other).properties
            for each in added.values():
                grouped = msgspec.structs.replace(each, group=f"{name} {other}")
                properties.setdefault(each.name, grouped)
    return msgspec.structs.replace(found, properties=properties)


def select_use(use: PluginUse, plugin: PluginInfo | None) -> PluginUse:
    """Return the use of a plugin with the properties that decide which other properties it has.

    :param plugin: what is known of it; None, or another plugin, when nothing is.
    """
    is_known = plugin is not None and (plugin.type, plugin.name) == (use.type, use.name)
    sharing = _list_sharing(plugin) if plugin is not None and is_known else {}
    given = {name: use.properties[name] for name in sharing if use.properties.get(name)}
    return PluginUse(use.type, use.name, given, use.artifact)


def _list_sharing(plugin: PluginInfo) -> dict[str, NamedPlugins]:
    """Return the properties that name plugins which have the properties of the stage, too."""
    return {
        name: each.uses
        for name, each in plugin.properties.items()
        if isinstance(each.uses, NamedPlugins) and each.uses.shares_properties
    }


def _offer_words(declared: PluginProperty, words: list[str]) -> PluginProperty:
    """Return a property whose form also offers these words."""
    form = declared.form or ""
    if not words or not form.endswith("}"):
        return declared
    return msgspec.structs.replace(declared, form=f"{form[:-1]}|{'|'.join(words)}}}")


def list_candidates(cdap: Cdap, namespace: str, use: PluginUse) -> list[PluginCandidate]:
    """Return the versions of the plugin, highest first; for an unknown name, all plugins of its type."""
    known = cdap.artifacts.list_plugins(namespace, use.type, all_versions=True)
    found = [each for each in reversed(known) if each.name == use.name] or known
    return [PluginCandidate(each.name, each.artifact, each.description) for each in found]


def to_selector(artifact: ArtifactId) -> ArtifactSelector:
    return ArtifactSelector(artifact.scope, artifact.name, artifact.version)


def watch_artifacts(cdap: Cdap) -> Iterator[bool]:
    """After each poll, whether artifacts changed."""
    last = cdap.messaging.get_newest_id()
    while True:
        messages = cdap.messaging.fetch("system", "artifacts", last, wait_s=_POLL_S)
        last = messages[-1].id if messages else last
        yield bool(messages)


async def choose_method(studio: Studio, plugin: PluginInfo) -> PluginMethod | None:
    """Let the user choose one of the methods; None when the user cancels."""
    methods = plugin.methods
    if len(methods) == 1:
        return methods[0]
    choices = [Choice(each.name, each, detail=each.description) for each in methods]
    return await studio.choose(choices, title=f"Which method of {plugin.name}?")


async def choose_version(
    studio: Studio, use: StageUse, found: list[PluginCandidate]
) -> PluginCandidate | None:
    """Let the user choose another plugin or version for a stage; None when the user cancels."""
    choices = [
        Choice(f"{c.name}  {format_artifact(c.artifact)}", c, detail=c.description) for c in found
    ]
    return await studio.choose(choices, title=f"Which {use.plugin.name} shall '{use.name}' use?")
