"""The FileAlerts alert publisher."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from alert_publishers.texts import build_json
from localcdap.api import Alert, AlertPublisher, PluginConfig, field, plugin


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
