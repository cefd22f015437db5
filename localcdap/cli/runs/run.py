"""``localcdap run FILE|NAME``: validate and run a pipeline, and show the record counts of each stage."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import click
import msgspec

from localcdap.cli.errors import NO
from localcdap.cli.files import get_deployed, is_file, read_text
from localcdap.cli.options import (
    Instance,
    arguments_option,
    fix_option,
    instance_options,
    parse_pairs,
)
from localcdap.cli.output import echo, is_terminal, print_json, print_table, secho
from localcdap.cli.records import print_altered, print_results
from localcdap.cli.runs.backfill import (
    Backfill,
    Days,
    each_day_option,
    logical_start_options,
    set_logical_start,
)
from localcdap.cli.runs.recordings import parse_recordings, print_stand_ins, record_option
from localcdap.engine.messages.spool import RunStatus
from localcdap.runs.model import (
    RECENT_RUNS,
    Run,
    RunRequest,
    describe_start,
    describe_state,
    find_changes,
)
from localcdap.text import format_duration

if TYPE_CHECKING:
    from localcdap.host import Cdap


NO_CHANGES: Final[Mapping[tuple[str, str], str]] = MappingProxyType({})
_EARLIER_RUNS: Final = 20
"""The newest runs of a pipeline among which the estimate of a run looks for a completed one."""


@click.command("run")
@click.argument("pipeline", metavar="FILE|NAME[@VERSION]")
@arguments_option
@click.option("--profile", metavar="P", help="The compute profile; see 'localcdap profiles'.")
@click.option(
    "--explain", is_flag=True, help="Show how Spark would compute each stage, and run nothing."
)
@click.option("--detach", is_flag=True, help="Start the run and return; see 'localcdap runs'.")
@click.option(
    "--update-datasets",
    is_flag=True,
    help="Change existing datasets so that they can hold what the sinks write, where that loses nothing.",
)
@logical_start_options
@each_day_option
@record_option
@fix_option
@instance_options
def command(
    instance: Instance,
    pipeline: str,
    arguments: tuple[str, ...],
    profile: str | None,
    explain: bool,
    detach: bool,
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
    request = RunRequest(
        document=read_text(pipeline) if is_file(pipeline) else None,
        file=pipeline if is_file(pipeline) else None,
        namespace=instance.namespace,
        name=Path(pipeline).stem,
        arguments=set_logical_start(parse_pairs(arguments, "-a"), logical_start_time, timezone),
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
    if instance.json:
        print_json(run)
    else:
        show_result(run, changes)
    return NO if run.status in (RunStatus.FAILED, RunStatus.KILLED) else 0


def _explain(instance: Instance, request: RunRequest, pipeline: str) -> int:
    from localcdap.cli.runs.explain import explain

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
        secho(run.error.message, fg="red")
        if run.error.corrective_action:
            echo(run.error.corrective_action)
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
