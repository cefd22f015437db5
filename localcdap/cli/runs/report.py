"""``localcdap report``, ``logs``, ``stop`` and ``profiles``: what ran, its log, and where runs take place."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from localcdap.cli.options import Instance, flag, instance_options
from localcdap.cli.output import echo, print_json, print_log_line, print_table, secho
from localcdap.files.atomic import write_file
from localcdap.text import format_time, plural

if TYPE_CHECKING:
    from localcdap.runs.logs import ErrorGroup
    from localcdap.runs.model import StoredLogLine
    from localcdap.runs.statistics.model import RunOverview


_DAY_MS: Final = 86_400_000
_WIDTH: Final = 28
"""The parts of the window that the charts show."""


@click.command("report")
@click.argument("pipeline", required=False)
@click.option(
    "--days",
    type=click.FloatRange(0, min_open=True),
    default=7.0,
    show_default=True,
    help="The length of the window, which ends now or at --to.",
)
@click.option(
    "--from", "begin", metavar="DATE", help="The begin, as 2026-11-01 or 2026-11-01T08:00."
)
@click.option("--to", "end", metavar="DATE", help="The end, exclusive; default: now.")
@flag("--all-namespaces", help="Report on all namespaces.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(("text", "csv", "markdown", "html")),
    help="The form; default: that of the name of FILE, or text.",
)
@click.option(
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write; default: standard output.",
)
@instance_options
def report_command(
    instance: Instance,
    pipeline: str | None,
    days: float,
    begin: str | None,
    end: str | None,
    all_namespaces: bool,
    format_: str | None,
    output: Path | None,
) -> None:
    """Report on the runs of the namespace, or of one PIPELINE: success rates, durations, records, slowest
    stages, failures by reason, and alerts.

    \b
    localcdap report
    localcdap report --days 30 --output november.html
    localcdap report orders --from 2026-11-01 --to 2026-12-01 --format csv
    """  # noqa: D301
    from localcdap.runs.statistics.documents import ENDINGS, format_document
    from localcdap.runs.statistics.model import OverviewRequest

    until = _parse(end) if end else int(datetime.datetime.now().timestamp() * 1000) + 1
    since = _parse(begin) if begin else until - int(days * _DAY_MS)
    with instance.connect() as cdap:
        namespaces = (
            [each.name for each in cdap.namespaces.list_namespaces()]
            if all_namespaces
            else [instance.namespace]
        )
        found = cdap.statistics.read_overview(
            OverviewRequest(namespaces, since, until, pipeline, points=_WIDTH)
        )
    form = format_ or (ENDINGS.get(output.suffix.lower()) if output is not None else None) or "text"
    if instance.json and output is None:
        print_json(found)
    elif form == "text" and output is None:
        _print_overview(found)
    else:
        title = f"Runs of {pipeline or ', '.join(namespaces)}"
        text = format_document(found, "markdown" if form == "text" else form, title)
        _write(text, output)


def _write(text: str, output: Path | None) -> None:
    if output is None:
        echo(text, nl=False)
        return
    write_file(output, text)
    echo(f"Written to {output}", err=True)


def _parse(text: str) -> int:
    """Return a local date or time in milliseconds since 1970."""
    try:
        return int(datetime.datetime.fromisoformat(text).timestamp() * 1000)
    except ValueError:
        raise click.UsageError(
            f"'{text}' cannot be a date; write it as 2026-11-01 or 2026-11-01T08:00."
        ) from None


def _print_overview(found: RunOverview) -> None:
    from localcdap.runs.statistics.documents import (
        draw_bars,
        format_rate,
        format_totals,
    )
    from localcdap.text import format_duration

    secho(format_totals(found.totals), bold=True)
    if not found.pipelines:
        return
    echo("")
    rows = [
        (
            each.pipeline,
            f"{each.runs:,}",
            format_rate(each.success_rate),
            "" if each.median_ms is None else format_duration(0, each.median_ms),
            "" if each.records is None else f"{each.records:,}",
            draw_bars(None if point is None else point.runs for point in each.points),
            draw_bars(None if point is None else point.median_ms for point in each.points),
            each.status.lower(),
        )
        for each in found.pipelines
    ]
    header = (
        "pipeline",
        "runs",
        "success",
        "median",
        "records",
        "runs over time",
        "durations",
        "last",
    )
    print_table(header, rows, numbers="runs success median records")
    hidden = found.pipeline_count - len(found.pipelines)
    if hidden:
        echo(f"and {hidden:,} more pipelines")
    _print_failures(found)
    _print_stages(found)
    _print_alerts(found)


def _print_failures(found: RunOverview) -> None:
    if found.failures:
        echo("")
        failures = [
            (f"{each.runs:,}", each.reason, each.category, each.pipeline, each.stage, each.newest)
            for each in found.failures
        ]
        head = ("failed", "because", "category", "last pipeline", "stage", "run")
        print_table(head, failures, numbers="failed")


def _print_stages(found: RunOverview) -> None:
    from localcdap.runs.statistics.documents import format_stage_time

    if found.slow_stages:
        echo("")
        stages = [
            (
                format_stage_time(each.average_ms),
                format_stage_time(each.longest_ms),
                each.stage,
                each.pipeline,
                f"{each.runs:,}",
            )
            for each in found.slow_stages[:10]
        ]
        print_table(
            ("average", "longest", "slowest stages", "pipeline", "runs"),
            stages,
            numbers="average longest runs",
        )


def _print_alerts(found: RunOverview) -> None:
    from localcdap.runs.statistics.documents import list_alerting_stages

    if found.alerting_stages:
        echo("")
        header, rows = list_alerting_stages(found)
        print_table(header, rows, numbers="alerts runs")


@click.command("logs")
@click.argument("run")
@flag("--follow", "-f", help="Also show new lines, until the run has ended.")
@flag(
    "--errors", help="Show only the errors, grouped by kind: how many, and the first ten of each."
)
@instance_options
def logs_command(instance: Instance, run: str, follow: bool, errors: bool) -> None:
    """Show the log of RUN: its id, the beginning of its id, or 'last'."""
    if errors and follow:
        raise click.UsageError("--errors groups the errors so far; it cannot follow the run.")
    with instance.connect() as cdap:
        record = cdap.runs.get(instance.namespace, run)
        if errors:
            _show_errors(instance, cdap.runs.group_errors(record.run))
            return
        lines = cdap.runs.read_log(record.run)
        if instance.print_json(lines):
            return
        _print_lines(lines)
        while follow and not record.status.is_end:
            record = cdap.runs.wait(record.run, record.version, timeout_s=1.0)
            seen = lines[-1].number if lines else 0
            more = cdap.runs.read_log(record.run, after=seen)
            _print_lines(more)
            lines = more or lines


def _show_errors(instance: Instance, groups: Sequence[ErrorGroup]) -> None:
    """Print the number of each kind of errors, and the first lines of it."""
    if instance.print_json(groups):
        return
    if not groups:
        echo("The log has no errors.", err=True)
    for group in groups:
        stage = f" [{group.stage}]" if group.stage else ""
        secho(f"{group.count:,} ×{stage} {group.kind}", bold=True)
        _print_lines(group.first)
        if group.count > len(group.first):
            echo(f"… and {plural(group.count - len(group.first), 'error')} more of this kind.")


def _print_lines(lines: list[StoredLogLine]) -> None:
    for line in lines:
        stage = f" [{line.stage}]" if line.stage else ""
        print_log_line(format_time(line.time), line.level, f"{stage} {line.text}")


@click.command("stop")
@click.argument("run")
@instance_options
def stop_command(instance: Instance, run: str) -> None:
    """Stop RUN: its id, the beginning of its id, or 'last'.

    The files and tables that it writes stay as they were before it; what its actions changed, and the rows
    that it committed to databases, remain.
    """
    with instance.connect() as cdap:
        stopped = cdap.runs.stop(cdap.runs.get(instance.namespace, run).run)
    instance.print(stopped, f"{stopped.pipeline} {stopped.run}: {stopped.status}")


@click.command("profiles")
@instance_options
def profiles_command(instance: Instance) -> None:
    """List the compute profiles: the local Spark server and the clusters in [profiles] of the settings.

    A compute profile says where runs take place. The column 'requires' has the capabilities that the
    profile requires of every plugin of a pipeline. Runs use the default profile unless the option
    --profile of 'localcdap run', or the runtime argument or preference system.profile.name, names
    another one. 'native' is the local Spark server.
    """
    with instance.connect() as cdap:
        profiles = cdap.runs.list_profiles(instance.namespace)
    instance.print_list(
        profiles,
        ("profile", "kind", "requires", "address", "default"),
        lambda profile: (
            profile.name,
            profile.kind,
            ", ".join(profile.required_capabilities),
            profile.address,
            "yes" if profile.is_default else "",
        ),
    )
