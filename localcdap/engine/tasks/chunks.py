"""Records on their way between fused stages, as dicts or as Arrow, whichever is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import StageError
from localcdap.api.stage import Record

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

    def records(self) -> list[Record]:
        """The records, for a reader that may change them: only the last one may ask for these."""
        if self._records is None:
            decoded = [self.codec.decode(batch) for batch in self._batches or ()]
            self._records = decoded[0] if len(decoded) == 1 else list(chain(*decoded))
        return self._records

    def copies(self) -> list[Record]:
        """Copies of the records, which share nothing that can be changed with the original."""
        return [_copied(record) for record in self.records()]

    def batches(self) -> list[pa.RecordBatch]:
        """The records as Arrow; checks each value.

        :raises StageError: (without a stage) when a value does not fit the schema.
        """
        if self._batches is None:
            self._batches = [self.codec.encode(self._records or [])]
        return self._batches


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _copied(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value


def joined(chunks: list[tuple[Chunk, bool]]) -> Chunk:
    """The records of several chunks of one schema, each with whether it may be used up."""
    if len(chunks) == 1:
        return chunks[0][0]
    records: list[Record] = []
    for chunk, last in chunks:
        records += chunk.records() if last else chunk.copies()
    return Chunk(chunks[0][0].codec, records)


def conform(batch: pa.RecordBatch, codec: RecordCodec) -> pa.RecordBatch:
    """A batch that a plugin made, with exactly the columns of the codec's schema, in its order.

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
        columns.append(_conformed(batch.column(index), field))
    return pa.RecordBatch.from_arrays(columns, schema=codec.arrow)


def _conformed(column: pa.Array, field: pa.Field) -> pa.Array:
    import pyarrow as pa

    if column.type != field.type:
        if _shape(column.type) == _shape(field.type):
            column = pa.array(_Renamed(column, field.type))
        elif _plain(column.type) == _plain(field.type):
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


class _Renamed:
    """An array as one of a type of the same layout, which a cast would refuse or copy.

    For Arrow's C data protocol, by which ``pyarrow.array`` takes it over without looking at values.
    """

    def __init__(self, array: pa.Array, type: pa.DataType) -> None:
        self._array = array
        self._type = type

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._type.__arrow_c_schema__(), self._array.__arrow_c_array__()[1]


def _shape(type: pa.DataType) -> Any:
    """A type without the names of list and map parts, and without what says where null is allowed."""
    import pyarrow as pa

    if pa.types.is_struct(type):
        return [(field.name, _shape(field.type)) for field in type]
    if pa.types.is_list(type):
        return ["list", _shape(type.value_type)]
    if pa.types.is_map(type):
        return ["map", _shape(type.key_type), _shape(type.item_type)]
    return type


def _plain(type: pa.DataType) -> str:
    """A type's text without what only says how Arrow lays it out."""
    text = str(type).replace("large_", "").replace("_view", "").replace(" not null", "")
    return text.replace("<item:", "<element:")
