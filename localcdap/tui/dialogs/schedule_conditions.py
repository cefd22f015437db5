"""The conditions of a schedule as texts of a form: each kind of constraint has one field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from localcdap.api.errors import BadRequestError
from localcdap.schedules.constraints import find_zone
from localcdap.schedules.model import (
    ConcurrencyConstraint,
    Constraint,
    DelayConstraint,
    LastRunConstraint,
    TimeRangeConstraint,
)
from localcdap.schedules.texts import parse_duration, parse_time_range, write_duration


@dataclass(frozen=True)
class ConditionField:
    """A field of the form.

    :param name: the end of its id.
    :param example: what stands in the empty field.
    """

    label: str
    name: str
    example: str
    kind: type[Constraint]

    @property
    def can_drop(self) -> bool:
        """Whether a run may be dropped that does not meet the condition; after a delay it always starts."""
        return self.kind is not DelayConstraint


CONDITION_FIELDS: Final = (
    ConditionField("runs at once", "most", "any number", ConcurrencyConstraint),
    ConditionField("time after trigger", "delay", "none, or 10m, 2h", DelayConstraint),
    ConditionField("time after last run", "pause", "any, or 10m, 2h, 1d", LastRunConstraint),
    ConditionField("time of the day", "between", "any, or 22:00-06:00", TimeRangeConstraint),
)


def find_shown(kind: type[Constraint], constraints: Sequence[Constraint]) -> Constraint | None:
    """Return the constraint that the field of a kind shows: the first one."""
    return next((each for each in constraints if isinstance(each, kind)), None)


def list_hidden(constraints: Sequence[Constraint]) -> list[Constraint]:
    """Return the constraints that no field shows, such as a second one of the same kind."""
    shown = [find_shown(each.kind, constraints) for each in CONDITION_FIELDS]
    return [each for each in constraints if not any(each is found for found in shown)]


def write_constraint(constraint: Constraint, zone: str | None) -> str:
    """Return what :func:`parse_constraint` reads.

    :param zone: of the times of the schedule.
    """
    if isinstance(constraint, ConcurrencyConstraint):
        return str(constraint.max_concurrency)
    if isinstance(constraint, DelayConstraint):
        return write_duration(constraint.millis_after_trigger)
    if isinstance(constraint, LastRunConstraint):
        return write_duration(constraint.millis_since_last_run)
    text = f"{constraint.start_time}-{constraint.end_time}"
    own = constraint.time_zone
    return text if own == zone else f"{text} {find_zone(own).name}"


def parse_constraint(
    kind: type[Constraint], text: str, zone: str | None, *, waits: bool
) -> Constraint:
    """Return the constraint of a text.

    :param zone: of times that are written without one.
    :param waits: whether a run that does not meet the condition waits, instead of being dropped.
    :raises BadRequestError: when it is none.
    """
    if kind is ConcurrencyConstraint:
        if not text.isdecimal():
            raise BadRequestError(f"'{text}' is not a valid number of runs.")
        return ConcurrencyConstraint(int(text), waits)
    if kind is DelayConstraint:
        return DelayConstraint(parse_duration(text))
    if kind is LastRunConstraint:
        return LastRunConstraint(parse_duration(text), waits)
    return parse_time_range(text, zone, waits=waits)
