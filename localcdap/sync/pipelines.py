"""Pipelines and drafts as files.

The file of a pipeline is what CDAP and Data Fusion export and import: ``artifact``, ``config``, ``name``. It
has the name that CDAP's source control gives it (``InMemorySourceControlOperationRunner``:
``<application>.json``), which reads it too: ``AppRequest`` takes ``config`` as well as ``configuration``.

The three-way merge of pipelines: by stage, by property in a stage, and by connection.
"""

from __future__ import annotations

import copy
import json
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import PurePosixPath
from typing import Any, Final

from localcdap.api.errors import ConflictError, LocalcdapError, NotFoundError
from localcdap.pipeline.document.model import PipelineDocument, copy_configuration
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.document.values import artifact_to_json
from localcdap.pipeline.library.application_model import (
    DeployRequest,
    DraftRequest,
    check_application_name,
    choose_application_name,
    choose_draft_name,
    get_application_artifact,
)
from localcdap.pipeline.library.applications import ApplicationService
from localcdap.pipeline.library.drafts import DraftService
from localcdap.sync.kinds import EntityKind, PlainSecret, ReadEntity, RefusedEntityError
from localcdap.sync.merge import (
    ABSENT,
    Bases,
    Choose,
    Lists,
    Merge,
    MergeConflict,
    Side,
    merge_documents,
)
from localcdap.sync.secrets import SecretFinder, find_in_values

_STAGES: Final = ("config", "stages")
_CONNECTIONS: Final = ("config", "connections")


def get_stage_name(stage: Any) -> str | None:
    """Return the name of the node of a stage; None when it has none."""
    name = stage.get("name") if isinstance(stage, dict) else None
    return name if isinstance(name, str) else None


def _get_ends(connection: Any) -> str | None:
    return json.dumps(connection, sort_keys=True) if isinstance(connection, dict) else None


PIPELINE_LISTS: Final[Lists] = {
    _STAGES: get_stage_name,
    ("config", "postActions"): get_stage_name,
    _CONNECTIONS: _get_ends,
}
"""The lists of a pipeline that are merged by element."""


def merge_pipelines(bases: Bases, mine: Any, theirs: Any, choose: Choose = lambda _: None) -> Merge:
    """Merge two pipelines by stage, connection and property.

    A stage that one side has removed, while the other has added a connection to it, is a conflict.
    """
    merge = merge_documents(bases, mine, theirs, PIPELINE_LISTS, choose)
    before, *sides = (_index_stages(each) for each in (bases.theirs, mine, theirs))
    for name in _list_loose_ends(merge.mine):
        path = [*_STAGES, name]
        is_removed = name in before and sum(name in side for side in sides) == 1
        if not is_removed or any(each.path == path for each in merge.conflicts):
            continue
        stages = [side.get(name, ABSENT) for side in sides]
        chosen = choose(path)
        if chosen is None:
            merge.conflicts.append(MergeConflict(path, before[name], *stages))
            continue
        stage = stages[0 if chosen is Side.MINE else 1]
        merge.mine = _complete_stage(merge.mine, name, stage)
        merge.theirs = _complete_stage(merge.theirs, name, stage)
    return merge


def _complete_stage(document: Any, name: str, stage: Any) -> Any:
    """Return a pipeline with a stage that its connections name, or without these connections."""
    completed = copy.deepcopy(document)  # it has parts of the documents that were merged
    config = completed["config"]
    if stage is not ABSENT:
        config.setdefault("stages", []).append(stage)
        return completed
    config["connections"] = [
        each
        for each in _get_at(completed, _CONNECTIONS)
        if not isinstance(each, dict) or name not in (each.get("from"), each.get("to"))
    ]
    return completed


def _index_stages(document: Any) -> dict[str, Any]:
    stages = _get_at(document, _STAGES)
    return {name: stage for stage in stages if (name := get_stage_name(stage)) is not None}


def _get_at(document: Any, path: tuple[str, ...]) -> list[Any]:
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    return document if isinstance(document, list) else []


def _list_loose_ends(document: Any) -> list[str]:
    """Return the names of stages that connections have and that do not exist."""
    connections, stages = _get_at(document, _CONNECTIONS), _index_stages(document)
    ends = [
        each.get(key) for each in connections if isinstance(each, dict) for key in ("from", "to")
    ]
    return [end for end in dict.fromkeys(ends) if isinstance(end, str) and end not in stages]


def normalize_pipeline(document: PipelineDocument) -> dict[str, Any]:
    """Return a document in the form of an export of CDAP, whatever its own form is.

    Keys that localcdap does not know stay. Of an application detail only the design stays, not what the
    server has added: versions, programs, datasets.
    """
    source = document.source
    if document.config_path == ("config",) and isinstance(source["config"], dict):
        return {key: copy.deepcopy(value) for key, value in source.items() if value is not None}
    found: dict[str, Any] = {"config": copy_configuration(document)}
    if document.name is not None:
        found["name"] = document.name
    if document.description is not None:
        found["description"] = document.description
    artifact = source.get("artifact") if document.config_path else None
    if not isinstance(artifact, dict):
        artifact = artifact_to_json(get_application_artifact(document))
        if document.artifact_version is not None:
            artifact["version"] = document.artifact_version
    found["artifact"] = copy.deepcopy(artifact)
    principal = source.get("principal", source.get("ownerPrincipal"))
    if isinstance(principal, str):
        found["principal"] = principal
    return found


def find_pipeline_secrets(
    finder: SecretFinder, namespace: str, document: dict[str, Any]
) -> list[PlainSecret]:
    """Return the secrets in the plugins and the properties of a pipeline."""
    return [
        secret
        for path, plugin, where in _list_plugins(document)
        for secret in finder.find_in_plugin(namespace, plugin, path, where)
    ] + find_in_values(_get_texts(document["config"]), ("config", "properties"), "property")


