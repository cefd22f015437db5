"""The items of the library: deployed pipelines, drafts and plugin templates of a namespace.

The functions read and change them through the services; they run in threads and touch no widget.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from localcdap.artifacts.model import ArtifactSelector
from localcdap.artifacts.version import VersionRange
from localcdap.host.cdap import Cdap
from localcdap.pipeline.document.model import PipelineDocument, StageUse
from localcdap.pipeline.document.reader import TEMPLATE_MARK, read_document
from localcdap.pipeline.document.values import encode_document, format_json
from localcdap.pipeline.library.application_model import (
    Application,
    Deployment,
    DeployRequest,
    Draft,
    DraftRequest,
)
from localcdap.pipeline.validation.plugins import (
    PluginTemplate,
    Repair,
    apply_repairs,
    create_repair,
)
from localcdap.schedules.model import ScheduleSummary
from localcdap.text import plural
from localcdap.tui.labels import format_age
from localcdap.tui.lists import ListEntry

SavedPipeline = Application | Draft
LibraryItem = SavedPipeline | PluginTemplate


@dataclass(frozen=True)
class ItemVersion:
    """A version of a deployed pipeline, or a revision of a draft.

    :param id: the id that the services take.
    :param when: milliseconds since 1970.
    """

    id: str
    number: int
    when: int
    description: str = ""
    author: str = ""


@dataclass(frozen=True)
class ItemDetails:
    """An item with the data that is read only when the item is highlighted."""

    item: LibraryItem
    versions: Sequence[ItemVersion]
    """Newest first; empty for a template."""
    document: PipelineDocument | None
    """The newest version; None for a template."""
    schedules: Sequence[ScheduleSummary] = ()
    """Of a deployed pipeline."""


def list_items(cdap: Cdap, namespace: str) -> list[LibraryItem]:
    """Return all items of a namespace, by kind and name."""
    return [
        *cdap.applications.list_applications(namespace),
        *cdap.drafts.list_drafts(namespace),
        *cdap.templates.list_templates(namespace),
    ]


def build_key(item: LibraryItem) -> str:
    """Return the key that identifies an item in its namespace."""
    match item:
        case Application():
            return f"deployed {item.name}"
        case Draft():
            return f"draft {item.id}"
        case PluginTemplate():
            return f"template {item.plugin_type} {item.name}"


def build_entry(item: LibraryItem) -> ListEntry:
    """Return the line of an item in the list."""
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
                build_key(item), item.name, "▤", hint, "plugin templates", item.description
            )


def format_title(item: LibraryItem, version: ItemVersion | None) -> str:
    """Return the name of an item, with its version where one is given."""
    if version is None:
        return f"{'draft ' if isinstance(item, Draft) else ''}{item.name}"
    noun = "revision" if isinstance(item, Draft) else "version"
    return f"{item.name}, {noun} {version.number}"


def read_details(cdap: Cdap, namespace: str, item: LibraryItem) -> ItemDetails:
    """Return an item with its versions, its newest document and its schedules."""
    schedules: Sequence[ScheduleSummary] = ()
    match item:
        case Application():
            schedules = cdap.schedules.list_schedules(namespace, item.name)
            versions = [
                _read_application_version(e)
                for e in cdap.applications.list_versions(namespace, item.name)
            ]
        case Draft():
            versions = [
                _read_revision(each) for each in cdap.drafts.list_revisions(namespace, item.id)
            ]
        case PluginTemplate():
            return ItemDetails(item, [], None)
    text = export_version(cdap, namespace, item, versions[0])
    return ItemDetails(item, versions, read_document(text, item.name), schedules)


def export_version(
    cdap: Cdap, namespace: str, item: SavedPipeline, version: ItemVersion | None
) -> str:
    """Return the JSON of a version, or of the newest version for None."""
    if isinstance(item, Application):
        return cdap.applications.export(namespace, item.name, version.id if version else None)
    return cdap.drafts.export(namespace, item.id, int(version.id) if version else None)


def rename_item(cdap: Cdap, namespace: str, item: LibraryItem, name: str) -> Deployment | None:
    """Rename an item.

    :returns: the deployment under the new name, for a deployed pipeline; a pipeline with failures keeps its
        name.
    :raises ConflictError: when the name is in use.
    """
    match item:
        case Draft():
            text = cdap.drafts.export(namespace, item.id)
            cdap.drafts.save(namespace, DraftRequest(text, name=name), item.id)
        case PluginTemplate():
            cdap.templates.save(namespace, _copy_template(item, name))
            cdap.templates.delete(namespace, item.name, item.plugin_type)
        case Application():
            text = cdap.applications.export(namespace, item.name)
            change = f"renamed from {item.name}"
            request = DeployRequest(text, namespace, name=name, change=change)
            deployment = cdap.applications.deploy(request)
            if deployment.application is not None:
                cdap.applications.delete(namespace, item.name)
            return deployment
    return None


def duplicate_item(cdap: Cdap, namespace: str, item: LibraryItem, name: str) -> str:
    """Save a copy of an item, a pipeline as a draft. Return the key of the copy."""
    if isinstance(item, PluginTemplate):
        copied = _copy_template(item, name)
        cdap.templates.save(namespace, copied)
        return build_key(copied)
    text = export_version(cdap, namespace, item, None)
    return build_key(cdap.drafts.save(namespace, DraftRequest(text, name=name)))


def delete_item(cdap: Cdap, namespace: str, item: LibraryItem) -> None:
    """Delete an item with all its versions."""
    match item:
        case Application():
            cdap.applications.delete(namespace, item.name)
        case Draft():
            cdap.drafts.delete(namespace, item.id)
        case PluginTemplate():
            cdap.templates.delete(namespace, item.name, item.plugin_type)


def upgrade_pipeline(cdap: Cdap, namespace: str, text: str) -> tuple[str, list[Repair]]:
    """Return a pipeline with the newest installed plugins, and the changes.

    A stage whose version range includes the newest version stays as it is.
    """
    document = read_document(text)
    repairs = [
        repair
        for stage in (*document.stages, *document.post_actions)
        if (repair := _upgrade_stage(cdap, namespace, stage)) is not None
    ]
    return format_json(encode_document(apply_repairs(document, repairs))), repairs


def save_upgraded(cdap: Cdap, namespace: str, item: SavedPipeline, text: str) -> Deployment | None:
    """Deploy an upgraded pipeline as its next version, or save an upgraded draft as its next revision."""
    if isinstance(item, Draft):
        cdap.drafts.save(namespace, DraftRequest(text, name=item.name), item.id)
        return None
    change = "newest plugins"
    return cdap.applications.deploy(
        DeployRequest(text, namespace, name=item.name, change=change, parent_version=item.version)
    )


def build_document_with_template(template: PluginTemplate) -> str:
    """Return the JSON of a pipeline whose only stage uses a template."""
    plugin = {
        "name": template.plugin_name,
        "type": template.plugin_type,
        TEMPLATE_MARK: template.name,
        "properties": template.properties,
    }
    stage = {"name": template.name, "plugin": plugin}
    return json.dumps({"name": "pipeline", "config": {"stages": [stage], "connections": []}})


def _upgrade_stage(cdap: Cdap, namespace: str, stage: StageUse) -> Repair | None:
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


def _copy_template(template: PluginTemplate, name: str) -> PluginTemplate:
    import msgspec

    return msgspec.structs.replace(template, name=name)


def _read_application_version(application: Application) -> ItemVersion:
    change = application.change
    return ItemVersion(
        application.version,
        application.number,
        change.creation_time_millis,
        change.description or "",
        change.author,
    )


def _read_revision(draft: Draft) -> ItemVersion:
    return ItemVersion(str(draft.revision), draft.revision, draft.updated_time_millis)


def count_items(items: Sequence[LibraryItem]) -> str:
    """Return the number of items of each kind, in words."""
    kinds = {"deployed pipeline": Application, "draft": Draft, "template": PluginTemplate}
    return " · ".join(
        plural(sum(isinstance(item, kind) for item in items), noun) for noun, kind in kinds.items()
    )
