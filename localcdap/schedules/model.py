"""Schedules as requests and answers. JSON is that of CDAP 6 ``ScheduleDetail``, ``ProtoTrigger`` and
``ProtoConstraint``.
"""

from __future__ import annotations

import enum
from typing import Final

import msgspec

from localcdap.api.metadata import DEFAULT_VERSION, WORKFLOW_NAME

PIPELINE_SCHEDULE: Final = "dataPipelineSchedule"
"""The schedule that a pipeline's own ``schedule`` makes (CDAP 6 ``DataPipelineApp``)."""
MAPPING: Final = "triggering.properties.mapping"
"""The property with what a run takes from the run that has triggered it, see
:mod:`localcdap.schedules.mappings`."""
DAY_MS: Final = 86_400_000
_WORKFLOW: Final = "WORKFLOW"


class ScheduleStatus(enum.StrEnum):
    """Whether a schedule acts (CDAP 6 ``ProgramScheduleStatus``)."""

    SCHEDULED = "SCHEDULED"
    SUSPENDED = "SUSPENDED"


class TriggerProgram(msgspec.Struct, frozen=True):
    """The program of a trigger (CDAP 6 ``ProgramId``)."""

    namespace: str
    application: str
    program: str = WORKFLOW_NAME
    type: str = _WORKFLOW
    version: str = DEFAULT_VERSION
    entity: str = "PROGRAM"


class TriggerDataset(msgspec.Struct, frozen=True):
    """The dataset of a trigger (CDAP 6 ``DatasetId``)."""

    namespace: str
    dataset: str
    entity: str = "DATASET"


class TimeTrigger(msgspec.Struct, frozen=True, tag="TIME", rename="camel", omit_defaults=True):
    """Satisfied at times."""

    cron_expression: str
    time_zone: str | None = None
    """The zone of the times; None for that of the machine. CDAP takes that of its server always."""


class ProgramStatusTrigger(msgspec.Struct, frozen=True, tag="PROGRAM_STATUS", rename="camel"):
    """Satisfied when a run of a program ends with a status."""

    program_id: TriggerProgram
    program_statuses: list[str]


class PartitionTrigger(msgspec.Struct, frozen=True, tag="PARTITION", rename="camel"):
    """Satisfied when a dataset has got new partitions."""

    dataset: TriggerDataset
    num_partitions: int


class AndTrigger(msgspec.Struct, frozen=True, tag="AND"):
    """Satisfied when all of its triggers are."""

    triggers: list[Trigger]


class OrTrigger(msgspec.Struct, frozen=True, tag="OR"):
    """Satisfied when one of its triggers is."""

    triggers: list[Trigger]


Trigger = TimeTrigger | ProgramStatusTrigger | PartitionTrigger | AndTrigger | OrTrigger


class ConcurrencyConstraint(msgspec.Struct, frozen=True, tag="CONCURRENCY", rename="camel"):
    """Less than a number of runs of the pipeline are active."""

    max_concurrency: int
    wait_until_met: bool = False


class DelayConstraint(msgspec.Struct, frozen=True, tag="DELAY", rename="camel"):
    """Some time has passed since the trigger."""

    millis_after_trigger: int
    wait_until_met: bool = True


class LastRunConstraint(msgspec.Struct, frozen=True, tag="LAST_RUN", rename="camel"):
    """No run of the pipeline was active or has completed for some time."""

    millis_since_last_run: int
    wait_until_met: bool = False


class TimeRangeConstraint(msgspec.Struct, frozen=True, tag="TIME_RANGE", rename="camel"):
    """The time of the day is in a range, which may go over midnight. The end is not in it."""

    start_time: str
    end_time: str
    time_zone: str | None = None
    """None for that of the machine."""
    wait_until_met: bool = False


Constraint = ConcurrencyConstraint | DelayConstraint | LastRunConstraint | TimeRangeConstraint


class ScheduleProgram(msgspec.Struct, frozen=True, rename="camel"):
    """The program that a schedule starts."""

    program_name: str = WORKFLOW_NAME
    program_type: str = _WORKFLOW


class Schedule(msgspec.Struct, rename="camel"):
    """A schedule of a deployed pipeline."""

    namespace: str
    application: str
    name: str
    trigger: Trigger
    description: str = ""
    program: ScheduleProgram = ScheduleProgram()
    properties: dict[str, str] = {}
    """Arguments of its runs; :data:`MAPPING` is none."""
    constraints: list[Constraint] = []
    timeout_millis: int = DAY_MS
    """The time for which a job waits for its trigger and constraints."""
    status: ScheduleStatus = ScheduleStatus.SUSPENDED
    last_update_time: int = 0
    """Milliseconds since 1970."""
    user: str | None = None
    """As whom its runs act: who has created, changed or enabled it last; None for localcdap itself."""
    application_version: str = DEFAULT_VERSION


class ScheduleRequest(msgspec.Struct, rename="camel"):
    """A schedule to be made, or changes of one: what is None stays as it is, or is the default."""

    trigger: Trigger | None = None
    description: str | None = None
    program: ScheduleProgram | None = None
    properties: dict[str, str] | None = None
    constraints: list[Constraint] | None = None
    timeout_millis: int | None = None


class ScheduleSummary(msgspec.Struct, rename="camel"):
    """A schedule in a list."""

    schedule: Schedule
    next_runtime: int | None
    """When it is due next, in milliseconds since 1970; None when that is not known."""
    last_event: ScheduleEvent | None
    """What became of its last trigger."""


class EventKind(enum.StrEnum):
    """What became of a trigger."""

    STARTED = "STARTED"
    """A run was started."""
    FAILED = "FAILED"
    """No run could be started."""
    DROPPED = "DROPPED"
    """A constraint is not met that does not wait, or the schedule was changed, suspended or deleted."""
    TIMED_OUT = "TIMED_OUT"
    """The trigger or the constraints took too long."""
    MISSED = "MISSED"
    """No host was up, or the machine slept."""


class ScheduleEvent(msgspec.Struct, rename="camel"):
    """What became of a trigger of a schedule."""

    number: int
    namespace: str
    application: str
    schedule: str
    time: int
    """Milliseconds since 1970."""
    kind: EventKind
    message: str
    run: str | None = None


class ScheduledRuntime(msgspec.Struct):
    """A time at which a schedule is due (CDAP 6 ``ScheduledRuntime``)."""

    id: str
    time: int
    """Milliseconds since 1970."""


class PlannedTime(msgspec.Struct, rename="camel"):
    """A time at which a schedule will start a run."""

    time: int
    """Milliseconds since 1970."""
    application: str
    schedule: str
    text: str
    """The time in the zone of the schedule, with the day of the week."""
