"""``localcdap runs``: list the runs, show one, or remove old ones."""

from __future__ import annotations

from typing import Final

import click

from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_json, print_table
from localcdap.cli.run import read_changes, show_result
from localcdap.runs.model import Run
from localcdap.runs.retention import RunRetention
from localcdap.text import format_duration, format_time, plural

_PRUNE: Final = "prune"
_SHOW: Final = "show"


@click.command("runs")
@click.argument("words", nargs=-1, metavar="[show RUN | prune] [NAME]")
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
@click.option("--dry-run", is_flag=True, help="With prune: only list what would be removed.")
@instance_options
def command(
    instance: Instance,
    words: tuple[str, ...],
    limit: int,
    keep_days: float | None,
    keep_newest: int | None,
    dry_run: bool,
) -> None:
    """List the runs of the namespace, or of the pipeline NAME, newest first.

    'localcdap runs show RUN' shows the counts and the expectations of one run: its id, the beginning of its
    id, or 'last'.

    'localcdap runs prune' removes the runs that have ended, with their logs, except those that --keep-days or
    --keep-newest keeps. Without these options, the settings runs.keep_days and runs.keep_newest say which
    runs are kept, by default all; localcdap also applies these settings by itself.
    """
    if words[:1] == (_SHOW,) and len(words) == 2:
        _show(instance, words[1])
        return
    prunes = words[:1] == (_PRUNE,)
    names = words[1:] if prunes else words
    if len(names) > 1:
        raise click.UsageError(f"Got unexpected extra argument ({names[1]}).")
    name = names[0] if names else None
    if not prunes:
        if keep_days or keep_newest or dry_run:
            raise click.UsageError("This option needs 'prune': localcdap runs prune …")
        _list(instance, name, limit)
        return
    with instance.connect() as cdap:
        removed = cdap.runs.prune(
            instance.namespace,
            RunRetention(keep_days or 0, keep_newest or 0),
            name,
            only_list=dry_run,
        )
    if instance.json:
        print_json({"runs": removed, "removed": not dry_run})
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
        header = ("run", "pipeline", "profile", "status", "started", "took")
        print_table(header, [_format_row(run) for run in runs])
    else:
        echo("No runs yet. Start one with 'localcdap run FILE'.", err=True)


def _show(instance: Instance, name: str) -> None:
    with instance.connect() as cdap:
        run = cdap.runs.get(instance.namespace, name)
        changes = read_changes(cdap, run)
    if instance.json:
        print_json(run)
    else:
        show_result(run, changes)


def _format_row(run: Run) -> tuple[str, ...]:
    started, took = format_time(run.starting), format_duration(run.starting, run.end)
    return run.run, run.pipeline, run.profile, run.status, started, took
