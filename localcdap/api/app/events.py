"""System events and their listeners.

Each event is published on the topic ``topic`` of the namespace ``system``, in the transaction of the change.
Its JSON has ``kind`` and camelCase keys::

    {"kind": "entityDeleted", "entity": {"type": "namespace", "details": {"namespace": "n"}}, "time": 1}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Generic, TypeVar

import msgspec

from localcdap.api.failures import ArtifactId
from localcdap.api.metadata import MetadataEntity, MetadataOperation
from localcdap.moved import build_getattr

SYSTEM_NAMESPACE: Final = "system"
Tx = TypeVar("Tx")


class _Event(msgspec.Struct, tag_field="kind", rename="camel", frozen=True):
    """What all events have in common."""


class _EntityEvent(_Event, frozen=True):
    """An entity was created, changed or deleted."""

    topic: ClassVar[str] = "entities"
    entity: MetadataEntity
    time: int
    """Milliseconds since 1970."""
    generation: int | None = None
    """The generation of a namespace, which differs from that of other namespaces of the same name. After its
    deletion, rows of this and earlier generations are obsolete."""
    user: str | None = None
    """The user who did it; None when localcdap itself did."""


class EntityCreated(_EntityEvent, tag="entityCreated", frozen=True):
    """An entity was created."""


class EntityUpdated(_EntityEvent, tag="entityUpdated", frozen=True):
    """An entity was changed, such as a pipeline that was deployed again."""


class EntityDeleted(_EntityEvent, tag="entityDeleted", frozen=True):
    """An entity was deleted with its contents. Deleting a namespace is one event, without its contents."""


class RunStageCounts(msgspec.Struct, rename="camel", frozen=True):
    """The numbers of records of one stage. None: not counted."""

    records_in: int | None = None
    records_out: int | None = None
    errors: int | None = None


class RunStatusChanged(_Event, tag="runStatusChanged", frozen=True):
    """The status of a run changed."""

    topic: ClassVar[str] = "runs"
    namespace: str
    pipeline: str
    run: str
    status: str
    """The status in CDAP 6 ``ProgramRunStatus``: ``PENDING``, ``STARTING``, ``RUNNING``, …"""
    time: int
    """Milliseconds since 1970."""
    application_version: str | None = None
    """The version of the deployed application; None for a run of a file."""
    program: str | None = None
    """The program, such as ``DataPipelineWorkflow``; None in events of earlier versions, as all below."""
    program_type: str | None = None
    """The type of the program, such as ``Workflow``."""
    artifact: ArtifactId | None = None
    """The artifact of the application."""
    user: str | None = None
    """The user who started the run; None when localcdap itself did."""
    start_method: str | None = None
    """``MANUAL``, ``SCHEDULED`` or ``TRIGGERED`` (CDAP 6 ``ProgramStartMethod``)."""
    arguments: dict[str, str] | None = None
    """The runtime arguments, until the run is RUNNING; those whose names suggest a secret are hidden."""
    counts: dict[str, RunStageCounts] | None = None
    """The numbers of records by stage, when the run has ended."""
    records_out: int | None = None
    """The number of records that sinks have taken, when the run has ended; None: not counted."""
    log_warnings: int | None = None
    """The number of warnings in the log, when the run has ended."""
    log_errors: int | None = None
    """The number of errors in the log, when the run has ended."""


class PartitionsAdded(_Event, tag="partitionsAdded", frozen=True):
    """A dataset has got partitions: from a run, or from a transaction of a program."""

    topic: ClassVar[str] = "partitions"
    namespace: str
    dataset: str
    partitions: int
    """Their number."""
    time: int
    """Milliseconds since 1970."""


class JobEnded(_Event, tag="jobEnded", frozen=True):
    """A job of a system application has ended."""

    topic: ClassVar[str] = "jobs"
    application: str
    job: str
    id: str
    namespace: str
    generation: int
    """That of the namespace."""
    status: str
    """``COMPLETED``, ``FAILED`` or ``KILLED``."""
    time: int
    """Milliseconds since 1970."""
    arguments: dict[str, Any] = {}
    """Those with which it was submitted."""
    error: str | None = None
    """Why it FAILED."""


class ArtifactChange(msgspec.Struct, frozen=True):
    """The change of an artifact."""

    change: str
    """``added``, ``updated`` (same name and version, other content), ``removed``, or ``failed``: it has a
    new error, and its last good content stays in use."""
    name: str
    version: str
    """Empty when a failed artifact does not declare it."""
    scope: str
    """``SYSTEM`` or ``USER``."""
    namespace: str
    path: str
    """The path in the plugin directory."""
    error: str | None = None
    """The error of a failed artifact."""


class ArtifactsChanged(_Event, tag="artifactsChanged", frozen=True):
    """The plugin index changed."""

    topic: ClassVar[str] = "artifacts"
    changes: list[ArtifactChange]
    time: int


class MetadataEmitted(_Event, tag="metadataEmitted", frozen=True):
    """A program emitted metadata, which takes effect when localcdap has handled this event."""

    topic: ClassVar[str] = "metadata"
    run: MetadataEntity
    """The run of the program; of a system application, the program itself."""
    stage: str
    """The stage of the pipeline; the name of a system application."""
    operation: MetadataOperation
    time: int
    """Milliseconds since 1970."""
    user: str
    """The user of the run; empty for localcdap itself and system applications."""


EntityEvent = EntityCreated | EntityUpdated | EntityDeleted
SystemEvent = (
    EntityEvent | RunStatusChanged | PartitionsAdded | JobEnded | ArtifactsChanged | MetadataEmitted
)
AUDIT_TOPIC: Final = "audit"
"""The topic of the audit log."""
TOPICS: Final = (
    EntityCreated.topic,
    RunStatusChanged.topic,
    PartitionsAdded.topic,
    JobEnded.topic,
    ArtifactsChanged.topic,
    MetadataEmitted.topic,
    AUDIT_TOPIC,
)
"""The topics of system events and of the audit log. Only localcdap publishes on them; they cannot be
deleted."""


class SystemEventListener(Generic[Tx]):
    """Base class of listeners, which handle each system event exactly once and in order.

    The offset of a listener is stored under its ``name``, in the transaction of its effect: after a crash the
    listener continues where it was. Events that happen while no process has the instance open are delivered
    later. When :meth:`on_event` raises, its transaction is rolled back, and it is called again with the
    same event after growing pauses, until it succeeds or a user skips the event. Other listeners continue,
    and ``localcdap doctor`` shows the error.
    """

    name: ClassVar[str]
    """The name of the listener, unique and never changed."""
    events: ClassVar[tuple[type[Any], ...]]
    """The classes of the subscribed events."""
    entity_types: ClassVar[tuple[str, ...]] = ()
    """Of events about entities, only those about entities of these types, such as ``dataset``; empty: all.
    The entities may be of any namespace."""

    def on_event(self, event: Any, tx: Tx) -> None:
        """Handle an event, quickly: the database accepts no other writes meanwhile.

        :param tx: the transaction that also stores the offset. Effects outside of it must be idempotent.
        """
        raise NotImplementedError


class BatchListener(SystemEventListener[Tx]):
    """A listener that handles several events at once, where that is faster."""

    patience_s: ClassVar[float] = 0
    """Seconds that events may wait for others before the process of an application is started for them. No
    host stays for events of a patient listener: they wait for the next one, or for ``deliver_events``."""

    def on_events(self, events: Sequence[Any], tx: Tx) -> None:
        """Handle events in their order.

        When it raises, the transaction is rolled back, and the events are delivered one by one.
        """
        raise NotImplementedError


def is_subscribed(listener: type[SystemEventListener[Any]], event: object) -> bool:
    """Return whether a listener handles an event."""
    if not isinstance(event, listener.events):
        return False
    types = listener.entity_types
    return not types or not isinstance(event, EntityEvent) or event.entity.type in types


__getattr__ = build_getattr(__name__)
