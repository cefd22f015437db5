"""``localcdap schedules``: make, show and change the schedules of deployed pipelines."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.cli.files import read_text
from localcdap.cli.options import Instance, flag, instance_options, parse_pairs, repeatable
from localcdap.cli.output import StyledText, echo, print_facts, print_json, print_table, secho
from localcdap.decoders import convert
from localcdap.files.atomic import write_file
from localcdap.schedules.mappings import TriggerMapping
from localcdap.schedules.model import (
    MAPPING,
    ConcurrencyConstraint,
    Constraint,
    DelayConstraint,
    EventKind,
    LastRunConstraint,
    ScheduleEvent,
    ScheduleRequest,
    ScheduleStatus,
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
from localcdap.text import format_time, plural

if TYPE_CHECKING:
    from localcdap.host import Cdap
    from localcdap.schedules.model import PlannedTime, Schedule, ScheduleSummary


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


_ACTIONS: Final = (
    "list",
    "show",
    "add",
    "update",
    "enable",
    "resume",
    "suspend",
    "delete",
    "next",
    "planned",
    "jobs",
    "history",
    "export",
)
_OF_ONE: Final = ("show", "add", "update", "enable", "resume", "suspend", "delete", "export")
"""The actions that need a pipeline and a schedule."""
_LOST: Final = (EventKind.FAILED, EventKind.MISSED, EventKind.TIMED_OUT)
_DAY_MS: Final = 86_400_000


@click.command("schedules")
@click.argument("action", type=click.Choice(_ACTIONS), default="list")
@click.argument("pipeline", required=False, metavar="[PIPELINE|CRON]")
@click.argument("name", required=False)
@click.option(
    "--cron", metavar="FIELDS", help="When: five fields, or those of Quartz (add, update)."
)
@click.option("--time-zone", metavar="ZONE", help="The zone of times; default: the machine's.")
@repeatable(
    "--after",
    metavar="PIPELINE[=STATUS]",
    help="After a run of a pipeline; STATUS is COMPLETED, FAILED or KILLED, or several with commas.",
)
@repeatable(
    "--partitions", metavar="DATASET[=N]", help="When a dataset has N new partitions; default: 1."
)
@flag("--any", "any_of", help="One of several triggers is enough; default: all.")
@repeatable(
    "-a",
    "--argument",
    "arguments",
    metavar="KEY=VALUE",
    help="An argument of its runs, the value of the macro ${KEY}; repeatable.",
)
@repeatable(
    "--map",
    "mapped",
    metavar="ARGUMENT=SOURCE",
    help="An argument from that of the triggering run.",
)
@repeatable(
    "--map-property",
    "mapped_properties",
    metavar="ARGUMENT=STAGE.PROPERTY",
    help="An argument from a property of the triggering pipeline.",
)
@click.option("--max-runs", type=int, metavar="N", help="Only while less than N runs are active.")
@click.option(
    "--delay", type=Duration(), metavar="TIME", help="This long after the trigger, as 10m."
)
@click.option(
    "--last-run", type=Duration(), metavar="TIME", help="Only this long after the last run."
)
@click.option("--between", metavar="HH:MM-HH:MM [ZONE]", help="Only at these times of the day.")
@flag("--wait", help="Wait for these conditions, instead of dropping the run.")
@click.option(
    "--timeout", type=Duration(), metavar="TIME", help="How long to wait at most; default: 1d."
)
@click.option("--description", metavar="TEXT", help="What it is for.")
@click.option("--file", metavar="FILE", help="Its JSON as CDAP has it; '-' is standard input.")
@flag("--enable", "enables", help="Enable it at once (add).")
@click.option("--count", default=5, type=click.IntRange(1, 1000), help="How many times (next).")
@click.option("--days", default=7, type=click.IntRange(1, 366), help="How far ahead (planned).")
@click.option("--limit", default=50, type=click.IntRange(1, 10_000), help="How many (history).")
@click.option(
    "--as",
    "form",
    default="systemd",
    type=click.Choice(["systemd", "crontab"]),
    help="The form (export).",
)
@click.option(
    "--directory", type=click.Path(file_okay=False), help="Write the files there (export)."
)
@instance_options
def schedules_command(
    instance: Instance,
    action: str,
    pipeline: str | None,
    name: str | None,
    enables: bool,
    count: int,
    days: int,
    limit: int,
    form: str,
    directory: str | None,
    **options: Any,
) -> None:
    """List the schedules of deployed pipelines; show, add, update, enable, suspend or delete one.

    'next' shows when a PIPELINE or a CRON expression is due, 'planned' the runs of the next days, 'jobs'
    what was triggered and waits, 'history' what became of triggers. 'export' writes a systemd timer or a
    crontab line, which starts runs without a host.

    A new schedule is suspended. Schedules act while a host is up: 'localcdap server start' keeps one up.
    Days of the week are 1 (SUN) to 7 (SAT), as in Quartz.
    """
    if action in _OF_ONE and (pipeline is None or name is None):
        raise click.UsageError(f"Name both: localcdap schedules {action} PIPELINE NAME")
    with instance.connect() as cdap:
        if action == "list":
            _list(instance, cdap, pipeline)
        elif action == "next":
            _print_next(instance, cdap, pipeline, options["time_zone"], count)
        elif action == "planned":
            end = time.time_ns() // 1_000_000 + days * _DAY_MS
            found = cdap.schedules.list_planned(instance.namespace, end, pipeline)
            _print_times(instance, found)
        elif action == "jobs":
            _print_jobs(instance, cdap, pipeline, name)
        elif action == "history":
            events = cdap.schedules.list_events(instance.namespace, pipeline, name, limit)
            _print_history(instance, events)
        else:
            assert pipeline is not None
            assert name is not None
            key = (instance.namespace, pipeline, name)
            if action == "show":
                _show(instance, cdap, cdap.schedules.get(*key))
            elif action == "export":
                _export(instance, cdap.schedules.get(*key), form, directory)
            else:
                request = RequestOptions(**options)
                _change(instance, cdap, action, key, request, enables=enables)


def _change(
    instance: Instance,
    cdap: Cdap,
    action: str,
    key: tuple[str, str, str],
    options: RequestOptions,
    *,
    enables: bool,
) -> None:
    schedules = cdap.schedules
    found: Schedule | None = None
    if action == "delete":
        schedules.delete(*key)
    elif action == "suspend":
        found = schedules.suspend(*key)
    elif action in ("enable", "resume"):
        found = schedules.enable(*key)
    else:
        request = build_request(options, key[0])
        change = schedules.add if action == "add" else schedules.update
        found = change(*key, request)
        if enables and found.status is ScheduleStatus.SUSPENDED:
            found = schedules.enable(*key)
    if instance.print_json(found):
        return
    if found is None:
        echo(f"Deleted schedule '{key[2]}' of {key[1]}.")
        return
    _print_state(instance, cdap, found)


def _print_state(instance: Instance, cdap: Cdap, schedule: Schedule) -> None:
    """Show whether a schedule acts, and when."""
    from localcdap.schedules.triggers import describe_trigger

    where = f"{schedule.application} {schedule.name}"
    if schedule.status is ScheduleStatus.SUSPENDED:
        echo(f"{where} is suspended: {describe_trigger(schedule.trigger)}.")
        echo(f"Enable it: localcdap schedules enable {where}")
        return
    planned = _find_next(cdap, schedule)
    when = f", next {planned.text}" if planned is not None else ""
    echo(f"{where} is enabled: {describe_trigger(schedule.trigger)}{when}.")
    for each in _list_unknown_pipelines(cdap, schedule):
        echo(f"Warning: there is no deployed pipeline '{each}' that could trigger it.", err=True)
    if not _has_server(instance):
        echo(
            "It acts while a host is up, as long as the studio or a command is open. Keep one up: localcdap "
            f"server start; or let the machine start the runs: localcdap schedules export {where}",
            err=True,
        )


def _has_server(instance: Instance) -> bool:
    from localcdap.server.rest.process import ServerFolder

    return ServerFolder(instance.home.server).find_server() is not None


def _find_next(cdap: Cdap, schedule: Schedule) -> PlannedTime | None:
    end = time.time_ns() // 1_000_000 + 366 * _DAY_MS
    found = cdap.schedules.list_planned(schedule.namespace, end, schedule.application)
    return next((each for each in found if each.schedule == schedule.name), None)


def _list_unknown_pipelines(cdap: Cdap, schedule: Schedule) -> Sequence[str]:
    from localcdap.schedules.model import ProgramStatusTrigger
    from localcdap.schedules.triggers import list_simple

    programs = [
        each.program_id
        for each in list_simple(schedule.trigger)
        if isinstance(each, ProgramStatusTrigger)
    ]
    return [
        f"{each.namespace}.{each.application}"
        for each in programs
        if not cdap.applications.has_application(each.namespace, each.application)
    ]


def _list(instance: Instance, cdap: Cdap, pipeline: str | None) -> None:
    from localcdap.schedules.triggers import describe_trigger

    found = cdap.schedules.list_schedules(instance.namespace, pipeline)
    instance.print_list(
        found,
        ("pipeline", "schedule", "trigger", "status", "next", "last"),
        lambda each: (
            each.schedule.application,
            each.schedule.name,
            describe_trigger(each.schedule.trigger),
            each.schedule.status.lower(),
            format_time(each.next_runtime),
            _describe_last(each),
        ),
        empty="No schedules. Make one: localcdap schedules add PIPELINE NAME --cron '0 3 * * *'",
    )


def _describe_last(summary: ScheduleSummary) -> str:
    event = summary.last_event
    return (
        "" if event is None else f"{event.kind.lower().replace('_', ' ')} {format_time(event.time)}"
    )


def _show(instance: Instance, cdap: Cdap, schedule: Schedule) -> None:
    if instance.print_json(schedule):
        return
    from localcdap.schedules.constraints import describe_constraint
    from localcdap.schedules.triggers import describe_trigger
    from localcdap.text import format_duration

    secho(f"{schedule.application} {schedule.name}", bold=True)
    planned = _find_next(cdap, schedule)
    facts = [
        ("", schedule.description),
        ("trigger", describe_trigger(schedule.trigger)),
        ("status", schedule.status.lower()),
        ("next", planned.text if planned is not None else ""),
        ("constraints", "; ".join(describe_constraint(each) for each in schedule.constraints)),
        ("time-out", format_duration(0, schedule.timeout_millis)),
        ("acts as", schedule.user or ""),
        ("changed", format_time(schedule.last_update_time)),
        *((f"-a {name}", value) for name, value in sorted(schedule.properties.items())),
    ]
    print_facts(facts)
    key = (schedule.namespace, schedule.application, schedule.name)
    events = cdap.schedules.list_events(*key, 10)
    if events:
        echo("")
        _print_history(instance, events)


def _print_next(
    instance: Instance, cdap: Cdap, asked: str | None, zone: str | None, count: int
) -> None:
    """Show when a cron expression is due, or the schedules of a pipeline."""
    if asked is None:
        raise click.UsageError(
            "Name a pipeline or a cron expression: localcdap schedules next '0 3 * * *'"
        )
    if len(asked.split()) > 1 or not cdap.applications.has_application(instance.namespace, asked):
        _print_times(instance, cdap.schedules.list_times(asked, zone, count))
        return
    end = time.time_ns() // 1_000_000 + 366 * _DAY_MS
    _print_times(instance, cdap.schedules.list_planned(instance.namespace, end, asked, limit=count))


def _print_times(instance: Instance, found: Sequence[PlannedTime]) -> None:
    if instance.json:
        print_json(found)
    elif not found:
        echo("Nothing is planned.", err=True)
    elif not found[0].application:
        for each in found:
            echo(each.text)
    else:
        rows = [(each.text, each.application, each.schedule) for each in found]
        print_table(("time", "pipeline", "schedule"), rows)


def _print_jobs(instance: Instance, cdap: Cdap, pipeline: str | None, name: str | None) -> None:
    found = cdap.schedules.list_jobs(instance.namespace, pipeline, name)
    instance.print_list(
        found,
        ("pipeline", "schedule", "state", "since", "got"),
        lambda each: (
            each.application,
            each.schedule,
            each.state,
            format_time(each.created),
            plural(len(each.notifications), "notification"),
        ),
        empty="No jobs: nothing that was triggered waits.",
    )


def _print_history(instance: Instance, events: Sequence[ScheduleEvent]) -> None:
    if instance.print_json(events):
        return
    if not events:
        echo("Nothing was triggered yet.", err=True)
    for each in events:
        colour = (
            "red" if each.kind in _LOST else "yellow" if each.kind is EventKind.DROPPED else None
        )
        run = f" {each.run}" if each.run else ""
        echo(
            f"{format_time(each.time)} {each.application} {each.schedule} ",
            StyledText(each.kind.value, colour),
            f"{run} {each.message}",
        )


def _export(instance: Instance, schedule: Schedule, form: str, directory: str | None) -> None:
    from localcdap.schedules.exports import Invocation, build_crontab, build_units

    program = shutil.which("localcdap")
    invocation = Invocation(
        [program] if program else [sys.executable, "-m", "localcdap.cli"],
        ["--home", str(instance.home.path.absolute()), "--namespace", schedule.namespace],
    )
    files = (
        {"crontab": build_crontab(schedule, invocation)}
        if form == "crontab"
        else build_units(schedule, invocation)
    )
    if instance.print_json(files):
        return
    for name, text in files.items():
        if directory is not None:
            Path(directory).mkdir(parents=True, exist_ok=True)
            write_file(Path(directory) / name, text)
            echo(f"Wrote {Path(directory) / name}.")
        else:
            echo(text if form == "crontab" else f"# {name}\n{text}", nl=form != "crontab")
    if schedule.status is ScheduleStatus.SCHEDULED:
        where = f"{schedule.application} {schedule.name}"
        echo(
            f"The schedule is enabled here too: suspend it, or runs start twice: localcdap schedules suspend "
            f"{where}",
            err=True,
        )
