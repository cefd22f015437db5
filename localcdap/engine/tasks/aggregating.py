"""Aggregators of record grain: a pass that finds the groups, and the pass over the sorted groups.

Groups are streamed: records are decoded batch by batch while the plugin reads them, so the size of a
group is not bounded by memory.
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
from localcdap.engine.tasks.chunks import conform
from localcdap.engine.tasks.emitters import RecordEmitter
from localcdap.engine.tasks.failing import RAISED, failure_of
from localcdap.engine.tasks.layout import Layout
from localcdap.engine.tasks.plan import PassStage
from localcdap.engine.tasks.reports import TaskReport, encode_report
from localcdap.engine.tasks.runners import Runner, Streams, blamed
from localcdap.engine.tasks.telling import telling

if TYPE_CHECKING:
    import pyarrow as pa

GROUP: Final = "__group"
"""Column of the key of the group that a row belongs to."""
_FLUSH: Final = 10_000
"""Records emitted before they are sent on, unless a single group emits more."""


def grouped_schema(feed: Schema) -> Schema:
    """The schema between the two passes."""
    return Schema.record("grouped", [Field(GROUP, Schema.BYTES), *feed])


def grouping_pass(
    stage: PassStage, feed: Schema, channel: str | None, *, reported: bool
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that gives each record once for each of its groups.

    :param channel: see :attr:`PassPlan.channel`.
    :param reported: whether what the plugin counts travels on rows of its own, see ``layout``.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with telling(channel, stage.name):
            codec = RecordCodec(feed)
            layout = Layout([grouped_schema(feed)], reported=reported)
            runner = AggregateRunner(stage)
            for batch in batches:
                named = batch.rename_columns(feed.field_names)
                for keyed in runner.keyed(conform(named, codec), codec):
                    yield layout.data(0, keyed)
            runner.close()
            counted = [(stage.name, name, n) for name, n in runner.metrics.take().items()]
            if reported and counted:
                yield layout.report(encode_report(TaskReport([], counted)))

    return run


class AggregateRunner(Runner):
    """An aggregator with ``group_by`` and ``aggregate``."""

    def __init__(self, stage: PassStage) -> None:
        super().__init__(stage)
        self._codec: Final = RecordCodec(cast(Schema, stage.facts.output_schema))

    def keyed(self, batch: pa.RecordBatch, codec: RecordCodec) -> Iterator[pa.RecordBatch]:
        """The rows of a batch with the keys of their groups in front."""
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
            raise failure_of(self.name, error, record) from None
        taken = (
            batch if rows == list(range(batch.num_rows)) else batch.take(pa.array(rows, pa.int64()))
        )
        arrays = [pa.array(keys, pa.binary()), *taken.columns]
        yield pa.RecordBatch.from_arrays(arrays, names=[GROUP, *batch.schema.names])

    def aggregated(self, batches: Iterator[pa.RecordBatch], feed: Schema) -> Iterator[Streams]:
        """What is emitted for groups that come one after the other.

        :param feed: of the columns behind the key.
        """
        emit = RecordEmitter(self.name)
        codec = RecordCodec(feed)

        def decode(rows: pa.RecordBatch) -> list[Record]:
            with blamed(self.name):
                return codec.decode(conform(rows.rename_columns(feed.field_names), codec))

        for key, records in groups(batches, decode):
            try:
                self.plugin.aggregate(key, records, emit)
            except RAISED as error:
                raise failure_of(self.name, error, {"group": key}) from None
            self.count("groups", 1)
            if len(emit) + len(emit.errors) >= _FLUSH:
                yield self.emitted(emit, self._codec)
                emit = RecordEmitter(self.name)
        yield self.emitted(emit, self._codec)

    def run(self, chunk: Any, *, last: bool) -> Streams:
        raise StageError(f"Stage '{self.name}' groups records and cannot take them one by one.")


def groups(
    batches: Iterator[pa.RecordBatch], decode: Callable[[pa.RecordBatch], list[Record]]
) -> Iterator[tuple[Any, Iterator[Record]]]:
    """Each key with its records, from batches sorted by their first column, the key.

    Records that a reader leaves over are skipped.
    """
    rows = _rows(batches, decode)
    current = next(rows, None)
    while current is not None:
        key = current[0]

        def members() -> Iterator[Record]:
            nonlocal current
            while current is not None and current[0] == key:  # noqa: B023 - read before it changes
                record = current[1]
                current = next(rows, None)
                yield record

        records = members()
        yield decode_key(key), records
        while current is not None and current[0] == key:
            current = next(rows, None)


def _rows(
    batches: Iterator[pa.RecordBatch], decode: Callable[[pa.RecordBatch], list[Record]]
) -> Iterator[tuple[bytes, Record]]:
    for batch in batches:
        keys = batch.column(0).to_pylist()
        rows = batch.select(range(1, batch.num_columns))
        yield from zip(keys, decode(rows), strict=True)


def encode_key(key: Any) -> bytes:
    """A key as bytes that are equal for equal keys of the same types."""
    stream = io.BytesIO()
    pickler = pickle.Pickler(stream, protocol=4)
    # Without the memo the bytes depend on the value alone, not on which of its parts are one object.
    pickler.fast = True
    pickler.dump(key)
    return stream.getvalue()


def decode_key(data: bytes) -> Any:
    return pickle.loads(data)  # noqa: S301 - made by encode_key in this run
