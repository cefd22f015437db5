"""Runs: the requests and answers of the run service."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from localcdap.api.errors import ErrorDetails
from localcdap.api.failures import ArtifactId, ValidationFailure
from localcdap.api.metadata import MetadataEntity
from localcdap.api.pipeline import StandIn
from localcdap.engine.messages.samples import AlteredValues
from localcdap.engine.messages.spool import Failed, RunStatus
from localcdap.expectations.results import RuleResult, RuleTrend, collect_trends
from localcdap.pipeline.validation.plugins import Repair
from localcdap.security.access import Target

MANUAL: Final = "MANUAL"
"""The start method of a run that a user has started (CDAP 6 ``ProgramStartMethod``)."""
SCHEDULED: Final = "SCHEDULED"
"""That of a run which a schedule has started at a time."""
TRIGGERED: Final = "TRIGGERED"
"""That of a run which a schedule has started after another event."""


class StageCounts(msgspec.Struct, rename={"records_in": "in", "records_out": "out"}):
    """The numbers of records of one stage. None: not counted."""

    records_in: int | None = None
    records_out: int | None = None
    errors: int | None = None
    metrics: dict[str, int] | msgspec.UnsetType = msgspec.UNSET
    """The metrics that the plugin counted, by name; absent when it counted nothing."""
    alerts: int | msgspec.UnsetType = msgspec.UNSET
    """The alerts that the stage emitted; absent when it emitted none."""


class RunProgress(msgspec.Struct, rename="camel"):
    """The progress of an active run. Records are counted twice when Spark retries a task."""

    tasks_done: int
    tasks: int
    """The tasks of the Spark stages that are known so far; the number may grow."""
    bytes_read: int
    stages: dict[str, StageCounts]
    """The records so far of the stages whose code runs in Python workers."""


class RunError(msgspec.Struct, rename="camel", omit_defaults=True):
    """The error of a failed run."""

    message: str
    corrective_action: str | None = None
    stage: str | None = None
    trace: list[str] = []
    """The stack frames of the plugin, innermost last."""
    field: str | None = None
    """The property that the first failure names; None when it names none."""
    failures: list[ValidationFailure] = []
    """The failures of an invalid pipeline that were found after the run had started."""
    details: ErrorDetails | None = None
    """The classification of the error, if its plugin or the engine knows it."""


def to_run_error(failed: Failed) -> RunError:
    field = next((each.field for each in failed.failures if each.stage == failed.stage), None)
    return RunError(
        failed.message,
        failed.corrective_action,
        failed.stage,
        failed.trace,
        field,
        failed.failures,
        failed.details,
    )


class TriggerInfo(msgspec.Struct, rename="camel", omit_defaults=True):
    """What has triggered a schedule (CDAP 6 ``TriggerInfo``); each type has some of the fields."""

    type: str
    """``TIME``, ``PROGRAM_STATUS`` or ``PARTITION``."""
    cron_expression: str | None = None
    logical_start_time: int | None = None
    """Milliseconds since 1970."""
    namespace: str | None = None
    """Of the program, or of the dataset."""
    application_name: str | None = None
    program_type: str | None = None
    program: str | None = None
    run_id: str | None = None
    program_status: str | None = None
    dataset_name: str | None = None
    expected_num_partitions: int | None = None
    actual_num_partitions: int | None = None


class ScheduledStart(msgspec.Struct, rename="camel"):
    """The schedule that has started a run, and why (CDAP 6 ``TriggeringScheduleInfo``)."""

    name: str
    trigger_infos: list[TriggerInfo]
    description: str = ""
    logical_start: int | None = None
    """The time for which the run was planned, in milliseconds since 1970; None when no time triggered it."""

    @property
    def start_method(self) -> str:
        """SCHEDULED when the first trigger is a time, else TRIGGERED (CDAP 6 ``ReportField``)."""
        first = self.trigger_infos[0].type if self.trigger_infos else None
        return SCHEDULED if first == "TIME" else TRIGGERED


class RunRequest(msgspec.Struct, rename="camel"):
    """A pipeline to run."""

    document: Any
    """The pipeline document, decoded JSON or its text."""
    namespace: str = "default"
    name: str | None = None
    """The name of the pipeline when the document has none, for instance the name of the file."""
    arguments: dict[str, str] = {}
    profile: str | None = None
    """The compute profile; None for that of the namespace. The argument ``system.profile.name`` wins."""
    use_suggested: bool = False
    """Whether a missing artifact is replaced by the suggested one."""
    application: str | None = None
    """The deployed application; the run has its name, not that of the document."""
    application_version: str | None = None
    file: str | None = None
    """The file of the document, for error messages."""
    update_datasets: bool = False
    """Whether existing datasets are changed so that they can hold what the sinks write."""
    recordings: dict[str, str] = {}
    """What stands in for stages, by stage or another key; see
    :class:`localcdap.pipeline.recordings.model.RecordingRule`."""
    run: str | None = None
    """The id of the run; None for a new one. A run that exists is not started again."""
    schedule: ScheduledStart | None = None
    """The schedule that starts it; None when a user does."""


class Run(msgspec.Struct, rename="camel"):
    """A run with its current status."""

    run: str
    """The run's id, a time-based UUID."""
    namespace: str
    pipeline: str
    status: RunStatus
    arguments: dict[str, str]
    profile: str
    """Name of the compute profile."""
    starting: int
    """Milliseconds since 1970 at which the run was asked for."""
    start: int | None
    """Milliseconds since 1970 at which the first record could be read."""
    end: int | None
    stages: dict[str, StageCounts]
    """By stage, in topological order."""
    error: RunError | None
    version: int
    """Increases with every change; see ``RunService.wait``."""
    application_version: str | None = None
    """The version of the deployed application; None for a run of a file."""
    repairs: list[Repair] = []
    """The stages that run with another artifact than the document names."""
    progress: RunProgress | None = None
    """None before Spark reads data, and after the end of the run."""
    origins: dict[str, str] = {}
    """The origin of each argument: ``given`` for this run, or the preferences of the ``pipeline``, the
    ``namespace`` or the ``instance``."""
    document: str | None = None
    """The digest of the document, see ``RunService.get_document``."""
    written: list[str] = []
    """The directories that sinks wrote, set when the run commits."""
    tables: list[str] = []
    """Names of the tables that sinks have written."""
    user: str | None = None
    """The user who started it; None when localcdap itself did, and for runs of earlier versions."""
    artifact: ArtifactId | None = None
    """The artifact of its application; None for runs of earlier versions."""
    sinks: list[str] | None = None
    """The stages whose output goes to no other stage; None for runs of earlier versions."""
    stage_times: dict[str, int] = {}
    """By stage, the milliseconds that its code took in Python workers, all of them added up. Stages that
    Spark computes without them have none."""
    start_method: str = MANUAL
    """How it was started, as :attr:`localcdap.api.app.events.RunStatusChanged.start_method`."""
    expectations: list[RuleResult] = []
    """The results of the expectations that were checked, in the order of the pipeline."""
    altered: list[AlteredValues] = []
    """The values that stages have altered, such as rounded, by stage and kind of change."""
    stand_ins: list[StandIn] = []
    """The stages that ran without their plugins: on recordings, or as placeholders."""
    recordings: dict[str, str] = {}
    """The recordings that were given for this run, besides those that the instance has."""
    schedule: ScheduledStart | None = None
    """The schedule that has started it; None when a user has."""
    position: int = 0
    """Its position in the queue, from 1; 0 when it does not wait."""

    def get_latest_counts(self, stage: str) -> StageCounts:
        """Return the final counts of a stage, or its counts so far while it is running."""
        exact = self.stages[stage]
        if exact.records_out is None and self.progress is not None:
            return self.progress.stages.get(stage, exact)
        return exact


