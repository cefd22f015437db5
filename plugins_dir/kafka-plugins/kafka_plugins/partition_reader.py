"""Which messages of a topic a run reads, and reading them in Spark's workers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api import Record, Schema, StageError
from localcdap.api.arrow import RecordCodec

from .message_formats import MessageError, make_decoder
from .topics import CLOSING_S, create_consumer, describe_error

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Consumer, Message

_BATCH: Final = 1000
_POLL_S: Final = 1.0
_METADATA_S: Final = 15.0
"""Seconds to wait for what brokers know of a topic, as in ``KafkaInputFormat.java``."""
_BROKERS: Final = "Start the brokers, or correct their addresses."


class PartitionRange(msgspec.Struct, frozen=True):
    """The messages of a partition that a run reads."""

    topic: str
    partition: int
    start: int
    end: int
    """The offset after the last message."""

    @property
    def count(self) -> int:
        """How many messages there are at most."""
        return self.end - self.start


class MessageFields(msgspec.Struct, frozen=True):
    """How a message becomes a record."""

    schema: Schema
    message: Schema
    """The fields that the message itself has."""
    format: str
    """Empty: the message is one field of bytes."""
    key: str | None
    partition: str | None
    offset: str | None


def plan_ranges(
    client: dict[str, Any],
    topic: str,
    partitions: set[int],
    starts: dict[int, int],
    most: int,
) -> list[PartitionRange]:
    """Return what a run reads of each partition: from its start up to the newest message.

    :param client: the properties of the client.
    :param partitions: empty for all.
    :param starts: by partition; by default the first message that the brokers have.
    :param most: the most messages of a partition; 0 or less for all.
    :raises StageError: when the brokers cannot be reached, there is no such topic or partition, or a start is
        out of range.
    """
    from confluent_kafka import KafkaException, TopicPartition

    consumer = create_consumer(client)
    try:
        found = _list_partitions(consumer, topic)
        missing = sorted(partitions - found)
        if missing:
            raise StageError(
                f"Topic '{topic}' has no partition {missing[0]}; it has {', '.join(map(str, sorted(found)))}."
            )
        ranges = []
        for number in sorted(partitions or found):
            place = TopicPartition(topic, number)
            low, high = consumer.get_watermark_offsets(place, _METADATA_S)
            start = starts.get(number, low)
            _check_start(topic, number, start, low, high)
            end = min(high, start + most) if most > 0 else high
            ranges.append(PartitionRange(topic, number, start, end))
        return ranges
    except KafkaException as error:
        raise StageError(
            f"The brokers at {client['bootstrap.servers']} cannot be asked for topic '{topic}': "
            f"{describe_error(error)}",
            _BROKERS,
        ) from None
    finally:
        consumer.close()


def _list_partitions(consumer: Consumer, topic: str) -> set[int]:
    listed = consumer.list_topics(topic, _METADATA_S).topics.get(topic)
    if listed is None or listed.error is not None or not listed.partitions:
        why = f": {listed.error.str()}" if listed is not None and listed.error else ""
        raise StageError(f"There is no topic '{topic}'{why}.", "Correct the name of the topic.")
    return set(listed.partitions)


def _check_start(topic: str, partition: int, start: int, low: int, high: int) -> None:
    if low <= start <= high:
        return
    held = f"it has the offsets {low} to {high - 1}" if high > low else "it has no messages"
    lost = "The messages before that are gone. " if start < low else ""
    raise StageError(
        f"The run begins at offset {start} of partition {partition} of topic '{topic}', but {held}.",
        f"{lost}Set 'initialPartitionOffsets', and remove the file with the offsets in 'offsetDir'.",
    )


def read_range(
    client: dict[str, Any], fields: MessageFields, wanted: PartitionRange
) -> Iterator[pa.RecordBatch]:
    """Yield the messages of a range as records.

    :raises StageError: when a message is malformed, or the brokers go away.
    """
    codec = RecordCodec(fields.schema)
    make = _RecordMaker(fields)
    for messages in _read_messages(client, wanted):
        yield codec.encode([make(each, wanted) for each in messages])


class _RecordMaker:
    def __init__(self, fields: MessageFields) -> None:
        self._fields = fields
        self._decode = make_decoder(fields.format, fields.message) if fields.format else None

    def __call__(self, message: Message, place: PartitionRange) -> Record:
        fields, value = self._fields, message.value()
        made: Record = {}
        if self._decode is None:
            made[fields.message.field_names[0]] = value
        else:
            try:
                made |= self._decode(value or b"")
            except MessageError as error:
                raise StageError(
                    f"The message at offset {message.offset()} of partition {place.partition} of topic "
                    f"'{place.topic}' is not {fields.format} of the schema: {error}",
                    "Correct the format or the schema; or begin after the message, by "
                    "'initialPartitionOffsets'.",
                ) from None
        for name, own in (
            (fields.key, message.key()),
            (fields.partition, message.partition()),
            (fields.offset, message.offset()),
        ):
            if name is not None:
                made[name] = own
        return made


def _read_messages(client: dict[str, Any], wanted: PartitionRange) -> Iterator[list[Message]]:
    from confluent_kafka import KafkaError, TopicPartition

    consumer = create_consumer(client)
    consumer.assign([TopicPartition(wanted.topic, wanted.partition, wanted.start)])
    patience = _Patience(client, wanted)
    try:
        done = False
        while not done:
            messages = []
            for each in _take_batch(consumer):
                error = each.error()
                if error is None:
                    # Offsets may have gaps, where messages were compacted or belong to the brokers.
                    offset = each.offset()
                    assert offset is not None  # a message that was read has one
                    done = done or offset >= wanted.end - 1
                    if offset < wanted.end:
                        messages.append(each)
                elif error.code() == KafkaError._PARTITION_EOF:
                    done = True
                else:
                    patience.note(error)
            if messages:
                yield messages
            patience.check(is_idle=not messages and not done)
    finally:
        consumer.close()


def _take_batch(consumer: Consumer) -> list[Message]:
    """Wait for a message, and return it with those that have come with it.

    ``consume`` alone waits for as many messages as it may return, also when the end was reached.
    """
    first = consumer.poll(_POLL_S)
    return [] if first is None else [first, *consumer.consume(_BATCH - 1, 0)]


class _Patience:
    """Waits for brokers that do not answer, for some time."""

    def __init__(self, client: dict[str, Any], wanted: PartitionRange) -> None:
        self._client, self._wanted = client, wanted
        self._since = time.monotonic()
        self._error: Any = None

    def note(self, error: Any) -> None:
        """Keep an error of the client, which tries again by itself unless it is fatal."""
        from confluent_kafka import KafkaError

        self._error = error
        if error.fatal() or error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise self._fail()

    def check(self, *, is_idle: bool) -> None:
        """Give up when nothing has come for too long.

        :raises StageError: then.
        """
        if not is_idle:
            self._since = time.monotonic()
        elif time.monotonic() - self._since > CLOSING_S:
            raise self._fail()

    def _fail(self) -> StageError:
        why = self._error.str() if self._error is not None else "they give no messages"
        return StageError(
            f"Partition {self._wanted.partition} of topic '{self._wanted.topic}' cannot be read from the "
            f"brokers at {self._client['bootstrap.servers']}: {why}",
            _BROKERS,
        )
