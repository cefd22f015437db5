"""Keeping a pipeline: as a draft, as a file, as a deployed application."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from localcdap.api.errors import ConflictError
from localcdap.host.cdap import Cdap
from localcdap.pipeline.library.application_model import Deployment, DeployRequest
from localcdap.pipeline.library.draft_model import DraftRequest
from localcdap.tui.pipeline.sources import Source, stamp_of
from localcdap.tui.routes import DeployedTarget, DraftTarget, PipelineFileTarget
from localcdap.tui.system.atomic_files import write_file


def saved_file(source: Source, path: Path, text: str, *, is_forced: bool = False) -> Source:
    """The source of what was just written to a file. Called in a thread.

    :param is_forced: what another program wrote there meanwhile is overwritten.
    :raises ConflictError: when another program changed the file meanwhile.
    """
    stamp = stamp_of(path)
    if not is_forced and path == source.path and stamp is not None and stamp != source.stamp:
        raise ConflictError(f"{path} was changed by another program.", "Open it again.")
    write_file(path, text)
    name = source.name if path == source.path else path.stem
    return Source(PipelineFileTarget(path), name, path=path, stamp=stamp_of(path))


def saved_draft(
    cdap: Cdap,
    namespace: str,
    source: Source,
    text: str,
    name: str,
    *,
    is_forced: bool = False,
) -> Source:
    """The source of what was just kept as a draft. Called in a thread.

    :param name: another one than the source's makes a draft of its own.
    :param is_forced: what another studio saved meanwhile is overwritten.
    :raises ConflictError: when another studio saved it meanwhile.
    """
    is_same = source.draft is not None and name == source.name
    request = DraftRequest(
        text,
        name=name,
        revision=source.revision if is_same and not is_forced else None,
        parent_version=source.version,
        file=source.file,
    )
    draft = cdap.drafts.save(namespace, request, source.draft if is_same else None)
    return replace(
        source,
        target=DraftTarget(draft.id),
        name=draft.name,
        path=None,
        draft=draft.id,
        revision=draft.revision,
    )


def deployed(
    cdap: Cdap,
    namespace: str,
    source: Source,
    text: str,
    name: str,
    change: str | None,
    *,
    is_forced: bool = False,
) -> tuple[Deployment, Source]:
    """What became of a pipeline that was to be deployed. Called in a thread.

    :param is_forced: what was deployed meanwhile does not matter.
    :raises ConflictError: when another version was deployed meanwhile.
    """
    is_same = source.application == name and not is_forced
    request = DeployRequest(
        text,
        namespace=namespace,
        name=name,
        file=source.file,
        change=change or None,
        parent_version=source.version if is_same else None,
    )
    deployment = cdap.applications.deploy(request)
    application = deployment.application
    if application is None:
        return deployment, source
    target = DeployedTarget(application.name)
    made = Source(
        target, application.name, application=application.name, version=application.version
    )
    return deployment, made
