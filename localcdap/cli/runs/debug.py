"""``localcdap debug FILE|NAME STAGE``: run one stage on given records."""

from __future__ import annotations

from typing import Any, Final

import click

from localcdap.api.errors import BadRequestError
from localcdap.cli.errors import NO
from localcdap.cli.files import NamedPipeline
from localcdap.cli.options import (
    Instance,
    add_strict,
    arguments_option,
    fix_option,
    instance_options,
    parse_pairs,
    strict_option,
)
from localcdap.cli.output import echo, secho
from localcdap.cli.records import (
    print_alerts,
    print_altered,
    print_problem,
    print_records,
    print_rejected,
    print_results,
    read_json,
)
from localcdap.runs.preview.model import DebugAnswer, DebugRequest, GivenRecords
from localcdap.text import plural

_GIVEN: Final = {"stage", "records", "schema"}
_MOST_ON_SCREEN: Final = 50


@click.command("debug")
@click.argument("pipeline", metavar="FILE|NAME[@VERSION]")
@click.argument("stage")
@click.option(
    "--input",
    "records",
    metavar="RECORDS",
    help="The JSON file with the input records; '-' is standard input.",
)
@arguments_option
@click.option(
    "--limit",
    default=100,
    show_default=True,
    type=click.IntRange(1),
    help="The most records that a source reads.",
)
@strict_option
@fix_option
@instance_options
def debug_command(
    instance: Instance,
    pipeline: str,
    stage: str,
    records: str | None,
    arguments: tuple[str, ...],
    limit: int,
    strict: bool,
    fix: bool,
) -> int:
    """Run STAGE of the pipeline in FILE ('-' is standard input), or of the deployed pipeline NAME, on
    RECORDS, and show its output, error records, alerts and exceptions.

    RECORDS is an array of objects, one object, or has one object per line. A stage with several inputs
    takes an object with such an array for each input stage. Bytes are text in base64; dates and timestamps
    are written "2026-01-02" and "2026-01-02T03:04:05Z", decimals "12.50". An error transform takes records
    like {"record": {…}, "code": 1, "message": "…"}. A source needs no RECORDS; a sink writes nothing.
    """
    named, values = NamedPipeline(pipeline), add_strict(parse_pairs(arguments, "-a"), strict)
    given = _parse_records(read_json(records)) if records is not None else []
    with instance.connect() as cdap:
        request = DebugRequest(
            stage=stage,
            input=given,
            namespace=instance.namespace,
            arguments=values,
            document=named.get_document(cdap, instance.namespace),
            file=named.file,
            records=limit,
            use_suggested=fix,
        )
        answer = cdap.debugging.debug(request)
    instance.print(answer, _print)
    return NO if answer.errors else 0


def _parse_records(document: Any) -> list[GivenRecords]:
    """Return the records of each input, from any of the accepted forms."""
    match document:
        case list() if document and all(_has_stage(each) for each in document):
            return [GivenRecords(e["stage"], e["records"], e.get("schema")) for e in document]
        case list():
            return [GivenRecords(records=document)]
        case dict() if document and all(isinstance(each, list) for each in document.values()):
            return [GivenRecords(stage, records) for stage, records in document.items()]
        case dict():
            return [GivenRecords(records=[document])]
    raise BadRequestError(
        "The records are neither objects, nor an object with an array of them for each input stage.",
        'Write them like [{"name": "ada"}], or {"input stage": [{"name": "ada"}]}.',
    )


def _has_stage(each: Any) -> bool:
    return (
        isinstance(each, dict)
        and {"stage", "records"} <= each.keys() <= _GIVEN
        and isinstance(each["records"], list)
    )


def _print(answer: DebugAnswer) -> None:
    if answer.output is not None:
        print_records(answer.output.schema, answer.output.records, _MOST_ON_SCREEN)
    for port, output in answer.ports.items():
        secho(f"port {port}", bold=True)
        print_records(output.schema, output.records, _MOST_ON_SCREEN)
    if answer.error_records:
        secho(plural(len(answer.error_records), "error record"), bold=True)
        print_rejected(answer.error_records, _MOST_ON_SCREEN)
    print_alerts(answer.alerts, len(answer.alerts), _MOST_ON_SCREEN)
    print_results(answer.expectations, {})
    print_altered(answer.altered)
    for line in answer.logs:
        echo(line, err=True)
    for problem in answer.errors:
        print_problem(problem)
