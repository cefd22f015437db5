"""The secure keys of a run: asked for at the host, kept in memory, and taken out of what the run tells."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec

from localcdap.engine.driver.hosts import reach_host
from localcdap.engine.messages import Failed, LogLine, LogLines
from localcdap.engine.order import WorkOrder
from localcdap.messaging.spool import SpoolWriter
from localcdap.pipeline.macros.secrets import Secrets

SERVICE: Final = "secure-keys"
"""Name under which the host serves :class:`SecureKeys`."""
CONNECTIONS: Final = "connections"
"""Name under which the host serves :class:`Connections`."""


class SecureKeys:
    """The host's side, as the run process calls it."""

    def get(self, namespace: str, name: str) -> str:
        """:raises NotFoundError: when there is no such key."""
        raise NotImplementedError


class Connections:
    """The host's side, as the run process calls it."""

    def properties(self, namespace: str, name: str) -> dict[str, str]:
        """:raises NotFoundError: when there is no such connection."""
        raise NotImplementedError


def secrets_of(order: WorkOrder) -> Secrets:
    """The secure keys that a run uses: the same object whoever asks in its process."""
    return _secrets(order.run_id, order.namespace, order.host_directory)


@lru_cache(maxsize=8)
def _secrets(_run_id: str, namespace: str, home: str | None) -> Secrets:
    if home is None:
        return Secrets(None)

    def get(key: str) -> str:
        with reach_host(Path(home)) as client:
            return client.service(SERVICE, SecureKeys).get(namespace, key)

    def properties(name: str) -> dict[str, str]:
        with reach_host(Path(home)) as client:
            return client.service(CONNECTIONS, Connections).properties(namespace, name)

    return Secrets(get, properties)


class DiscreetSpool(SpoolWriter):
    """A spool to which no value of a secure key is written."""

    def __init__(self, path: Path, secrets: Secrets) -> None:
        super().__init__(path)
        self._secrets: Final = secrets

    def append(self, *messages: msgspec.Struct, durable: bool = False) -> None:
        hidden = [
            self._secrets.without([message])[0]
            if isinstance(message, LogLine | LogLines | Failed)
            else message
            for message in messages
        ]
        super().append(*hidden, durable=durable)
