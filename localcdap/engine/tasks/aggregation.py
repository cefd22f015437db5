"""Aggregators of record grain: the pass before the shuffle, which finds groups, and aggregating groups.

Groups are streamed: records are decoded batch by batch while the plugin reads them, so the size of a group
is not limited by memory.

Reducible aggregators: groups are reduced to values before the shuffle, and these are merged after it. CDAP
6 has Spark do the same (``BaseRDDCollection.reduceAggregate``). Where there are more groups than fit into
memory, the values so far are sent on and begun again: a group then has several values, which are merged
like those of several tasks.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import StageError
from localcdap.api.plugin import BatchReducibleAggregator, Plugin
from localcdap.api.schema import Field, Schema
from localcdap.api.stage import Emitter, Record
from localcdap.artifacts.loading import load_plugin
from localcdap.engine.tasks.failures import RAISED, to_failure
from localcdap.engine.tasks.pass_plan import PassLayout, PassStage, TaskReport, encode_report
from localcdap.engine.tasks.runners import (
    RecordEmitter,
    Runner,
    Streams,
    conform,
    copy_value,
    plugin_scope,
)
from localcdap.engine.tasks.task_messages import capture_output

if TYPE_CHECKING:
    import pyarrow as pa


GROUP: Final = "__group"
"""Column of the key of the group that a row belongs to."""
_FLUSH: Final = 10_000
"""Emitted records after which a batch is sent on, unless a single group emits more."""


class AggregateRunner(Runner):
    """An aggregator with ``group_by`` and ``aggregate``."""

    def __init__(self, stage: PassStage) -> None:
        super().__init__(stage)
        self._codec: Final = RecordCodec(cast(Schema, stage.data.output_schema))

    def group(self, batches: Iterator[pa.RecordBatch], feed: Schema) -> Iterator[pa.RecordBatch]:
        """Yield what :meth:`aggregate` gets sorted: here, each record once for each of its groups.

        :param feed: the schema of the batches.
        """
        codec = RecordCodec(feed)
        for batch in batches:
            yield self.add_keys(conform(batch.rename_columns(feed.field_names), codec), codec)

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
        codec = RecordCodec(feed)

        def decode(rows: pa.RecordBatch) -> list[Record]:
            with plugin_scope(self.name):
                return codec.decode(conform(rows.rename_columns(feed.field_names), codec))

        yield from self.emit_groups(iterate_groups(batches, decode), self.plugin.aggregate)

    def emit_groups(
        self, groups: Iterator[tuple[Any, Iterator[Any]]], aggregate: Callable[..., None]
    ) -> Iterator[Streams]:
        """Yield what a function emits for each group.

        :param aggregate: called with the key, the members of the group, and an emitter.
        """
        emit = RecordEmitter(self.name, self._codec.schema)
        for key, members in groups:
            try:
                aggregate(key, members, emit)
            except RAISED as error:
                raise to_failure(self.name, error, {"group": key}) from None
            self.count("groups", 1)
            if len(emit) + len(emit.errors) >= _FLUSH:
                yield self.collect_emitted(emit, self._codec)
                emit = RecordEmitter(self.name, self._codec.schema)
        yield self.collect_emitted(emit, self._codec)

    def run(self, chunk: Any, *, last: bool) -> Streams:
        """Refuse single records."""
        raise StageError(f"Stage '{self.name}' groups records and cannot take them one by one.")


def iterate_groups(
    batches: Iterator[pa.RecordBatch], decode: Callable[[pa.RecordBatch], Sequence[Any]]
) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Yield each key with its members, from batches sorted by their first column, the key.

    Members that a reader does not consume are skipped.

    :param decode: returns a member for each row of the other columns.
    """
    rows = _iterate_rows(batches, decode)
    current = next(rows, None)
    while current is not None:
        key = current[0]

        def iterate_members() -> Iterator[Any]:
            nonlocal current
            while current is not None and current[0] == key:  # noqa: B023 - read before it changes
                member = current[1]
                current = next(rows, None)
                yield member

        yield decode_key(key), iterate_members()
        while current is not None and current[0] == key:
            current = next(rows, None)


def _iterate_rows(
    batches: Iterator[pa.RecordBatch], decode: Callable[[pa.RecordBatch], Sequence[Any]]
) -> Iterator[tuple[bytes, Any]]:
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


VALUE: Final = "__value"
"""Column of the pickled value of a group, or of a part of it."""
_MOST_GROUPS: Final = 100_000
"""Groups whose values a task keeps."""
_MOST_BYTES: Final = 32 * 1024**2
"""Bytes of records that are reduced before the values are sent on: no value can have grown by more."""
_ROWS: Final = 10_000
_ROW_BYTES: Final = 8 * 1024**2
"""A batch of values ends when it has that many rows or bytes."""


