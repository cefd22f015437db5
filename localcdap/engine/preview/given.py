"""Records that take the place of those that a stage gives: the stage itself is not run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import BadRequestError
from localcdap.api.record_json import decode_json_records, decode_text_record
from localcdap.api.schema import Schema
from localcdap.engine.plan.flow import SPLITTER, Flow, Stage, Stream
from localcdap.engine.tasks.plan import error_record_schema

if TYPE_CHECKING:
    import pyarrow as pa


class GivenStream(msgspec.Struct):
    """The records of one stream of such a stage; its other streams are empty."""

    stream: Stream
    records: list[Any]
    """As JSON, see :mod:`localcdap.api.record_json`. Error records are objects with ``record``, ``code`` and
    ``message``."""
    are_text: bool = False
    """Every value is text, as in a CSV file; empty for null."""


def given_records(flow: Flow, given: Sequence[GivenStream]) -> dict[Stream, pa.RecordBatch]:
    """All streams of the stages of a flow whose records are given, encoded with the propagated schemas.

    :raises BadRequestError: with every record and field that does not fit, of all streams.
    """
    found: dict[Stream, pa.RecordBatch] = {}
    problems: list[str] = []
    by_stream = {each.stream: each for each in given}
    names = {stream.stage for stream in by_stream}
    for stage in flow.stages:
        for stream in _streams(flow, stage) if stage.name in names else []:
            try:
                found[stream] = _batch(stage, stream, by_stream.pop(stream, None))
            except BadRequestError as error:
                problems.append(error.message)
    problems += [
        f"Stage '{stream.stage}' has no output '{stream}'."
        for stream in by_stream
        if stream.stage in {stage.name for stage in flow.stages}
    ]
    if problems:
        raise BadRequestError("\n".join(problems), "Correct the given records.")
    return found


def _streams(flow: Flow, stage: Stage) -> list[Stream]:
    """What leaves a stage; its errors only when they are read."""
    ports = [Stream(stage.name, port) for port in stage.port_schemas]
    streams = ports if stage.type == SPLITTER else [Stream(stage.name)]
    errors = Stream(stage.name, errors=True)
    return [*streams, errors] if flow.readers(errors) else streams


def _batch(stage: Stage, stream: Stream, given: GivenStream | None) -> pa.RecordBatch:
    schema = _schema(stage, stream)
    if given is None:
        return RecordCodec(schema).encode([])
    records = given.records
    if given.are_text:
        records = [decode_text_record(schema, each) for each in records]
    if stream.errors:
        records = [
            {"stage": stream.stage} | each if isinstance(each, dict) else each for each in records
        ]
    return RecordCodec(schema).encode(decode_json_records(schema, records, str(stream)))


def _schema(stage: Stage, stream: Stream) -> Schema:
    schema = stage.schema(stream)
    return error_record_schema(schema) if stream.errors else schema
