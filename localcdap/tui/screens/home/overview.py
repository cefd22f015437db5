"""The contents of a namespace that the home screen shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from localcdap.host.cdap import Cdap
from localcdap.runs.model import Run, describe_state
from localcdap.schedules.model import (
    EventKind,
    Schedule,
    ScheduleEvent,
    ScheduleStatus,
    ScheduleSummary,
)
from localcdap.tui.dialogs.path_dialog import is_file
from localcdap.tui.labels import RUN_MARKS, format_age
from localcdap.tui.routes import (
    DeployedTarget,
    DraftTarget,
    NavigationTarget,
    PipelineFileTarget,
    RunTarget,
    SchedulesTarget,
)

RUNS = 12
"""The most runs that are shown."""
_STEPS = 5
"""The most next steps that are shown."""
_LOST = (EventKind.FAILED, EventKind.MISSED, EventKind.TIMED_OUT)
"""What became of triggers that a user expected to start a run."""


@dataclass(frozen=True)
class RecentPipeline:
    """A pipeline to continue with.

    :param kind: deployed, draft or file, with its version.
    :param changed: the time of the last change, in milliseconds since 1970.
    :param target: opens the pipeline.
    """

    name: str
    kind: str
    changed: int
    target: NavigationTarget


@dataclass(frozen=True)
class Overview:
    """The contents of a namespace.

    :param plugins: the number of plugins that a pipeline can use.
    :param broken: the number of artifacts that could not be loaded.
    """

    pipelines: list[RecentPipeline]
    runs: list[Run]
    plugins: int
    broken: int
    namespaces: int
    schedules: list[ScheduleSummary]


@dataclass(frozen=True)
class NextStep:
    """What a user may want to do next.

    :param mark: a glyph and its style.
    :param what: such as ``sales failed``.
    :param detail: why, in one line.
    :param target: where it is done.
    """

    mark: tuple[str, str]
    what: str
    detail: str
    target: NavigationTarget


def list_next_steps(overview: Overview) -> list[NextStep]:
    """Return what to do next: watch what runs, look at what failed or was not started, run what was changed
    since.

    The newest run of each pipeline decides; after a completed one there is something to look at. A pipeline
    with an enabled schedule need not be run by hand.
    """
    newest: dict[str, Run] = {}
    for run in overview.runs:
        newest.setdefault(run.pipeline, run)
    steps = [_create_run_step(run) for run in newest.values()]
    enabled = [e for e in overview.schedules if e.schedule.status is ScheduleStatus.SCHEDULED]
    steps += [
        _create_schedule_step(each.schedule, each.last_event)
        for each in enabled
        if each.last_event is not None and each.last_event.kind in _LOST
    ]
    waiting = [DeployedTarget(each.schedule.application) for each in enabled]
    for each in overview.pipelines:
        last = newest.get(each.name)
        if last is not None and last.status.is_end and each.changed > last.starting:
            age = format_age(last.starting)
            detail = f"{each.kind}; its last run was {age}"
            steps.append(
                NextStep(("~", "$warning"), f"{each.name} has changed", detail, each.target)
            )
        elif (
            last is None
            and len(overview.runs) < RUNS
            and each.kind != "file"
            and each.target not in waiting
        ):
            steps.append(
                NextStep(("◌", "$primary"), f"{each.name} has not run", each.kind, each.target)
            )
    order = ("▶", "✗", "!", "~", "◌", "■", "✓")
    return sorted(steps, key=lambda step: order.index(step.mark[0]))[:_STEPS]


def _create_schedule_step(schedule: Schedule, event: ScheduleEvent) -> NextStep:
    kind = event.kind.lower().replace("_", " ")
    what = f"{schedule.application} {schedule.name} {kind} {format_age(event.time)}"
    target = SchedulesTarget(schedule.application)
    detail = next(iter(event.message.splitlines()), "")
    return NextStep(("!", "$warning"), what, detail, target)


def _create_run_step(run: Run) -> NextStep:
    error, target = run.error, RunTarget(run.run)
    detail = format_age(run.starting)
    if error is not None:
        detail = next(iter(error.message.splitlines()), "")
        target = RunTarget(run.run, error.stage)
    elif run.tables or run.written:
        detail = "wrote " + ", ".join([*run.tables, *(Path(each).name for each in run.written)])
    return NextStep(RUN_MARKS[run.status], f"{run.pipeline} {describe_state(run)}", detail, target)


def read_overview(cdap: Cdap, namespace: str, files: Sequence[str]) -> Overview:
    """Read the overview through the services.

    :param files: the recent pipeline files, newest first.
    """
    entries = [
        RecentPipeline(
            each.name,
            f"deployed, version {each.number}",
            each.change.creation_time_millis,
            DeployedTarget(each.name),
        )
        for each in cdap.applications.list_applications(namespace)
    ]
    entries += [
        RecentPipeline(
            each.name,
            f"draft, revision {each.revision}",
            each.updated_time_millis,
            DraftTarget(each.id),
        )
        for each in cdap.drafts.list_drafts(namespace)
    ]
    entries += [_describe_file(Path(each)) for each in files if is_file(Path(each))]
    entries.sort(key=lambda entry: -entry.changed)
    return Overview(
        entries,
        cdap.runs.list_runs(namespace, limit=RUNS),
        len(cdap.artifacts.list_plugins(namespace)),
        len(cdap.artifacts.list_artifacts(namespace, errors=True)),
        len(cdap.namespaces.list_namespaces()),
        cdap.schedules.list_schedules(namespace),
    )


def _describe_file(path: Path) -> RecentPipeline:
    return RecentPipeline(
        path.stem if path.stem != "pipeline" else f"{path.parent.name}/{path.name}",
        "file",
        int(path.stat().st_mtime * 1000),
        PipelineFileTarget(path),
    )
