"""``localcdap run`` and ``demo``: validate and run a pipeline, also for times other than the present one.

The options ``--logical-start-time`` and ``--each-day`` set the argument ``logical.start.time``, from which
the macro function ``logicalStartTime``, paths of files and partitions take the time of a run.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
import msgspec

from localcdap.api.errors import LocalcdapError
from localcdap.cli.errors import NO
from localcdap.cli.files import get_deployed, is_file, read_text
from localcdap.cli.options import (
    Instance,
    add_strict,
    arguments_option,
    fix_option,
    flag,
    instance_options,
    parse_pairs,
    repeat_command,
    strict_option,
)
from localcdap.cli.output import (
    echo,
    is_terminal,
    print_error,
    print_failures,
    print_json,
    print_table,
    secho,
)
from localcdap.cli.records import print_altered, print_results
from localcdap.cli.runs.recordings import parse_recordings, print_stand_ins, record_option
from localcdap.engine.messages.spool import RunStatus
from localcdap.java.dates.zones import parse_zone
from localcdap.java.unix_time import to_epoch_millis
from localcdap.pipeline.macros.parser import LOGICAL_START_TIME
from localcdap.runs.model import (
    RECENT_RUNS,
    Run,
    RunRequest,
    describe_start,
    describe_state,
    find_changes,
)
from localcdap.text import format_duration, plural

if TYPE_CHECKING:
    from localcdap.host import Cdap


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


NO_CHANGES: Final[Mapping[tuple[str, str], str]] = MappingProxyType({})
_EARLIER_RUNS: Final = 20
"""The newest runs of a pipeline among which the estimate of a run looks for a completed one."""


@click.command("run")
@click.argument("pipeline", metavar="FILE|NAME[@VERSION]")
@arguments_option
@click.option("--profile", metavar="P", help="The compute profile; see 'localcdap profiles'.")
@flag("--explain", help="Show how Spark would compute each stage, and run nothing.")
@flag("--detach", help="Start the run and return; see 'localcdap runs'.")
@strict_option
@flag(
    "--update-datasets",
    help="Change existing datasets so that they can hold what the sinks write, where that loses nothing.",
)
@logical_start_options
@each_day_option
@record_option
@fix_option
@instance_options
def run_command(
    instance: Instance,
    pipeline: str,
    arguments: tuple[str, ...],
    profile: str | None,
    explain: bool,
    detach: bool,
    strict: bool,
    update_datasets: bool,
    recordings: tuple[str, ...],
    fix: bool,
    logical_start_time: str | None,
    timezone: str | None,
    days: Days | None,
) -> int:
    """Validate the pipeline in FILE ('-' is standard input), or the deployed pipeline NAME, run it on Spark,
    and show the numbers of input, output and error records of each stage.

    A pipeline with failures does not run. The files and tables of a failed or stopped run stay as they
    were before it; what its actions changed, and the rows that it committed to databases, remain.
    """
    values = add_strict(parse_pairs(arguments, "-a"), strict)
    request = RunRequest(
        document=read_text(pipeline) if is_file(pipeline) else None,
        file=pipeline if is_file(pipeline) else None,
        namespace=instance.namespace,
        name=Path(pipeline).stem,
        arguments=set_logical_start(values, logical_start_time, timezone),
        profile=profile,
        use_suggested=fix,
        update_datasets=update_datasets,
        recordings=parse_recordings(recordings),
    )
    if explain:
        if days is not None:
            raise click.UsageError("Use either --explain or --each-day, not both.")
        return _explain(instance, request, pipeline)
    backfill = None if days is None else Backfill(instance, days, timezone, request.arguments)
    with instance.connect(expects_run=True) as cdap:
        request = _resolve_document(cdap, request, pipeline)
        if backfill is not None:
            return backfill.run(
                request,
                lambda of_day: start(cdap, of_day, detach=detach),
                lambda run: show_result(run, read_changes(cdap, run)),
            )
        run = start(cdap, request, detach=detach)
        changes = read_changes(cdap, run)
    if not instance.print_json(run):
        show_result(run, changes)
    return NO if run.status in (RunStatus.FAILED, RunStatus.KILLED) else 0


def _explain(instance: Instance, request: RunRequest, pipeline: str) -> int:
    from localcdap.cli.runs.preview import explain

    with instance.connect() as cdap:
        return explain(cdap, _resolve_document(cdap, request, pipeline), as_json=instance.json)


def _resolve_document(cdap: Cdap, request: RunRequest, pipeline: str) -> RunRequest:
    """Return the request with the document of the deployed pipeline, unless the user named a file."""
    if request.document is None:
        found, document = get_deployed(cdap, request.namespace, pipeline)
        return msgspec.structs.replace(
            request, document=document, application=found.name, application_version=found.version
        )
    if pipeline.isidentifier() and cdap.applications.has_application(request.namespace, pipeline):
        echo(f"Running the file '{pipeline}', not the deployed pipeline of that name.", err=True)
    return request


def start(cdap: Cdap, request: RunRequest, *, detach: bool = False) -> Run:
    """Start a run and, unless detached, show its progress until it has ended.

    An interrupt from the keyboard stops the run.

    :raises InvalidPipelineError: when the pipeline has failures.
    """
    run = cdap.runs.start(request)
    if detach:
        return run
    try:
        return _watch(cdap, run)
    except KeyboardInterrupt:
        echo("Stopping the run …", err=True)
        return cdap.runs.stop(run.run)


def read_changes(cdap: Cdap, run: Run) -> dict[tuple[str, str], str]:
    """Return how the results of a run's expectations differ from the run before, see `find_changes`."""
    if not run.expectations:
        return {}
    recent = cdap.runs.list_runs(run.namespace, pipeline=run.pipeline, limit=RECENT_RUNS)
    return find_changes(run, recent)


