"""The plugins that a stage uses besides its own: those that its properties name.

A property declares how it names them (:class:`localcdap.api.config.NamedPlugins`), and the index of plugins
holds the declaration: finding them runs no plugin code, and the core knows no language of any plugin.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from localcdap.api.config import NamedPlugins, PluginProperty
from localcdap.artifacts.model import PluginRef
from localcdap.pipeline.document.model import PluginUse
from localcdap.pipeline.validation.plugins import PluginFinder


def add_used_plugins(
    plugin: PluginRef,
    stage: str,
    declared: Mapping[str, PluginProperty],
    properties: Mapping[str, str],
    finder: PluginFinder,
) -> PluginRef:
    """Return the plugin with those in ``uses`` that its properties name and that exist.

    A missing one is not a failure here: the plugin reports it when it is configured.
    """
    if plugin.uses:
        return plugin
    found: dict[tuple[str, str], PluginRef] = {}
    for name, each in declared.items():
        value = properties.get(name)
        if not value or not isinstance(each.uses, NamedPlugins):
            continue
        for named in each.uses.find_names(value):
            used = finder.find(stage, PluginUse(each.uses.type, named, {}, None)).plugin
            if used is not None:
                found[each.uses.type, named] = used
    return msgspec.structs.replace(plugin, uses=tuple(found.values())) if found else plugin
