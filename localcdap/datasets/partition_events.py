"""Events about new partitions of datasets, which schedules wait for."""

from __future__ import annotations

import time
from collections.abc import Callable

from localcdap.api.app.events import PartitionsAdded
from localcdap.store.store import Transaction

PublishPartitions = Callable[[Transaction, PartitionsAdded], None]
"""Publishes an event as part of a transaction."""


def create_event(namespace: str, dataset: str, count: int) -> PartitionsAdded:
    """Return the event of new partitions of a dataset."""
    return PartitionsAdded(namespace, dataset, count, time.time_ns() // 1_000_000)


def ignore_partitions(_tx: Transaction, _event: PartitionsAdded) -> None:
    """Publish nothing: for datasets without a messaging system."""
