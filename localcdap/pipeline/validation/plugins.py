"""Finds the plugins of a pipeline, the plugins that properties name, plugin templates, and repairs.

A property declares how it names plugins (:class:`localcdap.api.config.NamedPlugins`), and the plugin
index holds the declaration: finding them runs no plugin code, and the core knows no language of any
plugin.

A plugin template is a named plugin with preset properties, some of them locked. A stage uses it by its
name in place of the plugin's name, or by the key ``pluginTemplate`` of the stage or its plugin, as
CDAP's studio writes it. A repair gives a stage the suggested artifact in place of one that is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from localcdap.api.config import NamedPlugins, PluginProperty
from localcdap.api.errors import NotFoundError
from localcdap.api.failures import (
    ARTIFACT_NOT_FOUND,
    ArtifactId,
    Cause,
    FailureCollector,
    ValidationFailure,
)
from localcdap.api.methods import PluginMethod
from localcdap.api.pipeline import UsedPluginSpec
from localcdap.api.plugin import Plugin
from localcdap.artifacts.model import (
    ArtifactSelector,
    PluginInfo,
    PluginLookup,
    PluginRef,
    PluginSummary,
)
from localcdap.pipeline.document.model import (
    PipelineDocument,
    PluginUse,
    StageChange,
    StageUse,
    change_stages,
    get_plugin_node,
)
from localcdap.pipeline.document.reader import TEMPLATE_MARK
from localcdap.pipeline.document.values import artifact_to_json


class PluginFinder(Protocol):
    """Finds plugins: in the index, or among those pinned for a run."""

    def find(self, stage: str, plugin: PluginUse) -> PluginLookup:
        """Return the plugin that a stage asks for."""

    def properties(self, plugin: PluginRef) -> Mapping[str, PluginProperty]:
        """Return the declared properties of a plugin that was found."""


class Artifacts(Protocol):
    """The part of :class:`localcdap.artifacts.service.ArtifactService` that validation uses."""

    def find_plugin(
        self, namespace: str, type: str, name: str, selector: ArtifactSelector | None = None
    ) -> PluginLookup: ...

    def get_plugin(
        self, namespace: str, type: str, name: str, selector: ArtifactSelector | None = None
    ) -> PluginInfo: ...

    def list_plugins(self, namespace: str, type: str | None = None) -> list[PluginSummary]: ...


class IndexedPlugins:
    """The plugins that a namespace sees. Looks each up once: create a new one for each pipeline."""

    def __init__(self, artifacts: Artifacts, namespace: str) -> None:
        self._artifacts = artifacts
        self._namespace = namespace
        self._lookups: dict[tuple[str, str, ArtifactSelector | None], PluginLookup] = {}
        self._infos: dict[PluginRef, PluginInfo] = {}

    def find(self, stage: str, plugin: PluginUse) -> PluginLookup:
        """Return the plugin that the index selects now.

        :raises BadRequestError: when the requested artifact has an invalid scope or version.
        """
        key = (plugin.type, plugin.name, plugin.artifact)
        if key not in self._lookups:
            self._lookups[key] = self._artifacts.find_plugin(self._namespace, *key)
        return self._lookups[key]

    def properties(self, plugin: PluginRef) -> Mapping[str, PluginProperty]:
        """Return the declared properties of a plugin that was found."""
        return self.get_info(plugin).properties

    def get_info(self, plugin: PluginRef) -> PluginInfo:
        """Return all that the index holds of a plugin that was found."""
        if plugin not in self._infos:
            selector = _select(plugin.artifact)
            found = self._artifacts.get_plugin(self._namespace, plugin.type, plugin.name, selector)
            self._infos[plugin] = found
        return self._infos[plugin]

    def get_capabilities(self, plugin: PluginRef) -> list[str]:
        """Return the capabilities of a plugin that was found."""
        return self.get_info(plugin).capabilities

    def add_uses(self, plugin: PluginRef, properties: Mapping[str, str]) -> PluginRef:
        """Return a plugin with the plugins that its properties name, as far as they exist."""
        return add_used_plugins(plugin, plugin.name, self.properties(plugin), properties, self)

    def add_method_uses(self, plugin: PluginRef, method: str, request: object) -> PluginRef:
        """Return a plugin with the plugins that one of its methods declares, besides those that it has.

        :param request: decoded JSON, whose fields may name plugins.
        """
        declared = self.find_method(plugin, method)
        if declared is None:
            return plugin
        given = request if isinstance(request, Mapping) else {}
        wanted = [
            (named.type, name)
            for field, named in declared.uses.items()
            for name in named.find_names(str(given.get(field) or ""))
        ]
        for type in declared.all_of:
            summaries = self._artifacts.list_plugins(self._namespace, type=type)
            wanted += [(type, each.name) for each in summaries]
        uses = {(each.type, each.name): each for each in plugin.uses}
        for type, name in wanted:
            found = self.find(plugin.name, PluginUse(type, name, {}, None)).plugin
            if found is not None:
                uses.setdefault((type, name), found)
        return msgspec.structs.replace(plugin, uses=tuple(uses.values()))

    def find_method(self, plugin: PluginRef, name: str) -> PluginMethod | None:
        """Return a method of a plugin; None when there is none."""
        return next((each for each in self.get_info(plugin).methods if each.name == name), None)

    def require(self, type: str, name: str, selector: ArtifactSelector) -> PluginRef:
        """Return a plugin.

        :raises NotFoundError: when there is none; the message lists similar ones.
        """
        found = self.find(name, PluginUse(type, name, {}, selector)).plugin
        if found is None:
            self._artifacts.get_plugin(self._namespace, type, name, selector)  # raises, with a list
            raise NotFoundError(f"There is no {type} plugin '{name}'.")
        return found


class PinnedPlugins:
    """The plugins that were selected earlier, by stage: what a run process uses.

    :param load: the class of a plugin, such as ``localcdap.artifacts.loading.load_plugin``.
    """

    def __init__(
        self, plugins: Mapping[str, PluginRef], load: Callable[[PluginRef], type[Plugin]]
    ) -> None:
        self._plugins = plugins
        self._load = load

    def find(self, stage: str, plugin: PluginUse) -> PluginLookup:
        pinned = self._plugins.get(stage)
        if pinned is not None and (pinned.type, pinned.name) != (plugin.type, plugin.name):
            pinned = None
        return PluginLookup(pinned)

    def properties(self, plugin: PluginRef) -> Mapping[str, PluginProperty]:
        declared = self._load(plugin).Config.get_fields()
        return {name: field.describe() for name, field in declared.items()}


def describe_selector(selector: ArtifactSelector) -> str:
    """Return the requested artifact as a text, such as ``core-plugins 1.2.0 (SYSTEM)``."""
    parts = [selector.name or "any artifact", selector.version or ""]
    scope = f"({selector.scope})" if selector.scope else ""
    return " ".join(part for part in (*parts, scope) if part)


def create_not_found_failure(stage: StageUse, lookup: PluginLookup) -> ValidationFailure:
    """Return the failure for a missing plugin (CDAP 6 ``ValidationFailure.withPluginNotFound``)."""
    use, suggested = stage.plugin, lookup.suggested
    attributes = {"pluginId": stage.name, "pluginName": use.name, "pluginType": use.type}
    message = f"Plugin named '{use.name}' of type '{use.type}' not found."
    if use.artifact is not None:
        message += f" The pipeline asks for artifact {describe_selector(use.artifact)}."
        attributes |= _list_attributes("requested", use.artifact)
    if suggested is not None:
        attributes |= _list_attributes("suggested", suggested.artifact)
    return ValidationFailure(
        ARTIFACT_NOT_FOUND,
        message,
        _suggest_action(use, lookup),
        [Cause(attributes)],
        stage=stage.name,
        suggested_artifact=suggested.artifact if suggested else None,
    )


def _list_attributes(prefix: str, artifact: ArtifactSelector | ArtifactId) -> dict[str, str]:
    values = {
        f"{prefix}ArtifactName": artifact.name,
        f"{prefix}ArtifactScope": artifact.scope,
        f"{prefix}ArtifactVersion": artifact.version,
    }
    return {key: value for key, value in values.items() if value}


def _suggest_action(use: PluginUse, lookup: PluginLookup) -> str:
    if lookup.suggested is not None:
        found = lookup.suggested.artifact
        return (
            f"Use artifact '{found.name}' version {found.version} ({found.scope}), which has this "
            "plugin."
        )
    action = f"Make sure plugin '{use.name}' of type '{use.type}' is already deployed."
    if lookup.nearest:
        action += f" Similar plugins that are: {', '.join(lookup.nearest)}."
    return action


def add_used_plugins(
    plugin: PluginRef,
    stage: str,
    declared: Mapping[str, PluginProperty],
    properties: Mapping[str, str],
    finder: PluginFinder,
    chosen: Sequence[UsedPluginSpec] = (),
) -> PluginRef:
    """Return the plugin with those in ``uses`` that its properties name and that exist.

    A missing one is not a failure here: the plugin reports it when it is configured.

    :param chosen: the artifacts of some of them; of others, the finder chooses.
    """
    if plugin.uses:
        return plugin
    artifacts = {(each.type, each.name): _select(each.artifact) for each in chosen}
    found: dict[tuple[str, str], PluginRef] = {}
    for name, each in declared.items():
        value = properties.get(name)
        if not value or not isinstance(each.uses, NamedPlugins):
            continue
        for named in each.uses.find_names(value):
            artifact = artifacts.get((each.uses.type, named))
            used = finder.find(stage, PluginUse(each.uses.type, named, {}, artifact)).plugin
            if used is not None:
                found[each.uses.type, named] = used
    return msgspec.structs.replace(plugin, uses=tuple(found.values())) if found else plugin


def list_shared_properties(
    declared: Mapping[str, PluginProperty], plugin: PluginRef, finder: PluginFinder
) -> dict[str, PluginProperty]:
    """Return the properties of used plugins that are configured by the properties of their stage.

    :param declared: the properties of the plugin itself.
    """
    types = {
        each.uses.type
        for each in declared.values()
        if isinstance(each.uses, NamedPlugins) and each.uses.shares_properties
    }
    found: dict[str, PluginProperty] = {}
    for used in plugin.uses:
        if used.type in types:
            found |= finder.properties(used)
    return found


def _select(artifact: ArtifactId) -> ArtifactSelector:
    return ArtifactSelector(artifact.scope, artifact.name, artifact.version)


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


class Repair(msgspec.Struct, rename="camel"):
    """A stage that gets another artifact than the requested one, which is missing."""

    stage: str
    plugin_type: str
    plugin_name: str
    requested: ArtifactSelector
    artifact: ArtifactId
    """The artifact that the stage gets."""

    def __str__(self) -> str:
        chosen = f"{self.artifact.name} {self.artifact.version}"
        return f"Stage '{self.stage}' uses {chosen} instead of {describe_selector(self.requested)}."


def create_repair(stage: StageUse, suggested: PluginRef) -> Repair:
    use = stage.plugin
    requested = use.artifact or ArtifactSelector()
    return Repair(stage.name, use.type, use.name, requested, suggested.artifact)


def apply_repairs(document: PipelineDocument, repairs: Iterable[Repair]) -> Any:
    """Return a copy of the document's source in which repaired stages name their new artifacts."""

    def change(repair: Repair) -> StageChange:
        return lambda stage: get_plugin_node(stage).update(
            artifact=artifact_to_json(repair.artifact)
        )

    return change_stages(document, {repair.stage: change(repair) for repair in repairs})
