"""Avro files, written by Spark's Python workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from localcdap.api import LogicalType, Schema, Type

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def write_avro(df: DataFrame, schema: Schema, directory: str, codec: str) -> None:
    """Write one file for each partition with records, and at least one file."""
    written = df.mapInArrow(
        _make_writer(
            str(schema), to_avro_schema(schema), directory, "null" if codec == "none" else codec
        ),
        "records bigint",
    )
    written.write.format("noop").mode("overwrite").save()


def to_avro_schema(schema: Schema) -> Any:
    """Return the Avro schema document of a record schema: enums with names, maps of strings."""
    return _AvroNames().build_document(schema, schema.name or "record")


class _AvroNames:
    """Gives each record and enum of a schema a unique name, as Avro requires."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def build_document(self, schema: Schema, path: str) -> Any:
        if schema.type is Type.UNION:
            return [
                self.build_document(m, f"{path}_{i}")
                for i, m in enumerate(_sort_null_first(schema))
            ]
        if schema.logical_type is not None:
            return _build_logical_type(schema)
        match schema.type:
            case Type.ENUM:
                return {
                    "type": "enum",
                    "name": self._make_name(path),
                    "symbols": list(schema.symbols),
                }
            case Type.ARRAY if schema.items is not None:
                return {"type": "array", "items": self.build_document(schema.items, f"{path}_item")}
            case Type.MAP if schema.values is not None:
                return {
                    "type": "map",
                    "values": self.build_document(schema.values, f"{path}_value"),
                }
            case Type.RECORD:
                fields = [
                    {"name": f.name, "type": self.build_document(f.schema, f"{path}_{f.name}")}
                    for f in schema
                ]
                return {"type": "record", "name": self._make_name(path), "fields": fields}
        return schema.type.value

    def _make_name(self, path: str) -> str:
        base = "".join(c if c.isascii() and c.isalnum() else "_" for c in path)
        name = base if not base[:1].isdigit() else f"_{base}"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def _sort_null_first(union: Schema) -> list[Schema]:
    return sorted(union.members, key=lambda member: member.type is not Type.NULL)


def _build_logical_type(schema: Schema) -> Any:
    if schema.logical_type is None or schema.logical_type is LogicalType.DATETIME:
        return "string"
    made: dict[str, Any] = {"type": schema.type.value, "logicalType": schema.logical_type.value}
    if schema.logical_type is LogicalType.DECIMAL:
        made |= {"precision": schema.precision, "scale": schema.scale or 0}
    return made


def _make_writer(
    schema: str, avro: Any, directory: str, codec: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    # A nested function is pickled by value; Spark's workers cannot import this module.
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import datetime
        import os
        from itertools import chain
        from pathlib import Path

        from localcdap.api.arrow import RecordCodec
        from localcdap.api.schema import Schema

        # Before fastavro: on a cluster, localcdap adds the folder of the packages that were sent to sys.path.
        record_codec = RecordCodec(Schema.parse(schema))
        import fastavro
        import pyarrow as pa
        from pyspark import TaskContext

        count = 0

        def to_plain(value: Any) -> Any:
            """Replace datetimes without a zone by text, at any depth."""
            if isinstance(value, datetime.datetime) and value.tzinfo is None:
                return value.isoformat()
            if isinstance(value, dict):
                return {key: to_plain(part) for key, part in value.items()}
            return [to_plain(part) for part in value] if isinstance(value, list) else value

        def read_records() -> Iterator[Any]:
            nonlocal count
            for batch in filled:
                for record in record_codec.decode(batch):
                    count += 1
                    yield to_plain(record)

        task = TaskContext.get()
        partition = task.partitionId() if task is not None else 0
        attempt = task.taskAttemptId() if task is not None else 0
        rest = (batch for batch in batches if batch.num_rows)
        first = next(rest, None)
        if first is None and partition != 0:
            return
        filled = chain([first] if first is not None else [], rest)
        final = Path(directory) / f"part-{partition:05d}.avro"
        # A partial file of a failed attempt must not remain when the task is retried.
        partial = final.with_name(f"_{final.name}.{attempt}")
        with partial.open("wb") as stream:
            fastavro.writer(stream, fastavro.parse_schema(avro), read_records(), codec=codec)
        os.replace(partial, final)  # noqa: PTH105
        yield pa.RecordBatch.from_pydict({"records": [count]})

    return write
