"""Requests and answers about deployed pipelines. JSON names are those of CDAP 6 ``ApplicationRecord``."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any, Final

import msgspec

from localcdap.api.dataset.declaration import DatasetChange
from localcdap.api.errors import BadRequestError
from localcdap.api.failures import ArtifactId, ValidationFailure
from localcdap.api.metadata import PROGRAM_TYPES, WORKFLOW, WORKFLOW_NAME, MetadataEntity
from localcdap.api.pipeline import PipelineSpec
from localcdap.artifacts.parents import APP_VERSION
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.document.reader import STREAMING_ARTIFACTS
from localcdap.pipeline.library.import_problems import ImportProblem
from localcdap.pipeline.validation.plugin_templates import TemplateUse
from localcdap.pipeline.validation.repairs import Repair

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
