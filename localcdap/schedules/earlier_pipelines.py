"""The schedules of pipelines that were deployed with a localcdap that made none."""

from __future__ import annotations

import logging
import threading
from typing import Final

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.schedules.listener import DeploymentObserver
from localcdap.store.store import Store, Transaction

_LOG: Final = logging.getLogger(__name__)
_AT_ONCE: Final = 20
"""The pipelines of one transaction, which takes a third of a second; other writers wait so long."""


class EarlierPipelines:
    """Makes the schedules that the documents of these pipelines ask for, suspended as those of a deployment.

    It takes place once for each pipeline: a schedule that is deleted afterwards stays deleted. What a host
    has not made when it ends, the next one makes.
    """

    def __init__(self, store: Store, observer: DeploymentObserver) -> None:
        self._store = store
        self._observer = observer
        self._ends = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin in the background, if there is anything to make: thousands of schedules take a minute."""
        if self._store.read("SELECT 1 FROM unscheduled_pipelines LIMIT 1"):
            self._thread = threading.Thread(target=self._run, name="earlier-pipelines", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End after the current transaction."""
        self._ends.set()
        if self._thread is not None:
            self._thread.join()

    def make_some(self) -> bool:
        """Make the schedules of some pipelines; return whether there were any left."""
        with self._store.transaction() as tx:
            found = tx.execute(
                "SELECT namespace, name FROM unscheduled_pipelines ORDER BY ALL LIMIT ?",
                (_AT_ONCE,),
            )
            for namespace, name in found:
                self._make(tx, namespace, name)
                tx.execute(
                    "DELETE FROM unscheduled_pipelines WHERE namespace = ? AND name = ?",
                    (namespace, name),
                )
        return bool(found)

    def _run(self) -> None:
        try:
            while self.make_some() and not self._ends.is_set():
                pass
        except Exception:
            _LOG.exception(
                "Schedules of earlier pipelines were not made; the next host tries again."
            )

    def _make(self, tx: Transaction, namespace: str, name: str) -> None:
        try:
            self._observer.follow_document(tx, namespace, name)
        except NotFoundError:  # it is not there any more
            return
        except BadRequestError as error:
            _LOG.warning(
                "The 'schedule' of pipeline '%s' in namespace '%s' cannot be used: %s",
                name,
                namespace,
                error.message,
            )
