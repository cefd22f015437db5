"""A broker of Kafka: librdkafka's in a process of its own, or the one that ``LOCALCDAP_KAFKA`` names."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

from confluent_kafka import Consumer, Message, Producer, TopicPartition

_PROGRAM = """
import sys
from confluent_kafka import Producer

producer = Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 1, "log_level": 0})
found = producer.list_topics(timeout=60).brokers.values()
print(",".join(f"{each.host}:{each.port}" for each in found), flush=True)
sys.stdin.read()
"""
WAIT_S = 30.0


@contextlib.contextmanager
def run_broker() -> Iterator[str]:
    """Provide the address of a broker."""
    real = os.environ.get("LOCALCDAP_KAFKA")
    if real:
        yield real
        return
    command = [sys.executable, "-c", _PROGRAM]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.communicate()


def produce(address: str, topic: str, messages: list[tuple[bytes | None, bytes, int]]) -> None:
    """Write messages: key, value and partition."""
    producer = Producer({"bootstrap.servers": address})
    for key, value, partition in messages:
        producer.produce(topic, value, key, partition=partition)
    assert producer.flush(WAIT_S) == 0


def consume(address: str, topic: str, count: int) -> list[Message]:
    """Return the first messages of a topic."""
    consumer = Consumer(
        {"bootstrap.servers": address, "group.id": "tests", "auto.offset.reset": "earliest"}
    )
    partitions = consumer.list_topics(topic, WAIT_S).topics[topic].partitions
    consumer.assign([TopicPartition(topic, each, 0) for each in partitions])
    found: list[Message] = []
    while len(found) < count:
        batch = consumer.consume(count - len(found), WAIT_S)
        assert batch, f"only {len(found)} messages"
        found += batch
    consumer.close()
    return found
