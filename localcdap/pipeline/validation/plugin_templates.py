"""Plugin templates: named plugins with preset properties, some of them locked.

A stage uses a template by its name in place of the plugin's name, or by the key ``pluginTemplate`` of the
stage or its plugin, as CDAP's studio writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from localcdap.api.failures import FailureCollector, ValidationFailure
from localcdap.artifacts.model import ArtifactSelector
from localcdap.pipeline.document.changes import change_stages, get_plugin_node
from localcdap.pipeline.document.model import PipelineDocument, StageUse
from localcdap.pipeline.document.stages import TEMPLATE_MARK


class PluginTemplate(msgspec.Struct, rename="camel"):
    """A plugin with preset properties."""

    name: str
    plugin_type: str
    plugin_name: str
    """The name of the plugin itself."""
    properties: dict[str, str]
    """Default values of properties; may hold macros."""
    locked: list[str] = []
    """The properties that a stage cannot override."""
    artifact: ArtifactSelector = ArtifactSelector()
    """The artifact of the plugin, for stages that do not name one."""
    description: str = ""


class TemplateUse(msgspec.Struct, rename="camel"):
    """A stage that uses a template."""

    stage: str
    template: str
    plugin: str
    """Type and name of the plugin, as ``batchsource File``."""

    def __str__(self) -> str:
        return f"Stage '{self.stage}' uses template '{self.template}': {self.plugin}."


def expand_templates(
    document: PipelineDocument, templates: Sequence[PluginTemplate]
) -> PipelineDocument:
    """Return the document with templates replaced by their plugins; its source is unchanged.

    A stage that overrides a locked property is one of the document's problems.
    """
    known = index_templates(templates)
    if not known:
        return document
    problems = list(document.problems)
    stages, endings = (
        [expand_template(stage, known, problems) for stage in listed]
        for listed in (document.stages, document.post_actions)
    )
    return msgspec.structs.replace(document, stages=stages, post_actions=endings, problems=problems)


def expand_template(
    stage: StageUse,
    known: Mapping[tuple[str, str], PluginTemplate],
    problems: list[ValidationFailure],
) -> StageUse:
    """Return the stage with its template replaced by the plugin; the stage itself when it uses none.

    :param known: templates by type and name.
    :param problems: receives a failure for each locked property that the stage overrides.
    """
    template = _find_template(stage, known)
    if template is None:
        return stage
    use = stage.plugin
    failures = FailureCollector(stage.name)
    for name in template.locked:
        if use.properties.get(name, template.properties[name]) != template.properties[name]:
            failures.add(
                f"Property '{name}' is locked by template '{template.name}'.",
                "Remove it from the stage, which then has the template's value.",
            ).with_config_property(name)
    problems += failures
    locked = {name: template.properties[name] for name in template.locked}
    plugin = msgspec.structs.replace(
        use,
        name=template.plugin_name,
        properties={**template.properties, **use.properties, **locked},
        artifact=use.artifact or _get_selector(template.artifact),
        template=None,
    )
    return msgspec.structs.replace(stage, plugin=plugin)


def write_out_templates(
    document: PipelineDocument, templates: Sequence[PluginTemplate]
) -> tuple[Any, list[TemplateUse]]:
    """Return a copy of the document's source with templates replaced by their plugins, and the stages that
    used one.
    """
    known = index_templates(templates)
    uses, changes = [], {}
    for stage in (*document.stages, *document.post_actions):
        template = _find_template(stage, known)
        if template is not None:
            plugin = f"{template.plugin_type} {template.plugin_name}"
            uses.append(TemplateUse(stage.name, template.name, plugin))
            changes[stage.name] = _PluginWriter(expand_template(stage, known, []))
    return change_stages(document, changes), uses


class _PluginWriter:
    """Writes a plugin into the node of its stage."""

    def __init__(self, stage: StageUse) -> None:
        self._use = stage.plugin

    def __call__(self, node: dict[str, Any]) -> None:
        plugin = get_plugin_node(node)
        plugin["name"] = self._use.name
        plugin["properties"] = self._use.properties
        if self._use.artifact is not None:
            named = msgspec.structs.asdict(self._use.artifact)
            plugin["artifact"] = {key: value for key, value in named.items() if value}
        for each in (node, plugin):
            each.pop(TEMPLATE_MARK, None)


def index_templates(
    templates: Sequence[PluginTemplate],
) -> Mapping[tuple[str, str], PluginTemplate]:
    """Return the templates by type and name."""
    return {(each.plugin_type, each.name): each for each in templates}


def _find_template(
    stage: StageUse, known: Mapping[tuple[str, str], PluginTemplate]
) -> PluginTemplate | None:
    """Return the template that a stage uses.

    A ``pluginTemplate`` that does not exist here belongs to another instance and is ignored.
    """
    use = stage.plugin
    marked = known.get((use.type, use.template)) if use.template else None
    return marked or known.get((use.type, use.name))


def _get_selector(selector: ArtifactSelector) -> ArtifactSelector | None:
    return selector if selector != ArtifactSelector() else None
