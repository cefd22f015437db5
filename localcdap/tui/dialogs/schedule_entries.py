"""The entries of the form of a schedule as a request, and all that is wrong with them at once.

The conditions of a schedule are texts of the form: each kind of constraint has one field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

from localcdap.api.errors import BadRequestError
from localcdap.schedules.constraints import find_zone
from localcdap.schedules.mappings import TriggerMapping, read_mapping
from localcdap.schedules.model import (
    DAY_MS,
    MAPPING,
    AndTrigger,
    ConcurrencyConstraint,
    Constraint,
    DelayConstraint,
    LastRunConstraint,
    OrTrigger,
    Schedule,
    ScheduleRequest,
    TimeRangeConstraint,
    TimeTrigger,
    Trigger,
)
from localcdap.schedules.rules import check_definition
from localcdap.schedules.texts import (
    combine,
    format_argument_mapping,
    format_property_mapping,
    parse_argument_mapping,
    parse_duration,
    parse_partition_trigger,
    parse_property_mapping,
    parse_run_trigger,
    parse_time_range,
    write_duration,
    write_mapping,
)
from localcdap.text import split_pair


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


_T = TypeVar("_T")
_ALWAYS: Final = TimeTrigger("0 0 * * *")
"""Stands for a trigger that was not entered while the rest is checked."""


@dataclass
class ScheduleEntries:
    """What the user has entered.

    :param before: the schedule that is changed; None for a new one.
    :param texts: by the names of the fields.
    :param switches: by the names of the fields.
    """

    namespace: str
    pipeline: str
    before: Schedule | None
    texts: Mapping[str, str]
    switches: Mapping[str, bool]
    _problems: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.before.name if self.before is not None else self.texts["name"]

    def build_request(self) -> ScheduleRequest:
        """Return the request.

        :raises BadRequestError: when something is wrong; names all of it.
        """
        self._problems = []
        if not self.name:
            self._problems.append("Enter a name.")
        trigger = combine(self._parse_triggers(), any_of=self.switches["any"])
        if not any(self.texts[each] for each in ("cron", "runs", "partitions")):
            self._problems.append(
                "No trigger was specified for the schedule. Enter times, a pipeline or a dataset."
            )
        request = ScheduleRequest(trigger)
        request.constraints = self._build_constraints()
        timeout = self.texts["timeout"]
        request.timeout_millis = self._parse(parse_duration, timeout) if timeout else DAY_MS
        request.properties = self._build_properties()
        self._check(request)
        if self._problems:
            raise BadRequestError("\n".join(self._problems))
        return request

    def _check(self, request: ScheduleRequest) -> None:
        """Check what could be read by the rules of schedules."""
        checked = Schedule(
            self.namespace,
            self.pipeline,
            self.name or "unnamed",
            request.trigger or _ALWAYS,
            properties=request.properties or {},
            constraints=request.constraints or [],
            timeout_millis=DAY_MS if request.timeout_millis is None else request.timeout_millis,
        )
        try:
            check_definition(checked)
        except BadRequestError as error:
            self._problems.append(error.full_message)

    def _parse(self, parse: Callable[[str], _T], text: str) -> _T | None:
        """Return what is read from a text; None when it cannot be read, which is noted."""
        try:
            return parse(text)
        except BadRequestError as error:
            self._problems.append(error.full_message)
        except ValueError as error:
            self._problems.append(str(error))
        return None

    def _parse_all(self, parse: Callable[[str], _T], texts: Sequence[str]) -> list[_T]:
        found = [self._parse(parse, each.strip()) for each in texts if each.strip()]
        return [each for each in found if each is not None]

    def _parse_triggers(self) -> list[Trigger]:
        texts, found = self.texts, list[Trigger]()
        if texts["cron"]:
            found.append(TimeTrigger(texts["cron"], texts["zone"] or None))
        found += self._parse_all(
            lambda text: parse_run_trigger(text, self.namespace), texts["runs"].split()
        )
        return found + self._parse_all(
            lambda text: parse_partition_trigger(text, self.namespace), texts["partitions"].split()
        )

    def _build_constraints(self) -> list[Constraint]:
        """Return the constraints: those that the form does not show, or that did not change, stay."""
        known = self.before.constraints if self.before is not None else []
        zone, zone_before = self.texts["zone"] or None, find_zone_of(self.before)
        found = list[Constraint]()
        for each in CONDITION_FIELDS:
            text, before = self.texts[each.name], find_shown(each.kind, known)
            if not text:
                continue
            waits = not each.can_drop or self.switches[f"{each.name}-waits"]
            is_same = (
                before is not None
                and (text, zone) == (write_constraint(before, zone_before), zone_before)
                and waits is before.wait_until_met
            )
            if before is not None and is_same:
                found.append(before)
                continue
            parse = partial(parse_constraint, each.kind, zone=zone, waits=waits)
            found += self._parse_all(parse, [text])
        return [*found, *list_hidden(known)]

    def _build_properties(self) -> dict[str, str]:
        """Return the arguments and the mapping; entries of the mapping that the form cannot show stay."""
        pairs = self._parse_all(split_pair, self.texts["arguments"].split(","))
        properties = {name.strip(): value.strip() for name, value in pairs}
        hidden = list_hidden_mappings(self.before)
        arguments = self._parse_all(parse_argument_mapping, _split(self.texts["map"]))
        taken = self._parse_all(parse_property_mapping, _split(self.texts["map-property"]))
        mapping = TriggerMapping(arguments + hidden.arguments, taken + hidden.plugin_properties)
        written = write_mapping(mapping)
        return properties if written is None else {**properties, MAPPING: written}


def can_edit(schedule: Schedule) -> bool:
    """Whether the form shows all of a schedule: one trigger of each kind of time, and none in others."""
    parts = list_parts(schedule.trigger)
    is_flat = not any(isinstance(each, AndTrigger | OrTrigger) for each in parts)
    has_commas = any("," in value for name, value in schedule.properties.items() if name != MAPPING)
    return is_flat and sum(isinstance(e, TimeTrigger) for e in parts) < 2 and not has_commas


def list_parts(trigger: Trigger) -> list[Trigger]:
    """Return the triggers of several, or the only one."""
    return trigger.triggers if isinstance(trigger, AndTrigger | OrTrigger) else [trigger]


def find_zone_of(schedule: Schedule | None) -> str | None:
    """Return the zone of the times of a schedule."""
    parts = list_parts(schedule.trigger) if schedule is not None else []
    return next((each.time_zone for each in parts if isinstance(each, TimeTrigger)), None)


def format_arguments(schedule: Schedule | None) -> str:
    """Return the arguments of a schedule as its field has them."""
    given = schedule.properties if schedule is not None else {}
    return ", ".join(f"{name}={value}" for name, value in given.items() if name != MAPPING)


def format_mappings(schedule: Schedule | None) -> tuple[str, str]:
    """Return the mappings of arguments and of properties as their fields have them."""
    mapping = _get_mapping(schedule)
    arguments = [_format(format_argument_mapping(each)) for each in mapping.arguments]
    properties = [_format(format_property_mapping(each)) for each in mapping.plugin_properties]
    return ", ".join(filter(None, arguments)), ", ".join(filter(None, properties))


def list_hidden_mappings(schedule: Schedule | None) -> TriggerMapping:
    """Return the mappings that the fields cannot show, such as those of one of several pipelines."""
    mapping = _get_mapping(schedule)
    return TriggerMapping(
        [e for e in mapping.arguments if not _format(format_argument_mapping(e))],
        [e for e in mapping.plugin_properties if not _format(format_property_mapping(e))],
    )


def _split(text: str) -> list[str]:
    """Return the pairs of a field, without spaces around their sides."""
    return ["=".join(map(str.strip, each.split("=", 1))) for each in text.split(",")]


def _format(text: str | None) -> str:
    """Return a text that the field can hold; "" for one with a comma, or with spaces at an end."""
    if text is None or "," in text or any(each != each.strip() for each in text.split("=", 1)):
        return ""
    return text


def _get_mapping(schedule: Schedule | None) -> TriggerMapping:
    text = schedule.properties.get(MAPPING) if schedule is not None else None
    return TriggerMapping() if text is None else read_mapping(text)
