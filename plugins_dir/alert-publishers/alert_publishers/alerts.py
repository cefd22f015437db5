"""The alert publishers DesktopAlerts, FileAlerts and WebhookAlerts, and alerts as JSON and as text."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from http.client import HTTPException
from itertools import islice
from pathlib import Path
from typing import Any, Final

from localcdap.api import (
    Alert,
    AlertContext,
    AlertPublisher,
    PluginConfig,
    StageConfigurer,
    field,
    plugin,
)
from localcdap.plugin_lib.web_requests import WebServiceConfig


def build_json(alert: Alert, context: AlertContext) -> dict[str, Any]:
    """Return an alert with where it comes from, for JSON."""
    return {
        "namespace": context.namespace,
        "pipeline": context.pipeline,
        "run": context.run_id,
        "stageName": alert.stage_name,
        "payload": alert.payload,
    }


def format_alert(alert: Alert) -> str:
    """Return an alert as one line: ``stage: name=value, name=value``."""
    listed = ", ".join(f"{name}={value}" for name, value in alert.payload.items())
    return f"{alert.stage_name}: {listed}".replace("\n", " ")


_LEAST: Final = 1
_TIMEOUT_S: Final = 10.0
_APPLE_SCRIPT: Final = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)


@plugin(name="DesktopAlerts", description="Shows alerts as one notification on the desktop.")
class DesktopAlerts(AlertPublisher):
    """The notification is shown by ``notify-send`` (Linux) or ``osascript`` (macOS)."""

    class Config(PluginConfig):
        title: str | None = field(
            "The title; by default the name of the pipeline and the number of alerts.",
            default=None,
            macro=True,
        )
        lines: int = field("The most alerts that are shown.", default=5)

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        if self.config.lines < _LEAST:
            stage.failures.add(
                f"Property 'lines' must be at least {_LEAST}, not {self.config.lines}."
            ).with_config_property("lines")

    def publish(self, alerts: Iterator[Alert]) -> None:
        shown = [format_alert(alert) for alert in islice(alerts, self.config.lines)]
        more = sum(1 for _ in alerts)
        title = f"{self.context.pipeline}: {len(shown) + more:,} alerts"
        text = "\n".join([*shown, f"… and {more:,} more"] if more else shown)
        self._notify(self.config.title or title, text)

    def _notify(self, title: str, text: str) -> None:
        command = _find_command(title, text)
        if command is None:
            raise self.context.fail(
                "this machine has no program that shows notifications.",
                "Install notify-send (package libnotify), or use the publisher FileAlerts.",
            )
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=_TIMEOUT_S, text=True)
        except subprocess.CalledProcessError as error:
            reason = error.stderr.strip() or f"exit code {error.returncode}"
            raise self.context.fail(f"the notification was not shown: {reason}.") from None
        except (OSError, subprocess.TimeoutExpired) as error:
            raise self.context.fail(f"the notification was not shown: {error}.") from None


def _find_command(title: str, text: str) -> list[str] | None:
    """Return the command that shows a notification; None when there is no program for it."""
    linux = shutil.which("notify-send")
    if linux:
        return [linux, "--app-name=localcdap", "--", title, text]
    apple = shutil.which("osascript")
    if apple:
        script = [part for line in _APPLE_SCRIPT for part in ("-e", line)]
        return [apple, *script, "--", title, text]
    return None


@plugin(name="FileAlerts", description="Appends alerts to a file, each as a line of JSON.")
class FileAlerts(AlertPublisher):
    """The file is on this machine, also when the pipeline runs on a cluster."""

    class Config(PluginConfig):
        path: str = field(
            "The file, which is created when it does not exist. Each line has time, namespace, pipeline, "
            "run, stageName and payload.",
            macro=True,
            form="{path}",
        )

    config: Config

    def publish(self, alerts: Iterator[Alert]) -> None:
        path = Path(self.context.resolve_path(self.config.path))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                for alert in alerts:
                    now = {"time": datetime.now(UTC).isoformat(timespec="milliseconds")}
                    file.write(json.dumps(now | build_json(alert, self.context)) + "\n")
        except OSError as error:
            reason = error.strerror or error
            raise self.context.fail(
                f"alerts cannot be written to {path}: {reason}.", "Name another file."
            ) from None


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
