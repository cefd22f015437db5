"""Whether the plugins of a pipeline are capable of running where they are asked to.

Checked before anything is started. A plugin that the instance hides (``plugin.required.capabilities``) is not
found long before; it never comes here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

import msgspec

from localcdap.api.capability import Capabilities
from localcdap.api.errors import IncapableError
from localcdap.api.failures import ArtifactId
from localcdap.artifacts.capabilities import CapabilityRequirement
from localcdap.artifacts.model import PluginRef

PREVIEW_REQUIRES: Final = CapabilityRequirement.parse(Capabilities.Mode.NATIVE)
"""A preview runs on this machine, whatever the profile (design "CDAP Capabilities", section Preview)."""

CapabilitiesOf = Callable[[PluginRef], Collection[str]]
"""Returns the capabilities of a plugin."""


class IncapablePlugin(msgspec.Struct, rename="camel"):
    """A plugin that lacks what is required of it."""

    stage: str
    """Or post action."""
    plugin_type: str
    plugin_name: str
    artifact: ArtifactId
    lacking: list[str]
    """Capabilities, and expressions that it does not meet, in alphabetical order; at least one."""
    used_by: str | None = None
    """The name of the stage's own plugin, when that uses this plugin; None for the stage's own plugin."""

    def __str__(self) -> str:
        artifact = f"{self.artifact.name} {self.artifact.version}"
        use = f", which plugin '{self.used_by}' uses," if self.used_by else ""
        return (
            f"stage '{self.stage}': plugin '{self.plugin_name}' of type '{self.plugin_type}' "
            f"({artifact}){use} lacks {', '.join(self.lacking)}"
        )


def find_incapable_plugins(
    plugins: Mapping[str, PluginRef],
    get_capabilities: CapabilitiesOf,
    required: CapabilityRequirement,
) -> list[IncapablePlugin]:
    """Return every plugin that does not meet the requirement, in the order of ``plugins``.

    The plugins that a stage's plugin uses, such as the directives of a recipe, count for the stage.

    :param plugins: by stage and post action.
    """
    found = []
    for stage, plugin, used_by in _list_with_used(plugins) if required else ():
        lacking = required.find_unmet(get_capabilities(plugin))
        if lacking:
            found.append(
                IncapablePlugin(stage, plugin.type, plugin.name, plugin.artifact, lacking, used_by)
            )
    return found


def _list_with_used(
    plugins: Mapping[str, PluginRef],
) -> Iterator[tuple[str, PluginRef, str | None]]:
    for stage, plugin in plugins.items():
        yield stage, plugin, None
        for used in plugin.uses:
            yield stage, used, plugin.name


def require_capabilities(
    plugins: Mapping[str, PluginRef],
    get_capabilities: CapabilitiesOf,
    required: CapabilityRequirement,
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
    lacking = sorted({name for each in found for name in each.lacking} & required.names)
    options = "".join(f" --capability {name}" for name in lacking)
    raise IncapableError(
        "\n".join(lines),
        "Run it with another profile ('localcdap profiles'), or use plugins that are capable "
        f"('localcdap plugins{options}').",
    )
