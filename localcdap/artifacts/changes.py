"""Telling everybody who has the instance open what became of its artifacts."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import msgspec

from localcdap.api.app.events import ArtifactsChanged
from localcdap.artifacts.model import SyncReport
from localcdap.messaging.topics import Topics
from localcdap.store.store import Transaction

_MOST: Final = 500
"""Changes in one event."""
_LONGEST_ERROR: Final = 2000
"""Characters; the whole error stands in the list of artifacts."""


def make_change_publisher(topics: Topics) -> Callable[[Transaction, SyncReport], None]:
    """Return what publishes a report as system events, in the transaction of the changes."""

    def announce(tx: Transaction, report: SyncReport) -> None:
        now = time.time_ns() // 1_000_000
        changes = [
            msgspec.structs.replace(change, error=change.error and change.error[:_LONGEST_ERROR])
            for change in report.changes
        ]
        for start in range(0, len(changes), _MOST):
            topics.publish_event(tx, ArtifactsChanged(changes[start : start + _MOST], now))

    return announce
