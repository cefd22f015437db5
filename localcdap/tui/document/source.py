"""Where open pipelines come from and where they are saved."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.artifacts.parents import APP_VERSION, APPS
from localcdap.host.cdap import Cdap
from localcdap.pipeline.editing.edited_document import EditedDocument as Sheet
from localcdap.tui.document.local_document import Paper
from localcdap.tui.routes import (
    DeployedTarget,
    DocumentTarget,
    DraftTarget,
    NavigationTarget,
    NewPipelineTarget,
    PipelineFileTarget,
)

_MOST_BYTES: Final = 64 * 2**20
"""No pipeline is longer; a larger file is something else."""


@dataclass(frozen=True)
class Source:
    """Where a document came from.

    :param name: what the pipeline is called there; None where only the document says it.
    """

    target: NavigationTarget
    name: str | None = None
    path: Path | None = None
    stamp: int | None = None
    """When the file was changed last, as far as is known here: nanoseconds since 1970."""
    draft: str | None = None
    """The id of a draft."""
    revision: int | None = None
    """The draft's revision that was opened or saved last."""
    application: str | None = None
    version: str | None = None
    """The id of the application's version that was opened or deployed last."""

    @property
    def file(self) -> str | None:
        """The file, named in errors."""
        return None if self.path is None else str(self.path)

    @property
    def kind(self) -> str:
        """What it is, in a word or two."""
        if self.path is not None:
            return "file"
        if self.draft is not None:
            return "draft"
        if self.application is not None:
            return "deployed"
        return "not saved"

    def detached(self) -> Source:
        """The same for another namespace, where there is no such draft or application."""
        if self.path is not None:
            return replace(self, draft=None, revision=None, application=None, version=None)
        return Source(NewPipelineTarget(self.name or "pipeline"), self.name)


def load(cdap: Cdap, namespace: str, target: NavigationTarget) -> tuple[Source, Paper]:
    """The document at a place. Called in a thread.

    :raises LocalcdapError: when there is none, or it is no pipeline.
    """
    source, text = _read(cdap, namespace, target)
    draft, _ = Sheet.read(text, source.file)
    return source, Paper(draft)


def _read(cdap: Cdap, namespace: str, target: NavigationTarget) -> tuple[Source, str]:
    match target:
        case PipelineFileTarget(path=path):
            return Source(target, path.stem, path=path, stamp=stamp_of(path)), _text_of(path)
        case DraftTarget(id=key):
            draft = cdap.drafts.get(namespace, key)
            source = Source(
                DraftTarget(draft.id), draft.name, draft=draft.id, revision=draft.revision
            )
            return source, cdap.drafts.export(namespace, draft.id)
        case DeployedTarget(name=name, version=version):
            found = cdap.applications.describe(namespace, name, version)
            source = Source(target, name, application=name, version=found.version)
            return source, cdap.applications.export(namespace, name, found.version)
        case DocumentTarget(name=name, text=text):
            return Source(target, name), text
        case NewPipelineTarget(name=name):
            return Source(target, name), empty(name)
    raise BadRequestError(f"{target} is no place of a pipeline.")


def stamp_of(path: Path) -> int | None:
    """When a file was changed last; None when there is none."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


def empty(name: str) -> str:
    """A pipeline without stages."""
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


def _text_of(path: Path) -> str:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise BadRequestError(f"{path} is too large to be a pipeline.")
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise NotFoundError(
            f"{path} cannot be read: {error.strerror or error}.", "Choose another file."
        ) from None
    except UnicodeDecodeError:
        raise BadRequestError(f"{path} is no text in UTF-8.", "Choose a JSON file.") from None
