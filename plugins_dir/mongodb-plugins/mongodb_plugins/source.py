"""The MongoDB source.

Queries of documents, as MongoDB has them: conditions for fields, with the usual operators.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
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
from localcdap.java.numbers import is_number
from localcdap.plugin_lib.documents import (
    CollectionSource,
    DocumentReader,
    DocumentSchemaError,
    decode_document,
)
from localcdap.plugin_lib.spark.columns import get_column

from .collection_config import ID, WITHOUT_EFFECT, CollectionConfig, find_unsupported

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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
