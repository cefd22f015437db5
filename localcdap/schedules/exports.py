"""Schedules for the schedulers of the machine, which need no host: crontab lines and systemd timers."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final, NamedTuple

from localcdap.api.errors import BadRequestError
from localcdap.java.cron import (
    DAY_OF_MONTH,
    HOUR,
    MINUTE,
    MONTH,
    SECOND,
    CronExpression,
    MonthDays,
    parse_cron,
)
from localcdap.schedules.constraints import describe_constraint
from localcdap.schedules.model import (
    MAPPING,
    ConcurrencyConstraint,
    Constraint,
    Schedule,
    TimeTrigger,
)

_DAYS: Final = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")
_YEARS: Final = 130
"""The years of an expression that names none."""
_SERVICE: Final = """\
[Unit]
Description=localcdap: {name}

[Service]
Type=oneshot
ExecStart={command}
"""
_TIMER: Final = """\
[Unit]
Description=localcdap: {name}

[Timer]
OnCalendar={calendar}
AccuracySec=1s

[Install]
WantedBy=timers.target
"""


class Invocation(NamedTuple):
    """How localcdap is called."""

    program: Sequence[str]
    options: Sequence[str]
    """Those that select the instance."""


def build_command(schedule: Schedule, invocation: Invocation) -> list[str]:
    """Return the command that starts a run of a schedule.

    :raises BadRequestError: when the arguments come from a triggering run.
    """
    if MAPPING in schedule.properties:
        raise BadRequestError(
            f"Schedule '{schedule.name}' takes arguments from the run that triggers it, which only localcdap "
            "knows.",
            "Keep the schedule here, and a host up: localcdap server start",
        )
    given = [
        part for name, value in schedule.properties.items() for part in ("-a", f"{name}={value}")
    ]
    return [*invocation.program, "run", schedule.application, *given, *invocation.options]


def build_crontab(schedule: Schedule, invocation: Invocation) -> str:
    """Return a line for a crontab, with one for its time zone before it.

    :raises BadRequestError: when cron cannot say when the schedule is due.
    """
    trigger, cron = _get_time(schedule)
    command = shlex.join(build_command(schedule, invocation))
    minutes = _list_values(cron.minutes, MINUTE.lowest, MINUTE.highest)
    hours = _list_values(cron.hours, HOUR.lowest, HOUR.highest)
    months = _list_values(cron.months, MONTH.lowest, MONTH.highest)
    days, weekdays = "*", "*"
    if isinstance(cron.days, MonthDays):
        if cron.days.last_minus is not None or cron.days.is_weekday:
            raise _make_error(schedule, "a crontab", "'L' and 'W'")
        days = _list_values(cron.days.days, DAY_OF_MONTH.lowest, DAY_OF_MONTH.highest)
    else:
        if cron.days.nth is not None:
            raise _make_error(schedule, "a crontab", "'L' and '#'")
        # Cron's Sunday is 0.
        weekdays = _list_values([day - 1 for day in cron.days.days], 0, 6)
    if cron.seconds != (0,) or len(cron.years) < _YEARS:
        raise _make_error(schedule, "a crontab", "seconds and years")
    zone = f"CRON_TZ={trigger.time_zone}\n" if trigger.time_zone else ""
    # A % ends the command in a crontab.
    return f"{zone}{minutes} {hours} {days} {months} {weekdays} {command.replace('%', chr(92) + '%')}\n"


def build_units(schedule: Schedule, invocation: Invocation) -> dict[str, str]:
    """Return the files of a systemd user timer, by name.

    :raises BadRequestError: when systemd cannot say when the schedule is due.
    """
    command = " ".join(_quote_unit(each) for each in build_command(schedule, invocation))
    calendar = build_calendar(schedule)
    safe = "".join(each if each.isalnum() else "-" for each in schedule.name)
    unit = f"localcdap-{schedule.namespace}-{schedule.application}-{safe}"
    name = f"{schedule.application} {schedule.name}".replace("%", "%%")
    return {
        f"{unit}.service": _SERVICE.format(name=name, command=command),
        f"{unit}.timer": _TIMER.format(name=name, calendar=calendar),
    }


def build_calendar(schedule: Schedule) -> str:
    """Return when a schedule is due as systemd.time(7) writes it.

    :raises BadRequestError: when it cannot.
    """
    # A timer does not start a service that is active.
    trigger, cron = _get_time(schedule, [ConcurrencyConstraint(1)])
    weekdays, days = "", "-*"
    if isinstance(cron.days, MonthDays):
        if cron.days.is_weekday:
            raise _make_error(schedule, "a systemd timer", "'W'")
        if cron.days.last_minus is not None:
            days = f"~{cron.days.last_minus + 1:02}"
        else:
            days = f"-{_list_values(cron.days.days, DAY_OF_MONTH.lowest, DAY_OF_MONTH.highest)}"
    else:
        weekdays = ",".join(_DAYS[day - 1] for day in cron.days.days) + " "
        if cron.days.nth is not None:
            last = cron.days.nth * 7
            days = "~07/1" if cron.days.nth < 0 else f"-{last - 6:02}..{min(last, 31):02}"
    years = "*" if len(cron.years) >= _YEARS else ",".join(map(str, cron.years))
    months = _list_values(cron.months, MONTH.lowest, MONTH.highest)
    clock = ":".join(
        _list_values(values, field.lowest, field.highest)
        for values, field in ((cron.hours, HOUR), (cron.minutes, MINUTE), (cron.seconds, SECOND))
    )
    zone = f" {trigger.time_zone}" if trigger.time_zone else ""
    return f"{weekdays}{years}-{months}{days} {clock}{zone}"


def _get_time(
    schedule: Schedule, kept: Sequence[Constraint] = ()
) -> tuple[TimeTrigger, CronExpression]:
    """Return the only trigger of a schedule.

    :param kept: the constraints that hold in the exported form too.
    """
    if not isinstance(schedule.trigger, TimeTrigger):
        raise BadRequestError(
            f"Schedule '{schedule.name}' waits for more than a time, which only localcdap knows.",
            "Keep the schedule here, and a host up: localcdap server start",
        )
    lost = [each for each in schedule.constraints if each not in kept]
    if lost:
        raise BadRequestError(
            f"Schedule '{schedule.name}' has constraints that only localcdap checks: "
            f"{'; '.join(map(describe_constraint, lost))}.",
            "Export one without these, or keep a host up: localcdap server start",
        )
    return schedule.trigger, parse_cron(schedule.trigger.cron_expression)


def _list_values(values: Sequence[int], lowest: int, highest: int) -> str:
    """Return the values of a field: ``*`` for all, else a list."""
    if len(values) == highest - lowest + 1:
        return "*"
    return ",".join(str(each) for each in values)


def _quote_unit(text: str) -> str:
    """Quote a part of a command line in a unit file, in which ``%`` and ``$`` are special."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if escaped != text or " " in text or not text else text


def _make_error(schedule: Schedule, form: str, what: str) -> BadRequestError:
    assert isinstance(schedule.trigger, TimeTrigger)
    return BadRequestError(
        f"The expression '{schedule.trigger.cron_expression}' of schedule '{schedule.name}' cannot be "
        f"written as {form}, which has no {what}.",
        "Use the other form, or keep a host up: localcdap server start",
    )
