"""Runs of deployed pipelines take the artifacts that the deployment chose, until they are deployed again.

CDAP keeps the specification of a deployment in the same way: a newer artifact, or one that a version range
of the document would select now, does not change what a deployed pipeline runs. Macros are evaluated in
each run.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from localcdap.api.errors import NotFoundError
from localcdap.api.failures import ARTIFACT_NOT_FOUND, ValidationFailure
from localcdap.api.pipeline import PipelineSpec
from localcdap.artifacts.model import ArtifactSelector
from localcdap.pipeline.document.model import PipelineDocument, StageUse
from localcdap.pipeline.library import application_records
from localcdap.runs.model import RunRequest
from localcdap.store.store import Store


def pin_plugins(store: Store, request: RunRequest, document: PipelineDocument) -> PipelineDocument:
    """Return the document with the artifacts that its deployment chose; that of a file is unchanged.

    It is unchanged too for a version that was deleted, or deployed before specifications were kept.
    """
    if request.application is None or request.application_version is None:
        return document
    try:
        with store.snapshot() as tx:
            found = application_records.find(
                tx, request.namespace, request.application, request.application_version
            )
            spec = application_records.read_spec(tx, found)
    except NotFoundError:
        return document
    return document if spec is None else _select_artifacts(document, spec)


def _select_artifacts(document: PipelineDocument, spec: PipelineSpec) -> PipelineDocument:
    plugins = [(each.name, each.plugin) for each in spec.stages]
    plugins += [(each.name, each.plugin) for each in spec.ending_actions]
    chosen = {(stage, each.type, each.name): each for stage, each in plugins}

    def select(stage: StageUse) -> StageUse:
        spec = chosen.get((stage.name, stage.plugin.type, stage.plugin.name))
        if spec is None:
            return stage
        artifact = spec.artifact
        selector = ArtifactSelector(artifact.scope, artifact.name, artifact.version)
        pinned = msgspec.structs.replace(stage.plugin, artifact=selector, uses=tuple(spec.uses))
        return msgspec.structs.replace(stage, plugin=pinned)

    return msgspec.structs.replace(
        document,
        stages=[select(stage) for stage in document.stages],
        post_actions=[select(stage) for stage in document.post_actions],
    )


def explain_lost_artifacts(
    request: RunRequest, failures: Sequence[ValidationFailure]
) -> list[ValidationFailure]:
    """Return the failures of a pipeline; where only another artifact has the plugin of a deployed one, the
    action is to deploy it again.
    """
    name = request.application
    action = (
        "The deployment chose that artifact. Deploy the pipeline again to run with the artifacts that are "
        f"here now: localcdap export {name} --output {name}.json; localcdap import {name}.json (with --fix "
        "if the file asks for that version)"
    )
    return [
        msgspec.structs.replace(each, corrective_action=action)
        if name is not None and each.type == ARTIFACT_NOT_FOUND and each.suggested_artifact
        else each
        for each in failures
    ]
