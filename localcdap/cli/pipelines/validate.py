"""``localcdap validate FILE|NAME``: show every failure of a pipeline, or of one stage."""

from __future__ import annotations

import click

from localcdap.api.pipeline import PipelineValidation, StageValidation
from localcdap.api.schema import Schema
from localcdap.cli.errors import NO
from localcdap.cli.files import NamedPipeline
from localcdap.cli.options import (
    Instance,
    arguments_option,
    fix_option,
    flag,
    instance_options,
    parse_pairs,
)
from localcdap.cli.output import echo, print_failures, secho
from localcdap.cli.runs.recordings import parse_recordings, print_stand_ins, record_option
from localcdap.pipeline.service import PipelineRequest
from localcdap.text import plural


@click.command("validate")
@click.argument("pipeline", metavar="FILE|NAME[@VERSION]")
@click.option("--stage", metavar="S", help="Show this stage only.")
@arguments_option
@fix_option
@flag("--connected", help="Also check the files and systems that the pipeline uses, as a run does.")
@record_option
@instance_options
def validate_command(
    instance: Instance,
    pipeline: str,
    stage: str | None,
    arguments: tuple[str, ...],
    fix: bool,
    connected: bool,
    recordings: tuple[str, ...],
) -> int:
    """Show every failure of the pipeline in FILE ('-' is standard input), or of the deployed pipeline NAME;
    with --json, also the resolved specification.

    FILE is the JSON that CDAP or Data Fusion exports. A macro without an argument stays unresolved.
    """
    named, values = NamedPipeline(pipeline), parse_pairs(arguments, "-a")
    with instance.connect() as cdap:
        request = PipelineRequest(
            named.get_document(cdap, instance.namespace),
            instance.namespace,
            values,
            file=named.file,
            use_suggested=fix,
            connected=connected,
            recordings=parse_recordings(recordings),
        )
        answer = (
            cdap.studio.validate_pipeline(request)
            if stage is None
            else cdap.studio.validate_pipeline_stage(request, stage)
        )
    if not instance.print_json(answer):
        _print(answer, pipeline)
    return NO if answer.errors else 0


def _print(answer: PipelineValidation | StageValidation, name: str) -> None:
    if isinstance(answer, PipelineValidation):
        print_stand_ins(answer.stand_ins)
    print_failures(answer.errors)
    print_failures(answer.warnings, warnings=True)
    counted = f", {plural(len(answer.warnings), 'warning')}" if answer.warnings else ""
    if answer.errors:
        text = f"{name}: {plural(len(answer.errors), 'failure')}{counted}"
        secho(text, fg="red", bold=True)
        return
    if isinstance(answer, StageValidation):
        valid = _print_schemas(answer)
    else:
        valid = f"{name}: valid, {plural(len(answer.spec.stages) if answer.spec else 0, 'stage')}"
    secho(valid + counted, fg="green", bold=True)


def _print_schemas(answer: StageValidation) -> str:
    """Print the input and output schemas of a valid stage. Return its summary."""
    if answer.spec is None:
        return "valid"
    spec = answer.spec
    schemas = [(f"from {source}", schema) for source, schema in spec.input_schemas.items()]
    schemas += [(f"port {port}", schema) for port, schema in spec.port_schemas.items()]
    for what, schema in (*schemas, ("out", spec.output_schema), ("errors", spec.error_schema)):
        if schema is not None:
            echo(f"  {what}: {_format_fields(schema)}")
    return f"{spec.name}: valid"


def _format_fields(schema: Schema) -> str:
    return ", ".join(
        f"{field.name} {field.schema.display_name}{'?' if field.schema.is_nullable else ''}"
        for field in schema
    )
