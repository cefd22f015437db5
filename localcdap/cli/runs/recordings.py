"""``localcdap recordings``: what stands in for stages whose systems or plugins are not here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from localcdap.api.pipeline import StandIn
from localcdap.cli.options import Instance, instance_options, parse_pairs, repeatable
from localcdap.cli.output import echo, secho
from localcdap.pipeline.recordings.model import Kind, parse_recording
from localcdap.pipeline.recordings.rows import SUFFIXES, get_suffix

record_option = repeatable(
    "--record",
    "recordings",
    metavar="STAGE=RECORDING",
    help="Let a stage read or write a recording: a file, table:NAME, dataset:NAME or "
    "generate[:N[,SEED]]; for sinks a folder such as out.csv, table:NAME,KEY or discard; 'pass' or 'skip' "
    "for a transform or an action without its plugin. In place of STAGE: plugin:NAME, reference:NAME or "
    "type:TYPE. Repeatable.",
)
"""The option of commands that validate or run pipelines."""


def parse_recordings(pairs: Iterable[str]) -> dict[str, str]:
    """Return the recordings of a command line by key; relative paths are relative to the current folder.

    :raises click.UsageError: for a text without a key.
    :raises BadRequestError: for a text that is not a recording.
    """
    return {key: locate_file(text) for key, text in parse_pairs(pairs, "--record").items()}


def locate_file(text: str) -> str:
    """Return a recording with the absolute path of its file; others stay as they are.

    :raises BadRequestError: for a text that is not a recording.
    """
    recording = parse_recording(text)
    path = Path(recording.target)
    is_path = recording.kind is Kind.NAMED and (
        get_suffix(path) in SUFFIXES or "/" in recording.target or path.exists()
    )
    if "://" in recording.target or not (is_path or recording.kind is Kind.FILE):
        return text
    return str(path.absolute())


def print_stand_ins(stand_ins: Sequence[StandIn], *, err: bool = False) -> None:
    """Print the stages that do not use their plugins, a line for each, with the notes on their records."""
    for each in stand_ins:
        secho(str(each), fg="magenta", err=err)
        for note in each.notes:
            echo(f"  {note}", err=err)


@click.command("recordings")
@click.argument("action", type=click.Choice(["list", "set", "remove"]), default="list")
@click.argument("key", required=False)
@click.argument("recording", required=False)
@instance_options
def recordings_command(
    instance: Instance, action: str, key: str | None, recording: str | None
) -> None:
    """List what stands in for stages whose systems or plugins are not here, or set or remove that of KEY.

    KEY is a stage, or stage:PIPELINE/STAGE, plugin:[TYPE/]NAME, reference:NAME or type:TYPE. RECORDING is as
    for --record of 'localcdap run', which goes before it. The table [recordings] of localcdap.toml has the
    same keys and values, and counts where the instance has no recording.
    """
    if action == "list":
        _list(instance)
        return
    if key is None or (action == "set" and recording is None):
        wanted = "KEY RECORDING" if action == "set" else "KEY"
        raise click.UsageError(f"Say what: localcdap recordings {action} {wanted}")
    with instance.connect() as cdap:
        if action == "set":
            assert recording is not None
            text = locate_file(recording)
            rule = cdap.recordings.set_recording(instance.namespace, key, text)
        else:
            rule = cdap.recordings.remove_recording(instance.namespace, key)
    if not instance.print_json(rule):
        verb = "removed" if action == "remove" else f"is {rule.recording}"
        echo(f"The recording of {rule.subject} {verb}.")


def _list(instance: Instance) -> None:
    with instance.connect() as cdap:
        rules = cdap.recordings.list_recordings(instance.namespace)
    instance.print_list(
        rules,
        ("for", "recording", "set in"),
        lambda each: (each.subject, each.recording, each.origin),
        empty="No recordings yet. Set one with 'localcdap recordings set KEY RECORDING'.",
    )
