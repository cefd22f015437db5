"""Triggers, conditions and mappings as users type them, on the command line and in the studio.

A mapping says what a run takes from the run that has triggered it, see :mod:`localcdap.schedules.mappings`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.schedules.mappings import ArgumentMapping, PropertyMapping, TriggerMapping
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
from localcdap.text import split_pair

_DURATION: Final = re.compile(r"(\d+)\s*(ms|s|m|h|d)")
_UNITS: Final = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
"""Milliseconds of the units of durations, the longest first."""


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
    """Return the constraint of ``HH:MM-HH:MM [ZONE]``.

    :param zone: of a range that is written without one.
    """
    start, _, rest = text.partition("-")
    end, _, own = rest.strip().partition(" ")
    return TimeRangeConstraint(start.strip(), end, own.strip() or zone, waits)


def parse_duration(text: str) -> int:
    """Return the milliseconds of a text such as ``90s``, ``10m``, ``2h`` or ``1d``.

    :raises BadRequestError: when it is none.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise BadRequestError(
            f"'{text}' is not a valid duration: give a number with s, m, h or d, such as 10m."
        )
    return int(match[1]) * _UNITS[match[2]]


def write_duration(milliseconds: int) -> str:
    """Return what :func:`parse_duration` reads, in the longest unit that is exact."""
    unit = next(each for each, length in _UNITS.items() if milliseconds % length == 0)
    return f"{milliseconds // _UNITS[unit]}{unit}"


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


def parse_argument_mapping(text: str) -> ArgumentMapping:
    """Return the mapping of ``ARGUMENT=SOURCE``, of an argument of the triggering run.

    :raises BadRequestError: when it is none.
    """
    target, source = _split_mapping(text)
    return ArgumentMapping(source, target)


def parse_property_mapping(text: str) -> PropertyMapping:
    """Return the mapping of ``ARGUMENT=STAGE.PROPERTY``, of a property of the triggering pipeline.

    :raises BadRequestError: when it is none.
    """
    target, place = _split_mapping(text)
    stage, dot, source = place.rpartition(".")
    if not dot:
        raise BadRequestError(
            f"'{place}' is not a valid property of a stage.", "Write TARGET=STAGE.PROPERTY."
        )
    return PropertyMapping(stage, source, target)


def format_argument_mapping(mapping: ArgumentMapping) -> str | None:
    """Return what :func:`parse_argument_mapping` reads; None when no text says it."""
    target = mapping.target or mapping.source
    if mapping.pipeline_id is not None or not target or mapping.source is None or "=" in target:
        return None
    return f"{target}={mapping.source}"


def format_property_mapping(mapping: PropertyMapping) -> str | None:
    """Return what :func:`parse_property_mapping` reads; None when no text says it."""
    target, source = mapping.target or mapping.source, mapping.source
    if mapping.pipeline_id is not None or mapping.stage_name is None:
        return None
    if not target or source is None or "=" in target or "." in source:
        return None
    return f"{target}={mapping.stage_name}.{source}"


def write_mapping(mapping: TriggerMapping) -> str | None:
    """Return the property of a schedule; None when the mapping is empty."""
    if not mapping.arguments and not mapping.plugin_properties:
        return None
    document: dict[str, list[dict[str, Any]]] = msgspec.to_builtins(mapping)
    return json.dumps(
        {
            kind: [
                {name: value for name, value in each.items() if value is not None}
                for each in entries
            ]
            for kind, entries in document.items()
        }
    )


def _split_mapping(text: str) -> tuple[str, str]:
    try:
        return split_pair(text)
    except ValueError as error:
        raise BadRequestError(str(error)) from None
