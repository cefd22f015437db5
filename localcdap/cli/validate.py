"""``localcdap validate FILE``: every failure of a pipeline, or of one stage."""

from __future__ import annotations

import click

from localcdap.api.errors import NotFoundError
from localcdap.api.pipeline import PipelineValidation
from localcdap.cli.faults import NO
from localcdap.cli.files import read_arguments, read_pipeline
from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import plural, print_failures, print_json
from localcdap.studio.model import PipelineDocument
from localcdap.studio.service import PipelineRequest


@click.command("validate")
@click.argument("file")
@click.option("--stage", metavar="S", help="Show this stage only.")
@click.option(
    "-a", "arguments", multiple=True, metavar="K=V", help="A runtime argument; repeatable."
)
@click.option(
    "--fix", is_flag=True, help="Use the suggested artifact where the one asked for is missing."
)
@click.option(
    "--connected",
    is_flag=True,
    help="Also look at the files that the pipeline names, as a run does.",
)
@instance_options
def command(
    instance: Instance,
    file: str,
    stage: str | None,
    arguments: tuple[str, ...],
    fix: bool,
    connected: bool,
) -> int:
    """Show every failure of the pipeline in FILE ('-': standard input), and its resolved
    specification with --json.

    FILE is the JSON that CDAP or Data Fusion exports. Macros without an argument stay open.
    """
    document = read_pipeline(file)
    if stage is not None:
        _require(stage, document)
    request = PipelineRequest(
        document.text,
        instance.namespace,
        read_arguments(arguments),
        file=file,
        use_suggested=fix,
        connected=connected,
    )
    with instance.connect() as cdap:
        answer = cdap.studio.validate_pipeline(request)
    if stage is not None:
        answer = PipelineValidation([e for e in answer.errors if e.stage == stage], answer.spec)
    if instance.json:
        print_json(answer)
    else:
        _print(answer, file)
    return NO if answer.errors else 0


def _require(stage: str, document: PipelineDocument) -> None:
    """:raises NotFoundError: when the pipeline has no such stage."""
    names = [each.name for each in document.stages]
    if stage not in names:
        raise NotFoundError(
            f"The pipeline has no stage '{stage}'.", f"Its stages: {', '.join(names) or 'none'}."
        )


def _print(answer: PipelineValidation, file: str) -> None:
    if answer.errors:
        print_failures(answer.errors)
        click.secho(f"{file}: {plural(len(answer.errors), 'failure')}", fg="red", bold=True)
        return
    stages = plural(len(answer.spec.stages), "stage") if answer.spec else "the stage"
    click.secho(f"{file}: valid, {stages}", fg="green", bold=True)
