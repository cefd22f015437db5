"""Runners: each runs one stage of a pass on the records of one batch.

Between fused stages, records are dicts or Arrow; plugin code emits into lists of them.
"""

from __future__ import annotations

import contextlib
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, cast

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import StageError
from localcdap.api.plugin import has_override
from localcdap.api.record_json import encode_json_record
from localcdap.api.schema import Schema
from localcdap.api.stage import NoticeKind, Record
from localcdap.artifacts.loading import load_plugin
from localcdap.engine.messages.flow import Stream, create_plugin
from localcdap.engine.tasks.context import AlteredCounts, CountingMetrics, WorkerStageContext
from localcdap.engine.tasks.failures import RAISED, to_failure
from localcdap.engine.tasks.pass_plan import CountKey, PassStage, StageAlert, error_record_schema

if TYPE_CHECKING:
    import pyarrow as pa


class FailedRecord:
    """An error record: see :class:`localcdap.api.stage.ErrorRecord`."""

    __slots__ = ("code", "message", "record", "stage")

    def __init__(self, record: Record, code: int, message: str, stage: str) -> None:
        self.record = record
        self.code = code
        self.message = message
        self.stage = stage


class Chunk:
    """Some records of one stream, converted at most once in each direction."""

    __slots__ = ("_batches", "_records", "codec")

    def __init__(
        self,
        codec: RecordCodec,
        records: list[Record] | None = None,
        batches: list[pa.RecordBatch] | None = None,
    ) -> None:
        self.codec = codec
        self._records = records
        self._batches = batches

    def __len__(self) -> int:
        if self._records is not None:
            return len(self._records)
        return sum(batch.num_rows for batch in self._batches or ())

    def get_records(self) -> list[Record]:
        """Return the records; only the last reader of the chunk may call this, since it may change them."""
        if self._records is None:
            decoded = [self.codec.decode(batch) for batch in self._batches or ()]
            self._records = decoded[0] if len(decoded) == 1 else list(chain(*decoded))
        return self._records

    def copy_records(self) -> list[Record]:
        """Return deep copies of the records, which their reader may change."""
        return [copy_value(record) for record in self.get_records()]

    def get_batches(self) -> list[pa.RecordBatch]:
        """Return the records as Arrow; checks each value.

        :raises StageError: (without a stage) when a value does not fit the schema.
        """
        if self._batches is None:
            self._batches = [self.codec.encode(self._records or [])]
        return self._batches


def copy_value(value: Any) -> Any:
    """Return a deep copy of a value of a record."""
    if isinstance(value, Mapping):
        return {name: copy_value(member) for name, member in value.items()}
    if isinstance(value, list):
        return [copy_value(item) for item in value]
    return value


def join_chunks(chunks: list[tuple[Chunk, bool]]) -> Chunk:
    """Return the records of several chunks of one schema, each with whether this is its last reader."""
    if len(chunks) == 1:
        return chunks[0][0]
    records: list[Record] = []
    for chunk, last in chunks:
        records += chunk.get_records() if last else chunk.copy_records()
    return Chunk(chunks[0][0].codec, records)


class SideOutputs:
    """Collects the error records and alerts that a stage emits beside its output."""

    def __init__(self, stage: str) -> None:
        self._stage = stage
        self.errors: list[FailedRecord] = []
        self.alerts: list[dict[str, str | None]] = []
        self.dropped: list[FailedRecord] = []
        """The errors whose input record the stage does not pass on."""

    def error(self, record: Record, code: int, message: str, *, dropped: bool = True) -> None:
        """Emit an error record."""
        self.errors.append(FailedRecord(copy_value(record), code, message, self._stage))
        if dropped:
            self.dropped.append(self.errors[-1])

    def alert(self, payload: Mapping[str, str]) -> None:
        """Emit an alert; all values but null become text."""
        self.alerts.append(
            {
                str(name): None if value is None else str(value)
                for name, value in dict(payload).items()
            }
        )


def _choose_copy(schema: Schema) -> Callable[[Any], Any]:
    """Return what copies a record of a schema: its values need no copy when none of them can be changed."""
    return dict.copy if all(field.schema.is_simple for field in schema) else copy_value


class RecordEmitter(list[Record], SideOutputs):
    """Collects what a stage emits: a list of output records that can be called.

    It takes a copy of a record, which its plugin may change and emit once more.
    """

    def __init__(self, stage: str, schema: Schema) -> None:
        list.__init__(self)
        SideOutputs.__init__(self, stage)
        self._copy = _choose_copy(schema)

    def __call__(self, record: Record) -> None:
        """Emit an output record."""
        self.append(self._copy(record) if type(record) is dict else copy_value(record))


