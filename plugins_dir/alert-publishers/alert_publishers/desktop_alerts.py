"""The DesktopAlerts alert publisher."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from itertools import islice
from typing import Final

from alert_publishers.texts import format_alert
from localcdap.api import Alert, AlertPublisher, PluginConfig, StageConfigurer, field, plugin

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