def show_result(run: Run, changes: Mapping[tuple[str, str], str] = NO_CHANGES) -> None:
    """Print the counts of each stage, the results of expectations, and how the run ended."""
    if run.stages:
        _print_counts(run)
    for name, counts in run.stages.items():
        if counts.metrics:
            listed = ", ".join(f"{metric} {number:,}" for metric, number in counts.metrics.items())
            echo(f"{name}: {listed}")
    print_results(run.expectations, changes)
    print_altered(run.altered)
    print_stand_ins(run.stand_ins)
    for repair in run.repairs:
        secho(str(repair), fg="yellow")
    took = format_duration(run.starting, run.end)
    colour = {RunStatus.COMPLETED: "green", RunStatus.FAILED: "red"}.get(run.status, "yellow")
    state = f"{run.status}, position {run.position:,} in the queue" if run.position else run.status
    secho(state, fg=colour, bold=True, nl=False)
    how = describe_start(run)
    echo(
        f"  {run.pipeline}  run {run.run}{f'  in {took}' if took else ''}{f'  {how}' if how else ''}"
    )
    if run.error is not None:
        print_error(run.error.message, run.error.corrective_action)
        for frame in run.error.trace:
            echo(f"  {frame.rstrip()}")
        echo(f"See the log: localcdap logs {run.run}")


def _print_counts(run: Run) -> None:
    """Print the counts of each stage; alerts only if there are any."""
    names = ["in", "out", "errors"]
    rows = [[name, c.records_in, c.records_out, c.errors] for name, c in run.stages.items()]
    if any(counts.alerts for counts in run.stages.values()):
        names.append("alerts")
        for row, counts in zip(rows, run.stages.values(), strict=True):
            row.append(counts.alerts or 0)
    print_table(("stage", *names), rows, numbers=" ".join(names))


def _watch(cdap: Cdap, run: Run) -> Run:
    """Wait for the end of a run, and draw its progress if stderr is a terminal."""
    if not is_terminal():
        if run.position:
            echo(f"The run {run.run} is {describe_state(run)}.", err=True)
        while not run.status.is_end:
            run = cdap.runs.wait_for_end(run.run, timeout_s=30.0)
        return run
    from localcdap.cli.runs.progress import ProgressDisplay, get_earlier_seconds

    earlier = cdap.runs.list_runs(run.namespace, pipeline=run.pipeline, limit=_EARLIER_RUNS)
    with ProgressDisplay(get_earlier_seconds(earlier)) as progress:
        progress.show(run)
        while not run.status.is_end:
            run = cdap.runs.wait(run.run, run.version, timeout_s=0.5)
            progress.show(run)
    return run


@click.command("demo")
@instance_options
def demo_command(instance: Instance) -> int:
    """Copy a sample pipeline and its data into the instance's folder, validate it and run it."""
    from localcdap.host import demo
    from localcdap.pipeline.service import PipelineRequest

    file = demo.install_demo(instance.home)
    document = file.read_text(encoding="utf-8")
    arguments = demo.get_arguments(file)
    with instance.connect(expects_run=True) as cdap:
        request = PipelineRequest(document, instance.namespace, arguments, file=str(file))
        answer = cdap.studio.validate_pipeline(request)
        if answer.errors:
            print_failures(answer.errors)
            return NO
        echo(
            f"{file}: valid, {plural(len(answer.spec.stages if answer.spec else []), 'stage')}",
            err=True,
        )
        echo("Running on local Spark; the first start takes some seconds …", err=True)
        run = start(cdap, RunRequest(document, instance.namespace, demo.NAME, arguments))
        if instance.print_json(run):
            return NO if run.status is not RunStatus.COMPLETED else 0
        show_result(run)
        if run.status is not RunStatus.COMPLETED:
            return NO
        secho("\nThe table 'spending':", bold=True)
        rows = cdap.tables.read_rows(instance.namespace, "spending", 10)
        print_table(rows.columns, rows.rows)
    _print_next_steps(file.parent)
    return 0


def _print_next_steps(folder: Path) -> None:
    echo(
        f"""
The pipeline, its input and its output are in {folder}
Try next:
  localcdap logs last                          the log of this run
  localcdap plugins                            the plugins for pipelines
  localcdap validate {folder / "pipeline.json"}
  localcdap run FILE -a key=value              a pipeline exported from CDAP or Data Fusion
  localcdap doctor                             check this machine"""
    )
