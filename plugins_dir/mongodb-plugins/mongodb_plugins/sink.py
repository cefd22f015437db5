"""The MongoDB sink."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from localcdap.api import (
    Capabilities,
    LogicalType,
    Record,
    Schema,
    StageConfigurer,
    StageError,
    Type,
    capability,
    field,
    plugin,
)
from localcdap.plugin_lib.documents import CollectionSink

from .collection_config import ID, CollectionConfig, find_unsupported

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
class MongoSink(CollectionSink):
    """Properties and failures are those of CDAP's plugin (mongodb-plugins,
    ``io/cdap/plugin/batch/sink/MongoDBBatchSink.java``).
    A document with the id of another replaces it.
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
        self.create_collection(stage)

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

    def identify(self) -> Callable[[Record], tuple[str, Record]]:
        return partial(_identify, self.config.id_field)


def _identify(id_field: str | None, record: Record) -> tuple[str, Record]:
    if id_field:
        key = _to_id(id_field, record.pop(id_field))
    else:
        given = record.pop(ID, None)
        own = given.hex() if isinstance(given, bytes) else given
        key = secrets.token_hex(_ID_BYTES) if own is None else str(own)
    return key, {ID: key, **record}


def _to_id(name: str, value: Any) -> str:
    """Return an id as 24 hexadecimal digits (``RecordToBSONWritableTransformer.java``)."""
    if isinstance(value, bytes) and len(value) == _ID_BYTES:
        return value.hex()
    if isinstance(value, str) and _HEX_ID.fullmatch(value):
        return value.lower()
    raise StageError(
        f"The id in field '{name}' is {value!r}.", "It must be 12 bytes, or 24 hexadecimal digits."
    )
