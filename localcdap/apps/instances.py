"""How many processes answer the calls of each service: what was asked for, kept in the database."""

from __future__ import annotations

import threading
from typing import Final

from localcdap.api.errors import BadRequestError
from localcdap.store.store import Store

MOST: Final = 32
"""The most processes of one service."""
_UPSERT: Final = (
    "INSERT INTO service_instances VALUES (?, ?, ?) "
    "ON CONFLICT (application, service) DO UPDATE SET instances = excluded.instances"
)


class RequestedInstances:
    """The requested numbers of processes. Threads may share it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._changing = threading.Lock()
        rows = store.read("SELECT application, service, instances FROM service_instances")
        self._numbers: dict[tuple[str, str], int] = {(app, name): n for app, name, n in rows}

    def get(self, application: str, service: str) -> int:
        """Return how many processes a service shall have; 1 unless somebody has said otherwise."""
        return self._numbers.get((application, service), 1)

    def set(self, application: str, service: str, instances: int) -> None:
        """Change how many processes a service shall have.

        :raises BadRequestError: when the number is below 1 or above 32.
        """
        if not 1 <= instances <= MOST:
            raise BadRequestError(
                f"A service has from 1 to {MOST} instances, not {instances}.",
                "Choose another number.",
            )
        with self._changing:
            with self._store.transaction() as tx:
                tx.execute(_UPSERT, (application, service, instances))
            self._numbers[application, service] = instances
