"""The Firestore source and sink, the filters of the source, and the tables that stand for collections."""

from __future__ import annotations

import json
import operator
import re
import secrets
import string
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

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
from localcdap.api.rules import check_reference_name
from localcdap.java.numbers import is_number
from localcdap.plugin_lib.documents import (
    KEY,
    CollectionSink,
    CollectionSource,
    DocumentReader,
    DocumentSchemaError,
    decode_document,
)
from localcdap.plugin_lib.spark.columns import get_column

from .account import WITHOUT_EFFECT, GoogleProjectConfig

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "EqualTo": operator.eq,
    "NumericEqualTo": operator.eq,
    "LessThan": operator.lt,
    "LessThanOrEqualTo": operator.le,
    "GreaterThan": operator.gt,
    "GreaterThanOrEqualTo": operator.ge,
}


class Filter(msgspec.Struct, frozen=True):
    """A condition on a field of a document; a document without the field does not meet it."""

    field: str
    operator: str
    value: str | int | float

    def accepts(self, document: Mapping[str, Any]) -> bool:
        """Return whether a document, as decoded JSON, meets the condition."""
        held = document.get(self.field)
        if isinstance(self.value, str):
            return held == self.value
        return is_number(held) and _OPERATORS[self.operator](held, self.value)


def parse_filters(text: str) -> list[Filter]:
    """Parse filters (firestore-plugins, ``FilterInfoParser.java``).

    :raises ValueError: for the first wrong one, in the words of CDAP.
    """
    return [_parse_filter(each.strip()) for each in text.split(",")] if text.strip() else []


def _parse_filter(text: str) -> Filter:
    value, colon, operation = (part.strip() for part in text.partition(":"))
    if not colon:
        raise ValueError(
            f"Could not find ':' separating filter value from its operation in '{text}'."
        )
    name, bracket, rest = operation.partition("(")
    form = "Operations must be specified as operator(field)."
    if not bracket:
        raise ValueError(f"Could not find '(' in operation '{operation}'. {form}")
    name = name.strip()
    known = next((each for each in _OPERATORS if each.lower() == name.lower()), None)
    if known is None:
        raise ValueError(f"Invalid operator '{name}'. Must be one of {', '.join(_OPERATORS)}.")
    if not rest.endswith(")"):
        raise ValueError(f"Could not find closing ')' in operation '{operation}'. {form}")
    field = rest[:-1].strip()
    if not field:
        raise ValueError(
            f"Invalid operation format '{operation}'. A field must be given as an argument."
        )
    return Filter(field, known, value if known == "EqualTo" else _parse_number(value, name))


def _parse_number(value: str, name: str) -> int | float:
    try:
        return float(value) if "." in value else int(value)
    except ValueError:
        raise ValueError(
            f"Invalid value '{value}' for operator '{name}'. A numeric value expected for the operator used."
        ) from None


ID: Final = "__id__"
"""The field of the id, by default."""
_DEFAULT: Final = "(default)"
_PLAIN: Final = re.compile(r"[\w$-]+(?:/[\w$-]+)*")
_DATABASE: Final = "databaseName"


class FirestoreConfig(GoogleProjectConfig, macros=True, rename="camel"):
    """The properties of plugins of Firestore."""

    reference_name: str = field("Name of this stage in lineage and metadata.", macro=False)
    service_account_type: str = field(
        "Form of the service account: filePath or JSON.", default="filePath", group=WITHOUT_EFFECT
    )
    database_name: str = field("Name of the database.", default=_DEFAULT)
    collection: str = field(
        "Name of the collection. Here it is the key-value table 'firestore.NAME' of the namespace, or "
        "'firestore.DATABASE.NAME', whose values are the documents in JSON."
    )

    def find_table_name(self) -> str:
        """Return the name of the collection's table."""
        database = "" if self.database_name == _DEFAULT else f"{self.database_name}."
        return f"firestore.{database}{self.collection.strip().replace('/', '.')}"

    @property
    def has_open_name(self) -> bool:
        """Whether the name of the table is not known yet."""
        return self.contains_macro("collection") or self.contains_macro(_DATABASE)

    def check(self, stage: StageConfigurer) -> None:
        """Add failures for names (firestore-plugins, ``FirestoreConfig.java``)."""
        check_reference_name(stage, self.reference_name)
        if not self.contains_macro(_DATABASE):
            for problem in _list_database_problems(self.database_name):
                stage.failures.add(problem).with_config_property(_DATABASE)
        named = self.collection is not None and not self.contains_macro("collection")
        if named and not _PLAIN.fullmatch(self.collection.strip()):
            stage.failures.add(
                f"The collection '{self.collection}' cannot be a table here.",
                "Use letters, digits, '_', '-' and '$', and '/' between parts.",
            ).with_config_property("collection")


def _list_database_problems(name: str) -> list[str]:
    if name == _DEFAULT:
        return []
    rules = {
        "Database name can only include letters, numbers and hyphen characters.": re.fullmatch(
            r"[a-zA-Z0-9-]+", name
        ),
        "Database name must be in lowercase.": name == name.lower(),
        "Database name's first character can only be an alphabet.": name[:1].isalpha(),
        "Database name's last character can only be a letter or a number.": name[-1:].isalnum(),
        "Database name should be at least 4 letters.": len(name) >= 4,
        "Database name cannot be more than 63 characters.": len(name) <= 63,
        "Database name cannot contain a UUID.": not _is_uuid(name),
    }
    return [problem for problem, holds in rules.items() if not holds]


def _is_uuid(name: str) -> bool:
    try:
        uuid.UUID(name)
    except ValueError:
        return False
    return True


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


_GENERATED: Final = "Auto-generated id"
_CUSTOM: Final = "Custom name"
_LARGEST_BATCH: Final = 500
_LETTERS: Final = string.ascii_letters + string.digits
_ID_LENGTH: Final = 20
_WRITTEN_TYPES: Final = (
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
    return schema.type in _WRITTEN_TYPES
