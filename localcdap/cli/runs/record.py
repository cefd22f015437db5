"""``localcdap record PIPELINE STAGE -o FILE``: keep the records that a stage gives, to read them later."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import BadRequestError, ConflictError
from localcdap.api.record_json import decode_json_records
from localcdap.cli.errors import NO
from localcdap.cli.files import NamedPipeline
from localcdap.cli.options import (
    Instance,
    arguments_option,
    fix_option,
    flag,
    instance_options,
    parse_pairs,
    repeatable,
)
from localcdap.cli.output import echo, print_failures, secho
from localcdap.cli.runs.preview import run_preview
from localcdap.engine.messages.samples import StageSample
from localcdap.files.result_files import check_suffix, write_result
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.recordings.masks import find_personal_fields, mask_fields
from localcdap.pipeline.recordings.stand_ins import cut_after
from localcdap.runs.preview.model import MOST_RECORDS, Preview, PreviewRequest, PreviewStatus
from localcdap.text import plural

if TYPE_CHECKING:
    from localcdap.host import Cdap

_RECORDS: Final = 1000


@click.command("record")
@click.argument("pipeline", metavar="FILE|NAME[@VERSION]")
@click.argument("stage")
@click.option(
    "--output",
    "-o",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The file to write, whose suffix says the format: .csv, .json or .parquet.",
)
@click.option(
    "--limit",
    default=_RECORDS,
    show_default=True,
    type=click.IntRange(1, MOST_RECORDS),
    help="The most records to read from each source.",
)
@repeatable("--mask", "masked", metavar="FIELD", help="Mask a field; repeatable.")
@flag(
    "--mask-personal",
    help="Mask the fields that hold e-mail addresses, phone numbers, names and other data about persons.",
)
@click.option(
    "--mask-key",
    metavar="TEXT",
    help="Recordings that are masked with the same key still join. Default: a new key.",
)
@arguments_option
@fix_option
@instance_options
def record_command(
    instance: Instance,
    pipeline: str,
    stage: str,
    output: Path,
    limit: int,
    masked: tuple[str, ...],
    mask_personal: bool,
    mask_key: str | None,
    arguments: tuple[str, ...],
    fix: bool,
) -> int:
    """Run STAGE of a pipeline, with the stages before it, and keep its records in a file.

    Run the pipeline on the file later, where the system is not: localcdap run PIPELINE --record STAGE=FILE.
    Nothing after the stage runs. Masked values keep their form, and equal values stay equal.
    """
    check_suffix(output)
    named, values = NamedPipeline(pipeline), parse_pairs(arguments, "-a")
    with instance.connect() as cdap:
        request = PreviewRequest(
            document=cut_after(
                read_document(named.get_document(cdap, instance.namespace), named.file), stage
            ),
            namespace=instance.namespace,
            name=named.name,
            arguments=values,
            records=limit,
            use_suggested=fix,
        )
        preview = _read(cdap, request, stage)
    if preview.status is not PreviewStatus.COMPLETED:
        if instance.print_json(preview):
            return NO
        print_failures(preview.errors)
        if preview.error is not None:
            secho(preview.error.message, fg="red")
        return NO
    sample = preview.stages[stage]
    fields = _choose_fields(sample, masked, personal=mask_personal)
    _write(output, sample, list(fields), mask_key or secrets.token_hex(16))
    count = len(sample.records)
    if instance.print_json({"file": str(output), "records": count, "masked": fields}):
        return 0
    echo(f"{plural(count, 'record')} of '{stage}' kept in {output}.")
    for name, label in fields.items():
        echo(f"  {name} is masked{f': {label}' if label else ''}")
    echo(f"Use them: localcdap run {pipeline} --record '{stage}={output}'")
    return 0


def _read(cdap: Cdap, request: PreviewRequest, stage: str) -> Preview:
    """Return the preview of the stage.

    :raises ConflictError: when the stage itself has a recording.
    """
    preview = run_preview(cdap, request)
    for each in preview.stand_ins:
        if each.stage == stage:
            raise ConflictError(
                f"Stage '{stage}' {each.describe_use()}: it would record a recording.",
                "Remove that first; 'localcdap recordings' lists what is set.",
            )
    return preview


def _choose_fields(
    sample: StageSample, masked: tuple[str, ...], *, personal: bool
) -> dict[str, str]:
    """Return the fields to mask, each with what its values are, as far as that is known."""
    assert sample.schema is not None
    found = find_personal_fields(sample.schema, sample.records) if personal else {}
    return {**dict.fromkeys(masked, ""), **found}


def _write(output: Path, sample: StageSample, fields: list[str], key: str) -> None:
    import pyarrow as pa

    schema = sample.schema
    if schema is None:
        raise BadRequestError("The stage has no records of one schema: it has ports.")
    records: list[Any] = mask_fields(schema, sample.records, fields, key)
    batch = RecordCodec(schema).encode(decode_json_records(schema, records))
    write_result(pa.Table.from_batches([batch]), output)
