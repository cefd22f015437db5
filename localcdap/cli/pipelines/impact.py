"""``localcdap impact FILE``: what a change of a pipeline breaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from localcdap.cli.errors import NO
from localcdap.cli.files import is_file, read_text
from localcdap.cli.options import Instance, arguments_option, instance_options, parse_pairs
from localcdap.cli.output import StyledText, echo, print_json, secho
from localcdap.text import plural

if TYPE_CHECKING:
    from localcdap.metadata.lineage.impact_service import ImpactReport


@click.command("impact")
@click.argument("file")
@click.option(
    "--against",
    metavar="PIPELINE",
    help="The deployed pipeline NAME or NAME@VERSION, or the file, to compare with; default: the deployed "
    "pipeline of the same name.",
)
@arguments_option
@instance_options
def command(instance: Instance, file: str, against: str | None, arguments: tuple[str, ...]) -> int:
    """Compare the pipeline in FILE with the deployed one of its name, before it is deployed or run.

    The answer lists changed fields of stages, changed fields of the datasets that the pipeline writes, and
    the other pipelines that depend on these fields; also the fields that it reads and does not use, and the
    fields of its datasets that no pipeline writes. A dataset is a table, a file or what else a source or sink
    reads or writes.

    The exit code is 1 when a dataset loses or changes a field, or when another pipeline depends on one.
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
    from localcdap.metadata.lineage.impact_text import describe_impact, summarize_impact

    echo(summarize_impact(report))
    if report.against is None:
        echo("Compare it with another one, or with a file: --against PIPELINE.")
    if report.errors:
        secho(
            f"The pipeline has {plural(len(report.errors), 'failure')}: what follows may be incomplete.",
            fg="yellow",
        )
    for title, lines in describe_impact(report):
        echo(StyledText(title, bold=True))
        for line in lines:
            echo(f"  {line}")
