"""Reports the errors of a command, and determines its exit code.

An expected error is printed as text or JSON; an internal error also leaves a crash report in a file.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Final

from localcdap.api import errors
from localcdap.api.failures import ValidationFailure
from localcdap.cli.options import find_home_option
from localcdap.cli.output import echo, print_error, print_failures, print_json, secho
from localcdap.decoders import convert
from localcdap.home import find_home
from localcdap.host import crash_reports as reports
from localcdap.store.database_errors import is_disk_full, make_disk_full_error

NO: Final = 1
BAD_INPUT: Final = 2
FAULT: Final = 3

_CODES: Final[tuple[tuple[type[errors.LocalcdapError], int], ...]] = (
    (errors.BadRequestError, BAD_INPUT),
    (errors.StoreError, BAD_INPUT),
    (errors.HostSilentError, BAD_INPUT),
    (errors.HostLostError, NO),
    (errors.HostError, FAULT),
)


def get_exit_code(error: errors.LocalcdapError) -> int:
    """Return the exit code of an error: 1, unless its class has another one."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), NO)


def show(error: errors.LocalcdapError, arguments: list[str]) -> int:
    """Print an expected error and return its exit code."""
    code = get_exit_code(error)
    if code == FAULT:
        return report(error, arguments)
    failures = _get_failures(error)
    if "--json" in arguments:
        print_json({"error": to_json(error), "errors": failures})
    elif failures:
        print_failures(failures)
    print_error(f"Error: {error.message}", error.corrective_action, err=True)
    return code


def to_json(error: errors.LocalcdapError) -> dict[str, Any]:
    """Return the error as the ``error`` key of a ``--json`` answer."""
    location = {
        name: value
        for name in ("file", "line", "column", "stage")
        if (value := getattr(error, name, None)) is not None
    }
    return {
        "type": type(error).__name__,
        "message": error.message,
        "correctiveAction": error.corrective_action,
    } | location


def report(error: BaseException, arguments: list[str]) -> int:
    """Write a crash report of an internal error, print its path and return the exit code.

    A full disk is an expected error, wherever it is noticed.
    """
    if isinstance(error, OSError) and is_disk_full(error):
        return show(make_disk_full_error(error), arguments)
    text = reports.format_report(error, f"localcdap {' '.join(arguments)}")
    secho(f"Internal error of localcdap: {error}", fg="red", err=True)
    try:
        file = reports.write_report(find_home(find_home_option(arguments)).reports, text)
        echo(f"A crash report is in {file}", err=True)
    except OSError as unwritable:
        echo(f"The crash report could not be written ({unwritable}):\n{text}", err=True)
    return FAULT


def discard_stdout() -> None:
    """Send further output nowhere, so that the interpreter does not fail when the reader has closed the
    pipe.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _get_failures(error: errors.LocalcdapError) -> list[ValidationFailure]:
    found = error.failures if isinstance(error, errors.InvalidPipelineError) else []
    return convert(found, list[ValidationFailure])
