"""``localcdap impact FILE``: what a change of a pipeline breaks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from localcdap.cli.errors import NO
from localcdap.cli.files import is_file, read_text
from localcdap.cli.options import Instance, arguments_option, instance_options, parse_pairs
from localcdap.cli.output import StyledText, echo, print_json, secho

if TYPE_CHECKING:
    from localcdap.metadata.lineage.impact import DatasetFieldChange, StageFieldChange
    from localcdap.metadata.lineage.impact_service import FieldReader, ImpactReport


@click.command("impact")
@click.argument("file")
@click.option(
    "--against",
    metavar="PIPELINE",
    help="The deployed pipeline NAME or NAME@VERSION, or the file, to compare with. "
    "[default: the deployed pipeline of the same name]",
)
@arguments_option
@instance_options
def command(instance: Instance, file: str, against: str | None, arguments: tuple[str, ...]) -> int:
    """Show what the pipeline in FILE changes: fields of its stages, columns of its datasets, and
    the other pipelines that depend on them; also fields that it reads in vain, and fields that
    nobody writes.

    Nothing is deployed or run. The exit code is 1 when a dataset loses or changes a field, or when
    another pipeline depends on such a field.
    """
    from localcdap.metadata.lineage.impact_service import ImpactRequest

    request = ImpactRequest(
        read_text(file), instance.namespace, file, against, None, parse_pairs(arguments)
    )
    if against is not None and is_file(against):
        request.against_document = read_text(against)
    with instance.connect() as cdap:
        report = cdap.impact.assess(request)
    if instance.json:
        print_json(report)
    else:
        _print(report)
    return NO if report.breaks else 0


def _print(report: ImpactReport) -> None:
    if report.against is None:
        echo("There is no deployed pipeline of this name: nothing can be lost.")
    else:
        echo(f"Compared with {report.against}.")
    if report.errors:
        secho(
            f"The pipeline has {len(report.errors)} failures; this is what is known.", fg="yellow"
        )
    _print_list("Fields of stages", map(_describe_stage, report.stages))
    _print_list("Fields of datasets", map(_describe_dataset, report.datasets))
    _print_list("Pipelines that depend on them", map(_describe_reader, report.readers))
    _print_list(
        "Fields that are read in vain",
        (f"{dataset}.{field}" for dataset, field in report.unused),
    )
    _print_list(
        "Fields that nobody writes",
        (f"{dataset}.{field}" for dataset, field in report.unwritten),
    )
    if not (report.stages or report.datasets or report.readers):
        echo("No field changes." if report.against is not None else "")


def _print_list(title: str, lines: Iterable[str]) -> None:
    shown = list(lines)
    if shown:
        echo(StyledText(title, bold=True))
        for line in shown:
            echo(f"  {line}")


def _describe_stage(change: StageFieldChange) -> str:
    if change.change == "type":
        return f"{change.stage}: '{change.field}' is {change.after} instead of {change.before}"
    verb = "gets" if change.change == "added" else "loses"
    return f"{change.stage} {verb} '{change.field}'"


def _describe_dataset(change: DatasetFieldChange) -> str:
    before, after = (", ".join(each) or "nothing" for each in (change.before, change.after))
    if change.change == "type":
        return f"{change.dataset}.{change.field} is {after} instead of {before}"
    if change.change == "sources":
        return f"{change.dataset}.{change.field} comes from {after} instead of {before}"
    verb = "gets" if change.change == "added" else "loses"
    return f"{change.dataset} {verb} '{change.field}'"


def _describe_reader(reader: FieldReader) -> str:
    read = f"{reader.pipeline} reads {reader.dataset}.{reader.field}"
    if reader.target is None:
        return f"{read} in stage '{reader.stage}'"
    return f"{read} for {reader.target} ({reader.kind})"
