"""What a stage reads, put together from batches of the streams that lead to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from localcdap.api.arrow import RecordCodec
from localcdap.api.plugin import Plugin
from localcdap.api.schema import Schema
from localcdap.engine.plan.fields import read_fields
from localcdap.engine.plan.flow import Stage, Stream
from localcdap.engine.tasks.chunks import conform
from localcdap.engine.tasks.plan import error_record_schema

if TYPE_CHECKING:
    import pyarrow as pa

Batches = Mapping[Stream, "pa.RecordBatch"]


def feed_schema(stage: Stage, plugin: Plugin, streams: Sequence[Stream]) -> Schema:
    """The fields that are there of all of the streams and that the stage reads."""
    schemas = [_schema(stage, stream) for stream in streams]
    if streams[0].errors:
        return schemas[0]
    wanted = read_fields(plugin, stage)[streams[0].stage]
    names = [name for name in wanted if all(schema.field(name) for schema in schemas)]
    fields = [field for field in schemas[0] if field.name in names]
    return Schema.record(schemas[0].name or "record", fields)


def feed(schema: Schema, streams: Sequence[Stream], batches: Batches) -> pa.RecordBatch:
    """The records of several streams with the fields of a schema, which may be null whatever it says."""
    import pyarrow as pa

    codec = RecordCodec(loosened(schema))
    return pa.concat_batches([conform(batches[stream], codec) for stream in streams])


def loosened(schema: Schema) -> Schema:
    """The schema with every field nullable: that of what Spark computes, which does not look at nulls."""
    fields = [(field.name, field.schema.as_nullable) for field in schema]
    return Schema.record(schema.name or "record", fields)


def _schema(stage: Stage, stream: Stream) -> Schema:
    schema = stage.input_schemas[stream.stage]
    return error_record_schema(schema) if stream.errors else schema
