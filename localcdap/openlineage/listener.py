"""The listener that turns system events into events of OpenLineage: exactly once, and in their order."""

from __future__ import annotations

import logging
from typing import Final

from localcdap.api.app.events import (
    EntityCreated,
    EntityUpdated,
    RunStatusChanged,
    SystemEventListener,
)
from localcdap.api.metadata import APPLICATION
from localcdap.openlineage.builder import EventBuilder
from localcdap.openlineage.delivery import Deliveries
from localcdap.openlineage.destinations import add_events
from localcdap.openlineage.model import Event, encode_event
from localcdap.pipeline.library import application_records
from localcdap.store.store import Transaction

_LOG: Final = logging.getLogger(__name__)
Handled = RunStatusChanged | EntityCreated | EntityUpdated


class OpenLineageListener(SystemEventListener[Transaction]):
    """Adds an event for each run that starts or ends, and for each version of a pipeline that is deployed.

    :param most: the events that may wait for a destination.
    """

    name = "openlineage"
    events = (RunStatusChanged, EntityCreated, EntityUpdated)
    entity_types = (APPLICATION,)

    def __init__(self, builder: EventBuilder, deliveries: Deliveries, most: int) -> None:
        self._builder = builder
        self._deliveries = deliveries
        self._most = most

    def on_event(self, event: Handled, tx: Transaction) -> None:
        """Add the events of OpenLineage for a system event."""
        found = self._build(event, tx)
        if not found:
            return
        dropped = add_events(tx, [encode_event(each) for each in found], self._most)
        if dropped:
            _LOG.warning(
                "The oldest %d events of OpenLineage were dropped: openlineage.keep_events is %d.",
                dropped,
                self._most,
            )
        tx.on_commit(self._deliveries.wake)

    def _build(self, event: Handled, tx: Transaction) -> list[Event]:
        if isinstance(event, RunStatusChanged):
            return [*self._builder.build_status_events(tx, event)]
        namespace, name = event.entity.namespace or "", event.entity.name
        versions = application_records.list_versions(tx, namespace, name)
        deployed = [each for each in versions if each.change.creation_time_millis <= event.time]
        # Without a version the pipeline was deleted meanwhile.
        return [self._builder.build_job_event(tx, each) for each in deployed[:1]]
