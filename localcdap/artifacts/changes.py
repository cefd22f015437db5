"""Changes of artifacts: comparing two catalogs, and publishing the changes as system events."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import msgspec

from localcdap.api.app.events import (
    ArtifactChange,
    ArtifactsChanged,
    EntityCreated,
    EntityDeleted,
    EntityEvent,
    EntityUpdated,
)
from localcdap.api.failures import ArtifactId
from localcdap.api.metadata import MetadataEntity
from localcdap.artifacts.catalog import Catalog
from localcdap.artifacts.model import ArtifactDetail, SyncReport
from localcdap.messaging.topics import Topics
from localcdap.store.store import Transaction

_MOST: Final = 500
"""The most changes in one event."""
_LONGEST_ERROR: Final = 2000
"""The most characters of an error in an event; the list of artifacts has the whole error."""


_ENTITY_EVENTS: Final[dict[str, type[EntityEvent]]] = {
    "added": EntityCreated,
    "updated": EntityUpdated,
    "removed": EntityDeleted,
}


def compare_catalogs(before: Catalog, after: Catalog) -> list[ArtifactChange]:
    """Return the changes of artifacts between two states."""
    old, new = _find_in_use(before), _find_in_use(after)
    known_errors = {(d.path, d.error) for d in before.details}
    return [
        *(_to_change("added", detail) for key, detail in new.items() if key not in old),
        *(
            _to_change("updated", detail)
            for key, detail in new.items()
            if key in old and old[key].digest != detail.digest
        ),
        *(_to_change("removed", detail) for key, detail in old.items() if key not in new),
        *(
            _to_change("failed", detail, detail.error)
            for detail in after.details
            if detail.error and (detail.path, detail.error) not in known_errors
        ),
    ]


def _find_in_use(catalog: Catalog) -> dict[tuple[str, ArtifactId], ArtifactDetail]:
    return {(d.namespace, d.id): d for d in catalog.details if d.digest}


def _to_change(change: str, detail: ArtifactDetail, error: str | None = None) -> ArtifactChange:
    return ArtifactChange(
        change, detail.name, detail.version, detail.scope, detail.namespace, detail.path, error
    )


def _get_entity(change: ArtifactChange) -> MetadataEntity:
    return MetadataEntity.of_artifact(change.name, change.version, change.namespace)


def make_change_publisher(topics: Topics) -> Callable[[Transaction, SyncReport], None]:
    """Return a function that publishes a report as system events, in the transaction of the changes."""

    def announce(tx: Transaction, report: SyncReport) -> None:
        now = time.time_ns() // 1_000_000
        changes = [
            msgspec.structs.replace(change, error=change.error and change.error[:_LONGEST_ERROR])
            for change in report.changes
        ]
        for start in range(0, len(changes), _MOST):
            topics.publish_event(tx, ArtifactsChanged(changes[start : start + _MOST], now))
        events = (
            (_ENTITY_EVENTS[each.change], _get_entity(each))
            for each in changes
            if each.change in _ENTITY_EVENTS
        )
        topics.publish_entity_events(tx, events)

    return announce
