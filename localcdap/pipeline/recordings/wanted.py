"""Ranks the plugins that a set of pipelines uses and an instance does not have."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.recordings.stand_ins import PASSED, RECORDED
from localcdap.pipeline.rules.graph import ACTIONS

PluginName = tuple[str, str]
"""The type and the name of a plugin."""


class WantedPlugin(msgspec.Struct, rename="camel"):
    """A plugin that pipelines use and that is not installed."""

    type: str
    name: str
    files: list[str]
    """The pipelines that use it."""
    sole_files: list[str]
    """Those of which it is the only missing plugin."""
    stand_in: str | None
    """What can stand in for it: ``recording``, or a placeholder ``pass`` or ``skip``; None: nothing."""


def rank_wanted_plugins(
    pipelines: Mapping[str, PipelineDocument], known: Collection[PluginName]
) -> list[WantedPlugin]:
    """Return the missing plugins of pipelines, the one that most pipelines use first.

    :param pipelines: by file.
    :param known: the plugins that are installed.
    """
    missing = {
        file: {
            (stage.plugin.type, stage.plugin.name)
            for stage in (*document.stages, *document.post_actions)
            if stage.plugin.name and (stage.plugin.type, stage.plugin.name) not in known
        }
        for file, document in pipelines.items()
    }
    found = [
        WantedPlugin(
            *plugin,
            files=[file for file, plugins in missing.items() if plugin in plugins],
            sole_files=[file for file, plugins in missing.items() if plugins == {plugin}],
            stand_in=find_stand_in(plugin[0]),
        )
        for plugin in {plugin for plugins in missing.values() for plugin in plugins}
    ]
    return sorted(found, key=lambda w: (-len(w.files), -len(w.sole_files), w.type, w.name))


def find_stand_in(type: str) -> str | None:
    """Return what can stand in for plugins of a type; see :class:`WantedPlugin`."""
    if type in RECORDED:
        return "recording"
    if type in PASSED:
        return "pass"
    return "skip" if type in ACTIONS else None
