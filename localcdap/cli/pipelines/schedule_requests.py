"""What the options of ``localcdap schedules add`` and ``update`` ask for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.cli.files import read_text
from localcdap.cli.options import parse_pairs
from localcdap.decoders import convert
from localcdap.schedules.mappings import TriggerMapping
from localcdap.schedules.model import (
    MAPPING,
    ConcurrencyConstraint,
    Constraint,
    DelayConstraint,
    LastRunConstraint,
    ScheduleRequest,
    TimeTrigger,
    Trigger,
)
from localcdap.schedules.texts import (
    combine,
    parse_argument_mapping,
    parse_duration,
    parse_partition_trigger,
    parse_property_mapping,
    parse_run_trigger,
    parse_time_range,
    write_mapping,
)


class Duration(click.ParamType[int]):
    """A time such as ``90s``, ``10m``, ``2h`` or ``1d``, in milliseconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            return parse_duration(str(value))
        except BadRequestError as error:
            self.fail(error.message)


class RequestOptions(msgspec.Struct):
    """The options that say what a schedule is."""

    file: str | None
    cron: str | None
    time_zone: str | None
    after: Sequence[str]
    partitions: Sequence[str]
    any_of: bool
    arguments: Sequence[str]
    mapped: Sequence[str]
    mapped_properties: Sequence[str]
    max_runs: int | None
    delay: int | None
    last_run: int | None
    between: str | None
    wait: bool
    timeout: int | None
    description: str | None


def build_request(options: RequestOptions, namespace: str) -> ScheduleRequest:
    """Return the request for a schedule, with what the options leave out as None.

    :param namespace: of pipelines and datasets that are named without one.
    :raises BadRequestError: when an option or the file cannot be read.
    """
    request = ScheduleRequest() if options.file is None else _read_file(options.file)
    request.trigger = _build_trigger(options, namespace) or request.trigger
    request.constraints = _build_constraints(options) or request.constraints
    properties = parse_pairs(options.arguments)
    mapping = _build_mapping(options)
    if mapping is not None:
        properties[MAPPING] = mapping
    if properties:
        request.properties = {**(request.properties or {}), **properties}
    if options.description is not None:
        request.description = options.description
    if options.timeout is not None:
        request.timeout_millis = options.timeout
    return request


def _read_file(name: str) -> ScheduleRequest:
    text = read_text(name)
    try:
        return convert(json.loads(text), ScheduleRequest, strict=False)
    except (ValueError, msgspec.ValidationError) as error:
        raise BadRequestError(
            f"{name} is not a valid schedule: {error}.",
            "Write the JSON of CDAP's ScheduleDetail, such as 'localcdap schedules show --json' prints.",
        ) from None


def _build_trigger(options: RequestOptions, namespace: str) -> Trigger | None:
    found: list[Trigger] = []
    if options.cron is not None:
        found.append(TimeTrigger(options.cron, options.time_zone))
    found += [parse_run_trigger(each, namespace) for each in options.after]
    found += [parse_partition_trigger(each, namespace) for each in options.partitions]
    return combine(found, any_of=options.any_of)


def _build_constraints(options: RequestOptions) -> list[Constraint]:
    wait, found = options.wait, list[Constraint]()
    if options.max_runs is not None:
        found.append(ConcurrencyConstraint(options.max_runs, wait))
    if options.delay is not None:
        found.append(DelayConstraint(options.delay))
    if options.last_run is not None:
        found.append(LastRunConstraint(options.last_run, wait))
    if options.between is not None:
        found.append(parse_time_range(options.between, options.time_zone, waits=wait))
    return found


def _build_mapping(options: RequestOptions) -> str | None:
    """Return what the run takes from the triggering one; None when it takes nothing."""
    return write_mapping(
        TriggerMapping(
            [parse_argument_mapping(each) for each in options.mapped],
            [parse_property_mapping(each) for each in options.mapped_properties],
        )
    )
