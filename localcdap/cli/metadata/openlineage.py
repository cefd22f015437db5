"""``localcdap openlineage``: where events of OpenLineage go, and a file of the events of the past."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from localcdap.cli.errors import NO
from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_json, print_list
from localcdap.files.atomic import replace_file
from localcdap.text import plural

if TYPE_CHECKING:
    from localcdap.host import Cdap

_RUNS = 100
"""The runs whose events are asked for at once."""


@click.command("openlineage")
@click.option(
    "--export",
    "file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the events of the deployed pipelines and of all runs of the namespace into FILE, one on each "
    "line.",
)
@click.option("--pipelines-only", is_flag=True, help="Leave out the events of runs (--export).")
@instance_options
def command(instance: Instance, file: Path | None, pipelines_only: bool) -> int:
    """Show to which file and server events of OpenLineage are sent, and how many wait; or write past events
    into a file.

    OpenLineage is a standard for events about pipelines and runs. The settings openlineage.file and
    openlineage.url switch them on. --export writes the events that would have been sent, also while they are
    off; their column lineage and tags are the present ones.
    """
    if pipelines_only and file is None:
        raise click.UsageError("--pipelines-only needs --export FILE.")
    with instance.connect() as cdap:
        if file is None:
            return _show(instance, cdap)
        count = _write(file, _list_events(cdap, instance.namespace, pipelines_only))
    if instance.json:
        print_json({"events": count, "file": str(file)})
    else:
        echo(f"{plural(count, 'event')} written to {file}.")
    return 0 if count else NO


def _show(instance: Instance, cdap: Cdap) -> int:
    found = cdap.openlineage.list_destinations()
    print_list(
        found,
        ("target", "waiting", "dropped", "refused", "error"),
        lambda each: (each.target, each.waiting, each.dropped, each.refused, each.error or ""),
        as_json=instance.json,
        empty="Events of OpenLineage are off. Set openlineage.file or openlineage.url in localcdap.toml "
        "to send them to a file or a server.",
        numbers="waiting dropped refused",
    )
    return 0 if found else NO


def _list_events(cdap: Cdap, namespace: str, pipelines_only: bool) -> Iterator[str]:
    yield from cdap.openlineage.list_job_events(namespace)
    after: str | None = None
    while not pipelines_only:
        page = cdap.openlineage.list_run_events(namespace, after, _RUNS)
        yield from page.events
        after = page.last
        if after is None:
            return


def _write(file: Path, events: Iterator[str]) -> int:
    """Write events into a file; return how many they are."""
    count = 0
    with (
        replace_file(file) as new_file,
        new_file.open("w", encoding="utf-8", errors="replace") as lines,
    ):
        for event in events:
            lines.write(f"{event}\n")
            count += 1
    return count
