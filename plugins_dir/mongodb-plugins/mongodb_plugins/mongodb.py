"""The MongoDB source and sink, and the tables that stand for collections.

Queries of documents, as MongoDB has them: conditions for fields, with the usual operators.
"""

from __future__ import annotations

import base64
import json
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from localcdap.api import (
    Capabilities,
    LogicalType,
    PluginConfig,
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
from localcdap.api.rules import check_reference_name
from localcdap.java.numbers import is_number
from localcdap.plugin_lib.documents import (
    CollectionSink,
    CollectionSource,
    DocumentReader,
    DocumentSchemaError,
    decode_document,
)
from localcdap.plugin_lib.spark.columns import get_column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


ID: Final = "_id"
WITHOUT_EFFECT: Final = "MongoDB, without effect here"
_NAME: Final = re.compile(r"[\w$.-]+")
_CONNECTION: Final = "connectionString"
_CONNECTION_STRING: Final = re.compile(
    r"mongodb://(?:[^@/]*@)?(?P<host>[^/]+)/(?P<database>[^./?]+)\.(?P<collection>[^?]+)(?:\?.*)?"
)
_REQUIRED: Final = {
    "host": "Host must be specified",
    "database": "Database name must be specified",
    "collection": "Collection name must be specified",
}


class CollectionConfig(PluginConfig, macros=True, rename="camel"):
    """Properties and failures as CDAP's (mongodb-plugins, ``io/cdap/plugin/MongoDBConfig.java``)."""

    reference_name: str = field(
        "Name of this stage in lineage and metadata: letters, digits, '_', '-', '.', '$'.",
        macro=False,
    )
    host: str = field("Host of MongoDB. No server is asked.", default="", group=WITHOUT_EFFECT)
    port: int = field("Port of MongoDB.", default=27017, group=WITHOUT_EFFECT)
    database: str = field("Name of the database.", default="")
    collection: str = field(
        "Name of the collection. Here it is the key-value table 'mongodb.DATABASE.COLLECTION' of the "
        "namespace, whose values are the documents in JSON.",
        default="",
    )
    connection_string: str | None = field(
        "Connection string of the plugin of earlier versions, mongodb://host:27017/database.collection. It "
        "names what 'host', 'database' and 'collection' do not.",
        default=None,
        group="more",
    )
    user: str | None = field("User name.", default=None, group=WITHOUT_EFFECT)
    password: str | None = field(
        "Password of the user. It is not used here.",
        default=None,
        secret=True,
        group=WITHOUT_EFFECT,
    )
    connection_arguments: str | None = field(
        "Options of the connection, as ssl=true.", default=None, group=WITHOUT_EFFECT
    )

    def __init__(
        self,
        values: Mapping[str, Any],
        macros: Iterable[str] = (),
        texts: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(values, macros, texts)
        written = _CONNECTION_STRING.fullmatch((self.connection_string or "").strip())
        for name, value in written.groupdict().items() if written is not None else ():
            if not getattr(self, name):
                setattr(self, name, value)

    def find_table_name(self) -> str:
        """Return the name of the collection's table."""
        return f"mongodb.{self.database.strip()}.{self.collection.strip()}"

    @property
    def has_open_name(self) -> bool:
        """Whether the name of the table is not known yet."""
        return any(map(self.contains_macro, ("database", "collection", _CONNECTION)))

    def check(self, stage: StageConfigurer) -> None:
        """Add failures for what is wrong by itself."""
        check_reference_name(stage, self.reference_name)
        is_open = self.contains_macro(_CONNECTION)
        text = (self.connection_string or "").strip()
        if text and not is_open and _CONNECTION_STRING.fullmatch(text) is None:
            stage.failures.add(
                f"'{text}' does not name a collection of MongoDB.",
                "Write mongodb://host:27017/database.collection.",
            ).with_config_property(_CONNECTION)
            return
        for name, message in _REQUIRED.items():
            value = getattr(self, name)
            if self.contains_macro(name) or is_open:
                continue
            if not value:
                stage.failures.add(message).with_config_property(name)
            elif name != "host" and not _NAME.fullmatch(value.strip()):
                stage.failures.add(
                    f"The {name} '{value}' cannot be part of the name of a table here.",
                    "Use letters, digits, '_', '-', '.' and '$'.",
                ).with_config_property(name)
        if not self.contains_macro("port") and self.port < 1:
            stage.failures.add("Port number must be greater than 0").with_config_property("port")


def find_unsupported(
    schema: Schema, types: frozenset[Type | LogicalType], name: str = ""
) -> str | None:
    """Return why a type cannot be part of documents; None if all can.

    :param types: the simple and logical types that can.
    :param name: the name of the field, with those of the records around it.
    """
    inner = schema.non_nullable
    if inner.type is Type.RECORD and inner.fields:
        found = (find_unsupported(e.schema, types, f"{name}.{e.name}".strip(".")) for e in inner)
        return next(filter(None, found), None)
    if inner.type is Type.ARRAY and inner.items is not None:
        return find_unsupported(inner.items, types, name)
    if inner.type is Type.MAP and inner.keys is not None and inner.values is not None:
        if inner.keys != Schema.STRING:
            return (
                "Map keys must be a non-nullable string. Please change field "
                f"'{name}' to be a non-nullable string."
            )
        return find_unsupported(inner.values, types, name)
    if (inner.logical_type or inner.type) in types:
        return None
    known = ", ".join(sorted(each.value for each in types))
    return (
        f"Field '{name}' is of unsupported type '{inner.display_name}'. Supported types are: "
        f"{known}, array, map, record."
    )


_COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "$gt": lambda held, given: held > given,
    "$gte": lambda held, given: held >= given,
    "$lt": lambda held, given: held < given,
    "$lte": lambda held, given: held <= given,
}
_NUMBERS: Final = ("$numberInt", "$numberLong", "$numberDouble", "$numberDecimal")
_LISTS: Final = ("$and", "$or", "$nor")
_OPERATORS: Final = ("$eq", "$ne", "$in", "$nin", "$exists", "$not", *_COMPARISONS)
_MISSING: Final = object()


class QueryError(ValueError):
    """A query is invalid, or has an operator that is not supported here."""


def parse_query(text: str | None) -> dict[str, Any]:
    """Parse a query in JSON, with extended JSON for ids, numbers and dates.

    :raises QueryError: when it is invalid.
    """
    if not text or not text.strip():
        return {}
    try:
        query = _simplify(json.loads(text))
    except ValueError as error:
        raise QueryError(f"The query is not JSON: {error}.") from None
    if not isinstance(query, dict):
        raise QueryError("The query is not a JSON object.")
    _check(query)
    return query


def _simplify(value: Any) -> Any:
    """Return a value of extended JSON as the form that documents have here."""
    if isinstance(value, list):
        return [_simplify(each) for each in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((name, inner),) = value.items()
        if name == "$oid":
            return str(inner).lower()
        if name in _NUMBERS:
            return float(inner) if name in _NUMBERS[2:] else int(inner)
        if name == "$date":
            return _simplify(inner)
    return {name: _simplify(inner) for name, inner in value.items()}


def _check(query: Mapping[str, Any]) -> None:
    for name, wanted in query.items():
        if name in _LISTS:
            if not isinstance(wanted, list) or not all(isinstance(e, dict) for e in wanted):
                raise QueryError(f"'{name}' needs a list of queries.")
            for each in wanted:
                _check(each)
        elif name.startswith("$"):
            known = ", ".join(_LISTS)
            raise QueryError(f"There is no operator '{name}' here; those of queries: {known}.")
        elif _has_operators(wanted):
            _check_operators(wanted)


def _check_operators(wanted: Mapping[str, Any]) -> None:
    for operator, value in wanted.items():
        if operator not in _OPERATORS:
            known = ", ".join(_OPERATORS)
            raise QueryError(f"There is no operator '{operator}' here; those of fields: {known}.")
        if operator in ("$in", "$nin") and not isinstance(value, list):
            raise QueryError(f"'{operator}' needs a list.")
        if operator == "$not":
            if not _has_operators(value):
                raise QueryError("'$not' needs operators.")
            _check_operators(value)


def _has_operators(wanted: Any) -> bool:
    return isinstance(wanted, dict) and any(name.startswith("$") for name in wanted)


def meets_query(document: Mapping[str, Any], query: Mapping[str, Any]) -> bool:
    """Return whether a document meets all conditions of a query."""
    return all(_meets(document, name, wanted) for name, wanted in query.items())


def _meets(document: Mapping[str, Any], name: str, wanted: Any) -> bool:
    if name == "$and":
        return all(meets_query(document, each) for each in wanted)
    if name in ("$or", "$nor"):
        return any(meets_query(document, each) for each in wanted) is (name == "$or")
    held = _find(document, name.split("."))
    if not _has_operators(wanted):
        return _is_equal(held, wanted)
    return _meets_operators(held, wanted)


def _meets_operators(held: Any, wanted: Mapping[str, Any]) -> bool:
    return all(_meets_operator(held, operator, value) for operator, value in wanted.items())


def _meets_operator(held: Any, operator: str, wanted: Any) -> bool:
    match operator:
        case "$eq":
            return _is_equal(held, wanted)
        case "$ne":
            return not _is_equal(held, wanted)
        case "$in":
            return any(_is_equal(held, each) for each in wanted)
        case "$nin":
            return not any(_is_equal(held, each) for each in wanted)
        case "$exists":
            return (held is not _MISSING) is bool(wanted)
        case "$not":
            return not _meets_operators(held, wanted)
    compare = _COMPARISONS[operator]
    values = held if isinstance(held, list) else [held]
    return any(_is_alike(value, wanted) and compare(value, wanted) for value in values)


def _find(value: Any, path: list[str]) -> Any:
    """Return the value at a path; that of a list are the values of its documents."""
    for at, name in enumerate(path):
        if isinstance(value, list):
            found = [_find(each, path[at:]) for each in value]
            return [each for each in found if each is not _MISSING] or _MISSING
        if not isinstance(value, Mapping) or name not in value:
            return _MISSING
        value = value[name]
    return value


def _is_equal(held: Any, wanted: Any) -> bool:
    if wanted is None:
        return held is _MISSING or held is None
    if isinstance(held, list) and not isinstance(wanted, list):
        return any(_is_equal(each, wanted) for each in held)
    return (
        type(held) is type(wanted) and held == wanted
        if isinstance(wanted, bool)
        else held == wanted
    )


def _is_alike(held: Any, wanted: Any) -> bool:
    """Return whether two values have an order: both numbers, or both texts."""
    return (is_number(held) and is_number(wanted)) or (
        isinstance(held, str) and isinstance(wanted, str)
    )


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


_ID_BYTES: Final = 12
_HEX_ID: Final = re.compile(r"[0-9a-fA-F]{24}")
_WRITTEN_TYPES: Final[frozenset[Type | LogicalType]] = frozenset(
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
        problem = find_unsupported(schema, _WRITTEN_TYPES)
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
