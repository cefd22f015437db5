"""Requests and answers about deployed pipelines and drafts.

JSON names are those of CDAP 6 ``ApplicationRecord``, ``Draft`` and ``DraftStoreRequest``.
"""

from __future__ import annotations

import enum
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from localcdap.api.dataset.definition import DatasetChange
from localcdap.api.errors import BadRequestError
from localcdap.api.failures import ArtifactId, ValidationFailure
from localcdap.api.metadata import PROGRAM_TYPES, WORKFLOW, WORKFLOW_NAME, MetadataEntity
from localcdap.api.pipeline import PipelineSpec
from localcdap.artifacts.model import ArtifactSelector, PluginLookup, PluginRef
from localcdap.artifacts.version import APP_VERSION, ArtifactVersion, VersionRange
from localcdap.pipeline.document.model import PipelineDocument, PipelineType, StageUse
from localcdap.pipeline.document.reader import BATCH_ARTIFACTS, STREAMING_ARTIFACTS
from localcdap.pipeline.document.values import as_text, require_text
from localcdap.pipeline.validation.plugins import (
    PluginFinder,
    Repair,
    TemplateUse,
    create_repair,
    describe_selector,
)


class ProblemKind(enum.StrEnum):
    """The difference between the available plugin and the requested one."""

    RANGE = "range"
    """The version is a range: the plugin depends on what is installed. No failure where a version fits."""
    VERSION = "version"
    """Another version of the artifact is installed."""
    SCOPE = "scope"
    """The artifact is installed in the other scope."""
    ARTIFACT = "artifact"
    """Another artifact has the plugin."""
    UNREADABLE = "unreadable"
    """Scope or version cannot be read."""
    MISSING = "missing"
    """There is no such plugin; the only kind without a repair."""


class ImportProblem(msgspec.Struct, rename="camel"):
    """A stage whose plugin is not available exactly as requested."""

    stage: str
    kind: ProblemKind
    plugin_type: str
    plugin_name: str
    requested: ArtifactSelector
    message: str
    repair: ArtifactId | None
    """The artifact that the stage should name instead; None when there is none."""


def find_import_problems(
    document: PipelineDocument, finder: PluginFinder
) -> list[tuple[ImportProblem, Repair | None]]:
    """Return the problems of every stage and post action in document order, with their repairs."""
    return [
        found
        for stage in (*document.stages, *document.post_actions)
        if stage.plugin.type and stage.plugin.name
        for found in _check_stage(stage, finder)
    ]


def _check_stage(
    stage: StageUse, finder: PluginFinder
) -> Iterator[tuple[ImportProblem, Repair | None]]:
    asked = stage.plugin.artifact or ArtifactSelector()
    try:
        lookup = finder.find(stage.name, stage.plugin)
        range_ = VersionRange.parse(asked.version) if asked.version else None
    except BadRequestError as error:
        found = _find(stage, finder, ArtifactSelector())
        yield _create_problem(stage, asked, ProblemKind.UNREADABLE, found.plugin, error.message)
        return
    is_range = range_ is not None and not range_.is_exact
    if lookup.plugin is not None:
        if is_range:
            yield _create_problem(
                stage, asked, ProblemKind.RANGE, lookup.plugin, "the version in use is"
            )
        return
    if lookup.suggested is None:
        similar = f"; similar names: {', '.join(lookup.nearest)}" if lookup.nearest else ""
        what = (
            f"no plugin '{stage.plugin.name}' of type '{stage.plugin.type}' is installed{similar}"
        )
        yield _create_problem(stage, asked, ProblemKind.MISSING, None, what)
        return
    other = _find_in_other_scope(stage, finder, asked)
    if other is not None:
        yield _create_problem(stage, asked, ProblemKind.SCOPE, other, "the other scope has")
    else:
        yield _create_problem(
            stage, asked, *_describe_difference(asked, lookup.suggested, is_range)
        )


def _find_in_other_scope(
    stage: StageUse, finder: PluginFinder, asked: ArtifactSelector
) -> PluginRef | None:
    if not asked.scope:
        return None
    return _find(stage, finder, msgspec.structs.replace(asked, scope=None)).plugin


def _describe_difference(
    asked: ArtifactSelector, suggested: PluginRef, is_range: bool
) -> tuple[ProblemKind, PluginRef, str]:
    """Return the kind, the repair, and the words before its name in the message."""
    found = suggested.artifact
    if asked.name and asked.name != found.name:
        return ProblemKind.ARTIFACT, suggested, "the plugin is in another artifact,"
    if is_range or not asked.version:
        return ProblemKind.RANGE, suggested, "no installed version fits; installed is"
    is_newer = ArtifactVersion(found.version) > ArtifactVersion(asked.version)
    return (
        ProblemKind.VERSION,
        suggested,
        f"installed is {'a newer' if is_newer else 'an older'} version,",
    )


def _find(stage: StageUse, finder: PluginFinder, selector: ArtifactSelector) -> PluginLookup:
    return finder.find(stage.name, msgspec.structs.replace(stage.plugin, artifact=selector))


