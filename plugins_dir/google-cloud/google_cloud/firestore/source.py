"""The Firestore source."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from localcdap.api import (
    Capabilities,
    LogicalType,
    Record,
    Schema,
    SourceContext,
    StageConfigurer,
    StageError,
    Type,
    capability,
    field,
    plugin,
)
from localcdap.plugin_lib.documents import (
    KEY,
    CollectionSource,
    DocumentReader,
    DocumentSchemaError,
    decode_document,
)
from localcdap.plugin_lib.spark.columns import get_column

from .collections import ID, FirestoreConfig
from .filters import Filter, parse_filters

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BASIC, _ADVANCED = "Basic", "Advanced"
_FILTERS: Final = "customQuery"
_TYPES: Final = (Type.STRING, Type.DOUBLE, Type.BOOLEAN, Type.BYTES, Type.LONG, Type.NULL)


@plugin(name="Firestore", description="Local: reads the documents of a collection.")
@capability(Capabilities.Mode.NATIVE)
class FirestoreSource(CollectionSource):
    """Properties and failures are those of CDAP's plugin (firestore-plugins,
    ``io/cdap/plugin/gcp/firestore/source/FirestoreSourceConfig.java``).

    The schema is required here. A document that does not fit it fails the run.
    """

    class Config(FirestoreConfig, macros=True):
        includes_id: bool = field(
            "Whether the id of a document is a field.", default=False, name="includeDocumentId"
        )
        id_alias: str | None = field(
            f"The field of the id, by default '{ID}'.",
            default=None,
            name="idAlias",
            form="{output-field}",
        )
        mode: str = field(
            f"Whether documents are chosen by their ids ('{_BASIC}') or by filters ('{_ADVANCED}').",
            default=_BASIC,
            choices=(_BASIC, _ADVANCED),
            name="queryMode",
        )
        pulled: list[str] = field(
            "The ids of the documents to read, comma-separated; by default all.",
            default=[],
            name="pullDocumentList",
        )
        skipped: list[str] = field(
            "The ids of documents to leave out, comma-separated.",
            default=[],
            name="skipDocumentList",
        )
        filters: str | None = field(
            "Filters that all documents must meet: value:operator(field), comma-separated. Operators: "
            "EqualTo (texts), NumericEqualTo, LessThan, LessThanOrEqualTo, GreaterThan and "
            "GreaterThanOrEqualTo.",
            default=None,
            name=_FILTERS,
        )
        schema: Schema = field("Schema of the records: fields of the documents.")

        @property
        def id_field(self) -> str | None:
            """The field of the id; None when it is not read."""
            return (self.id_alias or ID) if self.includes_id else None

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        config.check(stage)
        are_chosen = config.mode == _ADVANCED and (config.pulled or config.skipped)
        if are_chosen and not config.contains_macro("queryMode"):
            stage.failures.add(
                "In case of Mode=Advanced, Both Documents to pull Or Documents to skip must be empty"
            ).with_config_property("pullDocumentList").with_config_property("skipDocumentList")
        if not config.macros & {"queryMode", _FILTERS}:
            self._check_filters(stage)
        if config.schema is not None:
            self._check_schema(stage, config.schema)
            stage.output_schema = config.schema

    def _check_filters(self, stage: StageConfigurer) -> None:
        text = self.config.filters or ""
        if self.config.mode == _BASIC:
            problem = "In case of Mode=Basic, Filters must be empty" if text else None
        else:
            try:
                found = parse_filters(text)
                lacking = "In case of Mode=Advanced, Filters must contain at least one filter"
                problem = None if found else lacking
            except ValueError as error:
                problem = str(error)
        if problem is not None:
            stage.failures.add(problem).with_config_property(_FILTERS)

    def _check_schema(self, stage: StageConfigurer, schema: Schema) -> None:
        for each in schema:
            if not _can_be_read(each.schema):
                stage.failures.add(
                    f"Field '{each.name}' is of unsupported type '{each.schema.display_name}'",
                    "Supported types are: string, double, boolean, bytes, long, record, array, union and "
                    "timestamp.",
                ).with_output_field(each.name)
        name = self.config.id_field
        found = schema.field(name) if name is not None else None
        if name is not None and (found is None or found.schema.non_nullable != Schema.STRING):
            stage.failures.add(
                f"The field '{name}' of the id is not a text of the schema.",
                "Add it to the schema, or set another idAlias.",
            ).with_config_property("idAlias")

    def read(self, context: SourceContext) -> DataFrame:
        config = self.config
        rows = self.read_documents(context)
        if config.pulled:
            rows = rows.where(get_column(KEY).isin(config.pulled))
        if config.skipped:
            rows = rows.where(~get_column(KEY).isin(config.skipped))
        filters = parse_filters(config.filters or "") if config.mode == _ADVANCED else []
        read = _DocumentReader(config.schema, filters, config.id_field, config.collection)
        return context.in_batches(rows, read, config.schema)


class _DocumentReader(DocumentReader):
    """Reads the documents of a task."""

    def __init__(
        self, schema: Schema, filters: list[Filter], id_field: str | None, collection: str
    ) -> None:
        super().__init__(schema)
        self._filters, self._id_field, self._collection = filters, id_field, collection

    def read(self, key: str, text: str) -> Record | None:
        """Return the record of a document; None when it does not meet the filters."""
        where = f"Document '{key}' of collection '{self._collection}'"
        try:
            document: Any = json.loads(text)
            if not all(each.accepts(document) for each in self._filters):
                return None
            known = {} if self._id_field is None else {self._id_field: key}
            return decode_document({**document, **known}, self.schema)
        except DocumentSchemaError as error:
            raise StageError(
                f"{where} does not fit the schema: {error}", "Change the schema."
            ) from None
        except (ValueError, AttributeError, RecursionError) as error:
            raise StageError(f"{where} is not a JSON object: {error}") from None


def _can_be_read(schema: Schema) -> bool:
    if schema.type is Type.UNION:
        return all(map(_can_be_read, schema.members))
    if schema.logical_type is not None:
        return schema.logical_type is LogicalType.TIMESTAMP_MICROS
    if schema.type is Type.ARRAY:
        items = schema.items
        return items is not None and items.type is not Type.ARRAY and _can_be_read(items)
    if schema.type is Type.RECORD:
        return all(_can_be_read(each.schema) for each in schema)
    return schema.type in _TYPES
