"""What a command says when it fails: expected errors as text or JSON, faults as a report file."""

from __future__ import annotations

import errno
import os
import sys
from typing import Any, Final

import click
import msgspec

from localcdap.api import errors
from localcdap.api.failures import ValidationFailure
from localcdap.cli.output import print_failures, print_json
from localcdap.home import find_home
from localcdap.host import crash_reports as reports

NO: Final = 1
BAD_INPUT: Final = 2
FAULT: Final = 3

_NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT)

_CODES: Final[tuple[tuple[type[errors.LocalcdapError], int], ...]] = (
    (errors.BadRequestError, BAD_INPUT),
    (errors.StoreError, BAD_INPUT),
    (errors.HostSilentError, BAD_INPUT),
    (errors.HostError, FAULT),
)


def get_exit_code(error: errors.LocalcdapError) -> int:
    """The exit code that stands for an error: 1 unless its class says otherwise."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), NO)


def show(error: errors.LocalcdapError, arguments: list[str]) -> int:
    """Print an expected error. Returns the exit code."""
    code = get_exit_code(error)
    if code == FAULT:
        return report(error, arguments)
    failures = _get_failures(error)
    if "--json" in arguments:
        print_json({"error": to_json(error), "errors": failures})
    elif failures:
        print_failures(failures)
    click.secho(f"Error: {error.message}", fg="red", err=True)
    if error.corrective_action:
        click.echo(error.corrective_action, err=True)
    return code


def to_json(error: errors.LocalcdapError) -> dict[str, Any]:
    """The error as the ``error`` key of a ``--json`` answer."""
    place = {
        name: value
        for name in ("file", "line", "column", "stage")
        if (value := getattr(error, name, None)) is not None
    }
    return {
        "type": type(error).__name__,
        "message": error.message,
        "correctiveAction": error.corrective_action,
    } | place


def report(error: BaseException, arguments: list[str]) -> int:
    """Write a report of a fault of localcdap itself and say where it is. Returns the exit code.

    A full disk is no such fault, wherever it is noticed.
    """
    if isinstance(error, OSError) and error.errno in _NO_SPACE:
        where = f" at {error.filename}" if error.filename else ""
        full = errors.StoreError(
            f"The disk is full{where}: {error.strerror}.",
            "Free some space, or choose a folder on another disk with --home or $LOCALCDAP_HOME.",
        )
        return show(full, arguments)
    text = reports.text_of(error, f"localcdap {' '.join(arguments)}")
    click.secho(f"This is a fault of localcdap: {error}", fg="red", err=True)
    try:
        file = reports.write(find_home(_find_home_option(arguments)).reports, text)
        click.echo(f"A report is in {file}", err=True)
    except OSError as unwritable:
        click.echo(f"No report could be written ({unwritable}); here it is:\n{text}", err=True)
    return FAULT


def discard_stdout() -> None:
    """Keep the interpreter from complaining about a reader that went away."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _get_failures(error: errors.LocalcdapError) -> list[ValidationFailure]:
    found = error.failures if isinstance(error, errors.InvalidPipelineError) else []
    return msgspec.convert(found, list[ValidationFailure])


def _find_home_option(arguments: list[str]) -> str | None:
    for place, argument in enumerate(arguments):
        if argument == "--home" and place + 1 < len(arguments):
            return arguments[place + 1]
        if argument.startswith("--home="):
            return argument.removeprefix("--home=")
    return None
