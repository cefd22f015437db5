"""Requests and answers about drafts. JSON names are those of CDAP 6 ``Draft`` and ``DraftStoreRequest``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.failures import ArtifactId
from localcdap.api.metadata import MetadataEntity
from localcdap.pipeline.document.model import PipelineDocument, PipelineType
from localcdap.pipeline.document.reader import BATCH_ARTIFACTS, STREAMING_ARTIFACTS
from localcdap.pipeline.document.source import require_text
from localcdap.pipeline.document.values import as_text
from localcdap.pipeline.library.application_model import get_application_artifact


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
