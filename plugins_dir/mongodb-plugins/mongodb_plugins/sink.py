"""The MongoDB sink."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from localcdap.api import (
    BatchSink,
    Capabilities,
    LineageRecorder,
    LogicalType,
    Schema,
    SinkContext,
    StageConfigurer,
    StageError,
    Type,
    capability,
    field,
    plugin,
)
from localcdap.api.arrow import RecordCodec
from localcdap.api.rules import check_not_view, check_table_key
from localcdap.plugin_lib.documents import KEY, ROW, VALUE, encode_document

from .collection_config import ID, CollectionConfig, find_unsupported

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_ID_BYTES: Final = 12
_HEX_ID: Final = re.compile(r"[0-9a-fA-F]{24}")
_TYPES: Final[frozenset[Type | LogicalType]] = frozenset(
    (
        *(Type.BOOLEAN, Type.BYTES, Type.STRING, Type.DOUBLE, Type.FLOAT, Type.INT, Type.LONG),
        *(Type.ENUM, Type.UNION, LogicalType.DATE, LogicalType.DECIMAL),
        *(LogicalType.TIME_MILLIS, LogicalType.TIME_MICROS),
        *(LogicalType.TIMESTAMP_MILLIS, LogicalType.TIMESTAMP_MICROS),
    )
)


@plugin(name="MongoDB", description="Local: writes each record as a document of a collection.")
@capability(Capabilities.Mode.NATIVE)
class MongoSink(BatchSink):
    """Properties and failures are those of CDAP's plugin (mongodb-plugins,
    ``io/cdap/plugin/batch/sink/MongoDBBatchSink.java``). The documents appear when the run is committed; one
    with the id of another replaces it.
    """

    class Config(CollectionConfig, macros=True, rename="camel"):
        id_field: str | None = field(
            "Field with the id, 12 bytes or 24 hexadecimal digits; by default documents get new ids.",
            default=None,
            form="{input-field}",
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        config.check(stage)
        if stage.input_schema is not None:
            self._check_schema(stage, stage.input_schema)
        if not stage.failures and not config.has_open_name:
            stage.create_dataset(
                config.find_table_name(),
                "keyValueTable",
                {"schema": str(ROW)},
                config_property="collection",
            )

    def _check_schema(self, stage: StageConfigurer, schema: Schema) -> None:
        problem = find_unsupported(schema, _TYPES)
        if problem is not None:
            stage.failures.add(f"Invalid input schema: {problem}")
        name = self.config.id_field
        if not name or self.config.contains_macro("idField"):
            return
        found = schema.field(name)
        if found is None:
            stage.failures.add(
                f"Schema does not contain identifier field '{name}'.",
                f"Fields are: {', '.join(schema.field_names)}.",
            ).with_config_property("idField")
        elif found.schema.non_nullable not in (Schema.BYTES, Schema.STRING):
            stage.failures.add(
                f"Identified field '{name}' is of type '{found.schema.display_name}'.",
                "It must be bytes or a string.",
            ).with_config_property("idField").with_input_field(name)
        if name != ID and schema.field(ID) is not None:
            stage.failures.add(
                f"Schema already contains identifier field '{ID}'."
            ).with_config_property("idField")

    def configure_connected(self, stage: StageConfigurer) -> None:
        if not self.config.has_open_name:
            check_not_view(stage, self.config.find_table_name(), "collection")
            check_table_key(stage, self.config.find_table_name(), KEY)

    def record_lineage(self, lineage: LineageRecorder) -> None:
        if not self.config.has_open_name:
            lineage.datasets.append(self.config.find_table_name())
        lineage.derive(VALUE, lineage.input_fields, "Write a document")

    def write(self, df: DataFrame, context: SinkContext) -> None:
        make = _DocumentMaker(RecordCodec(context.input_schema), self.config.id_field)
        rows = context.in_batches(df, make, ROW)
        context.write_table(self.config.find_table_name(), rows, ROW, KEY)

    def preview(self, df: DataFrame, context: SinkContext) -> None:
        self.write(df, context)


class _DocumentMaker:
    """Makes the rows of documents of a task's records."""

    def __init__(self, codec: RecordCodec, id_field: str | None) -> None:
        self._codec, self._id_field = codec, id_field

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        made = RecordCodec(ROW)
        for batch in batches:
            yield made.encode([self._make(record) for record in self._codec.decode(batch)])

    def _make(self, record: dict[str, Any]) -> dict[str, str]:
        if self._id_field:
            key = _to_id(self._id_field, record.pop(self._id_field))
        else:
            given = record.pop(ID, None)
            own = given.hex() if isinstance(given, bytes) else given
            key = secrets.token_hex(_ID_BYTES) if own is None else str(own)
        return {KEY: key, VALUE: encode_document({ID: key, **record})}


def _to_id(name: str, value: Any) -> str:
    """Return an id as 24 hexadecimal digits (``RecordToBSONWritableTransformer.java``)."""
    if isinstance(value, bytes) and len(value) == _ID_BYTES:
        return value.hex()
    if isinstance(value, str) and _HEX_ID.fullmatch(value):
        return value.lower()
    raise StageError(
        f"The id in field '{name}' is {value!r}.", "It must be 12 bytes, or 24 hexadecimal digits."
    )