class StoredLogLine(msgspec.Struct, omit_defaults=True):
    """One line of a run's log."""

    number: int
    """1-based, in order."""
    time: int
    """Milliseconds since 1970."""
    level: str
    text: str
    stage: str | None = None
    more: int = 0
    """The number of characters of the text that were left out."""


class StoredAlert(msgspec.Struct):
    """An alert of a run."""

    stage: str
    """The stage that emitted it."""
    payload: dict[str, str | None]


def format_payload(payload: Mapping[str, str | None]) -> str:
    """Return what an alert says: ``name=value, name=value``."""
    return ", ".join(f"{name}={value}" for name, value in payload.items())


def count_alerts(run: Run) -> int:
    """Return the number of alerts of all stages."""
    return sum(counts.alerts or 0 for counts in run.stages.values())


def count_records_written(run: Run) -> int | None:
    """Return the number of records that the sinks of a run have taken; None when they were not counted."""
    counts = [run.stages[name].records_in for name in run.sinks or () if name in run.stages]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def describe_stand_ins(run: Run) -> str:
    """Return how a run differs from one with all of its plugins: ``recorded``, ``placeholder`` or both."""
    return ", ".join(sorted({each.kind for each in run.stand_ins}, reverse=True))


def describe_start(run: Run) -> str:
    """Return which schedule has started a run, such as ``scheduled by nightly``; empty for a user."""
    if run.schedule is None:
        return ""
    return f"{run.start_method.lower()} by {run.schedule.name}"


def describe_state(run: Run) -> str:
    """Return the status of a run in words; of one that waits, its position in the queue."""
    return f"queued, position {run.position:,}" if run.position else run.status.lower()


def get_now() -> int:
    """Return the current time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


RECENT_RUNS: Final = 20
"""The newest runs of a pipeline that a trend shows by default."""


def collect_run_trends(runs: Iterable[Run]) -> list[RuleTrend]:
    """Return the trend of each rule over runs of one pipeline.

    :param runs: in any order; those that have checked nothing do not count.
    """
    ordered = sorted(runs, key=lambda run: (run.starting, run.run))
    return collect_trends((run.run, run.starting, run.expectations) for run in ordered)


def find_changes(run: Run, runs: Iterable[Run]) -> dict[tuple[str, str], str]:
    """Return what has changed in a run since the run before, as a sentence by stage and label of the rule.

    :param runs: runs of the same pipeline, those before the run among them.
    """
    until = [each for each in runs if each.starting <= run.starting and each.run != run.run]
    changes = {}
    for trend in collect_run_trends([*until, run]):
        change = trend.describe_change() if trend.runs[-1] == run.run else None
        if change is not None:
            changes[trend.stage, trend.label] = change
    return changes


def get_run_entity(run: Run) -> MetadataEntity:
    """Return the application of a run; the run of a file has one of its pipeline's name."""
    return MetadataEntity.of_application(run.pipeline, run.namespace)


def _find_requested(_service: object, given: Mapping[str, Any]) -> Iterable[MetadataEntity]:
    request: RunRequest = given["request"]
    if request.application is None:
        return [MetadataEntity.of_namespace(request.namespace)]
    return [MetadataEntity.of_application(request.application, request.namespace)]


def _find_run(service: Any, given: Mapping[str, Any]) -> Iterable[MetadataEntity]:
    return [service.get_entity(given["run"], given.get("namespace"))]


OF_REQUEST: Final = Target(
    "application of the request, or for a file its namespace", _find_requested
)
OF_RUN: Final = Target("application of {run}", _find_run)