class ReducingRunner(AggregateRunner):
    """An aggregator that reduces groups to values."""

    def group(self, batches: Iterator[pa.RecordBatch], feed: Schema) -> Iterator[pa.RecordBatch]:
        """Yield a row for each group with the value of its records so far.

        :param feed: the schema of the batches.
        """
        codec = RecordCodec(feed)
        values: dict[bytes, Any] = {}
        taken = 0
        for batch in batches:
            self._reduce(conform(batch.rename_columns(feed.field_names), codec), codec, values)
            taken += batch.nbytes
            if taken >= _MOST_BYTES or len(values) >= _MOST_GROUPS:
                yield from self._encode(values)
                values, taken = {}, 0
        yield from self._encode(values)

    def _reduce(self, batch: pa.RecordBatch, codec: RecordCodec, values: dict[bytes, Any]) -> None:
        """Add the records of a batch to the values by key."""
        plugin = self.plugin
        record = None
        try:
            for record in codec.decode(batch):
                keys = [encode_key(key) for key in plugin.group_by(record)]
                # A value may consist of its first record: the values of two groups must not share one.
                alone = len(keys) == 1
                for key in keys:
                    given = record if alone else copy_value(record)
                    if key in values:
                        values[key] = plugin.merge_values(values[key], given)
                    else:
                        values[key] = plugin.initialize_aggregate_value(given)
        except RAISED as error:
            raise to_failure(self.name, error, record) from None

    def _encode(self, values: dict[bytes, Any]) -> Iterator[pa.RecordBatch]:
        keys: list[bytes] = []
        encoded: list[bytes] = []
        size = 0
        for key, value in values.items():
            keys.append(key)
            encoded.append(self._pickle(key, value))
            size += len(encoded[-1])
            if len(keys) >= _ROWS or size >= _ROW_BYTES:
                yield _create_batch(keys, encoded)
                keys, encoded, size = [], [], 0
        if keys:
            yield _create_batch(keys, encoded)

    def _pickle(self, key: bytes, value: Any) -> bytes:
        try:
            return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            group = {"group": decode_key(key)}
            kind = type(value).__name__
            problem = TypeError(
                f"The aggregate value, of type {kind}, cannot be sent to another process: {error}"
            )
            raise to_failure(self.name, problem, group) from None

    def aggregate(self, batches: Iterator[pa.RecordBatch], feed: Schema) -> Iterator[Streams]:
        """Yield what the plugin emits for consecutive groups.

        :param batches: sorted by their first column, the key; the second one has the values.
        :param feed: not used.
        """

        def decode(rows: pa.RecordBatch) -> list[Any]:
            with plugin_scope(self.name):
                return [pickle.loads(data) for data in rows.column(0).to_pylist()]  # noqa: S301 - of this run

        yield from self.emit_groups(iterate_groups(batches, decode), _create_merge(self.plugin))


def _create_merge(plugin: Any) -> Callable[[Any, Iterable[Any], Emitter], None]:
    """Return the function that merges the values of a group and emits its result."""

    def merge(key: Any, values: Iterable[Any], emit: Emitter) -> None:
        parts = iter(values)
        value = next(parts)
        for other in parts:
            value = plugin.merge_partitions(value, other)
        plugin.finalize(key, value, emit)

    return merge


def _create_batch(keys: list[bytes], values: list[bytes]) -> pa.RecordBatch:
    import pyarrow as pa

    arrays = [pa.array(keys, pa.binary()), pa.array(values, pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, names=[GROUP, VALUE])


def is_reducible(plugin: type[Plugin]) -> bool:
    """Whether an aggregator reduces its groups to values before the shuffle."""
    return issubclass(plugin, BatchReducibleAggregator)


def build_grouped_schema(plugin: type[Plugin], feed: Schema) -> Schema:
    """Return the schema between the two passes of an aggregator.

    :param feed: the schema of its records.
    """
    members = [Field(VALUE, Schema.BYTES)] if is_reducible(plugin) else list(feed)
    return Schema.record("grouped", [Field(GROUP, Schema.BYTES), *members])


def create_aggregate_runner(stage: PassStage) -> AggregateRunner:
    """Create the runner of an aggregator of record grain.

    :raises StageFailure: when the plugin cannot be loaded or initialized.
    """
    with plugin_scope(stage.name):
        plugin = load_plugin(stage.plugin)
    return ReducingRunner(stage) if is_reducible(plugin) else AggregateRunner(stage)


def create_grouping_pass(
    stage: PassStage, feed: Schema, message_directory: str | None, *, reports: bool
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Create the function that yields each record, or the value of several, once for each group.

    :param message_directory: see :attr:`PassPlan.message_directory`.
    :param reports: whether what the plugin counts is reported, see :class:`PassLayout`.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with capture_output(message_directory, stage.name):
            runner = create_aggregate_runner(stage)
            layout = PassLayout([build_grouped_schema(type(runner.plugin), feed)], reports=reports)
            for batch in runner.group(batches, feed):
                yield layout.wrap_records(0, batch)
            runner.close()
            counted = [(stage.name, name, n) for name, n in runner.metrics.take().items()]
            altered = [(stage.name, *each) for each in runner.altered.take()]
            if reports and (counted or altered):
                report = TaskReport([], counted, altered=altered)
                yield layout.wrap_report(encode_report(report))

    return run
