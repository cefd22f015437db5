"""Records into the stages of a preview, and out of them: given records, feeds, and samples to be shown."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import BadRequestError, StageError
from localcdap.api.plugin import Plugin
from localcdap.api.record_json import decode_json_records, decode_text_record, encode_json_record
from localcdap.api.schema import Schema
from localcdap.api.stage import NoticeKind
from localcdap.engine.messages.flow import SPLITTER, Flow, Stage, Stream
from localcdap.engine.messages.orders import GivenStream
from localcdap.engine.messages.samples import (
    AlteredValues,
    PortSample,
    RejectedRecord,
    StageProblem,
    StageSample,
)
from localcdap.engine.plan.phases import list_read_fields
from localcdap.engine.tasks.pass_plan import error_record_schema
from localcdap.engine.tasks.runners import conform
from localcdap.expectations.results import RuleResult

if TYPE_CHECKING:
    import pyarrow as pa

Batches = Mapping[Stream, "pa.RecordBatch"]


@dataclasses.dataclass
class PreviewStageOutput:
    """The output of a stage."""

    batches: dict[Stream, pa.RecordBatch] = dataclasses.field(default_factory=dict)
    """The records of all streams of the stage, also of empty ones."""
    problems: list[StageProblem] = dataclasses.field(default_factory=list)
    results: list[RuleResult] = dataclasses.field(default_factory=list)
    """The results of the stage's expectations."""
    alerts: list[dict[str, str | None]] = dataclasses.field(default_factory=list)
    """What the alerts of the stage say."""
    altered: list[tuple[str, int, str, NoticeKind]] = dataclasses.field(default_factory=list)
    """The values that code in Python has altered, see :meth:`.AlteredCounts.take`."""


def get_stream_schema(stage: Stage, stream: Stream) -> Schema:
    """Return the schema of the records of an output stream of a stage, error records included."""
    schema = stage.get_schema(stream)
    return error_record_schema(schema) if stream.errors else schema


def get_own_schema(stage: Stage, stream: Stream) -> Schema:
    """Return the schema of the records that the plugin of a stage gives to a stream, before rules."""
    own = stage.own_error_schema
    return error_record_schema(own) if stream.errors and own else get_stream_schema(stage, stream)


# -- given records --------------------------------------------------------------------------


def encode_given_streams(flow: Flow, given: Sequence[GivenStream]) -> dict[Stream, pa.RecordBatch]:
    """Encode the given records of all stages of a flow with the propagated schemas.

    :raises BadRequestError: with every record and field that does not fit, of all streams.
    """
    encoded: dict[Stream, pa.RecordBatch] = {}
    problems: list[str] = []
    by_stream = {each.stream: each for each in given}
    names = {stream.stage for stream in by_stream}
    for stage in flow.stages:
        for stream in _list_streams(flow, stage) if stage.name in names else []:
            try:
                encoded[stream] = _encode_given(stage, stream, by_stream.pop(stream, None))
            except BadRequestError as error:
                problems.append(error.message)
    problems += [
        f"Stage '{stream.stage}' has no output '{stream}'."
        for stream in by_stream
        if stream.stage in {stage.name for stage in flow.stages}
    ]
    if problems:
        raise BadRequestError("\n".join(problems), "Correct the given records.")
    return encoded


def add_stage_names(stream: Stream, records: list[Any]) -> list[Any]:
    """Return error records with the field ``stage``, which callers may leave out."""
    return [{"stage": stream.stage} | each if isinstance(each, dict) else each for each in records]


def _list_streams(flow: Flow, stage: Stage) -> list[Stream]:
    """Return the output streams of a stage; its errors only when a stage reads them."""
    ports = [Stream(stage.name, port) for port in stage.port_schemas]
    streams = ports if stage.type == SPLITTER else [Stream(stage.name)]
    errors = Stream(stage.name, errors=True)
    return [*streams, errors] if flow.list_readers(errors) else streams


