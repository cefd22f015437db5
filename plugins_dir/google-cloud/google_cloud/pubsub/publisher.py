"""The GooglePublisher sink."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from localcdap.api import (
    BatchSink,
    Capabilities,
    Record,
    Schema,
    SinkContext,
    StageConfigurer,
    capability,
    field,
    plugin,
)
from localcdap.api.arrow import RecordCodec
from localcdap.api.rules import check_reference_name
from localcdap.java.strings import to_java_string
from localcdap.plugin_lib.json_texts import former_form_field, make_json_writer
from localcdap.plugin_lib.text_values import find_float_shortener

from ..account import WITHOUT_EFFECT, GoogleProjectConfig

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_BATCH: Final = 100
_MESSAGE: Final = Schema.record("message", [("data", Schema.STRING)])
_DELIMITERS: Final = {"csv": ",", "tsv": "\t"}
_BINARY: Final = ("avro", "parquet")
_FORMATS: Final = ("text", "blob", "json", "delimited", *_DELIMITERS, *_BINARY)


class PublisherConfig(GoogleProjectConfig, macros=True, rename="camel"):
    """Properties as CDAP's (google-cloud, ``io/cdap/plugin/gcp/publisher/GooglePublisher.java``)."""

    reference_name: str | None = field(
        "Name of this sink in lineage and metadata: letters, digits, '_', '-', '.', '$'.",
        default=None,
        macro=False,
    )
    topic: str = field("Topic of the namespace to publish on. It is created if it does not exist.")
    format: str = field(
        "Format of the messages: text, blob and json are JSON; avro and parquet are Avro, in Base64 here; "
        "values of csv, tsv and delimited are not quoted, as in CDAP.",
        default="text",
        choices=_FORMATS,
    )
    delimiter: str | None = field(
        "Text between two values in the format 'delimited'.", default=None
    )
    batch_count: int | None = field(
        "Largest number of messages that are published at once.",
        default=None,
        name="messageCountBatchSize",
    )
    batch_size: int | None = field(
        "Largest size of a batch in KB.",
        default=None,
        name="requestThresholdKB",
        group=WITHOUT_EFFECT,
    )
    delay: int | None = field(
        "Longest delay of a batch in milliseconds.",
        default=None,
        name="publishDelayThresholdMillis",
        group=WITHOUT_EFFECT,
    )
    errors: int | None = field(
        "Number of failures that are tolerated in each partition; here the first one fails the run.",
        default=None,
        name="errorThreshold",
        group=WITHOUT_EFFECT,
    )
    retry_timeout: int | None = field(
        "Longest time of repeated attempts in seconds.",
        default=None,
        name="retryTimeoutSeconds",
        group=WITHOUT_EFFECT,
    )
    cmek_key: str | None = field(
        "Key that encrypts a topic that is created.", default=None, group=WITHOUT_EFFECT
    )
    former_json: bool = former_form_field()


_LIMITS: Final = (
    ("batch_count", "messageCountBatchSize", 1, "maximum count of messages in a batch"),
    ("batch_size", "requestThresholdKB", 1, "maximum batch size"),
    ("delay", "publishDelayThresholdMillis", 1, "delay threshold for publishing a batch"),
    ("errors", "errorThreshold", 0, "error threshold for publishing"),
    ("retry_timeout", "retryTimeoutSeconds", 1, "max retry timeout for retrying failed publish"),
)


@plugin(
    name="GooglePublisher",
    description="Local: publishes each record as a message on a topic of the instance.",
)
@capability(Capabilities.Mode.NATIVE)
class GooglePublisher(BatchSink):
    """The payload of a message is its data as a text. As in CDAP, messages are published while the run goes
    on, also if it fails later.
    """

    Config = PublisherConfig
    config: PublisherConfig

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        check_reference_name(stage, config.reference_name)
        for attribute, name, least, title in _LIMITS:
            value = getattr(config, attribute)
            if value is not None and value < least and not config.contains_macro(name):
                stage.failures.add(
                    f"Invalid {title}.", "Ensure the value is a positive number."
                ).with_config_property(name)
        is_open = config.contains_macro("delimiter") or config.contains_macro("format")
        if config.format == "delimited" and not config.delimiter and not is_open:
            stage.failures.add(
                "Delimiter is required when format is set to delimited.",
                "Ensure the delimiter is provided.",
            ).with_config_property("delimiter")

    def write(self, df: DataFrame, context: SinkContext) -> None:
        config = self.config
        if not context.has_topic(config.topic):
            context.create_topic(config.topic)
        texts = (row[0] for row in self._make_messages(df, context).toLocalIterator())
        while part := list(islice(texts, config.batch_count or _BATCH)):
            context.publish_messages(config.topic, part)

    def preview(self, df: DataFrame, context: SinkContext) -> None:
        """Make the messages, and publish none."""
        self._make_messages(df, context).collect()

    def _make_messages(self, df: DataFrame, context: SinkContext) -> DataFrame:
        config, schema = self.config, context.input_schema
        make = MessageMaker(schema, config.format, config.delimiter, former_json=config.former_json)
        return context.in_batches(df, make, _MESSAGE)


class MessageMaker:
    """Makes the messages of the records of a task."""

    def __init__(
        self, schema: Schema, format: str, delimiter: str | None, *, former_json: bool = False
    ) -> None:
        self._schema, self._format, self._former_json = schema, format, former_json
        self._delimiter = _DELIMITERS.get(format, delimiter or ",")

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        given, made, write = RecordCodec(self._schema), RecordCodec(_MESSAGE), self._make_writer()
        for batch in batches:
            yield made.encode([{"data": write(record)} for record in given.decode(batch)])

    def _make_writer(self) -> Callable[[Record], str]:
        if self._format in _BINARY:
            return _make_avro_writer(self._schema)
        if self._format in ("text", "blob", "json"):
            return make_json_writer(self._schema, former=self._former_json)
        shorten = find_float_shortener(self._schema) or (lambda record: record)
        return lambda record: self._join(shorten(record))

    def _join(self, record: Record) -> str:
        texts = ("" if value is None else to_java_string(value) for value in record.values())
        return self._delimiter.join(texts)


def _make_avro_writer(schema: Schema) -> Callable[[Record], str]:
    import fastavro

    parsed = fastavro.parse_schema(schema.to_json())

    def write(record: Record) -> str:
        content = io.BytesIO()
        fastavro.schemaless_writer(content, parsed, record)
        return base64.b64encode(content.getvalue()).decode()

    return write
