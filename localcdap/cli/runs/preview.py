"""``localcdap preview`` and ``run --explain``: the records of each stage, or how Spark would compute them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from localcdap.cli.errors import NO
from localcdap.cli.files import NamedPipeline
from localcdap.cli.options import (
    Instance,
    add_strict,
    arguments_option,
    fix_option,
    instance_options,
    parse_pairs,
    strict_option,
)
from localcdap.cli.output import echo, print_error, print_failures, print_json, secho
from localcdap.cli.records import (
    print_alerts,
    print_altered,
    print_problem,
    print_records,
    print_rejected,
    print_results,
)
from localcdap.cli.runs.recordings import parse_recordings, print_stand_ins, record_option
from localcdap.cli.runs.run import logical_start_options, set_logical_start
from localcdap.engine.messages.samples import StageSample
from localcdap.runs.model import RunRequest
from localcdap.runs.preview.model import (
    DEFAULT_TIMEOUT_MINUTES,
    Preview,
    PreviewRequest,
    PreviewStatus,
)
from localcdap.text import format_duration, plural

if TYPE_CHECKING:
    from localcdap.host import Cdap


_WAIT_S: Final = 10.0
_MOST_ON_SCREEN: Final = 10
"""Records of each stage that are printed without --stage and --json."""


@click.command("preview")
@click.argument("pipeline", metavar="FILE|NAME[@VERSION]")
@click.option("--stage", metavar="S", help="Show this stage only, with all of its records.")
@click.option(
    "--limit",
    type=int,
    help="The most records read from each source, up to 10,000. Default: numOfRecordsPreview of the pipeline "
    "unless it is 100, else the setting preview.records.",
)
@arguments_option
@click.option(
    "--timeout",
    default=DEFAULT_TIMEOUT_MINUTES,
    show_default=True,
    metavar="MINUTES",
    help="Stop the preview after this time.",
)
@strict_option
@logical_start_options
@record_option
@fix_option
@instance_options
def preview_command(
    instance: Instance,
    pipeline: str,
    stage: str | None,
    limit: int | None,
    arguments: tuple[str, ...],
    timeout: float,
    strict: bool,
    recordings: tuple[str, ...],
    fix: bool,
    logical_start_time: str | None,
    timezone: str | None,
) -> int:
    """Run the pipeline in FILE ('-' is standard input), or the deployed pipeline NAME, on the first records
    of its sources, and show the records of every stage.

    Sinks write nothing; the preview shows the records that they would write. Actions and conditions run
    as in a run, so actions do change files and databases. Post actions do not run.
    """
    named = NamedPipeline(pipeline)
    values = add_strict(parse_pairs(arguments, "-a"), strict)
    values = set_logical_start(values, logical_start_time, timezone)
    with instance.connect() as cdap:
        request = PreviewRequest(
            document=named.get_document(cdap, instance.namespace),
            file=named.file,
            stage=stage,
            namespace=instance.namespace,
            name=named.name,
            arguments=values,
            records=limit,
            timeout_minutes=timeout,
            use_suggested=fix,
            recordings=parse_recordings(recordings),
        )
        preview = run_preview(cdap, request)
    if stage is not None:
        preview.stages = {name: each for name, each in preview.stages.items() if name == stage}
    if not instance.print_json(preview):
        _print(preview, every=stage is not None)
    return 0 if preview.status is PreviewStatus.COMPLETED else NO


def run_preview(cdap: Cdap, request: PreviewRequest) -> Preview:
    """Run a preview to its end and return it. An interrupt from the keyboard stops it."""
    preview = cdap.previews.start(request)
    try:
        with cdap.require_same_host("the preview"):
            while not preview.status.is_end:
                preview = cdap.previews.wait(
                    request.namespace, preview.preview, preview.version, _WAIT_S
                )
    except KeyboardInterrupt:
        echo("Stopping the preview …", err=True)
        preview = cdap.previews.stop(request.namespace, preview.preview)
    return preview


def _print(preview: Preview, *, every: bool) -> None:
    for name, sample in preview.stages.items():
        _print_stage(name, sample, every=every)
    print_stand_ins(preview.stand_ins)
    print_failures(preview.errors)
    colour = {PreviewStatus.COMPLETED: "green"}.get(preview.status, "red")
    secho(f"{preview.status}", fg=colour, bold=True, nl=False)
    took = format_duration(preview.submit_time, preview.end_time)
    echo(f"  preview of {preview.pipeline}{f'  in {took}' if took else ''}")
    error = preview.error
    if error is not None and not any(each.problems for each in preview.stages.values()):
        print_error(error.message, error.corrective_action)
        for frame in error.trace:
            echo(f"  {frame.rstrip()}")


def _print_stage(name: str, sample: StageSample, *, every: bool) -> None:
    rejected = f", {plural(sample.error_count, 'error record')}" if sample.error_count else ""
    alerted = f", {plural(sample.alert_count, 'alert')}" if sample.alert_count else ""
    most = max(sample.count, 1) if every else _MOST_ON_SCREEN
    secho(name, fg="cyan", bold=True, nl=False)
    echo(f"  {plural(sample.count, 'record')}{rejected}{alerted}")
    for port, each in sample.ports.items():
        echo(f"port {port}")
        print_records(each.schema, each.records, most)
    if sample.records:
        print_records(sample.schema, sample.records, most)
    print_rejected(sample.errors, most)
    print_alerts(sample.alerts, sample.alert_count, most)
    print_results(sample.expectations, {})
    print_altered(sample.altered)
    for problem in sample.problems:
        print_problem(problem)
    echo()


def explain(cdap: Cdap, request: RunRequest, *, as_json: bool) -> int:
    """Plan a pipeline and print how each stage would run. Return the exit code.

    ``native`` stages run in Spark alone; ``batch`` and ``records`` stages run in Python workers.
    """
    preview = run_preview(
        cdap,
        PreviewRequest(
            document=request.document,
            file=request.file,
            namespace=request.namespace,
            name=request.name,
            arguments=request.arguments,
            use_suggested=request.use_suggested,
            recordings=request.recordings,
            explains=True,
        ),
    )
    done = preview.status is PreviewStatus.COMPLETED
    if as_json:
        print_json({"stages": preview.explained, "errors": preview.errors, "error": preview.error})
        return 0 if done else NO
    for stage, lines in preview.explained.items():
        secho(stage, fg="cyan", bold=True)
        for line in lines:
            echo(f"  {line}")
    print_failures(preview.errors)
    if preview.error is not None:
        print_error(preview.error.message, preview.error.corrective_action)
    return 0 if done else NO
