"""The metadata that system applications read and emit, as localcdap itself."""

from __future__ import annotations

import time
from typing import Final

from localcdap.api.app.events import SYSTEM_NAMESPACE, MetadataEmitted
from localcdap.api.metadata import MetadataEntity, MetadataOperation, ScopedMetadata
from localcdap.messaging.topics import Topics
from localcdap.metadata.service import MetadataService
from localcdap.store.store import Store

_SERVICE: Final = "Service"


class AppMetadata:
    """Reads metadata, and publishes what applications emit. Threads may share it.

    What is emitted passes through the topic of all programs, so that it keeps its place among the operations
    on an entity.
    """

    def __init__(self, store: Store, topics: Topics, metadata: MetadataService) -> None:
        self._store = store
        self._topics = topics
        self._metadata = metadata

    def read(self, entity: MetadataEntity) -> ScopedMetadata:
        """Return the metadata of an entity; empty when it has none.

        :raises NotFoundError: when there is no such entity.
        """
        return self._metadata.get(entity)

    def emit(self, app: str, operation: MetadataOperation) -> None:
        """Publish an operation of an application."""
        program = MetadataEntity.of_program(app, _SERVICE, app, SYSTEM_NAMESPACE)
        now = time.time_ns() // 1_000_000
        with self._store.transaction() as tx:
            self._topics.publish_event(tx, MetadataEmitted(program, app, operation, now, ""))
