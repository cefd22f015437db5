"""The MongoDB source."""

from __future__ import annotations

import base64
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
    CollectionSource,
    DocumentReader,
    DocumentSchemaError,
    decode_document,
)
from localcdap.plugin_lib.spark.columns import get_column

from .collection_config import ID, WITHOUT_EFFECT, CollectionConfig, find_unsupported
from .query import QueryError, meets_query, parse_query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SKIP, _FAIL, _SEND = "skip-error", "fail-pipeline", "send-to-error"
_ERROR: Final = Schema.record("error", [("document", Schema.STRING)])
_CODE: Final = 400
_MESSAGE, _DOCUMENT = "__error_message__", "__document__"
_TYPES: Final[frozenset[Type | LogicalType]] = frozenset(
    (
        *(Type.BOOLEAN, Type.INT, Type.DOUBLE, Type.BYTES, Type.LONG, Type.STRING),
        *(LogicalType.DECIMAL, LogicalType.TIMESTAMP_MILLIS, LogicalType.TIMESTAMP_MICROS),
    )
)


@plugin(name="MongoDB", description="Local: reads the documents of a collection.")
@capability(Capabilities.Mode.NATIVE)
class MongoSource(CollectionSource):
    """Properties and failures are those of CDAP's plugin (mongodb-plugins,
    ``io/cdap/plugin/batch/source/MongoDBBatchSource.java``). The id of a document is a text, or 12 bytes.
    """

    class Config(CollectionConfig, macros=True, rename="camel"):
        schema: Schema = field("Schema of the records: fields of the documents.", macro=False)
        input_query: str | None = field(
            'Query that the documents must meet, in JSON, as {"age": {"$gt": 30}}. Operators here: '
            "$eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $exists, $not, $and, $or, $nor.",
            default=None,
            syntax="json",
        )
        on_error: str = field(
            "What happens with a document that does not fit the schema: it is skipped, the run fails, or it "
            "becomes an error record.",
            default=_FAIL,
            choices=(_SKIP, _FAIL, _SEND),
            name="on-error",
            former_names=("onError",),
        )
        input_fields: str | None = field(
            "Projection of the plugin of earlier versions. It must be empty: 'schema' names the fields.",
            default=None,
            group="more",
        )
        splitter_class: str | None = field(
            "How the plugin of earlier versions splits a collection.",
            default=None,
            group=WITHOUT_EFFECT,
        )
        auth_connection_string: str | None = field(
            "Connection to the database 'config'.", default=None, group=WITHOUT_EFFECT
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        config.check(stage)
        if not config.contains_macro("inputQuery"):
            try:
                parse_query(config.input_query)
            except QueryError as error:
                stage.failures.add(str(error)).with_config_property("inputQuery")
        if config.input_fields:
            stage.failures.add(
                "Property 'inputFields' must be empty.",
                "Remove from 'schema' the fields that it leaves out.",
            ).with_config_property("inputFields")
        problem = find_unsupported(config.schema, _TYPES) if config.schema else None
        if problem is not None:
            stage.failures.add(problem).with_config_property("schema")
        stage.output_schema = config.schema
        stage.error_schema = _ERROR

    def read(self, context: SourceContext) -> DataFrame:
        from pyspark.sql import functions as f

        config = self.config
        rows = self.read_documents(context)
        reader = _DocumentReader(config.schema, parse_query(config.input_query), config.on_error)
        found = context.in_batches(rows, reader, reader.schema)
        names = [get_column(name) for name in config.schema.field_names]
        if config.on_error != _SEND:
            return found.select(*names)
        record = f.struct(get_column(_DOCUMENT).alias("document"))
        sent = context.without_errors(
            found, code=f.lit(_CODE), message=get_column(_MESSAGE), record=record
        )
        return sent.select(*names)


class _DocumentReader(DocumentReader):
    """Reads the documents of a task; one that does not fit has a message, and no fields."""

    def __init__(self, schema: Schema, query: dict[str, Any], on_error: str) -> None:
        self._wanted, self._query, self._on_error = schema, query, on_error
        fields = [(each.name, each.schema.as_nullable) for each in schema]
        text = Schema.STRING.as_nullable
        super().__init__(Schema.record("read", [*fields, (_MESSAGE, text), (_DOCUMENT, text)]))

    def read(self, key: str, text: str) -> Record | None:
        try:
            document: Any = json.loads(text)
            if not isinstance(document, dict):
                raise DocumentSchemaError("it is not a JSON object")
            if not meets_query(document, self._query):
                return None
            return decode_document(self._with_id(document), self._wanted)
        except (ValueError, RecursionError) as error:
            if self._on_error == _FAIL:
                message = f"Document '{key}' does not fit the schema: {error}"
                raise StageError(message, "Change the schema, or 'on-error'.") from None
            message = str(error)
        if self._on_error == _SKIP:
            return None
        return {_MESSAGE: message, _DOCUMENT: text}

    def _with_id(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return a document with its id as the bytes that the schema may want."""
        field = self._wanted.field(ID)
        if field is None or field.schema.non_nullable != Schema.BYTES or ID not in document:
            return document
        return document | {ID: base64.b64encode(bytes.fromhex(document[ID])).decode()}
