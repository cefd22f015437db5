"""Alerts as JSON and as text."""

from __future__ import annotations

from typing import Any

from localcdap.api import Alert, AlertContext


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
