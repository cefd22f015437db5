"""How answers are printed: one JSON document, or text laid out for a person."""

from __future__ import annotations

import datetime
import os
import sys
import unicodedata
from collections.abc import Sequence
from typing import Final

import click
import msgspec

from localcdap.api.failures import ValidationFailure
from localcdap.api.serialization.structs import plain

_MOVING: Final = ("Cc", "Cs", "Zl", "Zp")
"""Categories of characters that control a terminal, or that it cannot show."""
_TURNING: Final = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Those that turn the direction of writing, so that a line seems to say something else."""


def print_json(answer: object) -> None:
    """Print one JSON document on stdout."""
    encoded = msgspec.json.encode(answer, enc_hook=plain)
    click.echo(msgspec.json.format(encoded, indent=2))


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]], numbers: str = "") -> None:
    """Print columns as wide as their contents.

    :param numbers: names of the columns to align right, separated by blanks.
    """
    cells = [[("" if cell is None else str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    right = {place for place, name in enumerate(header) if name in numbers.split()}

    def line(row: Sequence[str]) -> str:
        parts = [
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(parts).rstrip()

    click.secho(line(header), bold=True)
    for row in cells:
        click.echo(line(row))


def print_failures(
    failures: Sequence[ValidationFailure], *, to_stderr: bool = False, warnings: bool = False
) -> None:
    """Print failures grouped by stage, those of the whole pipeline first.

    :param warnings: they are none that make anything invalid.
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
    click.echo(f"  {mark} {where}{visible(failure.message)}", err=to_stderr)
    if failure.corrective_action:
        how = " The option --fix does so." if failure.suggested_artifact is not None else ""
        click.echo(f"    {visible(failure.corrective_action)}{how}", err=to_stderr)


def visible(text: str) -> str:
    r"""A text of plugins with its control characters as ``\x1b``, so that they do nothing to the terminal.

    Line ends and tabs stay. Characters that turn the direction of writing are written as ``\u202e``.
    """
    if text.isprintable():
        return text
    return "".join(_shown(character) for character in text.replace("\r\n", "\n"))


def _shown(character: str) -> str:
    is_harmless = unicodedata.category(character) not in _MOVING and character not in _TURNING
    if character in "\n\t" or is_harmless:
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def plural(count: int, noun: str) -> str:
    """``1 failure``, ``2 failures``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def format_time(milliseconds: int | None) -> str:
    """A point in time as a person here writes it; empty for None."""
    if milliseconds is None:
        return ""
    moment = datetime.datetime.fromtimestamp(milliseconds / 1000).astimezone()
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def duration(start: int | None, end: int | None) -> str:
    """The time between two points in milliseconds, as ``1.2 s`` or ``3 min 20 s``."""
    if start is None or end is None:
        return ""
    seconds = max(0.0, (end - start) / 1000)
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"


def size(number: int) -> str:
    """A number of bytes, as ``512 B`` or ``4.2 MB``."""
    amount, units = float(number), ["B", "kB", "MB", "GB", "TB"]
    while amount >= 999.5 and len(units) > 1:
        amount /= 1000
        units.pop(0)
    return (
        f"{amount:.1f} {units[0]}"
        if amount < 10 and units[0] != "B"
        else f"{amount:.0f} {units[0]}"
    )


def is_terminal() -> bool:
    """Whether progress can be drawn: a person sits at stderr, before more than a typewriter."""
    return sys.stderr.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")
