"""GooglePublisher: messages on topics of the instance."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import fastavro
import pytest
from google_cloud.pubsub.publisher import GooglePublisher, MessageMaker

from localcdap.api import Schema
from localcdap.api.arrow import RecordCodec
from localcdap.testing import StageTester
from localcdap.testing.instance import TemporaryInstance

PEOPLE = Schema.record("people", [("id", Schema.INT), ("name", Schema.STRING.as_nullable)])
RECORDS: list[dict[str, Any]] = [{"id": 1, "name": "ada"}, {"id": 2, "name": None}]


def make(format: str, delimiter: str | None = None) -> list[str]:
    batches = MessageMaker(PEOPLE, format, delimiter)(iter([RecordCodec(PEOPLE).encode(RECORDS)]))
    return [row for batch in batches for row in batch.column(0).to_pylist()]


def test_messages_have_the_formats_of_the_original():
    assert make("text") == make("json") == ['{"id":1,"name":"ada"}', '{"id":2,"name":null}']
    assert make("csv") == ["1,ada", "2,"]
    assert make("delimited", "|") == ["1|ada", "2|"]
    decoded = [
        fastavro.schemaless_reader(
            io.BytesIO(base64.b64decode(each)), fastavro.parse_schema(PEOPLE.to_json())
        )
        for each in make("avro")
    ]
    assert decoded == RECORDS


def test_properties_are_checked():
    wrong = {
        "topic": "t",
        "format": "delimited",
        "messageCountBatchSize": "0",
        "errorThreshold": "-1",
    }
    assert StageTester(GooglePublisher, wrong, PEOPLE).problems == [
        "messageCountBatchSize: Invalid maximum count of messages in a batch.",
        "errorThreshold: Invalid error threshold for publishing.",
        "delimiter: Delimiter is required when format is set to delimited.",
    ]
    assert StageTester(GooglePublisher, {"topic": "t"}, PEOPLE).problems == []


@pytest.mark.spark
def test_records_become_messages_of_a_topic(tmp_path, cdap_engine_directory):
    with TemporaryInstance(tmp_path) as instance:
        (instance.home.path / "in.csv").write_text("1,ada\n2,\n3,eve\n")
        source = {"referenceName": "i", "path": "in.csv", "format": "csv", "schema": str(PEOPLE)}
        sink = {"topic": "people", "referenceName": "o", "messageCountBatchSize": "2"}
        stages = [
            {"name": "in", "plugin": {"type": "batchsource", "name": "File", "properties": source}},
            {
                "name": "out",
                "plugin": {"type": "batchsink", "name": "GooglePublisher", "properties": sink},
            },
        ]
        config = {"stages": stages, "connections": [{"from": "in", "to": "out"}]}
        artifact = {"name": "cdap-data-pipeline", "version": "6.10.0", "scope": "SYSTEM"}
        document = {"name": "p", "artifact": artifact, "config": config}

        run = instance.run(document)

        assert run.error is None
        assert run.stages["out"].records_in == 3
        found = instance.cdap.messaging.fetch("default", ["people"], 0, 10, 0.0)
        assert sorted(json.loads(each.payload)["id"] for each in found) == [1, 2, 3]

        sink["topic"] = "not a topic"
        failed = instance.run(document)
        assert failed.error is not None
        assert failed.error.stage == "out"
