"""Kafka in runs, on a broker: offsets between runs, malformed messages, lost brokers."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from localcdap.api.schema import Schema
from localcdap.testing import TemporaryInstance
from tests.plugins.kafka.broker import WAIT_S, consume, produce

pytestmark = pytest.mark.spark
RECORD = Schema.record(
    "r",
    [
        ("name", Schema.STRING.as_nullable),
        ("age", Schema.INT.as_nullable),
        ("key", Schema.BYTES.as_nullable),
        ("part", Schema.INT),
        ("at", Schema.LONG),
    ],
)
FIELDS = {"keyField": "key", "partitionField": "part", "offsetField": "at"}
PEOPLE = Schema.record("p", [("name", Schema.STRING.as_nullable), ("age", Schema.INT.as_nullable)])


def stage(name: str, type: str, plugin: str, **properties: str) -> dict[str, Any]:
    return {"name": name, "plugin": {"type": type, "name": plugin, "properties": properties}}


def document(*stages: dict[str, Any], name: str = "Events") -> dict[str, Any]:
    names = [each["name"] for each in stages]
    links = [{"from": a, "to": b} for a, b in zip(names, names[1:], strict=False)]
    return {"name": name, "config": {"stages": list(stages), "connections": links}}


def source(broker: str, topic: str, **properties: str) -> dict[str, Any]:
    common = {
        "referenceName": "k",
        "kafkaBrokers": broker,
        "topic": topic,
        "format": "json",
        "schema": str(RECORD),
        "offsetDir": "offsets",
    }
    return stage("read", "batchsource", "Kafka", **(common | FIELDS | properties))


def sink(path: str) -> dict[str, Any]:
    return stage("write", "batchsink", "File", referenceName="f", path=path, format="json")


def read_rows(folder: Path) -> list[dict[str, Any]]:
    lines = (line for file in folder.glob("part*") for line in file.read_text().splitlines())
    return sorted((json.loads(line) for line in lines), key=lambda row: (row["part"], row["at"]))


@pytest.mark.slow
def test_each_run_goes_on_where_the_last_one_that_succeeded_ended(
    cdap_instance: TemporaryInstance, engine: object, broker: str, topic: str
):
    home = cdap_instance.home.path
    kept = home / "offsets" / "default.Events.offsets.json"
    produce(
        broker,
        topic,
        [(b"k", b'{"name": "ada", "age": 3}', 0), (None, b'{"name": "bob"}', 1)]
        + [(None, b'{"name": "old"}', 2)] * 3,
    )
    read = source(broker, topic, maxNumberRecords="2", partitions="0,1,2")
    run = cdap_instance.run(document(read, sink("first")))
    assert run.error is None
    assert run.stages["read"].records_out == 4
    first = read_rows(home / "first")
    assert first[0] == {"name": "ada", "age": 3, "key": [107], "part": 0, "at": 0}
    assert [(row["part"], row["at"]) for row in first] == [(0, 0), (1, 0), (2, 0), (2, 1)]
    assert json.loads(kept.read_text()) == {"partitionOffsets": {"0": 1, "1": 1, "2": 2}}

    # A malformed message fails the run, and the offsets stay.
    produce(broker, topic, [(None, b'{"name": "eve"}', 0), (None, b"{oops", 0)])
    failed = cdap_instance.run(document(source(broker, topic, partitions="0"), sink("bad")))
    assert (failed.status, failed.error.stage) == ("FAILED", "read")
    assert f"The message at offset 2 of partition 0 of topic '{topic}'" in failed.error.message
    assert json.loads(kept.read_text())["partitionOffsets"]["0"] == 1
    assert not (home / "bad").exists()
    again = cdap_instance.run(
        document(source(broker, topic, maxNumberRecords="1", partitions="0"), sink("second"))
    )
    assert again.error is None
    assert [(row["part"], row["at"]) for row in read_rows(home / "second")] == [(0, 1)]
    assert json.loads(kept.read_text())["partitionOffsets"] == {"0": 2, "1": 1, "2": 2}

    # Offsets that the broker does not have, and a file that cannot be read.
    kept.write_text('{"partitionOffsets": {"1": 7}}')
    failed = cdap_instance.run(document(source(broker, topic, partitions="1"), sink("bad")))
    assert "begins at offset 7 of partition 1" in failed.error.message
    assert "it has the offsets 0 to 0" in failed.error.message
    kept.write_text("garbage")
    failed = cdap_instance.run(document(source(broker, topic, partitions="1"), sink("bad")))
    assert "offsets.json', cannot be read" in failed.error.message
    assert kept.read_text() == "garbage"

    kept.unlink()
    begun = source(broker, topic, partitions="2", initialPartitionOffsets="2:1")
    assert cdap_instance.run(document(begun, sink("third"))).error is None
    assert [row["at"] for row in read_rows(home / "third")] == [1, 2]
    produce(broker, topic, [(None, b'{"name": "new"}', 2)])
    assert cdap_instance.run(document(begun, sink("fourth"))).error is None
    assert [row["at"] for row in read_rows(home / "fourth")] == [3]


@pytest.mark.systems
def test_messages_are_written_with_keys_and_read_in_every_format(
    cdap_instance: TemporaryInstance, engine: object, broker: str, topic: str
):
    home = cdap_instance.home.path
    (home / "people.csv").write_text("ada,36\nbob,\nada,7\n")
    people = stage(
        "people",
        "batchsource",
        "File",
        referenceName="f",
        path="people.csv",
        format="csv",
        schema=str(PEOPLE),
    )
    common = {"referenceName": "k", "brokers": broker, "topic": topic, "format": "CSV"}
    send = stage("send", "batchsink", "Kafka", key="name", **common)
    run = cdap_instance.run(document(people, send))
    assert run.error is None
    found = consume(broker, topic, 3)
    assert sorted((m.key(), m.value()) for m in found) == [
        (b"ada", b"ada,36"),
        (b"ada", b"ada,7"),
        (b"bob", b"bob,"),
    ]
    partitions = {m.key(): m.partition() for m in found}
    listed = Producer({"bootstrap.servers": broker}).list_topics(topic, WAIT_S)
    count = len(listed.topics[topic].partitions)
    for key, partition in partitions.items():
        digest = hashlib.md5(key.decode().encode("utf-16-le")).digest()
        expected = abs(int.from_bytes(digest[:4], "little", signed=True))
        assert partition == expected % count

    (home / "people.csv").write_text(",1\n")
    failed = cdap_instance.run(document(people, send))
    assert failed.error.stage == "send"
    assert "Message Key field value in the record is null" in failed.error.message

    read = source(broker, topic, format="csv", offsetDir="")
    assert cdap_instance.run(document(read, sink("csv"))).error is None
    assert [(r["name"], r["age"]) for r in read_rows(home / "csv") if r["age"]] != []
    assert len(read_rows(home / "csv")) == 3


@pytest.mark.systems
def test_brokers_that_are_not_there_are_an_error_of_the_stage(
    cdap_instance: TemporaryInstance, engine: object, broker: str, topic: str
):
    slow = {"kafkaProperties": "socket.timeout.ms:1000,message.timeout.ms:1000"}
    gone = source("127.0.0.1:9", topic, **slow)
    failed = cdap_instance.run(document(gone, sink("never")))
    assert failed.error.stage == "read"
    assert "The brokers at 127.0.0.1:9 cannot be asked for topic" in failed.error.message
    unknown = cdap_instance.run(document(source(broker, topic), sink("never")))
    assert f"There is no topic '{topic}'" in unknown.error.message
    produce(broker, topic, [(None, b"{}", 0)])
    absent = source(broker, topic, partitions="77")
    failed = cdap_instance.run(document(absent, sink("never")))
    assert "has no partition 77; it has" in failed.error.message

    (cdap_instance.home.path / "people.csv").write_text("ada,36\n")
    people = stage(
        "people",
        "batchsource",
        "File",
        referenceName="f",
        path="people.csv",
        format="csv",
        schema=str(PEOPLE),
    )
    common = {"referenceName": "k", "brokers": "127.0.0.1:9", "topic": topic, "format": "JSON"}
    send = stage("send", "batchsink", "Kafka", **(common | slow))
    failed = cdap_instance.run(document(people, send))
    assert failed.error.stage == "send"
    assert f"1 messages did not reach topic '{topic}'" in failed.error.message
