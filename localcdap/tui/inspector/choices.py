"""What its user chooses about the plugin of a stage: a method to ask it, another version of it."""

from __future__ import annotations

from localcdap.api.methods import PluginMethod
from localcdap.artifacts.model import PluginInfo
from localcdap.pipeline.document.model import StageUse
from localcdap.tui.inspector.heading import named
from localcdap.tui.inspector.plugins import Candidate
from localcdap.tui.studio import Choice, Studio


async def chosen_method(studio: Studio, plugin: PluginInfo) -> PluginMethod | None:
    """One of the methods, of which there is one at least; None when its user wants none after all."""
    methods = plugin.methods
    if len(methods) == 1:
        return methods[0]
    choices = [Choice(each.name, each, detail=each.description) for each in methods]
    return await studio.choose(choices, title=f"What to ask {plugin.name}?")


async def chosen_version(studio: Studio, use: StageUse, found: list[Candidate]) -> Candidate | None:
    """What a stage shall use from now on; None when it stays as it is."""
    choices = [Choice(f"{c.name}  {named(c.artifact)}", c, detail=c.description) for c in found]
    return await studio.choose(choices, title=f"Which {use.plugin.name} shall '{use.name}' use?")
