"""Messages that are sent, until brokers have acknowledged them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from localcdap.api import StageError

from .topics import CLOSING_S, describe_error

if TYPE_CHECKING:
    from confluent_kafka import Producer


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
