"""The WebhookAlerts alert publisher."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPException
from itertools import islice
from typing import Final

from alert_publishers.texts import build_json, format_alert
from localcdap.api import Alert, AlertPublisher, StageConfigurer, field, plugin
from localcdap.plugin_lib.web_requests import WebServiceConfig

_LEAST: Final = 1


@plugin(name="WebhookAlerts", description="Sends alerts to a web service or a chat as JSON.")
class WebhookAlerts(AlertPublisher):
    """Sends ``{"alerts": [{"namespace", "pipeline", "run", "stageName", "payload"}, …]}`` by POST."""

    class Config(WebServiceConfig):
        text_field: str | None = field(
            "The only field of the JSON, with the alerts as plain text, one a line: 'text' for Slack and "
            "Mattermost, 'content' for Discord.",
            default=None,
            name="textField",
        )
        batch_size: int = field("The most alerts in one request.", default=100, name="batchSize")

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        config.check(stage, "connectTimeoutMillis", least_ms=0)
        if config.batch_size < _LEAST:
            stage.failures.add(
                f"Property 'batchSize' must be at least {_LEAST}, not {config.batch_size}."
            ).with_config_property("batchSize")

    def publish(self, alerts: Iterator[Alert]) -> None:
        while batch := list(islice(alerts, self.config.batch_size)):
            self._send(self._build_body(batch))

    def _build_body(self, batch: list[Alert]) -> bytes:
        field = self.config.text_field
        if field:
            return json.dumps({field: "\n".join(map(format_alert, batch))}).encode()
        return json.dumps({"alerts": [build_json(each, self.context) for each in batch]}).encode()

    def _send(self, body: bytes) -> None:
        config = self.config
        for attempt in range(config.retries + 1):
            try:
                config.post_json(body)
                return
            except (OSError, HTTPException, ValueError) as error:
                problem = f"'{config.url}' did not take the alerts: {error}."
                if attempt == config.retries:
                    raise self.context.fail(problem, "Check the URL and the service.") from None
                self.context.logger.warning("%s", problem)
