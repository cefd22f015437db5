"""The batch sink Kafka.

Messages that are sent, until brokers have acknowledged them.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from localcdap.api import (
    BatchSink,
    Record,
    Schema,
    SinkContext,
    StageConfigurer,
    StageError,
    field,
    plugin,
)
from localcdap.api.arrow import RecordCodec
from localcdap.api.rules import check_reference_name
from localcdap.plugin_lib.json_texts import former_form_field, make_json_writer
from localcdap.plugin_lib.record_texts import former_texts_field, make_text_writer

from .client_config import KafkaClientConfig
from .topics import CLOSING_S, create_producer, describe_error, find_name_problem

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Producer
    from pyspark.sql import DataFrame


class Deliveries:
    """Sends messages to a topic, and knows which of them are lost."""

    def __init__(self, producer: Producer, topic: str) -> None:
        self._producer, self._topic = producer, topic
        self._failed: list[str] = []

    @functools.cached_property
    def partitions(self) -> int:
        """How many partitions the topic has.

        :raises StageError: when the brokers cannot be reached, or there is no such topic.
        """
        from confluent_kafka import KafkaException

        try:
            listed = self._producer.list_topics(self._topic, CLOSING_S).topics[self._topic]
        except KafkaException as error:
            raise StageError(
                f"Topic '{self._topic}' cannot be written: {describe_error(error)}",
                "Check the brokers and the topic.",
            ) from None
        if not listed.partitions:
            raise StageError(f"There is no topic '{self._topic}'.", "Create it.")
        return len(listed.partitions)

    def produce(self, value: bytes, key: str | None = None, partition: int = -1) -> None:
        """Send a message; it may be under way for a while.

        :param partition: -1 for any.
        :raises StageError: when a message before it is lost: nothing more is sent then.
        """
        if self._failed:
            self.close("messages")
        while True:
            try:
                self._producer.produce(
                    self._topic, value, key, partition=partition, on_delivery=self._note
                )
                self._producer.poll(0)
                return
            except BufferError:  # the queue is full: wait until the broker has taken some
                self._producer.poll(1.0)

    def _note(self, error: Any, _message: Any) -> None:
        if error is not None:
            self._failed.append(error.str())

    def close(self, what: str) -> None:
        """Wait until everything is acknowledged.

        :param what: the word for messages in an error.
        :raises StageError: when some are lost.
        """
        lost = self._producer.flush(CLOSING_S)
        if self._failed or lost:
            why = self._failed[0] if self._failed else "no broker has acknowledged them"
            count = len(self._failed) + lost
            self.drop()
            raise StageError(
                f"{count} {what} did not reach topic '{self._topic}': {why}.",
                "Check the brokers and the topic.",
            )

    def drop(self) -> None:
        """Forget what is under way."""
        self._producer.purge()
        self._producer.flush(0)


_FORMATS: Final = ("CSV", "JSON")
_COMPRESSIONS: Final = ("none", "gzip", "snappy")
_BROKERS: Final = "kafkaBrokers"
_COUNT: Final = Schema.record("sent", [("messages", Schema.LONG)])


@plugin(name="Kafka", description="Sends each record as a message to a topic of Kafka.")
class KafkaBatchSink(BatchSink):
    """Properties and failures are those of CDAP's plugin (kafka-plugins,
    ``io/cdap/plugin/kafka/sink/KafkaBatchSink.java``, ``KafkaRecordWriter.java``).

    Messages are in the topic as soon as they are sent, even if the run fails later. A message that no broker
    has acknowledged fails the run, also with ``async``, where the original only logs it.
    """

    class Config(KafkaClientConfig, rename="camel"):
        reference_name: str = field("Name of this sink in lineage and metadata.")
        kafka_brokers: str | None = field(
            "The addresses of brokers, as host:port, comma-separated. It is required unless a connection or "
            "'brokers' has them.",
            default=None,
            macro=True,
        )
        brokers: str | None = field(
            "The addresses of brokers in earlier pipelines. It is used when 'kafkaBrokers' has no value.",
            default=None,
            macro=True,
            group="more",
        )
        topic: str = field("The topic, which should exist already.", macro=True)
        is_async: str = field(
            "Whether one broker's acknowledgment is enough (TRUE), or all copies of a message must be "
            "acknowledged (FALSE).",
            default="FALSE",
            name="async",
            macro=True,
        )
        key: str | None = field(
            "Text field with the key of the message, which decides on its partition; by default, messages "
            "have no key.",
            default=None,
            macro=True,
            form="{input-field}",
        )
        format: str = field(
            "Format of the messages. Values of CSV are not quoted, as in CDAP.",
            choices=_FORMATS,
            macro=True,
        )
        compression: str = field(
            "Compression of the messages.",
            default="none",
            choices=_COMPRESSIONS,
            name="compressionType",
            macro=True,
        )

        former_json: bool = former_form_field()
        former_texts: bool = former_texts_field()

        def find_brokers(self) -> tuple[str, str | None]:
            for name, brokers in ((_BROKERS, self.kafka_brokers), ("brokers", self.brokers)):
                if brokers or self.contains_macro(name):
                    return name, brokers
            return _BROKERS, None

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        check_reference_name(stage, config.reference_name)
        config.check_client(stage)
        name, brokers = config.find_brokers()
        is_open = config.use_connection and config.contains_macro("connection")
        if not brokers and not config.contains_macro(name) and not is_open:
            message = f"Required property '{name}' has no value."
            stage.failures.add(message).with_config_property(name)
        known = config.topic is not None and not config.contains_macro("topic")
        problem = find_name_problem(config.topic) if known else None
        if problem is not None:
            stage.failures.add(problem).with_config_property("topic")
        if config.is_async.lower() not in ("true", "false"):
            stage.failures.add("Async flag has to be either TRUE or FALSE.").with_config_property(
                "async"
            )
        if config.key and stage.input_schema is not None:
            self._check_key(stage, stage.input_schema, config.key)

    def _check_key(self, stage: StageConfigurer, schema: Schema, key: str) -> None:
        found = schema.field(key)
        if found is None or found.schema.non_nullable != Schema.STRING:
            why = "is not in the input schema" if found is None else "is not a text"
            stage.failures.add(
                f"The key field '{key}' {why}.",
                f"Use a text field among {', '.join(schema.field_names)}.",
            ).with_config_property("key")

    def write(self, df: DataFrame, context: SinkContext) -> None:
        self._send(df, context, self._build_client(context))

    def preview(self, df: DataFrame, context: SinkContext) -> None:
        """Make the messages, and send none."""
        self._send(df, context, None)

    def _build_client(self, context: SinkContext) -> dict[str, Any]:
        config = self.config
        own = {
            "acks": "1" if config.is_async.lower() == "true" else "all",
            "compression.type": config.compression,
        }
        return config.build_client(context, own)

    def _send(self, df: DataFrame, context: SinkContext, client: dict[str, Any] | None) -> None:
        config = self.config
        is_former = config.former_json if config.format == "JSON" else config.former_texts
        schema = context.input_schema
        send = MessageSender(
            schema, client, config.topic, config.format, config.key, is_former=is_former
        )
        context.in_batches(df, send, _COUNT).collect()


class MessageSender:
    """Sends the records of a task.

    :param client: the properties of the producer; None to send nothing.
    :param is_former: whether values have the form of an earlier version.
    """

    def __init__(
        self,
        schema: Schema,
        client: dict[str, Any] | None,
        topic: str,
        format: str,
        key: str | None,
        *,
        is_former: bool = False,
    ) -> None:
        self._schema, self._client, self._is_former = schema, client, is_former
        self._topic, self._format, self._key = topic, format, key

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Send all records, and yield how many there were.

        :raises StageError: for a record without a key, and when a message is not acknowledged.
        """
        codec, count = RecordCodec(self._schema), 0
        encode = self._make_encoder()
        deliveries = None
        for batch in batches:
            for record in codec.decode(batch):
                key, value = self._find_key(record), encode(record)
                if self._client is not None:
                    deliveries = deliveries or Deliveries(
                        create_producer(self._client), self._topic
                    )
                    partition = _choose_partition(key, deliveries) if key is not None else -1
                    deliveries.produce(value, key, partition)
                count += 1
        if deliveries is not None:
            deliveries.close("messages")
        yield RecordCodec(_COUNT).encode([{"messages": count}])

    def _find_key(self, record: Record) -> str | None:
        if not self._key:
            return None
        key: str | None = record[self._key]
        if key is None:
            raise StageError("Message Key field value in the record is null")
        return key

    def _make_encoder(self) -> Callable[[Record], bytes]:
        if self._format == "JSON":
            write = make_json_writer(self._schema, former=self._is_former)
            return lambda record: write(record).encode()
        write_texts = make_text_writer(self._schema, former=self._is_former)
        return lambda record: ",".join(text or "" for text in write_texts(record).values()).encode()


def _choose_partition(key: str, deliveries: Deliveries) -> int:
    """Return the partition of a key, by its MD5 (``StringPartitioner.java``)."""
    digest = hashlib.md5(key.encode("utf-16-le"), usedforsecurity=False).digest()
    return abs(int.from_bytes(digest[:4], "little", signed=True)) % deliveries.partitions
