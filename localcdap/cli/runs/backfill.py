"""Runs for times other than the present one: ``--logical-start-time`` and ``--each-day``.

Both set the argument ``logical.start.time``, from which the macro function ``logicalStartTime``, file paths
and partitions take the time of a run.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import click
import msgspec

from localcdap.api.errors import LocalcdapError
from localcdap.cli.errors import NO
from localcdap.cli.options import Instance, repeat_command
from localcdap.cli.output import echo, print_json, secho
from localcdap.engine.messages.spool import RunStatus
from localcdap.java.dates.zones import parse_zone
from localcdap.java.unix_time import to_epoch_millis
from localcdap.pipeline.macros.functions import LOGICAL_START_TIME
from localcdap.runs.model import Run, RunRequest

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Days(msgspec.Struct, frozen=True):
    """The days of a backfill, both ends included."""

    first: datetime.date
    last: datetime.date

    def __iter__(self) -> Iterator[datetime.date]:
        """Yield each day."""
        for number in range(self.first.toordinal(), self.last.toordinal() + 1):
            yield datetime.date.fromordinal(number)


class DaysType(click.ParamType[Days]):
    """Days as ``2024-01-01..2024-01-31``, or a single day."""

    name = "days"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Days:
        """Return the days of a text."""
        if isinstance(value, Days):
            return value
        first, _, last = str(value).partition("..")
        try:
            days = Days(
                datetime.date.fromisoformat(first), datetime.date.fromisoformat(last or first)
            )
        except ValueError:
            self.fail(f"'{value}' is not of the form 2024-01-01..2024-01-31.")
        if days.last < days.first:
            self.fail(f"{days.last} is before {days.first}.")
        return days


def logical_start_options(function: _Function) -> _Function:
    """Add the options of a single time; see :func:`set_logical_start`."""
    for option in (
        click.option(
            "--timezone",
            metavar="ZONE",
            help="The time zone of a date or time that has none. Default: UTC.",
        ),
        click.option(
            "--logical-start-time",
            metavar="TIME",
            help="The time for which the pipeline runs, such as 2024-01-01 or 2024-01-01T06:30; the same as "
            f"-a {LOGICAL_START_TIME}=MILLISECONDS. Default: the present time.",
        ),
    ):
        function = option(function)
    return function


each_day_option = click.option(
    "--each-day",
    "days",
    type=DaysType(),
    metavar="A..B",
    help="Run once for the beginning of each day from A to B, such as 2024-01-01..2024-01-31, one run after "
    "the other, until one fails.",
)


def set_logical_start(
    arguments: dict[str, str], time: str | None, zone: str | None
) -> dict[str, str]:
    """Return the arguments of a run with the time of ``--logical-start-time``.

    :param time: a date, whose beginning is meant, or a date and time in the ISO form.
    :param zone: the name of the time zone of a time without an offset; None for UTC.
    :raises click.UsageError: when the time or the zone is not understood, when both say an offset, or when
        the arguments have a time too.
    """
    if time is None:
        return arguments
    try:
        moment = datetime.datetime.fromisoformat(time)
    except ValueError:
        raise click.UsageError(
            f"--logical-start-time: '{time}' is not of the form 2024-01-01 or 2024-01-01T06:30."
        ) from None
    if moment.tzinfo is not None and zone is not None:
        raise click.UsageError(f"--logical-start-time: '{time}' has an offset; omit --timezone.")
    _refuse_second_time(arguments, "--logical-start-time")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=_find_zone(zone))
    return {**arguments, LOGICAL_START_TIME: str(to_epoch_millis(moment))}


def _find_zone(name: str | None) -> datetime.tzinfo:
    try:
        return datetime.UTC if name is None else parse_zone(name)
    except ValueError:
        raise click.UsageError(
            f"--timezone: there is no time zone '{name}'; write its name, such as Europe/Berlin."
        ) from None


def _refuse_second_time(arguments: dict[str, str], option: str) -> None:
    if LOGICAL_START_TIME in arguments:
        raise click.UsageError(f"Use either {option} or -a {LOGICAL_START_TIME}, not both.")


class Backfill:
    """One run of a pipeline for each of several days.

    :param zone: the name of the time zone in which the days begin; None for UTC.
    :param arguments: those of each run.
    :raises click.UsageError: when the zone is not understood, or the arguments have a time too.
    """

    def __init__(
        self,
        instance: Instance,
        days: Days,
        zone: str | None,
        arguments: dict[str, str],
    ) -> None:
        _refuse_second_time(arguments, "--each-day")
        self._instance = instance
        self._days = days
        self._zone = _find_zone(zone)

    def run(
        self,
        request: RunRequest,
        start: Callable[[RunRequest], Run],
        show: Callable[[Run], None],
    ) -> int:
        """Run a pipeline for each day, and print the command that goes on after a run that fails.

        :param start: starts a run and waits for its end, or only queues it.
        :param show: prints a run; not called with ``--json``.
        :returns: the exit code of the command.
        :raises LocalcdapError: when a run cannot be started.
        """
        runs: list[Run] = []
        day = self._days.first
        try:
            for day in self._days:
                run = start(self._build_request(request, day))
                runs.append(run)
                if not self._instance.json:
                    secho(str(day), bold=True)
                    show(run)
                if run.status in (RunStatus.FAILED, RunStatus.KILLED):
                    self._explain_rest(day)
                    return NO
        except LocalcdapError:
            self._explain_rest(day)
            raise
        finally:
            if self._instance.json and runs:
                print_json(runs)
        return 0

    def _build_request(self, request: RunRequest, day: datetime.date) -> RunRequest:
        midnight = datetime.datetime.combine(day, datetime.time(), self._zone)
        start_ms = to_epoch_millis(midnight)
        return msgspec.structs.replace(
            request, arguments={**request.arguments, LOGICAL_START_TIME: str(start_ms)}
        )

    def _explain_rest(self, day: datetime.date) -> None:
        command = repeat_command(days=f"{day}..{self._days.last}")
        echo(f"Stopped at {day}. To go on from there: {command}", err=True)
