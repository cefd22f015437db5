"""A thread that checks open transactions: it ends those that are over time and renews leases."""

from __future__ import annotations

import logging
import threading
import time
from typing import Final, Protocol

_LOG: Final = logging.getLogger(__name__)
_TICK_S: Final = 0.05
"""Seconds between two checks."""
_LINGER_S: Final = 1.0
"""Seconds without transactions after which the thread sleeps until it is woken, which costs a short
transaction more than the rest of its registration."""


class MonitoredTransaction(Protocol):
    """A transaction that must be checked from time to time."""

    def check(self, now: float) -> None:
        """End the transaction or renew its lease, if that is due.

        :param now: the value of :func:`time.monotonic`.
        """
        ...


class TransactionMonitor:
    """Checks any number of transactions in one thread, which sleeps while there are none."""

    def __init__(self) -> None:
        self._watched: set[MonitoredTransaction] = set()
        self._changed = threading.Condition()
        self._is_asleep = False
        self._closed = False
        self._thread: threading.Thread | None = None

    def add(self, watched: MonitoredTransaction) -> None:
        """Check a transaction until it is discarded."""
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._check_transactions, name="watch", daemon=True
                )
                self._thread.start()
            self._watched.add(watched)
            if self._is_asleep:
                self._changed.notify()

    def discard(self, watched: MonitoredTransaction) -> None:
        """Stop checking a transaction."""
        with self._changed:
            self._watched.discard(watched)

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _check_transactions(self) -> None:
        last = time.monotonic()
        while True:
            with self._changed:
                if not self._watched and time.monotonic() - last > _LINGER_S:
                    self._is_asleep = True
                    self._changed.wait_for(lambda: self._closed or self._watched)
                    self._is_asleep = False
                if self._closed:
                    return
                watched = list(self._watched)
            now = time.monotonic()
            if watched:
                last = now
            for each in watched:
                try:
                    each.check(now)
                except Exception:
                    _LOG.exception("an open transaction could not be checked")
            time.sleep(_TICK_S)
