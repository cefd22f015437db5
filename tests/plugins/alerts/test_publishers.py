"""Each alert publisher alone: wrong properties, what it publishes, and what it says when it cannot."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from alert_publishers.alerts import DesktopAlerts, FileAlerts, WebhookAlerts
from core_plugins.topic_alerts import TopicAlerts
from kafka_plugins.kafka_alerts import KafkaAlerts

from localcdap.api.control import limit_rate
from localcdap.api.errors import StageError
from localcdap.testing import StageTester
from tests.plugins.kafka.broker import consume, run_broker

ALERTS: list[dict[str, str | None]] = [{"name": "ada", "age": "3"}, {"name": "b\nob", "age": None}]
AS_JSON = [{"stageName": "alarm", "payload": payload} for payload in ALERTS]


class TestTopics:
    def test_wrong_properties(self):
        both = {"topic": "t", "namespace": "other", "autoCreateTopic": "true"}
        assert StageTester(TopicAlerts, both | {"maxAlertsPerSecond": "0"}).problems == [
            "namespace: Cannot auto-create topic when namespace is set.",
            "maxAlertsPerSecond: Invalid maxAlertsPerSecond 0. Must be at least 1.",
        ]
        assert StageTester(TopicAlerts, both | {"namespace": "${where}"}).problems == []

    def test_messages_are_published_and_a_topic_is_made_only_when_asked_for(self):
        topics: dict[str, list[Any]] = {"there": [], "other:far": []}
        StageTester(TopicAlerts, {"topic": "there"}).publish(ALERTS, topics=topics)
        StageTester(TopicAlerts, {"topic": "new", "autoCreateTopic": "true"}).publish(
            ALERTS, topics=topics
        )
        StageTester(TopicAlerts, {"topic": "far", "namespace": "other"}).publish(
            ALERTS[:1], topics=topics
        )
        assert topics == {"there": AS_JSON, "other:far": AS_JSON[:1], "new": AS_JSON}
        with pytest.raises(StageError, match="no topic 'gone'"):
            StageTester(TopicAlerts, {"topic": "gone"}).publish(ALERTS, topics=topics)

    def test_the_rate_is_kept(self, caplog: pytest.LogCaptureFixture):
        time, slept = [0.0], []

        def sleep(seconds: float) -> None:
            slept.append(seconds)
            time[0] += seconds

        caplog.set_level(logging.INFO)
        items: Iterator[int] = iter(range(5))
        logger = logging.getLogger("rate")
        taken = []
        for item in limit_rate(items, 2, logger, now=lambda: time[0], sleep=sleep):
            taken.append((item, time[0]))
            time[0] += 0.25
        assert [item for item, _ in taken] == [0, 1, 2, 3, 4]
        assert [at for _, at in taken] == [0.0, 0.25, 1.0, 1.25, 2.0]
        assert slept == [0.5, 0.5]
        assert caplog.messages[0].endswith(
            "2 published alerts in the past second, sleeping for 500 millis."
        )


class TestFiles:
    def test_lines_are_appended(self, tmp_path: Path):
        stage = StageTester(FileAlerts, {"path": "logs/alerts.jsonl"}, directory=tmp_path)
        stage.publish(ALERTS)
        stage.publish(ALERTS[:1])
        lines = (tmp_path / "logs" / "alerts.jsonl").read_text(encoding="utf-8").splitlines()
        assert [json.loads(line)["payload"] for line in lines] == [*ALERTS, ALERTS[0]]
        first = json.loads(lines[0])
        assert (first["pipeline"], first["stageName"]) == ("test", "alarm")

    def test_a_folder_is_no_file(self, tmp_path: Path):
        with pytest.raises(StageError, match="cannot be written"):
            StageTester(FileAlerts, {"path": "."}, directory=tmp_path).publish(ALERTS)


class _Service(BaseHTTPRequestHandler):
    """Keeps what it gets; takes nothing at ``/full``, and breaks off the first call of ``/shaky``."""

    received: list[tuple[str, Any]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).received.append((self.path, json.loads(body)))
        if self.path == "/shaky" and len(self.received) == 1:
            self.close_connection = True
            return
        self.send_response(503 if self.path == "/full" else 200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[str]:
    _Service.received = []
    with ThreadingHTTPServer(("127.0.0.1", 0), _Service) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class TestWebhook:
    def test_alerts_arrive_in_batches_or_as_text(self, service: str):
        StageTester(WebhookAlerts, {"url": f"{service}/a", "batchSize": "1"}).publish(ALERTS)
        StageTester(WebhookAlerts, {"url": f"{service}/b", "textField": "text"}).publish(ALERTS)
        first, second, third = _Service.received
        assert [each["payload"] for each in (first[1]["alerts"] + second[1]["alerts"])] == ALERTS
        assert third == (
            "/b",
            {"text": "alarm: name=ada, age=3\nalarm: name=b ob, age=None"},
        )

    def test_a_service_that_fails(self, service: str):
        StageTester(WebhookAlerts, {"url": f"{service}/shaky", "numRetries": "1"}).publish(ALERTS)
        assert len(_Service.received) == 2
        with pytest.raises(StageError, match="503"):
            StageTester(WebhookAlerts, {"url": f"{service}/full"}).publish(ALERTS)
        wrong = {"url": "ftp://x", "batchSize": "0"}
        assert len(StageTester(WebhookAlerts, wrong).problems) == 2


class TestDesktop:
    def test_one_notification_is_shown(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        program, shown = tmp_path / "notify-send", tmp_path / "shown"
        program.write_text(f'#!/bin/sh\nprintf "%s|" "$@" >> "{shown}"\n', encoding="utf-8")
        program.chmod(0o700)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        StageTester(DesktopAlerts, {"lines": "1"}).publish(ALERTS)
        assert shown.read_text(encoding="utf-8") == (
            "--app-name=localcdap|--|test: 2 alerts|alarm: name=ada, age=3\n… and 1 more|"
        )
        program.write_text("#!/bin/sh\necho no display >&2\nexit 1\n", encoding="utf-8")
        with pytest.raises(StageError, match="not shown: no display"):
            StageTester(DesktopAlerts, {}).publish(ALERTS)

    def test_a_machine_without_a_desktop(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(StageError, match="no program that shows notifications"):
            StageTester(DesktopAlerts, {}).publish(ALERTS)
        assert StageTester(DesktopAlerts, {"lines": "0"}).problems == [
            "lines: Property 'lines' must be at least 1, not 0."
        ]


class TestKafka:
    def test_wrong_properties(self):
        wrong = {"brokers": "a:1", "topic": "a b", "principal": "me"}
        assert StageTester(KafkaAlerts, wrong).problems == [
            (
                "topic: Topic name a b is not a valid kafka topic. Please provide valid kafka topic name. "
                "Topic name \"a b\" is illegal, it contains a character other than ASCII alphanumerics, '.', "
                "'_' and '-'"
            ),
            "keytabLocation: Field keytab must be specified.",
        ]
        assert StageTester(KafkaAlerts, wrong | {"topic": "${t}"}).problems == []
        with pytest.raises(StageError, match="properties of the producer are wrong"):
            StageTester(
                KafkaAlerts, {"brokers": "a:1", "topic": "t", "producerProperties": "acks:many"}
            ).publish(ALERTS)

    def test_messages_arrive_and_are_missed(self):
        with run_broker() as address:
            properties = {"brokers": address, "topic": "alarms", "producerProperties": "acks:1"}
            StageTester(KafkaAlerts, properties).publish(ALERTS)
            found = consume(address, "alarms", 2)
        values = [json.loads(message.value() or b"") for message in found]
        assert sorted(values, key=str) == sorted(AS_JSON, key=str)
        assert {message.key() for message in found} == {None}
        gone = properties | {"producerProperties": "message.timeout.ms:300"}
        with pytest.raises(StageError, match="2 alerts did not reach topic 'alarms'"):
            StageTester(KafkaAlerts, gone).publish(ALERTS)
