"""What satisfies triggers: the notifications of a job (CDAP 6 ``SatisfiableTrigger`` and its classes)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from localcdap.runs.model import TriggerInfo
from localcdap.schedules.model import (
    AndTrigger,
    OrTrigger,
    PartitionTrigger,
    ProgramStatusTrigger,
    TimeTrigger,
    Trigger,
    TriggerProgram,
)

STATUSES: Final = ("COMPLETED", "FAILED", "KILLED")
"""The statuses of runs that satisfy triggers."""


class TimeNotification(msgspec.Struct, frozen=True, tag="TIME", rename="camel"):
    """A schedule is due."""

    cron: str
    time: int
    """The time at which it was to be due, in milliseconds since 1970: the logical start time."""
    zone: str | None = None


class RunNotification(msgspec.Struct, frozen=True, tag="PROGRAM_STATUS", rename="camel"):
    """A run has ended."""

    namespace: str
    application: str
    program: str
    program_type: str
    """``WORKFLOW`` or ``SPARK``."""
    run: str
    status: str


class PartitionNotification(msgspec.Struct, frozen=True, tag="PARTITION", rename="camel"):
    """A dataset has got partitions."""

    namespace: str
    dataset: str
    partitions: int


Notification = TimeNotification | RunNotification | PartitionNotification


def is_satisfied(trigger: Trigger, notifications: Sequence[Notification]) -> bool:
    """Return whether notifications satisfy a trigger."""
    if isinstance(trigger, AndTrigger):
        return all(is_satisfied(each, notifications) for each in trigger.triggers)
    if isinstance(trigger, OrTrigger):
        return any(is_satisfied(each, notifications) for each in trigger.triggers)
    if isinstance(trigger, PartitionTrigger):
        return _count_partitions(trigger, notifications) >= trigger.num_partitions
    return _find_notification(trigger, notifications) is not None


def find_trigger_infos(
    trigger: Trigger, notifications: Sequence[Notification]
) -> list[TriggerInfo]:
    """Return what the run gets from the simple triggers that are satisfied, in their order."""
    found = []
    for each in list_simple(trigger):
        if not is_satisfied(each, notifications):
            continue
        if isinstance(each, PartitionTrigger):
            count = _count_partitions(each, notifications)
            found.append(
                TriggerInfo(
                    "PARTITION",
                    namespace=each.dataset.namespace,
                    dataset_name=each.dataset.dataset,
                    expected_num_partitions=each.num_partitions,
                    actual_num_partitions=count,
                )
            )
        else:
            found.append(_describe(_find_notification(each, notifications)))
    return found


def find_logical_start(trigger: Trigger, notifications: Sequence[Notification]) -> int | None:
    """Return the time for which a run starts, in milliseconds since 1970; None when no time triggered it."""
    for each in list_simple(trigger):
        if isinstance(each, TimeTrigger):
            notification = _find_notification(each, notifications)
            if isinstance(notification, TimeNotification):
                return notification.time
    return None


def list_simple(
    trigger: Trigger,
) -> Iterator[TimeTrigger | ProgramStatusTrigger | PartitionTrigger]:
    """Yield the triggers of a trigger that have none themselves."""
    if isinstance(trigger, AndTrigger | OrTrigger):
        for each in trigger.triggers:
            yield from list_simple(each)
    else:
        yield trigger


def get_type(trigger: Trigger) -> str:
    """Return the type of a trigger, such as ``TIME``."""
    return str(trigger.__struct_config__.tag)


def list_keys(trigger: Trigger) -> set[str]:
    """Return what events find a trigger by (CDAP 6 ``Schedulers.triggerKeysForProgramStatuses``)."""
    keys = set()
    for each in list_simple(trigger):
        if isinstance(each, PartitionTrigger):
            keys.add(make_partition_key(each.dataset.namespace, each.dataset.dataset))
        elif isinstance(each, ProgramStatusTrigger):
            keys |= {make_status_key(each.program_id, status) for status in each.program_statuses}
    return keys


def make_partition_key(namespace: str, dataset: str) -> str:
    return f"partition:{namespace}.{dataset}"


def make_status_key(program: TriggerProgram, status: str) -> str:
    """Return the key of a status of a program; its version does not count."""
    return (
        f"programStatus:{program.namespace}.{program.application}.{program.type.lower()}."
        f"{program.program}.{status.lower()}"
    )


def remove_application(trigger: Trigger, namespace: str, application: str) -> Trigger | None:
    """Return a trigger without those that wait for a deleted application; None when it cannot be satisfied
    any more (CDAP 6 ``getTriggerWithDeletedProgram``).
    """
    if isinstance(trigger, ProgramStatusTrigger):
        program = trigger.program_id
        is_lost = (program.namespace, program.application) == (namespace, application)
        return None if is_lost else trigger
    if not isinstance(trigger, AndTrigger | OrTrigger):
        return trigger
    changed = [remove_application(each, namespace, application) for each in trigger.triggers]
    left = [each for each in changed if each is not None]
    is_lost = len(left) < len(changed) if isinstance(trigger, AndTrigger) else not left
    if is_lost:
        return None
    return left[0] if len(left) == 1 else type(trigger)(left)


def describe_trigger(trigger: Trigger) -> str:
    """Return what a trigger waits for, in a few words."""
    if isinstance(trigger, TimeTrigger):
        zone = f" ({trigger.time_zone})" if trigger.time_zone else ""
        return f"{trigger.cron_expression}{zone}"
    if isinstance(trigger, ProgramStatusTrigger):
        program = trigger.program_id
        return (
            f"after {program.namespace}.{program.application} {'/'.join(trigger.program_statuses)}"
        )
    if isinstance(trigger, PartitionTrigger):
        number = trigger.num_partitions
        return f"{number} new in {trigger.dataset.namespace}.{trigger.dataset.dataset}"
    word = " and " if isinstance(trigger, AndTrigger) else " or "
    return word.join(
        f"({describe_trigger(each)})"
        if isinstance(each, AndTrigger | OrTrigger)
        else describe_trigger(each)
        for each in trigger.triggers
    )


def _find_notification(
    trigger: Trigger, notifications: Sequence[Notification]
) -> Notification | None:
    """Return the first notification that satisfies a trigger by itself."""
    for each in notifications:
        if isinstance(trigger, TimeTrigger) and isinstance(each, TimeNotification):
            if (each.cron, each.zone) == (trigger.cron_expression, trigger.time_zone):
                return each
        elif isinstance(trigger, ProgramStatusTrigger) and isinstance(each, RunNotification):
            program = trigger.program_id
            type = program.type.upper()
            wanted = (program.namespace, program.application, type, program.program)
            if (
                wanted == (each.namespace, each.application, each.program_type, each.program)
                and each.status in trigger.program_statuses
            ):
                return each
    return None


def _count_partitions(trigger: PartitionTrigger, notifications: Sequence[Notification]) -> int:
    wanted = (trigger.dataset.namespace, trigger.dataset.dataset)
    return sum(
        each.partitions
        for each in notifications
        if isinstance(each, PartitionNotification) and (each.namespace, each.dataset) == wanted
    )


def _describe(notification: Notification | None) -> TriggerInfo:
    if isinstance(notification, TimeNotification):
        return TriggerInfo(
            "TIME", cron_expression=notification.cron, logical_start_time=notification.time
        )
    assert isinstance(notification, RunNotification)
    return TriggerInfo(
        "PROGRAM_STATUS",
        namespace=notification.namespace,
        application_name=notification.application,
        program_type=notification.program_type,
        program=notification.program,
        run_id=notification.run,
        program_status=notification.status,
    )
