"""What a namespace keeps of pipelines: deployed ones, drafts, templates of plugins."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from localcdap.artifacts.model import ArtifactSelector
from localcdap.artifacts.version import VersionRange
from localcdap.host.cdap import Cdap
from localcdap.pipeline.document.model import PipelineDocument, StageUse
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.document.stages import TEMPLATE_MARK
from localcdap.pipeline.library.application_model import Application, Deployment, DeployRequest
from localcdap.pipeline.library.draft_model import Draft, DraftRequest
from localcdap.pipeline.library.export import encode_document, format_json
from localcdap.pipeline.validation.plugin_templates import PluginTemplate
from localcdap.pipeline.validation.repairs import Repair, apply_repairs, create_repair
from localcdap.text import plural
from localcdap.tui.labels import format_age
from localcdap.tui.lists.filtered_list import ListEntry

SavedPipeline = Application | Draft
LibraryItem = SavedPipeline | PluginTemplate


@dataclass(frozen=True)
class ItemVersion:
    """One version of a deployed pipeline, or one revision of a draft.

    :param id: what the services know it by.
    """

    id: str
    number: int
    when: int
    told: str = ""
    author: str = ""


@dataclass(frozen=True)
class ItemDetails:
    """An item with what is read only when it is looked at."""

    item: LibraryItem
    versions: Sequence[ItemVersion]
    """Newest first; empty for a template."""
    document: PipelineDocument | None
    """The newest; None for a template."""


def list_items(cdap: Cdap, namespace: str) -> list[LibraryItem]:
    """Everything, by kind and name."""
    return [
        *cdap.applications.list_applications(namespace),
        *cdap.drafts.list_drafts(namespace),
        *cdap.templates.list_templates(namespace),
    ]


def build_key(item: LibraryItem) -> str:
    """What tells it from all others of the namespace."""
    match item:
        case Application():
            return f"deployed {item.name}"
        case Draft():
            return f"draft {item.id}"
        case PluginTemplate():
            return f"template {item.plugin_type} {item.name}"


def build_entry(item: LibraryItem) -> ListEntry:
    match item:
        case Application():
            hint = f"v{item.number} · {format_age(item.change.creation_time_millis)}"
            words = item.description or ""
            return ListEntry(build_key(item), item.name, "●", hint, "deployed", words)
        case Draft():
            hint = f"r{item.revision} · {format_age(item.updated_time_millis)}"
            words = item.description or ""
            return ListEntry(build_key(item), item.name, "✎", hint, "drafts", words)
        case PluginTemplate():
            hint = f"{item.plugin_type} {item.plugin_name}"
            return ListEntry(
                build_key(item), item.name, "▤", hint, "templates of plugins", item.description
            )


def format_title(item: LibraryItem, version: ItemVersion | None) -> str:
    """What an item and one of its versions are called."""
    if version is None:
        return f"{'draft ' if isinstance(item, Draft) else ''}{item.name}"
    noun = "revision" if isinstance(item, Draft) else "version"
    return f"{item.name}, {noun} {version.number}"


def open_item(cdap: Cdap, namespace: str, item: LibraryItem) -> ItemDetails:
    match item:
        case Application():
            versions = [
                _of_application(e) for e in cdap.applications.versions(namespace, item.name)
            ]
        case Draft():
            versions = [_of_draft(each) for each in cdap.drafts.revisions(namespace, item.id)]
        case PluginTemplate():
            return ItemDetails(item, [], None)
    text = export_version(cdap, namespace, item, versions[0])
    return ItemDetails(item, versions, read_document(text, item.name))


def export_version(
    cdap: Cdap, namespace: str, item: SavedPipeline, version: ItemVersion | None
) -> str:
    """The JSON of a version; of the newest for None."""
    if isinstance(item, Application):
        return cdap.applications.export(namespace, item.name, version.id if version else None)
    return cdap.drafts.export(namespace, item.id, int(version.id) if version else None)


def rename(cdap: Cdap, namespace: str, item: LibraryItem, name: str) -> Deployment | None:
    """Give an item another name.

    :returns: of a deployed pipeline what became of it; it keeps its name when it has failures.
    :raises ConflictError: when there is one of that name.
    """
    match item:
        case Draft():
            text = cdap.drafts.export(namespace, item.id)
            cdap.drafts.save(namespace, DraftRequest(text, name=name), item.id)
        case PluginTemplate():
            cdap.templates.save(namespace, _named(item, name))
            cdap.templates.delete(namespace, item.name, item.plugin_type)
        case Application():
            text = cdap.applications.export(namespace, item.name)
            change = f"renamed from {item.name}"
            request = DeployRequest(text, namespace, name=name, change=change)
            answer = cdap.applications.deploy(request)
            if answer.application is not None:
                cdap.applications.delete(namespace, item.name)
            return answer
    return None


def duplicate(cdap: Cdap, namespace: str, item: LibraryItem, name: str) -> str:
    """A draft of a pipeline, or another template; the key of that."""
    if isinstance(item, PluginTemplate):
        copied = _named(item, name)
        cdap.templates.save(namespace, copied)
        return build_key(copied)
    text = export_version(cdap, namespace, item, None)
    return build_key(cdap.drafts.save(namespace, DraftRequest(text, name=name)))


def delete(cdap: Cdap, namespace: str, item: LibraryItem) -> None:
    match item:
        case Application():
            cdap.applications.delete(namespace, item.name)
        case Draft():
            cdap.drafts.delete(namespace, item.id)
        case PluginTemplate():
            cdap.templates.delete(namespace, item.name, item.plugin_type)


def upgrade(cdap: Cdap, namespace: str, text: str) -> tuple[str, list[Repair]]:
    """A pipeline with the newest plugins that are here, and what was changed for that.

    A stage whose range of versions accepts the newest one stays as it is.
    """
    document = read_document(text)
    repairs = [
        repair
        for stage in (*document.stages, *document.post_actions)
        if (repair := _upgrade(cdap, namespace, stage)) is not None
    ]
    return format_json(encode_document(apply_repairs(document, repairs))), repairs


def save_upgraded(cdap: Cdap, namespace: str, item: SavedPipeline, text: str) -> Deployment | None:
    """Deploy it as the next version, or save it as the next revision."""
    if isinstance(item, Draft):
        cdap.drafts.save(namespace, DraftRequest(text, name=item.name), item.id)
        return None
    change = "newest plugins"
    return cdap.applications.deploy(
        DeployRequest(text, namespace, name=item.name, change=change, parent_version=item.version)
    )


def build_document_with_template(template: PluginTemplate) -> str:
    """The JSON of a pipeline whose only stage uses a template."""
    plugin = {
        "name": template.plugin_name,
        "type": template.plugin_type,
        TEMPLATE_MARK: template.name,
        "properties": template.properties,
    }
    stage = {"name": template.name, "plugin": plugin}
    return json.dumps({"name": "pipeline", "config": {"stages": [stage], "connections": []}})


def _upgrade(cdap: Cdap, namespace: str, stage: StageUse) -> Repair | None:
    asked, plugin = stage.plugin.artifact, stage.plugin
    if asked is None or not asked.version or not plugin.type or not plugin.name:
        return None
    same = ArtifactSelector(name=asked.name)
    newest = cdap.artifacts.find_plugin(namespace, plugin.type, plugin.name, same).plugin
    found = newest or cdap.artifacts.find_plugin(namespace, plugin.type, plugin.name).plugin
    if found is None:
        return None
    accepted = ArtifactSelector(asked.scope, asked.name, asked.version)
    taken = cdap.artifacts.find_plugin(namespace, plugin.type, plugin.name, accepted).plugin
    is_range = not VersionRange.parse(asked.version).is_exact
    if taken == found and (is_range or asked.version == found.artifact.version):
        return None
    return create_repair(stage, found)


def _named(template: PluginTemplate, name: str) -> PluginTemplate:
    import msgspec

    return msgspec.structs.replace(template, name=name)


def _of_application(application: Application) -> ItemVersion:
    change = application.change
    told = change.description or ""
    when = change.creation_time_millis
    return ItemVersion(application.version, application.number, when, told, change.author)


def _of_draft(draft: Draft) -> ItemVersion:
    return ItemVersion(str(draft.revision), draft.revision, draft.updated_time_millis)


def count_items(items: Sequence[LibraryItem]) -> str:
    """How many there are of each kind."""
    kinds = {"deployed pipeline": Application, "draft": Draft, "template": PluginTemplate}
    return " · ".join(
        plural(sum(isinstance(item, kind) for item in items), noun) for noun, kind in kinds.items()
    )
