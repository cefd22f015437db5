"""What a schedule may be: all that is wrong with one, at once.

Texts are those of CDAP 6 ``ProtoTrigger``, ``ProtoConstraint`` and ``CoreSchedulerService``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from localcdap.api.errors import BadRequestError
from localcdap.java.cron import parse_cron
from localcdap.pipeline.library.application_model import Application, get_program
from localcdap.schedules.constraints import find_zone, parse_time
from localcdap.schedules.mappings import read_mapping
from localcdap.schedules.model import (
    MAPPING,
    AndTrigger,
    ConcurrencyConstraint,
    Constraint,
    DelayConstraint,
    LastRunConstraint,
    OrTrigger,
    PartitionTrigger,
    ProgramStatusTrigger,
    Schedule,
    TimeTrigger,
    Trigger,
)
from localcdap.schedules.triggers import STATUSES

_LONGEST_NAME: Final = 255
_DEEPEST: Final = 20
"""The levels of triggers in triggers."""


def check_schedule(schedule: Schedule, application: Application) -> None:
    """Check a schedule of a deployed pipeline.

    :raises BadRequestError: when something is wrong; names all of it.
    """
    _refuse([*_check_program(schedule, application), *_check_definition(schedule)])


def check_definition(schedule: Schedule) -> None:
    """Check a schedule whose pipeline need not be deployed yet.

    :raises BadRequestError: when something is wrong; names all of it.
    """
    _refuse([*_check_definition(schedule)])


def _refuse(problems: list[str]) -> None:
    if problems:
        raise BadRequestError("\n".join(problems))


def _check_definition(schedule: Schedule) -> Iterator[str]:
    yield from _check_schedule_name(schedule.name)
    yield from _check_trigger(schedule.trigger, 0)
    for each in schedule.constraints:
        yield from _check_constraint(each)
    yield from _check_least("timeoutMillis", schedule.timeout_millis)
    if MAPPING in schedule.properties:
        try:
            read_mapping(schedule.properties[MAPPING])
        except BadRequestError as error:
            yield _join(error)


def check_cron(cron: str, zone: str | None = None) -> None:
    """Check a cron expression and its time zone.

    :raises BadRequestError: when one cannot be read.
    """
    parse_cron(cron)
    try:
        find_zone(zone)
    except ValueError as error:
        raise BadRequestError(f"{error}.", "Name a zone such as Europe/Paris.") from None


def _check_schedule_name(name: str) -> Iterator[str]:
    if not name.strip() or not name.isprintable() or "/" in name or len(name) > _LONGEST_NAME:
        yield (
            f"'{name[:_LONGEST_NAME]}' cannot be the name of a schedule: use up to 255 characters, without "
            "'/' and control characters."
        )


def _check_program(schedule: Schedule, application: Application) -> Iterator[str]:
    name, type = get_program(application.artifact)
    asked = schedule.program
    if asked.program_type.upper() != "WORKFLOW" or type.upper() != "WORKFLOW":
        kind = type.upper() if asked.program_type.upper() == "WORKFLOW" else asked.program_type
        yield f"Cannot schedule program {name} of type {kind}: Only workflows can be scheduled"
    elif asked.program_name != name:
        yield (
            f"Application '{application.name}' has no workflow '{asked.program_name}'; it has '{name}'."
        )


def _check_trigger(trigger: Trigger, level: int) -> Iterator[str]:
    if isinstance(trigger, AndTrigger | OrTrigger):
        yield from _check_composite(trigger, level)
    elif isinstance(trigger, TimeTrigger):
        try:
            check_cron(trigger.cron_expression, trigger.time_zone)
        except BadRequestError as error:
            yield _join(error)
    elif isinstance(trigger, PartitionTrigger):
        yield from _check_least("numPartitions", trigger.num_partitions)
    else:
        yield from _check_statuses(trigger)


def _check_composite(trigger: AndTrigger | OrTrigger, level: int) -> Iterator[str]:
    kind = "AND" if isinstance(trigger, AndTrigger) else "OR"
    if not trigger.triggers:
        yield f"Triggers passed in to construct a trigger of type {kind} cannot be null or empty."
    if level >= _DEEPEST:
        yield f"The trigger has more than {_DEEPEST} levels."
        return
    for each in trigger.triggers:
        yield from _check_trigger(each, level + 1)


def _check_statuses(trigger: ProgramStatusTrigger) -> Iterator[str]:
    if not trigger.program_statuses:
        yield "programStatuses must be specified"
    for each in trigger.program_statuses:
        if each not in STATUSES:
            yield (
                f"Program status '{each}' cannot be the trigger of a schedule: use {', '.join(STATUSES)}."
            )


def _check_constraint(constraint: Constraint) -> Iterator[str]:
    if isinstance(constraint, ConcurrencyConstraint):
        yield from _check_least("maxConcurrency", constraint.max_concurrency)
    elif isinstance(constraint, DelayConstraint):
        yield from _check_least("millisAfterTrigger", constraint.millis_after_trigger)
        if not constraint.wait_until_met:
            yield "DelayConstraint must always wait until met."
    elif isinstance(constraint, LastRunConstraint):
        yield from _check_least("millisSinceLastRun", constraint.millis_since_last_run)
    else:
        start, end = constraint.start_time, constraint.end_time
        for what, text in (("start", start), ("end", end)):
            try:
                parse_time(text)
            except ValueError:
                yield f"Failed to parse {what} time '{text}': use HH:mm, such as 22:30"
        if start == end:
            yield f"The start time ({start}) must not equal the end time ({end})."
        try:
            find_zone(constraint.time_zone)
        except ValueError as error:
            yield f"{error}."


def _check_least(name: str, value: int) -> Iterator[str]:
    if value < 1:
        yield f"{name} must be greater than or equal to 1 but is {value}"


def _join(error: BadRequestError) -> str:
    return f"{error.message} {error.corrective_action or ''}".strip()
