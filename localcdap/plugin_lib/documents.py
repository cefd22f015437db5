"""Documents in JSON as records, and the key-value tables that stand for collections of other systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from localcdap.api import (
    BatchSink,
    BatchSource,
    LineageRecorder,
    Record,
    Schema,
    SinkContext,
    SourceContext,
    StageConfigurer,
)
from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import BadRequestError
from localcdap.api.record_json import decode_json_records, encode_json_record
from localcdap.api.rules import check_not_view, check_table_key

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

KEY, VALUE = "key", "value"
ROW: Final = Schema.record("document", [(KEY, Schema.STRING), (VALUE, Schema.STRING)])
"""The rows of a collection: the id of each document, and its JSON."""


class DocumentSchemaError(ValueError):
    """A document does not fit a schema; the message says why."""


def encode_document(record: Mapping[str, Any]) -> str:
    """Return a record as a document."""
    return msgspec.json.encode(encode_json_record(record)).decode()


def decode_document(document: Mapping[str, Any], schema: Schema) -> Record:
    """Return the fields of a document that a schema has.

    :raises DocumentSchemaError: when they do not fit the schema.
    """
    named = {name: value for name, value in document.items() if schema.field(name) is not None}
    try:
        return decode_json_records(schema, [named])[0]
    except BadRequestError as error:
        raise DocumentSchemaError("; ".join(error.message.splitlines()[1:])) from None


class CollectionConfig(Protocol):
    """What the properties of a plugin say of its collection."""

    collection: str

    @property
    def has_open_name(self) -> bool:
        """Whether the name of the table is not known yet."""

    def find_table_name(self) -> str:
        """Return the name of the collection's table."""


class CollectionSource(BatchSource):
    """Reads the documents of a collection. A subclass checks its properties, and reads."""

    config: CollectionConfig

    def configure_connected(self, stage: StageConfigurer) -> None:
        config = self.config
        if config.has_open_name or not config.collection or stage.in_run:
            return
        if stage.find_table(config.find_table_name()) is None:
            stage.failures.add(
                f"There is no collection '{config.collection}': no table '{config.find_table_name()}'.",
                "Write it with a pipeline, or correct the name.",
            ).with_config_property("collection")

    def record_lineage(self, lineage: LineageRecorder) -> None:
        if not self.config.has_open_name:
            lineage.datasets.append(self.config.find_table_name())

    def read_documents(self, context: SourceContext) -> DataFrame:
        """Return the rows of the collection's table."""
        return context.read_table(self.config.find_table_name()).select(ROW.field_names)


class DocumentReader:
    """Reads the documents of a task. A subclass reads one.

    :param schema: of the records.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        given, made = RecordCodec(ROW), RecordCodec(self.schema)
        for batch in batches:
            records = (self.read(row[KEY], row[VALUE]) for row in given.decode(batch))
            yield made.encode([each for each in records if each is not None])

    def read(self, key: str, text: str) -> Record | None:
        """Return the record of a document; None leaves it out."""
        raise NotImplementedError


class CollectionSink(BatchSink):
    """Writes each record as a document of a collection; the documents appear when the run is committed.

    A subclass checks its properties.
    """

    config: CollectionConfig

    def create_collection(self, stage: StageConfigurer) -> None:
        """Create the table of the collection, unless there are failures."""
        config = self.config
        if not stage.failures and not config.has_open_name and config.collection:
            stage.create_dataset(
                config.find_table_name(),
                "keyValueTable",
                {"schema": str(ROW)},
                config_property="collection",
            )

    def configure_connected(self, stage: StageConfigurer) -> None:
        if not self.config.has_open_name and self.config.collection:
            check_not_view(stage, self.config.find_table_name(), "collection")
            check_table_key(stage, self.config.find_table_name(), KEY)

    def record_lineage(self, lineage: LineageRecorder) -> None:
        if not self.config.has_open_name:
            lineage.datasets.append(self.config.find_table_name())
        lineage.derive(VALUE, lineage.input_fields, "Write a document")

    def identify(self) -> Callable[[Record], tuple[str, Record]]:
        """Return a picklable function that returns the key and the document of a record."""
        raise NotImplementedError

    def write(self, df: DataFrame, context: SinkContext) -> None:
        make = _DocumentMaker(RecordCodec(context.input_schema), self.identify())
        rows = context.in_batches(df, make, ROW)
        context.write_table(self.config.find_table_name(), rows, ROW, KEY)

    def preview(self, df: DataFrame, context: SinkContext) -> None:
        self.write(df, context)


class _DocumentMaker:
    """Makes the rows of documents of a task's records."""

    def __init__(
        self, codec: RecordCodec, identify: Callable[[Record], tuple[str, Record]]
    ) -> None:
        self._codec, self._identify = codec, identify

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        made = RecordCodec(ROW)
        for batch in batches:
            documents = map(self._identify, self._codec.decode(batch))
            yield made.encode([{KEY: key, VALUE: encode_document(each)} for key, each in documents])
