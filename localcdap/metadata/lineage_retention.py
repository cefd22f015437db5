"""Removes lineage that the setting ``lineage.retention.days`` does not keep: by default, none."""

from __future__ import annotations

import threading
import time
from typing import Final

from localcdap.metadata.lineage.store import LineageStore
from localcdap.store.store import Transaction

_DAY_MS: Final = 86_400_000
_EVERY_MS: Final = 3_600_000
"""The time between two removals, so that few runs wait for one."""


class LineageRetention:
    """Removes the lineage of old runs: what they accessed, and their operations on fields.

    The edges between columns stay: each application has only those of its present version. Threads may
    share it.

    :param days: for which the lineage of a run is kept, from the time in its id; 0: for ever.
    """

    def __init__(self, lineage: LineageStore, days: float = 0.0) -> None:
        self._lineage = lineage
        self._days = days
        self._lock = threading.Lock()
        self._next = 0

    def apply(self, tx: Transaction) -> bool:
        """Remove what is too old in a transaction, at most once an hour; return whether it looked."""
        now = time.time_ns() // 1_000_000
        with self._lock:
            if not self._days or now < self._next:
                return False
            self._next = now + _EVERY_MS
        self._lineage.remove_before(tx, now - int(self._days * _DAY_MS))
        return True