def _create_problem(
    stage: StageUse, asked: ArtifactSelector, kind: ProblemKind, found: PluginRef | None, what: str
) -> tuple[ImportProblem, Repair | None]:
    use = stage.plugin
    repair = create_repair(stage, found) if found is not None else None
    shown = ""
    if found is not None and kind is not ProblemKind.UNREADABLE:
        artifact = found.artifact
        shown = f" {artifact.name} {artifact.version} ({artifact.scope})"
    message = f"Stage '{stage.name}' asks for {describe_selector(asked)}: {what}{shown}"
    return (
        ImportProblem(
            stage.name,
            kind,
            use.type,
            use.name,
            asked,
            message if message.endswith(".") else f"{message}.",
            found.artifact if found is not None else None,
        ),
        repair,
    )


LATEST: Final = ("latest", "-SNAPSHOT")
"""Aliases of the latest version; before CDAP 6.8 every version was called ``-SNAPSHOT``."""
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]+")


class ChangeDetail(msgspec.Struct, rename="camel"):
    """Author, time and description of a version."""

    author: str
    description: str | None
    creation_time_millis: int
    latest: bool


class Application(msgspec.Struct, rename="camel"):
    """A version of a deployed pipeline."""

    namespace: str
    name: str
    version: str
    """A time-based UUID."""
    number: int
    """1 for the first version; easier to type."""
    description: str | None
    artifact: ArtifactId
    """The application artifact, such as ``cdap-data-pipeline``."""
    change: ChangeDetail


class ApplicationPlugin(msgspec.Struct):
    """A plugin that a pipeline uses."""

    id: str
    """The stage."""
    name: str
    type: str


class ApplicationDetail(Application, rename="camel"):
    """A version of a deployed pipeline, with its configuration and plugins."""

    copy_configuration: str
    """JSON text of the configuration, as it was deployed."""
    plugins: list[ApplicationPlugin]
    spec: PipelineSpec | None = None
    """The specification that the deployment resolved: the exact artifact of each plugin, and all schemas
    (design "Pipeline System Application"; CDAP 6: the program's properties). A run takes these artifacts,
    and configures the stages with them. None for a version that was deployed before specifications were kept.
    """


class NameMatch(StrEnum):
    """How a name is compared with a filter (CDAP 6 ``NameFilterType``)."""

    CONTAINS = "CONTAINS"
    """In any case of the letters."""
    EQUALS = "EQUALS"
    EQUALS_IGNORE_CASE = "EQUALS_IGNORE_CASE"


class ApplicationFilter(msgspec.Struct, frozen=True, rename="camel"):
    """A filter for the applications of a namespace, and their order; by default all, by name."""

    artifact_names: list[str] = []
    """The application artifacts, such as ``cdap-data-pipeline``; empty for all."""
    artifact_version: str | None = None
    name: str = ""
    """What is compared with names; empty for all."""
    is_descending: bool = False
    """Whether the last name comes first."""
    match: NameMatch = NameMatch.CONTAINS

    def matches(self, name: str) -> bool:
        """Whether a name is one that is asked for."""
        if not self.name:
            return True
        if self.match is NameMatch.EQUALS:
            return name == self.name
        wanted, given = self.name.lower(), name.lower()
        return wanted in given if self.match is NameMatch.CONTAINS else wanted == given


class DeployRequest(msgspec.Struct, rename="camel"):
    """A pipeline to deploy."""

    document: Any
    """The pipeline document, its JSON text or decoded JSON."""
    namespace: str = "default"
    name: str | None = None
    """The application's name; by default the name in the document, else :attr:`fallback_name`."""
    fallback_name: str | None = None
    """The name for a document without a name, for instance the file's name."""
    file: str | None = None
    """The file of the document, for error messages."""
    fix: bool = False
    """Write the repairs of the import problems into the document first."""
    change: str | None = None
    """The description of the change; by default ``change.description`` of the document."""
    parent_version: str | None = None
    """The version that this one is based on; nothing is deployed when it is no longer the latest."""


class Deployment(msgspec.Struct, rename="camel"):
    """The answer to a request to deploy."""

    name: str
    application: Application | None
    """The deployed application; None when the pipeline has failures and was not deployed."""
    errors: list[ValidationFailure]
    warnings: list[ValidationFailure]
    problems: list[ImportProblem]
    """Plugins that this instance does not have exactly as requested, repaired or not."""
    repairs: list[Repair]
    """The changes that were made in the document, by stage."""
    templates: list[TemplateUse]
    """The stages that used plugin templates, which the deployed document replaces by plugins."""
    upgrades: list[str]
    """The old forms in the document, and how they were read."""
    datasets: list[DatasetChange] = []
    """The datasets that the deployment has created or updated."""


def choose_application_name(request: DeployRequest, document: PipelineDocument) -> str:
    """Return the name of the application.

    :raises BadRequestError: when there is no name, or it is invalid.
    """
    name = request.name or document.name or request.fallback_name
    if not name:
        raise BadRequestError(
            "The pipeline has no name.", "Give it one with --name, or as 'name' in the document."
        )
    check_application_name(name)
    return name


