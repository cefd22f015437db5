"""Aggregators of record grain: finding the groups of records, and aggregating the sorted groups.

Groups are streamed: records are decoded batch by batch while the plugin reads them, so the size of a group
is not limited by memory.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import StageError
from localcdap.api.schema import Schema
from localcdap.api.stage import Record
from localcdap.engine.tasks.chunks import RecordEmitter, conform
from localcdap.engine.tasks.failures import RAISED, to_failure
from localcdap.engine.tasks.pass_plan import PassStage
from localcdap.engine.tasks.runners import Runner, Streams, plugin_scope

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
