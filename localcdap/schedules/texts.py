"""Triggers and conditions as users type them, on the command line and in the studio."""

from __future__ import annotations

from collections.abc import Sequence

from localcdap.api.errors import BadRequestError
from localcdap.schedules.model import (
    AndTrigger,
    OrTrigger,
    PartitionTrigger,
    ProgramStatusTrigger,
    TimeRangeConstraint,
    Trigger,
    TriggerDataset,
    TriggerProgram,
)


def parse_run_trigger(text: str, namespace: str) -> ProgramStatusTrigger:
    """Return the trigger of ``[NAMESPACE.]PIPELINE[=STATUS,…]``, by default COMPLETED.

    :param namespace: of a pipeline that is named without one.
    """
    name, _, statuses = text.partition("=")
    owner, pipeline = _split(name.strip(), namespace)
    chosen = [each.strip().upper() for each in statuses.split(",")] if statuses else ["COMPLETED"]
    return ProgramStatusTrigger(TriggerProgram(owner, pipeline), chosen)


def parse_partition_trigger(text: str, namespace: str) -> PartitionTrigger:
    """Return the trigger of ``[NAMESPACE.]DATASET[=N]``, by default one partition.

    :raises BadRequestError: when the number is none.
    """
    name, _, count = text.partition("=")
    owner, dataset = _split(name.strip(), namespace)
    if count and not count.strip().isdecimal():
        raise BadRequestError(f"'{text}' names no number of partitions.", "Write DATASET=3.")
    return PartitionTrigger(TriggerDataset(owner, dataset), int(count or 1))


def parse_time_range(text: str, zone: str | None, *, waits: bool) -> TimeRangeConstraint:
    """Return the constraint of ``HH:MM-HH:MM``."""
    start, _, end = text.partition("-")
    return TimeRangeConstraint(start.strip(), end.strip(), zone, waits)


def format_run_trigger(trigger: ProgramStatusTrigger, namespace: str) -> str:
    """Return what :func:`parse_run_trigger` reads."""
    program = trigger.program_id
    name = _join(program.namespace, program.application, namespace)
    return f"{name}={','.join(trigger.program_statuses)}"


def format_partition_trigger(trigger: PartitionTrigger, namespace: str) -> str:
    """Return what :func:`parse_partition_trigger` reads."""
    name = _join(trigger.dataset.namespace, trigger.dataset.dataset, namespace)
    return f"{name}={trigger.num_partitions}"


def combine(triggers: Sequence[Trigger], *, any_of: bool) -> Trigger | None:
    """Return one trigger of several; None of none.

    :param any_of: whether one of them is enough.
    """
    if len(triggers) < 2:
        return triggers[0] if triggers else None
    return OrTrigger([*triggers]) if any_of else AndTrigger([*triggers])


def _split(name: str, namespace: str) -> tuple[str, str]:
    owner, dot, rest = name.partition(".")
    return (owner, rest) if dot else (namespace, name)


def _join(owner: str, name: str, namespace: str) -> str:
    return name if owner == namespace else f"{owner}.{name}"
