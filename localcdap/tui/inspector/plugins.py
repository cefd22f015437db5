"""What is known of the plugin of a stage: its declaration, other versions, what would repair it."""

from __future__ import annotations

import msgspec

from localcdap.api.errors import NotFoundError
from localcdap.api.failures import ArtifactId
from localcdap.artifacts.model import ArtifactSelector, PluginInfo
from localcdap.host.link import Cdap
from localcdap.studio.documents.model import PluginUse


class Candidate(msgspec.Struct):
    """A plugin that a stage could use."""

    name: str
    artifact: ArtifactId
    description: str


def plugin_of(cdap: Cdap, namespace: str, use: PluginUse) -> PluginInfo | None:
    """The plugin that a stage gets; None when there is none."""
    try:
        return cdap.artifacts.get_plugin(namespace, use.type, use.name, use.artifact)
    except NotFoundError:
        return None


def candidates(cdap: Cdap, namespace: str, use: PluginUse) -> list[Candidate]:
    """The versions of the plugin, highest first; all plugins of its type when there is none of its name."""
    known = cdap.artifacts.list_plugins(namespace, use.type, all_versions=True)
    found = [each for each in reversed(known) if each.name == use.name] or known
    return [Candidate(each.name, each.artifact, each.description) for each in found]


def selector(artifact: ArtifactId) -> ArtifactSelector:
    return ArtifactSelector(artifact.scope, artifact.name, artifact.version)
