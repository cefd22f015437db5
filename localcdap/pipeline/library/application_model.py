"""Deployed pipelines, as they are told. Names in JSON are those of CDAP 6 ``ApplicationRecord``."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.failures import ArtifactId, ValidationFailure
from localcdap.artifacts.parents import APP_VERSION
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.library.import_problems import ImportProblem
from localcdap.pipeline.validation.plugin_templates import TemplateUse
from localcdap.pipeline.validation.repairs import Repair

LATEST: Final = ("latest", "-SNAPSHOT")
"""What stands for the latest version; the second one is what every version was called before CDAP 6.8."""
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]+")


class ChangeDetail(msgspec.Struct, rename="camel"):
    """Who made a version, when and why."""

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
    """The application's own, such as ``cdap-data-pipeline``."""
    change: ChangeDetail


class ApplicationPlugin(msgspec.Struct):
    """A plugin that a pipeline uses."""

    id: str
    """The stage."""
    name: str
    type: str


class ApplicationDetail(Application, rename="camel"):
    """A version of a deployed pipeline, with what is in it."""

    copy_configuration: str
    """JSON text of the configuration, as it was given."""
    plugins: list[ApplicationPlugin]


class DeployRequest(msgspec.Struct, rename="camel"):
    """A pipeline to deploy."""

    document: Any
    """The pipeline document, its JSON text or decoded JSON."""
    namespace: str = "default"
    name: str | None = None
    """What the application is called; by default as the document says, else :attr:`fallback_name`."""
    fallback_name: str | None = None
    """For a document without a name, for instance the file's name."""
    file: str | None = None
    """Where the document came from, named in errors."""
    fix: bool = False
    """Write the repairs of the import problems into the document first."""
    change: str | None = None
    """What is new in this version; by default ``change.description`` of the document."""
    parent_version: str | None = None
    """The version that this one was made from: when it is not the latest any more, nothing is deployed."""


class Deployment(msgspec.Struct, rename="camel"):
    """The answer to a request to deploy."""

    name: str
    application: Application | None
    """None when the pipeline has failures; nothing was stored then."""
    errors: list[ValidationFailure]
    warnings: list[ValidationFailure]
    problems: list[ImportProblem]
    """What the document asks for and this instance does not have just so, repaired or not."""
    repairs: list[Repair]
    """What was changed in the document, by stage."""
    templates: list[TemplateUse]
    """The stages that used templates of plugins, which are written out in what is kept."""
    upgrades: list[str]
    """What of the document has an old form and how it was read."""


def choose_application_name(request: DeployRequest, document: PipelineDocument) -> str:
    """Return what the application is called.

    :raises BadRequestError: when it cannot be called so, or there is no name at all.
    """
    name = request.name or document.name or request.fallback_name
    if not name:
        raise BadRequestError(
            "The pipeline has no name.", "Give it one with --name, or as 'name' in the document."
        )
    check_name(name)
    return name


def check_name(name: str) -> None:
    """:raises BadRequestError: when an application cannot be called so."""
    if not _NAME.fullmatch(name):
        fitting = re.sub(r"[^a-zA-Z0-9_-]+", "_", name).strip("_") or "pipeline"
        raise BadRequestError(
            f"Invalid application ID: {name}. Should only contain alphanumeric characters and _ or -.",
            f"Give it another one with --name, such as {fitting}.",
        )


def get_application_artifact(document: PipelineDocument) -> ArtifactId:
    """Return the artifact that a pipeline is an application of, in the version that localcdap stands for."""
    return ArtifactId(document.type.value, APP_VERSION.text, "SYSTEM")
