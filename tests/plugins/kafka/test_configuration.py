"""Kafka without a run: properties of the source and sink, formats of messages, a broker that goes away."""

from __future__ import annotations

import io

import fastavro
import pytest
from kafka_plugins import partition_reader
from kafka_plugins.batch_sink import KafkaBatchSink
from kafka_plugins.batch_source import KafkaBatchSource
from kafka_plugins.message_formats import MessageError, make_decoder
from kafka_plugins.partition_reader import MessageFields, PartitionRange, read_range

from localcdap.api.errors import StageError
from localcdap.api.schema import Schema
from localcdap.testing import StageTester
from tests.plugins.kafka.broker import produce, run_broker

MESSAGE = Schema.record("m", [("name", Schema.STRING), ("age", Schema.INT.as_nullable)])
BYTES = Schema.record("r", [("message", Schema.BYTES)])
SOURCE = {
    "referenceName": "k",
    "kafkaBrokers": "localhost:9092",
    "topic": "t",
    "schema": str(MESSAGE),
    "format": "json",
}
SINK = {"referenceName": "k", "kafkaBrokers": "localhost:9092", "topic": "t", "format": "CSV"}

NO_FIELD = (
    "partitionField: partitionField 'no' does not exist in the schema. Please add it to the schema."
)
ONE_FIELD = (
    "format: Without a format, the schema must contain just a single message field of type bytes or "
    "nullable bytes."
)
OF_BYTES = "format: Without a format, the message field must be of type bytes or nullable bytes"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"format": "", "schema": str(BYTES)}, []),
        (
            {"kafkaBrokers": "localhost,h:x"},
            [
                "kafkaBrokers: Invalid port 'localhost' for host ''.",
                "kafkaBrokers: Invalid port 'x' for host 'h'.",
            ],
        ),
        (
            {"partitions": "0,x"},
            ["partitions: Invalid partition 'x'. Partitions must be integers."],
        ),
        (
            {"initialPartitionOffsets": "x:1,2:y,3:4"},
            [
                "initialPartitionOffsets: Invalid partition 'x' in initialPartitionOffsets.",
                "initialPartitionOffsets: Invalid offset 'y' in initialPartitionOffsets for partition 2.",
            ],
        ),
        (
            {"keyField": "name", "partitionField": "no", "offsetField": "age"},
            [
                "keyField: The key field must be of type bytes or nullable bytes.",
                NO_FIELD,
                "offsetField: The offset field must be of type long.",
                "schema: Schema must contain at least one other field besides the time and key fields.",
            ],
        ),
        (
            {"format": ""},
            [
                f"{ONE_FIELD} Found 2 message fields (name,age).",
                f"{OF_BYTES}, but field name is of type string.",
            ],
        ),
        ({"principal": "me"}, ["keytabLocation: Field keytab must be specified."]),
    ],
)
def test_the_source_reports_everything_at_once(changes: dict[str, str], expected: list[str]):
    assert StageTester(KafkaBatchSource, SOURCE | changes).problems == expected


@pytest.mark.parametrize("format", ["text", "grok"])
def test_a_format_must_fit_the_schema(format: str):
    (problem,) = StageTester(KafkaBatchSource, SOURCE | {"format": format}).problems
    assert problem.startswith(
        f"format: Unable to instantiate a message parser from format '{format}' and message schema"
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"async": "maybe"}, ["async: Async flag has to be either TRUE or FALSE."]),
        ({"key": "age"}, ["key: The key field 'age' is not a text."]),
        ({"key": "no"}, ["key: The key field 'no' is not in the input schema."]),
        ({"kafkaBrokers": ","}, ["kafkaBrokers: Must specify kafka brokers."]),
        ({"brokers": ","}, []),
        ({"kafkaBrokers": "", "brokers": "h:1"}, []),
        ({"kafkaBrokers": "", "brokers": ","}, ["brokers: Must specify kafka brokers."]),
        ({"kafkaBrokers": ""}, ["kafkaBrokers: Required property 'kafkaBrokers' has no value."]),
        (
            {"compressionType": "rar"},
            [
                "compressionType: Property 'compressionType' must be one of none, gzip, snappy, not 'rar'."
            ],
        ),
    ],
)
def test_the_sink_reports_everything(changes: dict[str, str], expected: list[str]):
    assert StageTester(KafkaBatchSink, SINK | changes, MESSAGE).problems == expected


def write_avro() -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(
        out, fastavro.parse_schema(MESSAGE.to_json()), {"name": "ada", "age": 3}
    )
    return out.getvalue()


@pytest.mark.parametrize(
    ("format", "data"),
    [
        ("json", b'{"name": "ada", "age": 3, "more": 1}'),
        ("csv", b"ada,3"),
        ("csv", b"ada,3,left out\n"),
        ("tsv", b"ada\t3"),
        ("avro", write_avro()),
    ],
)
def test_messages_become_records(format: str, data: bytes):
    assert make_decoder(format, MESSAGE)(data) == {"name": "ada", "age": 3}


def test_values_that_a_line_lacks_are_null():
    assert make_decoder("csv", MESSAGE)(b"ada") == {"name": "ada", "age": None}
    assert make_decoder("csv", MESSAGE)(b"ada,") == {"name": "ada", "age": None}
    text = Schema.record("m", [("body", Schema.STRING)])
    assert make_decoder("text", text)("ünï".encode()) == {"body": "ünï"}


@pytest.mark.parametrize(
    ("format", "data"),
    [
        ("json", b"{oops"),
        ("json", b"[1]"),
        ("json", b'{"age": 3}'),
        ("json", b'{"name": "ada", "age": "x"}'),
        ("json", b"[" * 100_000),
        ("csv", b"ada,x"),
        ("csv", b"\xff,1"),
        ("avro", b"\xff\xff"),
        ("avro", b""),
    ],
)
def test_malformed_messages_say_what_is_wrong(format: str, data: bytes):
    with pytest.raises(MessageError, match="."):
        make_decoder(format, MESSAGE)(data)


def test_a_broker_that_goes_away_is_an_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(partition_reader, "CLOSING_S", 1.0)
    with run_broker() as address:
        produce(address, "gone", [(None, b"x", 0)])
        wanted = PartitionRange("gone", 0, 0, 5)
    if address.startswith("127.0.0.1"):
        fields = MessageFields(BYTES, BYTES, "", None, None, None)
        with pytest.raises(StageError, match="Partition 0 of topic 'gone' cannot be read from"):
            list(read_range({"bootstrap.servers": address}, fields, wanted))