def check_application_name(name: str) -> None:
    """Check the name of an application.

    :raises BadRequestError: when it is invalid.
    """
    if not _NAME.fullmatch(name):
        fitting = re.sub(r"[^a-zA-Z0-9_-]+", "_", name).strip("_") or "pipeline"
        raise BadRequestError(
            f"Invalid application ID: {name}. Should only contain alphanumeric characters and _ or -.",
            f"Give it another one with --name, such as {fitting}.",
        )


def get_application_artifact(document: PipelineDocument) -> ArtifactId:
    """Return the application artifact of a pipeline, in the CDAP version that localcdap implements."""
    return ArtifactId(document.type.value, APP_VERSION.text, "SYSTEM")


def get_program(artifact: ArtifactId) -> tuple[str, str]:
    """Return the name and the type of the program that runs the pipelines of an application artifact.

    They are those of CDAP 6 ``SmartWorkflow`` and ``DataStreamsSparkLauncher``.
    """
    if artifact.name.lower() in STREAMING_ARTIFACTS:
        return "DataStreamsSparkStreaming", PROGRAM_TYPES["spark"]
    return WORKFLOW_NAME, WORKFLOW


def list_entities(application: Application) -> list[MetadataEntity]:
    """Return the entities of an application and of its program."""
    name, namespace = application.name, application.namespace
    program, type = get_program(application.artifact)
    return [
        MetadataEntity.of_application(name, namespace),
        MetadataEntity.of_program(program, type, name, namespace),
    ]


class Draft(msgspec.Struct, rename="camel"):
    """A revision of a draft."""

    id: str
    name: str
    description: str | None
    artifact: ArtifactId
    """The application's own, such as ``cdap-data-pipeline``."""
    revision: int
    """1 after the first save."""
    hash: str
    """The hash of the saved content; the ``previousHash`` of the next save."""
    parent_version: str | None
    """The application version that the draft edits."""
    created_time_millis: int
    updated_time_millis: int
    user: str | None = None
    """Who saved this revision; None for a revision of an earlier version."""
    config: Any = msgspec.UNSET
    """The configuration as it was saved; absent where it was not requested."""


def get_draft_entity(namespace: str, draft: Draft) -> MetadataEntity:
    """Return the custom entity of a draft, which has the type ``draft``."""
    return MetadataEntity.of_namespace(namespace).append("draft", draft.id)


class DraftRequest(msgspec.Struct, rename="camel"):
    """A pipeline to save as a draft; it need not be valid."""

    document: Any
    """The pipeline document, its JSON text or decoded JSON."""
    name: str | None = None
    """The name of the draft; by default the name in the document, else :attr:`fallback_name`."""
    description: str | None = None
    """The description of the draft; by default that in the document."""
    previous_hash: str | None = None
    """The hash of the revision that this one is based on; None, or empty, when it is not known."""
    revision: int | None = None
    """The number of the revision that this one is based on; None, or 0, when it is not known."""
    parent_version: str | None = None
    file: str | None = None
    """The file of the document, for error messages."""
    fallback_name: str | None = None
    """The name for a document without a name, for instance the file's name."""


def choose_draft_name(request: DraftRequest, document: PipelineDocument) -> str:
    """Return the name of a draft.

    :raises BadRequestError: when there is none, or it is not valid UTF-8.
    """
    name = request.name or document.name or request.fallback_name
    if not name:
        raise BadRequestError(
            "The draft has no name.", "Give it one with --name, or as 'name' in the document."
        )
    require_text(name, request.description or "")
    return name


def choose_draft_artifact(document: PipelineDocument) -> ArtifactId:
    """Return the application's artifact, guessed for a bare configuration.

    :raises BadRequestError: when it is not a pipeline artifact (messages of CDAP 6 ``DraftHandler``).
    """
    source = document.source
    given = source.get("artifact") if isinstance(source, Mapping) else None
    if given is None and "artifact" in source:
        raise BadRequestError(
            "artifact is null", f"Name '{PipelineType.BATCH.value}' as the artifact."
        )
    name = document.artifact_name
    if name is not None and name.lower() not in BATCH_ARTIFACTS | STREAMING_ARTIFACTS:
        raise BadRequestError(
            f"Invalid config: artifact '{name}' is not supported, valid options are: "
            f"'{PipelineType.BATCH.value}' or '{PipelineType.STREAMING.value}'"
        )
    default = get_application_artifact(document)
    if not isinstance(given, Mapping):
        return default
    return ArtifactId(
        as_text(given.get("name")) or default.name,
        as_text(given.get("version")) or default.version,
        (as_text(given.get("scope")) or default.scope).upper(),
    )


def hash_draft(name: str, description: str | None, document: PipelineDocument) -> str:
    """Return a hash of a draft's name, description and decoded document; JSON formatting does not matter."""
    content = json.dumps([name, description, document.source])
    return hashlib.sha256(content.encode()).hexdigest()
