"""Aggregators of record grain: a pass that finds the groups, and the pass over the sorted groups.

Groups are streamed: records are decoded batch by batch while the plugin reads them, so the size of a group
is not limited by memory.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, cast

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import StageError
from localcdap.api.schema import Field, Schema
from localcdap.api.stage import Record
from localcdap.engine.tasks.chunks import RecordEmitter, conform
from localcdap.engine.tasks.failures import RAISED, to_failure
from localcdap.engine.tasks.pass_plan import PassLayout, PassStage, TaskReport, encode_report
from localcdap.engine.tasks.runners import Runner, Streams, plugin_scope
from localcdap.engine.tasks.task_messages import capture_output

if TYPE_CHECKING:
    import pyarrow as pa

GROUP: Final = "__group"
"""Column of the key of the group that a row belongs to."""
_FLUSH: Final = 10_000
"""Emitted records after which a batch is sent on, unless a single group emits more."""


def build_grouped_schema(feed: Schema) -> Schema:
    """Return the schema between the two passes."""
    return Schema.record("grouped", [Field(GROUP, Schema.BYTES), *feed])


def create_grouping_pass(
    stage: PassStage, feed: Schema, message_directory: str | None, *, reports: bool
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Create the function that yields each record once for each of its groups.

    :param message_directory: see :attr:`PassPlan.message_directory`.
    :param reports: whether what the plugin counts is reported, see :class:`PassLayout`.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with capture_output(message_directory, stage.name):
            codec = RecordCodec(feed)
            layout = PassLayout([build_grouped_schema(feed)], reports=reports)
            runner = AggregateRunner(stage)
            for batch in batches:
                named = batch.rename_columns(feed.field_names)
                yield layout.wrap_records(0, runner.add_keys(conform(named, codec), codec))
            runner.close()
            counted = [(stage.name, name, n) for name, n in runner.metrics.take().items()]
            if reports and counted:
                yield layout.wrap_report(encode_report(TaskReport([], counted)))

    return run


class AggregateRunner(Runner):
    """An aggregator with ``group_by`` and ``aggregate``."""

    def __init__(self, stage: PassStage) -> None:
        super().__init__(stage)
        self._codec: Final = RecordCodec(cast(Schema, stage.data.output_schema))

    def add_keys(self, batch: pa.RecordBatch, codec: RecordCodec) -> pa.RecordBatch:
        """Return each row of a batch once for each of its groups, preceded by the group's key."""
        import pyarrow as pa

        keys: list[bytes] = []
        rows: list[int] = []
        record = None
        try:
            for row, record in enumerate(codec.decode(batch)):
                found = [encode_key(key) for key in self.plugin.group_by(record)]
                keys += found
                rows += [row] * len(found)
        except RAISED as error:
            raise to_failure(self.name, error, record) from None
        taken = (
            batch if rows == list(range(batch.num_rows)) else batch.take(pa.array(rows, pa.int64()))
        )
        arrays = [pa.array(keys, pa.binary()), *taken.columns]
        return pa.RecordBatch.from_arrays(arrays, names=[GROUP, *batch.schema.names])

    def aggregate(self, batches: Iterator[pa.RecordBatch], feed: Schema) -> Iterator[Streams]:
        """Yield what the plugin emits for consecutive groups.

        :param batches: sorted by their first column, the key.
        :param feed: of the columns after the key.
        """
        emit = RecordEmitter(self.name)
        codec = RecordCodec(feed)

        def decode(rows: pa.RecordBatch) -> list[Record]:
            with plugin_scope(self.name):
                return codec.decode(conform(rows.rename_columns(feed.field_names), codec))

        for key, records in iterate_groups(batches, decode):
            try:
                self.plugin.aggregate(key, records, emit)
            except RAISED as error:
                raise to_failure(self.name, error, {"group": key}) from None
            self.count("groups", 1)
            if len(emit) + len(emit.errors) >= _FLUSH:
                yield self.collect_emitted(emit, self._codec)
                emit = RecordEmitter(self.name)
        yield self.collect_emitted(emit, self._codec)

    def run(self, chunk: Any, *, last: bool) -> Streams:
        """Refuse single records."""
        raise StageError(f"Stage '{self.name}' groups records and cannot take them one by one.")


def iterate_groups(
    batches: Iterator[pa.RecordBatch], decode: Callable[[pa.RecordBatch], list[Record]]
) -> Iterator[tuple[Any, Iterator[Record]]]:
    """Yield each key with its records, from batches sorted by their first column, the key.

    Records that a reader does not consume are skipped.
    """
    rows = _iterate_rows(batches, decode)
    current = next(rows, None)
    while current is not None:
        key = current[0]

        def iterate_members() -> Iterator[Record]:
            nonlocal current
            while current is not None and current[0] == key:  # noqa: B023 - read before it changes
                record = current[1]
                current = next(rows, None)
                yield record

        records = iterate_members()
        yield decode_key(key), records
        while current is not None and current[0] == key:
            current = next(rows, None)


def _iterate_rows(
    batches: Iterator[pa.RecordBatch], decode: Callable[[pa.RecordBatch], list[Record]]
) -> Iterator[tuple[bytes, Record]]:
    for batch in batches:
        keys = batch.column(0).to_pylist()
        rows = batch.select(range(1, batch.num_columns))
        yield from zip(keys, decode(rows), strict=True)


def encode_key(key: Any) -> bytes:
    """Encode a key as bytes that are equal for equal keys of the same types."""
    stream = io.BytesIO()
    pickler = pickle.Pickler(stream, protocol=4)
    # Without the memo the bytes depend on the value alone, not on which of its parts are one object.
    pickler.fast = True
    pickler.dump(key)
    return stream.getvalue()


def decode_key(data: bytes) -> Any:
    """Decode a key that :func:`encode_key` encoded in this run."""
    return pickle.loads(data)  # noqa: S301 - made by encode_key in this run
