"""``localcdap runs``: list the runs, show one, say why one failed, compare two, or remove old ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import click

from localcdap.cli.options import Instance, flag, instance_options
from localcdap.cli.output import echo, print_json, print_table, secho
from localcdap.cli.runs.run import read_changes, show_result
from localcdap.engine.messages.samples import SinkProfile
from localcdap.expectations.results import format_share
from localcdap.runs.model import Run, StoredAlert, count_alerts, describe_stand_ins, format_payload
from localcdap.runs.retention import RunRetention
from localcdap.runs.statistics.classification import find_reason
from localcdap.text import format_duration, format_time, plural

_PRUNE: Final = "prune"
_SHOW: Final = "show"
_CLASSIFY: Final = "classify"
_COMPARE: Final = "compare"
_WIDEST: Final = 24
"""Characters of a value that are printed."""


@click.command("runs")
@click.argument(
    "words",
    nargs=-1,
    metavar="[NAME | show RUN | classify RUN | compare RUN OTHER | prune [NAME]]",
)
@click.option("--limit", default=50, show_default=True, help="The most runs to list; 0 lists all.")
@click.option(
    "--keep-days",
    type=click.FloatRange(0, min_open=True),
    metavar="DAYS",
    help="With prune: keep the runs of the last DAYS days.",
)
@click.option(
    "--keep-newest",
    type=click.IntRange(1),
    metavar="N",
    help="With prune: keep the newest N runs of each pipeline.",
)
@flag(
    "--columns",
    help="With show: show what the columns were like that its sinks wrote, as a sample shows them.",
)
@flag("--alerts", help="With show: list the alerts of its stages.")
@flag("--dry-run", help="With prune: only list what would be removed.")
@instance_options
def runs_command(
    instance: Instance,
    words: tuple[str, ...],
    limit: int,
    keep_days: float | None,
    keep_newest: int | None,
    columns: bool,
    alerts: bool,
    dry_run: bool,
) -> None:
    """List the runs of the namespace, or of the pipeline NAME, newest first.

    'localcdap runs show RUN' shows the counts and the expectations of one run. 'localcdap runs classify RUN'
    says why a run failed: its stage, the category and the reason, and what to do. 'localcdap runs compare RUN
    OTHER' shows two runs of a pipeline beside each other, stage by stage. RUN is an id, the beginning of one,
    or 'last'.

    'localcdap runs prune' removes the runs that have ended, with their logs, except those that --keep-days or
    --keep-newest keeps. Without these options, the settings runs.keep_days and runs.keep_newest say which
    runs are kept, by default all; localcdap also applies these settings by itself.
    """
    if words[:1] == (_SHOW,) and len(words) == 2:
        _show(instance, words[1], with_columns=columns, with_alerts=alerts)
        return
    if words[:1] == (_CLASSIFY,) and len(words) == 2:
        _classify(instance, words[1])
        return
    if words[:1] == (_COMPARE,) and len(words) == 3:
        _compare(instance, words[1], words[2])
        return
    prunes = words[:1] == (_PRUNE,)
    names = words[1:] if prunes else words
    if len(names) > 1:
        raise click.UsageError(f"Got unexpected extra argument ({names[1]}).")
    name = names[0] if names else None
    if not prunes:
        if keep_days or keep_newest or dry_run:
            raise click.UsageError("This option needs 'prune': localcdap runs prune …")
        if columns or alerts:
            option = "--columns" if columns else "--alerts"
            raise click.UsageError(f"{option} needs 'show': localcdap runs show RUN {option}")
        _list(instance, name, limit)
        return
    with instance.connect() as cdap:
        removed = cdap.runs.prune(
            instance.namespace,
            RunRetention(keep_days or 0, keep_newest or 0),
            name,
            only_list=dry_run,
        )
    if instance.print_json({"runs": removed, "removed": not dry_run}):
        return
    for run in removed if dry_run else ():
        echo(run)
    echo(f"{plural(len(removed), 'run')} {'would be ' if dry_run else ''}removed.")


def _list(instance: Instance, name: str | None, limit: int) -> None:
    with instance.connect() as cdap:
        runs = cdap.runs.list_runs(instance.namespace, pipeline=name, limit=limit)
    if instance.json:
        print_json(runs)
    elif runs:
        _print_runs(runs)
    else:
        echo("No runs yet. Start one with 'localcdap run FILE'.", err=True)


def _print_runs(runs: Sequence[Run]) -> None:
    """Print a line for each run; alerts only if there are any."""
    header = ("run", "pipeline", "profile", "status", "started", "took")
    counts = [count_alerts(run) for run in runs]
    if any(counts):
        rows = [
            (*cells, number or None, because)
            for number, (*cells, because) in zip(counts, map(_format_row, runs), strict=True)
        ]
        print_table((*header, "alerts", "because"), rows, numbers="alerts")
    else:
        print_table((*header, "because"), [_format_row(run) for run in runs])


def _show(instance: Instance, name: str, *, with_columns: bool, with_alerts: bool) -> None:
    with instance.connect() as cdap:
        run = cdap.runs.get(instance.namespace, name)
        changes = read_changes(cdap, run)
        profiles = cdap.runs.read_profiles(run.run) if with_columns else []
        alerts = cdap.runs.read_alerts(run.run) if with_alerts else []
    if instance.json:
        more: dict[str, Any] = {"profiles": profiles} if with_columns else {}
        more |= {"alerts": alerts} if with_alerts else {}
        print_json({"run": run, **more} if more else run)
        return
    show_result(run, changes)
    if with_alerts:
        _print_alerts(run, alerts)
    for profile in profiles:
        _print_profile(profile)
    if with_columns and not profiles:
        echo("No profiles were kept: the run wrote nothing, or engine.profiles is off.", err=True)


def _print_alerts(run: Run, alerts: Sequence[StoredAlert]) -> None:
    """Print alerts, and how many more the run had."""
    if alerts:
        print_table(
            ("stage", "alert"), [(each.stage, format_payload(each.payload)) for each in alerts]
        )
    more = count_alerts(run) - len(alerts)
    if more > 0:
        echo(f"… and {plural(more, 'alert')} more, which are not kept.", err=True)
    elif not alerts:
        echo("The run has no alerts.", err=True)


def _print_profile(profile: SinkProfile) -> None:
    secho(f"\n{profile.stage}", fg="cyan", bold=True, nl=False)
    echo(f"  {profile.sampled:,} of {plural(profile.rows, 'record')}")
    rows = [
        (
            each.name,
            each.type,
            format_share(100 * each.nulls / profile.sampled) if profile.sampled else "",
            "" if each.distinct is None else f"{each.distinct:,}",
            (each.lowest or "")[:_WIDEST],
            (each.highest or "")[:_WIDEST],
        )
        for each in profile.columns
    ]
    print_table(("column", "type", "nulls", "distinct", "lowest", "highest"), rows)


def _classify(instance: Instance, run: str) -> None:
    with instance.connect() as cdap:
        causes = cdap.statistics.classify(instance.namespace, run)
    if instance.print_json(causes):
        return
    for each in causes:
        secho(f"{each.error_category}: {each.error_reason}", bold=True)
        who = {"USER": "the pipeline or its data", "SYSTEM": "what it runs on"}
        code = f", {each.error_code_type} {each.error_code}" if each.error_code else ""
        echo(f"  {each.error_message}")
        echo(f"  Due to {who.get(each.error_type, 'something unknown')}{code}.")
        if each.corrective_action:
            echo(f"  → {each.corrective_action}")


def _compare(instance: Instance, run: str, other: str) -> None:
    with instance.connect() as cdap:
        found = cdap.statistics.compare(instance.namespace, run, other)
    if instance.print_json(found):
        return
    for letter, each, status in zip("AB", found.runs, found.statuses, strict=True):
        took = format_duration(0, each.time_taken * 1000)
        echo(f"{letter}  {each.run_id}  {status.lower()}  {took}")
    rows = []
    for stage in found.stages:
        cells: list[object] = [stage.stage]
        for what in ("records_in", "records_out", "errors"):
            cells += [None if each is None else getattr(each, what) for each in stage.counts]
        cells += [None if each is None else format_duration(0, each) for each in stage.times]
        rows.append(cells)
    names = ("in A", "in B", "out A", "out B", "errors A", "errors B", "time A", "time B")
    print_table(("stage", *names), rows)
    for name, (old, new) in found.arguments.items():
        echo(f"argument {name}: {old or '(none)'} → {new or '(none)'}")


def _format_row(run: Run) -> tuple[str, ...]:
    started, took = format_time(run.starting), format_duration(run.starting, run.end)
    because = find_reason(run.error).text if run.error is not None else ""
    status = f"{run.status}, position {run.position:,}" if run.position else run.status.value
    if mark := describe_stand_ins(run):
        status += f" ({mark})"
    return run.run, run.pipeline, run.profile, status, started, took, because
