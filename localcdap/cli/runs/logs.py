"""``localcdap logs RUN``: show the log of a run."""

from __future__ import annotations

import click

from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import StyledText, echo, print_json
from localcdap.runs.model import StoredLogLine
from localcdap.text import format_time


@click.command("logs")
@click.argument("run")
@click.option("--follow", "-f", is_flag=True, help="Also show new lines, until the run has ended.")
@instance_options
def command(instance: Instance, run: str, follow: bool) -> None:
    """Show the log of RUN: its id, the beginning of its id, or 'last'."""
    with instance.connect() as cdap:
        record = cdap.runs.get(instance.namespace, run)
        lines = cdap.runs.read_log(record.run)
        if instance.json:
            print_json(lines)
            return
        _print(lines)
        while follow and not record.status.is_end:
            record = cdap.runs.wait(record.run, record.version, timeout_s=1.0)
            seen = lines[-1].number if lines else 0
            more = cdap.runs.read_log(record.run, after=seen)
            _print(more)
            lines = more or lines


def _print(lines: list[StoredLogLine]) -> None:
    colours = {"WARNING": "yellow", "ERROR": "red", "CRITICAL": "red"}
    for line in lines:
        stage = f" [{line.stage}]" if line.stage else ""
        level = StyledText(f"{line.level:7}", colours.get(line.level))
        echo(f"{format_time(line.time)} ", level, f"{stage} {line.text}")
