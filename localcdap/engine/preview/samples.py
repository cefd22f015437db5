"""What stages make of a few records, in the form in which front ends show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from localcdap.api.arrow import RecordCodec
from localcdap.api.record_json import encode_json_record
from localcdap.api.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa


class Problem(msgspec.Struct, rename="camel", omit_defaults=True):
    """An exception that a stage's plugin raised, or a value of it that does not fit its schema."""

    message: str
    corrective_action: str | None = None
    stage: str | None = None
    field: str | None = None
    """The property that is wrong, where it is one."""
    trace: str | None = None
    """The plugin's own frames, a line each, innermost last; then the exception."""
    record: int | None = None
    """Which of the records that the stage was given, from 1; None where that is not known."""


class Rejected(msgspec.Struct):
    """An error record."""

    record: Any
    """As JSON, see :mod:`localcdap.api.record_json`."""
    code: int | None
    message: str | None


class PortSample(msgspec.Struct):
    """Records of one port of a splitter."""

    schema: Schema
    records: list[Any]
    count: int
    """Of all records, of which the first are shown."""


class StageSample(msgspec.Struct, rename="camel"):
    """What a stage made of the records that it was given; of a sink, the records that it was given."""

    schema: Schema | None = None
    """Of the records; None for a splitter, and for a stage that failed before it was known."""
    records: list[Any] = []
    """As JSON, see :mod:`localcdap.api.record_json`; the first ones where there are too many."""
    errors: list[Rejected] = []
    ports: dict[str, PortSample] = {}
    """Of a splitter, by port."""
    count: int = 0
    """Of all records that left the stage."""
    error_count: int = 0
    problems: list[Problem] = []


def shown_records(schema: Schema, batch: pa.RecordBatch, most: int) -> list[Any]:
    """The first records of a batch as JSON."""
    return [encode_json_record(each) for each in RecordCodec(schema).decode(batch.slice(0, most))]


def shown_errors(schema: Schema, batch: pa.RecordBatch, most: int) -> list[Rejected]:
    """The first of a batch of error records.

    :param schema: of the batch, see :func:`localcdap.engine.tasks.plan.error_record_schema`.
    """
    return [
        Rejected(each["record"], each["code"], each["message"])
        for each in shown_records(schema, batch, most)
    ]
