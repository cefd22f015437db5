"""Whether the plugins of a pipeline are capable of running where they are asked to.

Checked before anything is started. A plugin that the instance hides (``plugin.required.capabilities``) is not
found long before; it never comes here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

import msgspec

from localcdap.api.capability import Capabilities
from localcdap.api.errors import IncapableError
from localcdap.api.failures import ArtifactId
from localcdap.artifacts.model import PluginRef

PREVIEW_REQUIRES: Final = frozenset((Capabilities.Mode.NATIVE,))
"""A preview runs on this machine, whatever the profile (design "CDAP Capabilities", section Preview)."""

CapabilitiesOf = Callable[[PluginRef], Collection[str]]
"""What a plugin is capable of."""


class IncapablePlugin(msgspec.Struct, rename="camel"):
    """A plugin that lacks what is required of it."""

    stage: str
    """Or post action."""
    plugin_type: str
    plugin_name: str
    artifact: ArtifactId
    lacking: list[str]
    """In alphabetical order, at least one."""

    def __str__(self) -> str:
        artifact = f"{self.artifact.name} {self.artifact.version}"
        return (
            f"stage '{self.stage}': plugin '{self.plugin_name}' of type '{self.plugin_type}' "
            f"({artifact}) lacks {', '.join(self.lacking)}"
        )


def find_incapable_plugins(
    plugins: Mapping[str, PluginRef], get_capabilities: CapabilitiesOf, required: Collection[str]
) -> list[IncapablePlugin]:
    """Every plugin that is not capable of all that is required, in the order of ``plugins``.

    :param plugins: by stage and post action.
    """
    found = []
    for stage, plugin in plugins.items() if required else ():
        lacking = sorted(set(required) - set(get_capabilities(plugin)))
        if lacking:
            found.append(IncapablePlugin(stage, plugin.type, plugin.name, plugin.artifact, lacking))
    return found


def require_capabilities(
    plugins: Mapping[str, PluginRef],
    get_capabilities: CapabilitiesOf,
    required: Collection[str],
    asked_by: str,
) -> None:
    """Refuse a pipeline with a plugin that is not capable of what is required.

    :param asked_by: who requires it, such as ``profile 'cluster'`` or ``a preview``.
    :raises IncapableError: naming every stage with its plugin and what it lacks, and who asks for it.
    """
    found = find_incapable_plugins(plugins, get_capabilities, required)
    if not found:
        return
    count = "1 plugin" if len(found) == 1 else f"{len(found)} plugins"
    first = f"The pipeline has {count} that cannot run with {asked_by}; nothing was started:"
    lines = [first, *(f"{each}, which {asked_by} requires." for each in found)]
    lacking = sorted({name for each in found for name in each.lacking})
    listing = " ".join(f"--capability {name}" for name in lacking)
    raise IncapableError(
        "\n".join(lines),
        "Run it with another profile ('localcdap profiles'), or use plugins that are capable "
        f"('localcdap plugins {listing}').",
    )
