"""The origin of an open pipeline, to which it is saved."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.artifacts.version import APP_VERSION, APPS
from localcdap.host.cdap import Cdap
from localcdap.pipeline.editing.edited_document import EditedDocument
from localcdap.tui.document.local_document import LocalDocument
from localcdap.tui.routes import (
    DeployedTarget,
    DocumentTarget,
    DraftTarget,
    NavigationTarget,
    NewPipelineTarget,
    PipelineFileTarget,
)

_MAX_BYTES: Final = 64 * 2**20
"""The longest file that is read as a pipeline."""


@dataclass(frozen=True)
class DocumentSource:
    """The origin of a document: a file, a draft or a deployed pipeline.

    :param name: the name of the pipeline there; None where only the document has one.
    """

    target: NavigationTarget
    name: str | None = None
    path: Path | None = None
    stamp: int | None = None
    """The modification time of the file when it was last read or saved, in nanoseconds since 1970."""
    draft: str | None = None
    """The id of a draft."""
    revision: int | None = None
    """The draft's revision that was opened or saved last."""
    application: str | None = None
    version: str | None = None
    """The id of the application's version that was opened or deployed last."""

    @property
    def file(self) -> str | None:
        """The path of the file, for error messages."""
        return None if self.path is None else str(self.path)

    @property
    def kind(self) -> str:
        """The kind of source, in one or two words."""
        if self.path is not None:
            return "file"
        if self.draft is not None:
            return "draft"
        if self.application is not None:
            return "deployed"
        return "not saved"

    def detach(self) -> DocumentSource:
        """Return the source for another namespace, which has no such draft or application."""
        if self.path is not None:
            return replace(self, draft=None, revision=None, application=None, version=None)
        return DocumentSource(NewPipelineTarget(self.name or "pipeline"), self.name)


def load_document(
    cdap: Cdap, namespace: str, target: NavigationTarget
) -> tuple[DocumentSource, LocalDocument]:
    """Read the document of a target. Runs in a thread.

    :raises LocalcdapError: when there is no document, or it is not a pipeline.
    """
    source, text = _read_source(cdap, namespace, target)
    edited, _ = EditedDocument.read(text, source.file)
    return source, LocalDocument(edited)


def _read_source(
    cdap: Cdap, namespace: str, target: NavigationTarget
) -> tuple[DocumentSource, str]:
    match target:
        case PipelineFileTarget(path=path):
            return DocumentSource(
                target, path.stem, path=path, stamp=read_stamp(path)
            ), _read_pipeline_text(path)
        case DraftTarget(id=key):
            draft = cdap.drafts.get(namespace, key)
            source = DocumentSource(
                DraftTarget(draft.id), draft.name, draft=draft.id, revision=draft.revision
            )
            return source, cdap.drafts.export(namespace, draft.id)
        case DeployedTarget(name=name, version=version):
            found = cdap.applications.describe(namespace, name, version)
            source = DocumentSource(target, name, application=name, version=found.version)
            return source, cdap.applications.export(namespace, name, found.version)
        case DocumentTarget(name=name, text=text):
            return DocumentSource(target, name), text
        case NewPipelineTarget(name=name):
            return DocumentSource(target, name), format_empty_pipeline(name)
    raise BadRequestError(f"{target} is not a pipeline.")


def read_stamp(path: Path) -> int | None:
    """Return when a file was changed last; None when there is no file."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


def format_empty_pipeline(name: str) -> str:
    """Return the JSON text of a pipeline without stages."""
    artifact = {"name": APPS[0], "version": APP_VERSION.text, "scope": "SYSTEM"}
    config = {
        "resources": {"memoryMB": 2048, "virtualCores": 1},
        "driverResources": {"memoryMB": 2048, "virtualCores": 1},
        "connections": [],
        "comments": [],
        "postActions": [],
        "properties": {},
        "processTimingEnabled": True,
        "stageLoggingEnabled": True,
        "stages": [],
        "schedule": "0 1 */1 * *",
        "engine": "spark",
        "numOfRecordsPreview": 100,
        "maxConcurrentRuns": 1,
    }
    document = {"name": name, "description": "", "artifact": artifact, "config": config}
    return json.dumps(document, indent=2)


def _read_pipeline_text(path: Path) -> str:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise BadRequestError(f"{path} is too large to be a pipeline.")
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise NotFoundError(
            f"{path} cannot be read: {error.strerror or error}.", "Choose another file."
        ) from None
    except UnicodeDecodeError:
        raise BadRequestError(f"{path} is not a text in UTF-8.", "Choose a JSON file.") from None
