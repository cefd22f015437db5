"""System events, and listeners that give them an effect.

Each event is published on the topic ``topic`` of the namespace ``system``, in the transaction of the change
that it tells of. Its JSON has ``kind`` and camelCase keys::

    {"kind": "entityDeleted", "entity": {"type": "namespace", "details": {"namespace": "n"}}, "time": 1}
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, Generic, TypeVar

import msgspec

SYSTEM_NAMESPACE: Final = "system"
Tx = TypeVar("Tx")


class Entity(msgspec.Struct, frozen=True):
    """What an event is about, written as CDAP 6 writes a ``MetadataEntity``."""

    type: str
    """``namespace``, ``application``, ``dataset``, ``artifact``, or a type of an application's own."""
    details: dict[str, str]
    """Names from the namespace down to the entity itself, such as
    ``{"namespace": "default", "dataset": "orders"}``."""

    @property
    def namespace(self) -> str | None:
        """The namespace that it is in, or is; None for one of the whole instance."""
        return self.details.get("namespace")


class EntityCreated(
    msgspec.Struct, tag="entityCreated", tag_field="kind", rename="camel", frozen=True
):
    """An entity is there now that was not before."""

    topic: ClassVar[str] = "entities"
    entity: Entity
    time: int
    """Milliseconds since 1970."""
    generation: int | None = None
    """Of a namespace: tells it from earlier and later ones of the same name."""


class EntityDeleted(
    msgspec.Struct, tag="entityDeleted", tag_field="kind", rename="camel", frozen=True
):
    """An entity is gone, with all that is in it. Of a namespace's contents only the namespace is told."""

    topic: ClassVar[str] = "entities"
    entity: Entity
    time: int
    generation: int | None = None
    """Of a namespace: rows of this and earlier generations belong to nobody any more."""


class RunStatusChanged(
    msgspec.Struct, tag="runStatusChanged", tag_field="kind", rename="camel", frozen=True
):
    """A run is in another state."""

    topic: ClassVar[str] = "runs"
    namespace: str
    pipeline: str
    run: str
    status: str
    """As in CDAP 6 ``ProgramRunStatus``: ``PENDING``, ``STARTING``, ``RUNNING``, …"""
    time: int
    """Milliseconds since 1970."""


class ArtifactChange(msgspec.Struct, frozen=True):
    """What became of an artifact."""

    change: str
    """``added``, ``updated`` (the same name and version with another content), ``removed``, or ``failed``:
    it has an error now and had another one, or none, before, and its last good content stays in use."""
    name: str
    version: str
    """Empty where a failed one does not say any."""
    scope: str
    """``SYSTEM`` or ``USER``."""
    namespace: str
    path: str
    """Where its user put it."""
    error: str | None = None
    """Of a failed one."""


class ArtifactsChanged(
    msgspec.Struct, tag="artifactsChanged", tag_field="kind", rename="camel", frozen=True
):
    """The index of plugins is another one than before."""

    topic: ClassVar[str] = "artifacts"
    changes: list[ArtifactChange]
    time: int


SystemEvent = EntityCreated | EntityDeleted | RunStatusChanged | ArtifactsChanged
TOPICS: Final = (EntityCreated.topic, RunStatusChanged.topic, ArtifactsChanged.topic)
"""The topics of system events; nobody else publishes on them, and they cannot be deleted."""


class SystemEventListener(Generic[Tx]):
    """Gives system events an effect, each exactly once, in the order in which they happened.

    The place up to which a listener has come is kept under its ``name`` and moves in the transaction of
    the effect: after a crash it goes on where it was. Events that happen while no process has the instance
    open wait for it. When :meth:`on_event` raises, nothing of its transaction is kept and it is called
    again with the same event, with growing pauses, until it succeeds or the event is skipped by hand;
    other listeners are not held up, and ``localcdap doctor`` shows it.
    """

    name: ClassVar[str]
    """Unique among all listeners, and never changed."""
    events: ClassVar[tuple[type[Any], ...]]
    """The classes of the events that it wants."""

    def on_event(self, event: Any, tx: Tx) -> None:
        """React to an event, quickly: nobody else can write into the database meanwhile.

        :param tx: the transaction that remembers that it was handled. What it does elsewhere must be able
            to bear being done again.
        """
        raise NotImplementedError
