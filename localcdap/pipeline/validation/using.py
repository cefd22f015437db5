"""The plugins that a stage uses beside its own: those that its properties name.

A property says so with the form ``{plugin:TYPE}``, and a recipe of Wrangler with
``#pragma load-directives``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from localcdap.api.config import PluginProperty
from localcdap.artifacts.model import PluginRef
from localcdap.pipeline.document.model import PluginUse
from localcdap.pipeline.validation.plugins import PluginFinder
from localcdap.plugin_lib.wrangler.language import loaded_names

_FORM: Final = re.compile(r"\{plugin:(\w+)\}")
_RECIPE: Final = "wrangler"
_DIRECTIVE: Final = "directive"


def with_used(
    plugin: PluginRef,
    stage: str,
    declared: Mapping[str, PluginProperty],
    properties: Mapping[str, str],
    finder: PluginFinder,
) -> PluginRef:
    """The plugin, with those that its properties name and that are there."""
    if plugin.uses:
        return plugin
    found: dict[tuple[str, str], PluginRef] = {}
    for type_, name in _named(declared, properties):
        if (type_, name) not in found:
            used = finder.find(stage, PluginUse(type_, name, {}, None)).plugin
            if used is not None:
                found[type_, name] = used
    return msgspec.structs.replace(plugin, uses=tuple(found.values())) if found else plugin


def _named(
    declared: Mapping[str, PluginProperty], properties: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    for name, each in declared.items():
        text = properties.get(name)
        if not text:
            continue
        form = _FORM.search(each.form or "")
        if form is not None:
            yield from ((form[1], part.strip()) for part in text.split(",") if part.strip())
        elif each.syntax == _RECIPE:
            yield from ((_DIRECTIVE, directive) for directive in loaded_names(text))
