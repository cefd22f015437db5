"""``localcdap validate FILE``: every failure of a pipeline, or of one stage."""

from __future__ import annotations

import click

from localcdap.api.errors import NotFoundError
from localcdap.api.pipeline import PipelineValidation
from localcdap.cli.faults import NO
from localcdap.cli.files import read_arguments, read_file
from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import plural, print_failures, print_json


@click.command("validate")
@click.argument("file")
@click.option("--stage", metavar="S", help="Show this stage only.")
@click.option(
    "-a", "arguments", multiple=True, metavar="K=V", help="A runtime argument; repeatable."
)
@click.option(
    "--fix", is_flag=True, help="Use the suggested artifact where the one asked for is missing."
)
@instance_options
def command(
    instance: Instance, file: str, stage: str | None, arguments: tuple[str, ...], fix: bool
) -> int:
    """Show every failure of the pipeline in FILE ('-': standard input), and its resolved
    specification with --json.

    FILE is the JSON that CDAP or Data Fusion exports. Macros without an argument stay open.
    """
    text = read_file(file)
    given = read_arguments(arguments)
    with instance.connect() as cdap:
        answer = cdap.validate(text, file, instance.namespace, given, use_suggested=fix)
    if stage is not None:
        answer = _only(answer, stage, text)
    if instance.json:
        print_json(answer)
    else:
        _print(answer, file)
    return NO if answer.errors else 0


def _only(answer: PipelineValidation, stage: str, text: str) -> PipelineValidation:
    """The part of the answer about one stage; failures of the whole pipeline are left out.

    :raises NotFoundError: when the pipeline has no such stage.
    """
    from localcdap.studio.document import read_document

    names = [each.name for each in read_document(text).stages]
    if stage not in names:
        raise NotFoundError(
            f"The pipeline has no stage '{stage}'.", f"Its stages: {', '.join(map(str, names))}."
        )
    return PipelineValidation([e for e in answer.errors if e.stage == stage], answer.spec)


def _print(answer: PipelineValidation, file: str) -> None:
    if answer.errors:
        print_failures(answer.errors)
        click.secho(f"{file}: {plural(len(answer.errors), 'failure')}", fg="red", bold=True)
        return
    stages = plural(len(answer.spec.stages), "stage") if answer.spec else "the stage"
    click.secho(f"{file}: valid, {stages}", fg="green", bold=True)
