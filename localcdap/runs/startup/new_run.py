"""What a new run begins with: its record, or the reasons why it does not start."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.errors import ConflictError, InvalidPipelineError, LocalcdapError
from localcdap.api.failures import ARTIFACT_NOT_FOUND
from localcdap.artifacts.model import PluginRef
from localcdap.engine.messages.orders import WorkOrder
from localcdap.engine.messages.spool import RunStatus
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.environment import NamespaceEnvironment, RecordedDocument
from localcdap.pipeline.library.application_model import get_application_artifact
from localcdap.pipeline.macros.parser import resolve_logical_start
from localcdap.pipeline.rules.graph import ALERT_PUBLISHER
from localcdap.pipeline.validation.datasets import DatasetPlanner, create_update_failures
from localcdap.pipeline.validation.resolution import ResolvedPipeline
from localcdap.runs.model import MANUAL, Run, RunRequest, StageCounts, get_now
from localcdap.security.principals import get_current_user
from localcdap.store.store import Store
from localcdap.text import plural

RECORDINGS: Final = "recordings"
"""Sub-directory of a run's directory: the records of recorded sources."""


def has_lost_plugins(request: RunRequest, resolved: ResolvedPipeline) -> bool:
    """Whether it is a deployed pipeline, some plugins of which are not found any more.

    They were removed, or the instance now requires capabilities that they lack, which no message reveals
    (design "CDAP Capabilities", section Failing Early and Gracefully: plugin not found).
    """
    missing = any(failure.type == ARTIFACT_NOT_FOUND for failure in resolved.errors)
    return request.application is not None and missing


def create_error_for_caller(resolved: ResolvedPipeline) -> InvalidPipelineError:
    """Return the error for the caller of a run that does not start, with all failures."""
    return InvalidPipelineError(
        f"The pipeline has {plural(len(resolved.errors), 'failure')}; nothing was run.",
        failures=[msgspec.to_builtins(failure) for failure in resolved.errors],
    )


def create_error_for_run(resolved: ResolvedPipeline) -> LocalcdapError:
    """Return the error for the record and the log of a run: every failure on a line."""
    heading = f"The pipeline has {plural(len(resolved.errors), 'failure')}; nothing was started:"
    return LocalcdapError("\n".join((heading, *(each.full_message for each in resolved.errors))))


def record_run(
    document: PipelineDocument,
    environment: NamespaceEnvironment,
    request: RunRequest,
    name: str | None,
    directory: Path,
) -> RecordedDocument:
    """Return the document of a run with its recordings, whose records are in the run's directory then."""
    folder = directory / RECORDINGS
    return environment.record_document(
        document, name, request.recordings, folder, arguments=request.arguments
    )


def refuse_stand_ins(resolved: ResolvedPipeline, profile: str) -> None:
    """Refuse a run with recordings or placeholders on a cluster.

    :raises ConflictError: when it has any; names the stages.
    """
    if not resolved.stand_ins:
        return
    stages = ", ".join(f"'{each.stage}'" for each in resolved.stand_ins)
    raise ConflictError(
        f"Profile '{profile}' is a cluster, and stages have recordings or placeholders: {stages}.",
        "Run on this machine, remove the recordings, or set runs.recorded_on_clusters = true in "
        "localcdap.toml.",
    )


def build_run(
    run_id: str, request: RunRequest, name: str | None, profile: str, resolved: ResolvedPipeline
) -> Run:
    """Return the record of a run that has not begun."""
    stages = resolved.spec.stages if resolved.spec is not None else resolved.document.stages
    return Run(
        run=run_id,
        namespace=request.namespace,
        pipeline=name or "pipeline",
        status=RunStatus.PENDING,
        arguments=request.arguments,
        profile=profile,
        starting=get_now(),
        start=None,
        end=None,
        stages={stage.name: StageCounts() for stage in stages},
        error=None,
        version=0,
        application_version=request.application_version,
        repairs=resolved.repairs,
        user=get_current_user(),
        artifact=get_application_artifact(resolved.document),
        sinks=_list_sinks(resolved.document),
        stand_ins=resolved.stand_ins,
        recordings=request.recordings,
        start_method=request.schedule.start_method if request.schedule is not None else MANUAL,
        schedule=request.schedule,
    )


def _list_sinks(document: PipelineDocument) -> list[str]:
    """Return the stages that get records and give none to others."""
    silent = {each.name for each in document.stages if each.plugin.type == ALERT_PUBLISHER}
    giving = {each.source for each in document.connections if each.target not in silent}
    getting = {each.target for each in document.connections} - silent
    return [each.name for each in document.stages if each.name in getting - giving]


def prepare_datasets(
    store: Store,
    datasets: DatasetPlanner,
    namespace: str,
    resolved: ResolvedPipeline,
    *,
    updates: bool,
) -> None:
    """Update the datasets of a valid pipeline if that was asked for; otherwise add failures for them.

    A dataset that does not exist yet is created when the run commits its first rows.
    """
    plan = datasets.plan(namespace, resolved.datasets, None)
    changes = [] if updates else create_update_failures(plan)
    resolved.errors = [*resolved.errors, *plan.failures, *changes]
    existing = [dataset for dataset, change in plan.changes if not change.is_new]
    if existing and not resolved.errors:
        with store.transaction() as tx:
            datasets.apply(tx, namespace, existing, None)


def create_order(run: Run, document: str, plugins: dict[str, PluginRef], home: Path) -> WorkOrder:
    """Return the order for the process of a run, in which the engine's address is missing.

    :param home: the instance's folder.
    :raises BadRequestError: when the argument ``logical.start.time`` is not a time.
    """
    arguments, start_ms = complete_arguments(run)
    return WorkOrder(
        run_id=run.run,
        namespace=run.namespace,
        pipeline=run.pipeline,
        document=document,
        plugins=plugins,
        arguments=arguments,
        logical_start_ms=start_ms,
        engine_url="",
        base_directory=str(home),
        user=run.user or "",
        host_directory=str(home),
    )


def complete_arguments(run: Run) -> tuple[dict[str, str], int]:
    """Return the arguments of a run with its logical start time, and this time in milliseconds since 1970.

    The record of the run has the arguments that it was given. Without ``logical.start.time`` among them, the
    run starts for the planned time of its schedule, or for the time of its record.

    :raises BadRequestError: when the argument ``logical.start.time`` is not a time.
    """
    planned = run.schedule.logical_start if run.schedule is not None else None
    return resolve_logical_start(run.arguments, run.starting if planned is None else planned)


def build_request(run: Run, document: str) -> RunRequest:
    """Return the request to which a run belongs, its arguments merged with the preferences of that time."""
    deployed = run.application_version is not None
    return RunRequest(
        document,
        run.namespace,
        run.pipeline,
        run.arguments,
        run.profile,
        use_suggested=bool(run.repairs),
        application=run.pipeline if deployed else None,
        application_version=run.application_version,
        recordings=run.recordings,
        run=run.run,
        schedule=run.schedule,
    )
