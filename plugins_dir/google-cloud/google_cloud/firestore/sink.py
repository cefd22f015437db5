"""The Firestore sink."""

from __future__ import annotations

import secrets
import string
from collections.abc import Callable
from functools import partial
from typing import Final

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

from .collections import ID, FirestoreConfig

_GENERATED: Final = "Auto-generated id"
_CUSTOM: Final = "Custom name"
_LARGEST_BATCH: Final = 500
_LETTERS: Final = string.ascii_letters + string.digits
_ID_LENGTH: Final = 20
_TYPES: Final = (
    *(Type.STRING, Type.DOUBLE, Type.BOOLEAN, Type.BYTES),
    *(Type.INT, Type.FLOAT, Type.LONG, Type.NULL),
)
_TIMES: Final = (LogicalType.TIMESTAMP_MICROS, LogicalType.TIMESTAMP_MILLIS)


@plugin(name="Firestore", description="Local: writes each record as a document of a collection.")
@capability(Capabilities.Mode.NATIVE)
class FirestoreSink(CollectionSink):
    """Properties and failures are those of CDAP's plugin (firestore-plugins,
    ``io/cdap/plugin/gcp/firestore/sink/FirestoreSinkConfig.java``).

    Of several records with one id, the last is kept.
    """

    class Config(FirestoreConfig, macros=True):
        id_type: str = field(
            f"Whether documents get new ids ('{_GENERATED}'), or the value of a field ('{_CUSTOM}').",
            default=_GENERATED,
            choices=(_GENERATED, _CUSTOM),
            name="documentIdType",
        )
        id_alias: str | None = field(
            f"Text field with the id, for '{_CUSTOM}'.",
            default=None,
            name="idAlias",
            form="{input-field}",
        )
        batch_size: int = field(
            f"How many documents are sent at once, 1 to {_LARGEST_BATCH}; without effect here.",
            default=25,
            name="batchSize",
        )

        @property
        def id_field(self) -> str | None:
            """The field of the id; None for new ids."""
            return (self.id_alias or ID) if self.id_type == _CUSTOM else None

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        config.check(stage)
        if not config.contains_macro("batchSize") and not 1 <= config.batch_size <= _LARGEST_BATCH:
            stage.failures.add(
                f"Invalid Firestore batch size '{config.batch_size}'.",
                f"Ensure the batch size is at least 1 or at most '{_LARGEST_BATCH}'",
            ).with_config_property("batchSize")
        if stage.input_schema is not None:
            self._check_schema(stage, stage.input_schema)
        self.create_collection(stage)

    def _check_schema(self, stage: StageConfigurer, schema: Schema) -> None:
        for each in schema:
            if not _can_be_written(each.schema):
                stage.failures.add(
                    f"Field '{each.name}' is of unsupported type '{each.schema.display_name}'",
                    "Supported types are: string, double, boolean, bytes, int, float, long, union and "
                    "timestamp.",
                ).with_input_field(each.name)
        if self.config.contains_macro("documentIdType") or self.config.contains_macro("idAlias"):
            return
        name = self.config.id_field
        if name is None:
            return
        found = schema.field(name)
        if found is None:
            stage.failures.add(
                f"Id field '{name}' does not exist in the schema",
                "Change the Id field to be one of the schema fields.",
            ).with_config_property("idAlias")
        elif found.schema != Schema.STRING:
            stage.failures.add(
                f"Id field '{name}' is of unsupported type '{found.schema.display_name}'",
                "Ensure the type is non-nullable string",
            ).with_config_property("idAlias").with_input_field(name)

    def identify(self) -> Callable[[Record], tuple[str, Record]]:
        return partial(_identify, self.config.id_field)


def _identify(id_field: str | None, record: Record) -> tuple[str, Record]:
    key = record.pop(id_field) if id_field else _make_id()
    if not key:
        raise StageError("The id of a document is empty.", "Give each record an id.")
    return key, record


def _make_id() -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(_ID_LENGTH))


def _can_be_written(schema: Schema) -> bool:
    if schema.type is Type.UNION:
        return all(map(_can_be_written, schema.members))
    if schema.logical_type is not None:
        return schema.logical_type in _TIMES
    return schema.type in _TYPES
