"""Answers of commands: printed as one JSON document, or as text for a person."""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Sequence

import click
import msgspec

from localcdap.api.failures import ValidationFailure
from localcdap.api.serialization.structs import encode_schema
from localcdap.text import sanitize_for_terminal


def print_json(answer: object) -> None:
    """Print one JSON document on stdout."""
    encoded = msgspec.json.encode(answer, enc_hook=encode_schema)
    click.echo(msgspec.json.format(encoded, indent=2))


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]], numbers: str = "") -> None:
    """Print a table whose columns are as wide as their contents.

    :param numbers: names of the columns to align right, separated by blanks.
    """
    cells = [[("" if cell is None else str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    right = {index for index, name in enumerate(header) if name in numbers.split()}

    def format_line(row: Sequence[str]) -> str:
        parts = [
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(parts).rstrip()

    click.secho(format_line(header), bold=True)
    for row in cells:
        click.echo(format_line(row))


def print_failures(
    failures: Sequence[ValidationFailure], *, to_stderr: bool = False, warnings: bool = False
) -> None:
    """Print failures grouped by stage; failures of the pipeline itself come first.

    :param warnings: the failures are warnings, which make nothing invalid.
    """
    mark = click.style("!", fg="yellow") if warnings else click.style("✗", fg="red")
    stages = dict.fromkeys(
        failure.stage for failure in sorted(failures, key=lambda f: f.stage is not None)
    )
    for stage in stages:
        click.secho(stage or "pipeline", bold=True, err=to_stderr)
        for failure in failures:
            if failure.stage == stage:
                _print_failure(failure, mark, to_stderr)


def _print_failure(failure: ValidationFailure, mark: str, to_stderr: bool) -> None:
    where = f"{failure.field}: " if failure.field else ""
    click.echo(f"  {mark} {where}{sanitize_for_terminal(failure.message)}", err=to_stderr)
    if failure.corrective_action:
        how = " The option --fix does this." if failure.suggested_artifact is not None else ""
        click.echo(f"    {sanitize_for_terminal(failure.corrective_action)}{how}", err=to_stderr)


def format_time(milliseconds: int | None) -> str:
    """Return a time, in milliseconds since 1970, in the local time zone; an empty text for None."""
    if milliseconds is None:
        return ""
    moment = datetime.datetime.fromtimestamp(milliseconds / 1000).astimezone()
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def is_terminal() -> bool:
    """Return whether progress can be drawn: stderr is a terminal that can move its cursor."""
    return sys.stderr.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")
