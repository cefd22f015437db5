"""The service ``openlineage``: the destinations of events, and the events of what happened before."""

from __future__ import annotations

import logging
from typing import Final

import msgspec

from localcdap.api.app.events import (
    EntityCreated,
    EntityUpdated,
    RunStatusChanged,
    SystemEventListener,
)
from localcdap.api.errors import BadRequestError
from localcdap.api.metadata import APPLICATION
from localcdap.api.security import Permission
from localcdap.namespaces.service import NamespaceService
from localcdap.openlineage.builder import EventBuilder
from localcdap.openlineage.delivery import Deliveries, DestinationStatus
from localcdap.openlineage.destinations import add_events
from localcdap.openlineage.model import Event, encode_event
from localcdap.pipeline.library import application_records
from localcdap.runs.records import RunRecords
from localcdap.security.access import OF_INSTANCE, of_namespace, requires
from localcdap.store.store import Store, Transaction

LONGEST_PAGE: Final = 500
"""The most runs of a page."""


class EventPage(msgspec.Struct):
    """The events of some runs."""

    events: list[str]
    """JSON texts, in the order of the runs."""
    last: str | None
    """The id of the last run of the page; None when there are no more runs."""


class OpenLineageService:
    """Tells where events go, and builds those of the past. Threads may share it."""

    def __init__(
        self,
        store: Store,
        records: RunRecords,
        namespaces: NamespaceService,
        builder: EventBuilder,
        deliveries: Deliveries,
    ) -> None:
        self._store = store
        self._records = records
        self._namespaces = namespaces
        self._builder = builder
        self._deliveries = deliveries

    @requires(OF_INSTANCE)
    def list_destinations(self) -> list[DestinationStatus]:
        """Return where events go, with the progress of each destination; none when it is switched off."""
        return self._deliveries.list_statuses()

    @requires(of_namespace(), Permission.READ)
    def list_job_events(self, namespace: str) -> list[str]:
        """Return an event for each deployed pipeline of a namespace, in its latest version.

        :raises NotFoundError: when there is no such namespace.
        """
        self._namespaces.require(namespace)
        with self._store.snapshot() as tx:
            return [
                encode_event(self._builder.build_job_event(tx, each))
                for each in application_records.list_latest(tx, namespace)
            ]

    @requires(of_namespace(), Permission.READ)
    def list_run_events(
        self, namespace: str, after: str | None = None, limit: int = 100
    ) -> EventPage:
        """Return the events of the runs of a namespace, oldest first.

        Column lineage and tags are those of now.

        :param after: the last run of the page before; None for the first page.
        :raises BadRequestError: when the limit is not from 1 to :data:`LONGEST_PAGE`.
        :raises NotFoundError: when there is no such namespace.
        """
        if not 0 < limit <= LONGEST_PAGE:
            raise BadRequestError(f"Ask for 1 to {LONGEST_PAGE} runs.")
        self._namespaces.require(namespace)
        with self._store.snapshot() as tx:
            runs = self._records.list_oldest(tx, namespace, after, limit)
            events = [
                encode_event(event)
                for run in runs
                for event in self._builder.build_run_events(tx, run)
            ]
        return EventPage(events, runs[-1].run if len(runs) == limit else None)


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
