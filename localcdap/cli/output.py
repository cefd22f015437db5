"""Answers of commands: printed as one JSON document, or as text for a person."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final, NamedTuple

import click
import msgspec

from localcdap.api.failures import ValidationFailure
from localcdap.api.serialization.value_types import encode_schema
from localcdap.text import escape_json_controls, sanitize_for_terminal

_LEVEL_COLOURS: Final = {"WARNING": "yellow", "ERROR": "red", "CRITICAL": "red"}


class StyledText(NamedTuple):
    """A text with a style of its own in a line."""

    text: str
    colour: str | None = None
    bold: bool = False


def echo(*parts: str | StyledText, err: bool = False, nl: bool = True) -> None:
    """Print the parts side by side; no text of a part can do anything to the terminal.

    Commands print with this function and :func:`secho` only.

    :param err: print on stderr.
    :param nl: end the line.
    """
    plain = (StyledText(part) if isinstance(part, str) else part for part in parts)
    shown = (
        click.style(text, fg=part.colour, bold=part.bold or None)
        if part.colour or part.bold
        else text
        for part in plain
        for text in [sanitize_for_terminal(part.text)]
    )
    click.echo("".join(shown), err=err, nl=nl)


def secho(
    text: str, *, fg: str | None = None, bold: bool = False, err: bool = False, nl: bool = True
) -> None:
    """Print one text in a colour, or bold, as :func:`echo` does."""
    echo(StyledText(text, fg, bold), err=err, nl=nl)


def print_json(answer: object) -> None:
    """Print one JSON document on stdout, which keeps every value."""
    encoded = msgspec.json.encode(answer, enc_hook=encode_schema)
    print_json_text(msgspec.json.format(encoded, indent=2).decode())


def print_json_text(text: str) -> None:
    """Print a text that is JSON; characters that control a terminal become escapes of JSON."""
    click.echo(escape_json_controls(text))


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]], numbers: str = "") -> None:
    """Print a table whose columns are as wide as their contents.

    :param numbers: names of the columns to align right, separated by blanks.
    """
    heads = [sanitize_for_terminal(name, single_line=True) for name in header]
    cells = [
        ["" if cell is None else sanitize_for_terminal(str(cell), single_line=True) for cell in row]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    right = {index for index, name in enumerate(header) if name in numbers.split()}

    def format_line(row: Sequence[str]) -> str:
        parts = [
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(parts).rstrip()

    secho(format_line(heads), bold=True)
    for row in cells:
        echo(format_line(row))


def print_error(message: str, advice: str | None, *, indent: str = "", err: bool = False) -> None:
    """Print an error in red, and below it what to do about it.

    :param indent: stands before the advice.
    :param err: print on stderr.
    """
    secho(message, fg="red", err=err)
    if advice:
        echo(f"{indent}{advice}", err=err)


def print_facts(facts: Sequence[tuple[str, object]]) -> None:
    """Print names and values in two columns, without those that have no value."""
    for name, value in facts:
        if value:
            echo(f"{name:12} {value}")


def print_log_line(time: str, level: str, text: str) -> None:
    """Print a line of a log; a warning or an error has a colour."""
    echo(f"{time} ", StyledText(f"{level:7}", _LEVEL_COLOURS.get(level)), text)


def print_failures(
    failures: Sequence[ValidationFailure], *, to_stderr: bool = False, warnings: bool = False
) -> None:
    """Print failures grouped by stage; failures of the pipeline itself come first.

    :param warnings: the failures are warnings, which make nothing invalid.
    """
    mark = StyledText("!", "yellow") if warnings else StyledText("✗", "red")
    stages = dict.fromkeys(
        failure.stage for failure in sorted(failures, key=lambda f: f.stage is not None)
    )
    for stage in stages:
        secho(stage or "pipeline", bold=True, err=to_stderr)
        for failure in failures:
            if failure.stage == stage:
                _print_failure(failure, mark, to_stderr)


def _print_failure(failure: ValidationFailure, mark: StyledText, to_stderr: bool) -> None:
    where = f"{failure.field}: " if failure.field else ""
    echo("  ", mark, f" {where}{failure.message}", err=to_stderr)
    if failure.corrective_action:
        how = " The option --fix does this." if failure.suggested_artifact is not None else ""
        echo(f"    {failure.corrective_action}{how}", err=to_stderr)


def is_terminal() -> bool:
    """Return whether progress can be drawn: stderr is a terminal that can move its cursor."""
    return sys.stderr.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")