def _encode_given(stage: Stage, stream: Stream, given: GivenStream | None) -> pa.RecordBatch:
    schema = get_stream_schema(stage, stream)
    if given is None:
        return RecordCodec(schema).encode([])
    records = given.records
    if given.are_text:
        records = [decode_text_record(schema, each) for each in records]
    if stream.errors:
        records = add_stage_names(stream, records)
    return RecordCodec(schema).encode(decode_json_records(schema, records, str(stream)))


# -- feeds ----------------------------------------------------------------------------------


def get_feed_schema(stage: Stage, plugin: Plugin, streams: Sequence[Stream]) -> Schema:
    """Return the fields that all of the streams have and that the stage reads."""
    schemas = [_get_input_schema(stage, stream) for stream in streams]
    if streams[0].errors:
        return schemas[0]
    wanted = list_read_fields(plugin, stage)[streams[0].stage]
    names = [name for name in wanted if all(schema.field(name) for schema in schemas)]
    fields = [field for field in schemas[0] if field.name in names]
    return Schema.record(schemas[0].name or "record", fields)


def create_feed(schema: Schema, streams: Sequence[Stream], batches: Batches) -> pa.RecordBatch:
    """Return the records of several streams with the fields of a schema, all of which may be null."""
    import pyarrow as pa

    codec = RecordCodec(make_nullable(schema))
    return pa.concat_batches([conform(batches[stream], codec) for stream in streams])


def find_nulls(schema: Schema, streams: Sequence[Stream], batches: Batches) -> list[StageProblem]:
    """Return a problem for the first field that may not be null and is; a run fails when Python gets it.

    It is a problem of the stage that gave the record; its number is that of the record there.
    """
    codec = RecordCodec(schema)
    for stream in streams:
        batch = batches[stream]
        try:
            conform(batch, codec)
        except StageError as error:
            message = f"Stage '{stream.stage}': {error.message}"
            number = _find_null(schema, batch)
            return [StageProblem(message, error.corrective_action, stream.stage, record=number)]
    return []


def _find_null(schema: Schema, batch: pa.RecordBatch) -> int | None:
    """Return the number of the first record with a null that its schema does not allow."""
    names = [field.name for field in schema if not field.schema.is_nullable]
    found = [batch.column(name).is_null().index(True).as_py() for name in names]
    return min((row + 1 for row in found if row >= 0), default=None)


def make_nullable(schema: Schema) -> Schema:
    """Return the schema with every field nullable, as Spark computes records: it does not check nulls."""
    fields = [(field.name, field.schema.as_nullable) for field in schema]
    return Schema.record(schema.name or "record", fields)


def _get_input_schema(stage: Stage, stream: Stream) -> Schema:
    schema = stage.input_schemas[stream.stage]
    return error_record_schema(schema) if stream.errors else schema


# -- samples --------------------------------------------------------------------------------


def create_sample(stage: Stage, output: PreviewStageOutput, shown: int) -> StageSample:
    """Return the sample of what a stage gave.

    :param shown: the maximum number of records of each stream.
    """
    sample = StageSample(problems=output.problems, expectations=output.results)
    sample.altered = [AlteredValues(stage.name, *each) for each in output.altered]
    sample.alerts, sample.alert_count = output.alerts[:shown], len(output.alerts)
    for stream, batch in output.batches.items():
        schema = get_stream_schema(stage, stream)
        records = convert_to_json(schema, batch, shown)
        if stream.errors:
            sample.errors = [RejectedRecord(e["record"], e["code"], e["message"]) for e in records]
            sample.error_count = batch.num_rows
            continue
        sample.count += batch.num_rows
        if stream.port is None:
            sample.schema, sample.records = schema, records
        else:
            sample.ports[stream.port] = PortSample(schema, records, batch.num_rows)
    if stage.type != SPLITTER and sample.schema is None:
        sample.schema = stage.output_schema
    return sample


def convert_to_json(schema: Schema, batch: pa.RecordBatch, most: int) -> list[Any]:
    """Return the first records of a batch as JSON."""
    return [encode_json_record(each) for each in RecordCodec(schema).decode(batch.slice(0, most))]