def _get_texts(config: Any) -> dict[str, str]:
    properties = config.get("properties") if isinstance(config, dict) else None
    found = properties if isinstance(properties, dict) else {}
    return {name: value for name, value in found.items() if isinstance(value, str)}


def _list_plugins(document: Any) -> Iterator[tuple[tuple[str, ...], Any, str]]:
    config = document.get("config")
    if not isinstance(config, dict):
        return
    for key in ("stages", "postActions", "source", "sinks", "transforms", "actions"):
        stages = config.get(key)
        for stage in stages if isinstance(stages, list) else [stages]:
            if isinstance(stage, dict):
                name = get_stage_name(stage) or "?"
                plugin = stage.get("plugin", stage)
                yield ("config", key, name, "plugin"), plugin, f"stage '{name}'"
    pushdown = config.get("transformationPushdown")
    if isinstance(pushdown, dict):
        path = ("config", "transformationPushdown", "plugin")
        yield path, pushdown.get("plugin"), "the plugin of transformationPushdown"


class PipelineEntities(EntityKind):
    """The latest versions of deployed pipelines; earlier versions stay in the instance."""

    name = "pipelines"
    noun = "pipeline"

    def __init__(self, applications: ApplicationService, secrets: SecretFinder) -> None:
        self._applications = applications
        self._secrets = secrets

    def list_documents(self, namespace: str) -> dict[str, Any]:
        found = self._applications.read_latest(namespace)
        return {
            name: normalize_pipeline(document) | {"name": name} for name, document in found.items()
        }

    def read(self, namespace: str, document: dict[str, Any], path: str) -> ReadEntity:
        found = read_document(document, path)
        request = DeployRequest(None, namespace, fallback_name=PurePosixPath(path).stem)
        name = choose_application_name(request, found)
        check_application_name(name)
        return ReadEntity(name, normalize_pipeline(found) | {"name": name})

    def write(self, namespace: str, key: str, document: Any) -> None:
        self.prepare_write(namespace, key, document, fix=False)()

    def prepare_write(
        self, namespace: str, key: str, document: Any, *, fix: bool
    ) -> Callable[[], None]:
        request = DeployRequest(document, namespace, key, fix=fix)
        prepared = self._applications.prepare(request)
        if prepared.pipeline is None:
            failures = [
                " ".join(filter(None, [each.stage and f"stage '{each.stage}':", each.message]))
                for each in prepared.answer.errors
            ]
            action = "Correct it in the studio or in its file."
            if any(each.suggested_artifact is not None for each in prepared.answer.errors):
                action = "The option --fix uses the installed versions of plugins."
            raise RefusedEntityError("it cannot be deployed: " + " ".join(failures), action)
        return partial(self._store, prepared)

    def _store(self, prepared: Any) -> None:
        self._applications.store_prepared(prepared)

    def delete(self, namespace: str, key: str) -> None:
        self._applications.delete(namespace, key)

    def find_secrets(self, namespace: str, document: Any) -> list[PlainSecret]:
        return find_pipeline_secrets(self._secrets, namespace, document)

    def merge(self, bases: Bases, mine: Any, theirs: Any, choose: Choose = lambda _: None) -> Merge:
        return merge_pipelines(bases, mine, theirs, choose)


class DraftEntities(EntityKind):
    """The latest revisions of drafts. A draft is known by its id, so that it can be renamed."""

    name = "drafts"
    noun = "draft"

    def __init__(self, drafts: DraftService, secrets: SecretFinder) -> None:
        self._drafts = drafts
        self._secrets = secrets

    def list_documents(self, namespace: str) -> dict[str, Any]:
        found = {}
        for draft in self._drafts.list_drafts(namespace):
            document = read_document(self._drafts.export(namespace, draft.id))
            own = {"id": draft.id, "name": draft.name}
            if draft.description is not None:
                own["description"] = draft.description
            found[draft.id] = normalize_pipeline(document) | own
        return found

    def read(self, namespace: str, document: dict[str, Any], path: str) -> ReadEntity:
        found = read_document(document, path)
        request = DraftRequest(None, fallback_name=PurePosixPath(path).stem)
        name = choose_draft_name(request, found)
        id = document.get("id")
        if not isinstance(id, str) or not id:
            id = self._find_id(namespace, name)
        return ReadEntity(id, normalize_pipeline(found) | {"id": id, "name": name})

    def _find_id(self, namespace: str, name: str) -> str:
        """Return the id of a draft whose file has none: that of the draft of its name, or always the same."""
        try:
            return self._drafts.get(namespace, name).id
        except (NotFoundError, ConflictError):
            return str(uuid.uuid5(uuid.NAMESPACE_URL, f"draft:{namespace}:{name}"))

    def write(self, namespace: str, key: str, document: Any) -> None:
        own = {name: value for name, value in document.items() if name != "id"}
        try:
            description = document.get("description")
            self._drafts.save(namespace, DraftRequest(own, document["name"], description), key)
        except LocalcdapError as error:
            raise RefusedEntityError(error.message, error.corrective_action) from None

    def delete(self, namespace: str, key: str) -> None:
        self._drafts.delete(namespace, key)

    def get_path_parts(self, key: str, document: Any) -> list[str]:
        return [document["name"]]

    def get_title(self, key: str, document: Any) -> str:
        return str(document["name"])

    def find_secrets(self, namespace: str, document: Any) -> list[PlainSecret]:
        return find_pipeline_secrets(self._secrets, namespace, document)

    def merge(self, bases: Bases, mine: Any, theirs: Any, choose: Choose = lambda _: None) -> Merge:
        return merge_pipelines(bases, mine, theirs, choose)
