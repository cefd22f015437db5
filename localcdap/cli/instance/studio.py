"""``localcdap studio``: open the terminal studio, as ``localcdap`` without a command does."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from localcdap.cli.options import Instance, instance_options

if TYPE_CHECKING:
    from localcdap.tui.routes import NavigationTarget


_DRIVER: Final = "TEXTUAL_DRIVER"
"""Names a driver of Textual that needs no terminal, such as the one of 'localcdap browser'."""


@click.command("studio")
@click.argument("pipeline", required=False)
@instance_options
def command(instance: Instance, pipeline: str | None) -> int:
    """Open the terminal studio, as 'localcdap' without a command does.

    PIPELINE is a pipeline file, or the name of a deployed pipeline. The studio lists its keys with '?'.
    """
    return open_target(instance, _find_target(pipeline) if pipeline is not None else None)


def open_target(instance: Instance, target: NavigationTarget | None) -> int:
    """Open the studio where a target is shown.

    :raises click.UsageError: when it has no terminal.
    """
    if instance.json:
        raise click.UsageError("The studio is interactive and has no --json.")
    if not is_terminal() and _DRIVER not in os.environ:
        raise click.UsageError(
            f"The studio needs a terminal{_describe_terminal_fault()}. 'localcdap --help' lists the commands."
        )
    from localcdap.tui.app import open_studio

    return open_studio(instance.home, instance.namespace, target)


def is_terminal() -> bool:
    """Return whether stdin and stdout are a terminal that can show the studio."""
    return sys.stdin.isatty() and sys.stdout.isatty() and not _is_dumb()


def _is_dumb() -> bool:
    return os.environ.get("TERM", "") in ("dumb", "unknown")


def _describe_terminal_fault() -> str:
    """Return what the terminal lacks, as the end of a sentence; empty if there is none."""
    if not _is_dumb():
        return ""
    return f" that can move the cursor, which TERM={os.environ['TERM']} cannot"


def _find_target(pipeline: str) -> NavigationTarget:
    from localcdap.tui.routes import DeployedTarget, PipelineFileTarget

    path = Path(pipeline)
    if path.exists() or "/" in pipeline or path.suffix == ".json":
        if not path.is_file():
            raise click.UsageError(f"There is no file at '{pipeline}'.")
        return PipelineFileTarget(path.absolute())
    return DeployedTarget(pipeline)