class PortsEmitter(SideOutputs):
    """Collects copies of what a splitter emits, by port; records for ports that the splitter does not have
    are dropped.
    """

    def __init__(self, stage: str, schemas: Mapping[str, Schema]) -> None:
        super().__init__(stage)
        self.ports: dict[str, list[Record]] = {port: [] for port in schemas}
        self._copies = {port: _choose_copy(schema) for port, schema in schemas.items()}

    def __call__(self, port: str, record: Record) -> None:
        """Emit a record to a port."""
        records = self.ports.get(port)
        if records is not None:
            records.append(
                self._copies[port](record) if type(record) is dict else copy_value(record)
            )


def conform(batch: pa.RecordBatch, codec: RecordCodec) -> pa.RecordBatch:
    """Return a batch that a plugin made, with exactly the columns of the codec's schema, in its order.

    :raises StageError: (without a stage) when a column is missing, of another type, or null where
        that is not allowed.
    """
    import pyarrow as pa

    columns = []
    for field in codec.arrow:
        index = batch.schema.get_field_index(field.name)
        if index < 0:
            raise StageError(
                f"A batch lacks the field '{field.name}' of the output schema; it has: "
                f"{', '.join(batch.schema.names)}."
            )
        columns.append(_conform_column(batch.column(index), field))
    return pa.RecordBatch.from_arrays(columns, schema=codec.arrow)


def _conform_column(column: pa.Array, field: pa.Field) -> pa.Array:
    import pyarrow as pa

    if column.type != field.type:
        if _normalize_type(column.type) == _normalize_type(field.type):
            column = pa.array(_RetypedArray(column, field.type))
        elif _format_plain_type(column.type) == _format_plain_type(field.type):
            column = column.cast(field.type)
        else:
            raise StageError(
                f"Field '{field.name}' must be of type {field.type}, but a batch holds {column.type}."
            )
    if not field.nullable and column.null_count:
        raise StageError(
            f"Field '{field.name}' is null in a batch, but its schema does not allow null.",
            f"Give '{field.name}' a value, or make it nullable in the output schema.",
        )
    return column


class _RetypedArray:
    """An array as one of a type of the same layout, which a cast would refuse or copy.

    It implements Arrow's C data protocol, by which ``pyarrow.array`` takes it over without reading values.
    """

    def __init__(self, array: pa.Array, type: pa.DataType) -> None:
        self._array = array
        self._type = type

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._type.__arrow_c_schema__(), self._array.__arrow_c_array__()[1]


def _normalize_type(type: pa.DataType) -> Any:
    """Return a type without the names of list and map parts, and without nullability."""
    import pyarrow as pa

    if pa.types.is_struct(type):
        return [(field.name, _normalize_type(field.type)) for field in type]
    if pa.types.is_list(type):
        return ["list", _normalize_type(type.value_type)]
    if pa.types.is_map(type):
        return ["map", _normalize_type(type.key_type), _normalize_type(type.item_type)]
    return type


def _format_plain_type(type: pa.DataType) -> str:
    """Return a type's text without what describes only its memory layout."""
    text = str(type).replace("large_", "").replace("_view", "").replace(" not null", "")
    return text.replace("<item:", "<element:")


Streams = dict[Stream, Chunk]


@contextlib.contextmanager
def plugin_scope(stage: str) -> Iterator[None]:
    """Convert whatever is raised in the block into a failure of the stage."""
    try:
        yield
    except RAISED as error:
        raise to_failure(stage, error) from None


class Runner(ABC):
    """A stage with its plugin, for the life of one task."""

    def __init__(self, stage: PassStage) -> None:
        self.stage: Final = stage
        self.name: Final = stage.name
        self.output: Final = Stream(self.name)
        self.errors: Final = Stream(self.name, errors=True)
        self.counts: Counter[CountKey] = Counter()
        self.alerts: Final[list[StageAlert]] = []
        """The alerts that the plugin has emitted; who passes them on removes them."""
        self.metrics: Final = CountingMetrics()
        self.altered: Final = AlteredCounts()
        data = stage.data
        with plugin_scope(self.name):
            plugin: Any = create_plugin(load_plugin(stage.plugin), self.name, stage.properties)
            rejected = data.error_schema or next(iter(data.input_schemas.values()), None)
            self._error_codec = RecordCodec(
                error_record_schema(rejected or Schema.record("empty", []))
            )
            context = WorkerStageContext(data, self.metrics, self.altered)
            plugin.initialize(context)
            context.start_records()
        self.plugin: Final = plugin

    def close(self) -> None:
        """Close the plugin.

        :raises StageFailure: when the plugin fails.
        """
        with plugin_scope(self.name):
            self.plugin.destroy()

    @abstractmethod
    def run(self, chunk: Chunk, *, last: bool) -> Streams:
        """Run the stage on some records and return what it emits.

        :param last: whether nobody else reads ``chunk``, so that its records may be changed.
        :raises StageFailure: when the plugin fails.
        """

    def count(self, what: str, number: int, port: str | None = None) -> None:
        """Add to a count of this stage."""
        self.counts[CountKey(self.name, what, port)] += number

    def collect_emitted(self, emit: RecordEmitter, codec: RecordCodec) -> Streams:
        """Return the streams of what was emitted, and count it."""
        self.count("out", len(emit))
        return {self.output: Chunk(codec, emit), **self.collect_side_outputs(emit)}

    def collect_side_outputs(self, emit: SideOutputs) -> Streams:
        """Return the stream of error records, if there are any; count them and the alerts."""
        self.count("error", len(emit.errors))
        self.count("alert", len(emit.alerts))
        self.alerts.extend(StageAlert(self.name, payload) for payload in emit.alerts)
        if not emit.errors:
            return {}
        if emit.dropped and not self.stage.has_error_reader:
            first, number = _to_record(emit.dropped[0]), len(emit.dropped)
            self.altered.add(UNREAD_ERRORS, format_dropped(first), number, NoticeKind.ROWS)
        return {self.errors: Chunk(self._error_codec, [_to_record(e) for e in emit.errors])}


