"""Error records in the schema of all error records of a stage whose rules send records to error.

See :mod:`localcdap.expectations.schema_checks` for that schema. Spark widens numbers itself; where a value
becomes text, Python workers do it, as they do in previews, so that both give the same text.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.arrow import RecordCodec
from localcdap.api.record_json import encode_json_record
from localcdap.api.schema import Field, Schema, Type
from localcdap.engine.messages.flow import Stage, Stream
from localcdap.engine.tasks.pass_plan import ERROR_FIELDS, error_record_schema
from localcdap.engine.tasks.runners import conform
from localcdap.engine.tasks.task_messages import capture_output
from localcdap.expectations.rules import Expectation, explain_violation
from localcdap.expectations.schema_checks import is_same_type
from localcdap.java.strings import format_float, to_java_string

if TYPE_CHECKING:
    import pyarrow as pa

_RECORD: Final = ERROR_FIELDS[0]


def list_texts(given: Schema, wanted: Schema) -> list[str]:
    """Return the fields whose values become text in the error records.

    :param given: the schema of the records.
    :param wanted: that of all error records of the stage.
    """
    return [
        field.name
        for field in wanted
        if (own := given.field(field.name)) is not None
        and field.schema.non_nullable == Schema.STRING
        and not is_same_type(own.schema, field.schema)
    ]


class ErrorRecordBuilder:
    """Makes error records in the schema of all error records of a stage.

    :param given: the schema of the records, any field of which may be null.
    :param wanted: that of all error records of the stage.
    """

    def __init__(
        self, stage: str, rules: Sequence[Expectation], given: Schema, wanted: Schema
    ) -> None:
        self._stage: Final = stage
        self._messages: Final = [explain_violation(rule) for rule in rules]
        self._given: Final = _allow_nulls(given)
        self._codec: Final = RecordCodec(error_record_schema(wanted))
        self._conversions: Final = [
            (field.name, _find_conversion(given.field(field.name), field.schema))
            for field in wanted
        ]

    def divert(self, batch: pa.RecordBatch, violated: Sequence[int | None]) -> pa.RecordBatch:
        """Return the error records of the records that violate a rule.

        :param violated: for each record the index of the rule, or None.
        """
        codec = RecordCodec(self._given)
        records = zip(codec.decode(conform(batch, codec)), violated, strict=True)
        return self._codec.encode(
            dict(
                zip(
                    ERROR_FIELDS,
                    (self._convert(record), index + 1, self._messages[index], self._stage),
                    strict=True,
                )
            )
            for record, index in records
            if index is not None
        )

    def convert(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the error records that the plugin has emitted."""
        codec = RecordCodec(error_record_schema(self._given))
        records = codec.decode(conform(batch, codec))
        for each in records:
            if each[_RECORD] is not None:
                each[_RECORD] = self._convert(each[_RECORD])
        return self._codec.encode(records)

    def _convert(self, record: dict[str, Any]) -> dict[str, Any]:
        return {
            name: None if convert is None or (value := record[name]) is None else convert(value)
            for name, convert in self._conversions
        }


def create_error_pass(
    stage: Stage, given: Schema, message_directory: str | None, *, diverts: bool
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Create the function that brings batches into the form of the error records of a stage.

    :param given: the schema of the records, or of those in the plugin's own error records.
    :param diverts: whether the batches have records that violate rules, with the number of the rule, from 1,
        as the last column; else they have error records of the plugin.
    """
    name, rules = stage.name, list(stage.expectations)
    wanted = stage.get_schema(Stream(name, errors=True))

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with capture_output(message_directory, name):
            builder = ErrorRecordBuilder(name, rules, given, wanted)
            for batch in batches:
                if not diverts:
                    yield builder.convert(batch)
                    continue
                count = batch.num_columns - 1
                numbers = batch.column(count).to_pylist()
                records = batch.select(range(count)).rename_columns(given.field_names)
                yield builder.divert(records, [number - 1 for number in numbers])

    return run


def _find_conversion(given: Field | None, wanted: Schema) -> Callable[[Any], Any] | None:
    """Return how a value becomes one of the error record; None when there is no value."""
    if given is None:
        return None
    if is_same_type(given.schema, wanted):
        return lambda value: value
    if wanted.non_nullable != Schema.STRING:
        return float if wanted.non_nullable == Schema.DOUBLE else int
    return format_float if given.schema.non_nullable.type is Type.FLOAT else _to_text


def _to_text(value: Any) -> str:
    """Return a value as Java converts it to text; bytes in base64, nested values as JSON."""
    match value:
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(value).decode("ascii")
        case dict() | list() | tuple():
            return json.dumps(encode_json_record(value), ensure_ascii=False)
    return to_java_string(value)


def _allow_nulls(schema: Schema) -> Schema:
    fields = [(field.name, field.schema.as_nullable) for field in schema]
    return Schema.record(schema.name or "record", fields)