UNREAD_ERRORS: Final = "no stage collects the error records"


def format_dropped(error: Mapping[str, Any]) -> str:
    """Return what a warning says of an error record that is dropped: its message, and the record."""
    record = json.dumps(encode_json_record(error["record"]), ensure_ascii=False)
    return f"{error['message'] or 'no message'}; the record is {record}"


def _to_record(failed: FailedRecord) -> dict[str, Any]:
    return {
        "record": failed.record,
        "code": failed.code,
        "message": failed.message,
        "stage": failed.stage,
    }


class TransformRunner(Runner):
    """A transform of record grain."""

    def __init__(self, stage: PassStage) -> None:
        super().__init__(stage)
        self._codec: Final = RecordCodec(cast(Schema, stage.data.output_schema))
        self._takes_many: Final = has_override(type(self.plugin), "transform_records")

    def run(self, chunk: Chunk, *, last: bool) -> Streams:
        """See :meth:`Runner.run`."""
        if self._takes_many:
            return self._run_together(list(chunk.get_records() if last else chunk.copy_records()))
        emit = RecordEmitter(self.name, self._codec.schema)
        transform = self.plugin.transform
        record: Any = None
        try:
            for record in chunk.get_records() if last else chunk.copy_records():
                transform(record, emit)
        except RAISED as error:
            raise to_failure(self.name, error, record) from None
        return self.collect_emitted(emit, self._codec)

    def _run_together(self, records: list[Any]) -> Streams:
        emit = RecordEmitter(self.name, self._codec.schema)
        try:
            self.plugin.transform_records(records, emit)
        except RAISED as error:
            raise to_failure(self.name, error, self._find_failing_record(records)) from None
        return self.collect_emitted(emit, self._codec)

    def _find_failing_record(self, records: list[Any]) -> Any:
        """Return the first record for which the plugin fails when it gets it alone; None when there is
        none.
        """
        for record in records:
            try:
                self.plugin.transform(record, RecordEmitter(self.name, self._codec.schema))
            except RAISED:
                return record
        return None


class ErrorRunner(TransformRunner):
    """An error transform."""

    def run(self, chunk: Chunk, *, last: bool) -> Streams:
        """See :meth:`Runner.run`."""
        emit = RecordEmitter(self.name, self._codec.schema)
        failed = None
        try:
            for row in chunk.get_records() if last else chunk.copy_records():
                failed = FailedRecord(row["record"], row["code"], row["message"], row["stage"])
                self.plugin.transform(failed, emit)
        except RAISED as error:
            raise to_failure(self.name, error, failed and failed.record) from None
        return self.collect_emitted(emit, self._codec)


class BatchRunner(Runner):
    """A transform of batch grain."""

    def __init__(self, stage: PassStage) -> None:
        super().__init__(stage)
        self._codec: Final = RecordCodec(cast(Schema, stage.data.output_schema))

    def run(self, chunk: Chunk, *, last: bool) -> Streams:
        """See :meth:`Runner.run`."""
        with plugin_scope(self.name):
            batches = [
                conform(batch, self._codec)
                for given in chunk.get_batches()
                for batch in self.plugin.transform_batch(given)
            ]
        result = Chunk(self._codec, batches=batches)
        self.count("out", len(result))
        return {self.output: result}


class SplitterRunner(Runner):
    """A splitter of record grain."""

    def __init__(self, stage: PassStage) -> None:
        super().__init__(stage)
        ports = stage.data.port_schemas
        self._codecs: Final = {port: RecordCodec(schema) for port, schema in ports.items()}

    def run(self, chunk: Chunk, *, last: bool) -> Streams:
        """See :meth:`Runner.run`."""
        emit = PortsEmitter(self.name, self.stage.data.port_schemas)
        record: Any = None
        try:
            for record in chunk.get_records() if last else chunk.copy_records():
                self.plugin.transform(record, emit)
        except RAISED as error:
            raise to_failure(self.name, error, record) from None
        for port, records in emit.ports.items():
            self.count("out", len(records), port)
        by_port = {
            Stream(self.name, port): Chunk(self._codecs[port], records)
            for port, records in emit.ports.items()
        }
        return {**by_port, **self.collect_side_outputs(emit)}
