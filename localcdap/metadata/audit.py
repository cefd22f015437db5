"""The audit log: who created, changed, read or wrote which entity (CDAP 6 ``AuditMessage``).

A message is a row, kept until a user prunes it, and a message on the topic ``audit`` of the namespace
``system``. Both are written in the transaction of what they describe.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from localcdap.api.app.events import (
    AUDIT_TOPIC,
    SYSTEM_NAMESPACE,
    EntityCreated,
    EntityDeleted,
    EntityUpdated,
)
from localcdap.api.errors import BadRequestError
from localcdap.api.metadata import Metadata, MetadataEntity, MetadataScope
from localcdap.api.security import Permission
from localcdap.decoders import decode_json
from localcdap.messaging.topics import Topics
from localcdap.metadata.entities import from_key, to_key
from localcdap.metadata.records import MetadataChange
from localcdap.security.access import OF_INSTANCE, Target, requires
from localcdap.security.principals import get_current_user
from localcdap.store.store import Store, Transaction

VERSION: Final = 2
"""The version of the form of messages."""
_MOST: Final = 10_000
"""The most messages that one call returns."""


class AuditType(enum.StrEnum):
    """What happened to an entity."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    TRUNCATE = "TRUNCATE"
    DELETE = "DELETE"
    ACCESS = "ACCESS"
    METADATA_CHANGE = "METADATA_CHANGE"


class AuditMessage(msgspec.Struct, rename="camel"):
    """One message of the audit log."""

    time: int
    """Milliseconds since 1970."""
    metadata_entity: MetadataEntity
    user: str
    """Empty when localcdap itself acted."""
    type: AuditType
    payload: dict[str, Any]
    """Empty but for ACCESS (``accessType``, ``accessor``) and METADATA_CHANGE (``previous``, ``additions``,
    ``deletions``, each by scope)."""
    version: int = VERSION

    def describe(self) -> list[str]:
        """Return what the message says besides its type and entity, such as ``READ by Sales``."""
        if "accessType" in self.payload:
            return [f"{self.payload['accessType']} by {_name_accessor(self.payload)}"]
        return [
            f"{sign}{scope} {each}"
            for sign, part in (("+", "additions"), ("-", "deletions"))
            for scope, metadata in self.payload.get(part, {}).items()
            for each in _list_items(msgspec.to_builtins(metadata))
        ]


class AuditQuery(msgspec.Struct, frozen=True):
    """Which messages are wanted; all conditions hold."""

    entity: MetadataEntity | None = None
    """Only messages of this entity."""
    namespace: str | None = None
    """Only messages of entities in this namespace."""
    user: str | None = None
    types: list[AuditType] | None = None
    since: int | None = None
    """From this time on, in milliseconds since 1970."""
    until: int | None = None
    """Before this time."""
    limit: int = 100
    """At most 10,000."""
    offset: int = 0


class AuditLog:
    """Writes messages. :meth:`note_changes` and :meth:`observe` are called in transactions.

    The user of a message is the principal who acts in the thread.
    """

    def __init__(self, topics: Topics) -> None:
        self._topics = topics

    def write(self, tx: Transaction, messages: Sequence[AuditMessage]) -> None:
        """Write messages as part of a transaction."""
        if not messages:
            return
        columns = zip(*(_to_values(each) for each in messages), strict=True)
        tx.execute(_INSERT, [list(column) for column in columns])
        self._topics.publish(tx, SYSTEM_NAMESPACE, AUDIT_TOPIC, messages)

    def note_changes(self, tx: Transaction, changes: Sequence[MetadataChange]) -> None:
        """Write a message for each scope of metadata that changed."""
        now, user = _get_time_ms(), get_current_user() or ""
        self.write(
            tx,
            [
                AuditMessage(now, change.entity, user, AuditType.METADATA_CHANGE, payload)
                for change in changes
                for payload in _list_change_payloads(change)
            ],
        )

    def note_truncation(self, tx: Transaction, dataset: MetadataEntity) -> None:
        """Write that a dataset has lost its data."""
        user = get_current_user() or ""
        self.write(tx, [AuditMessage(_get_time_ms(), dataset, user, AuditType.TRUNCATE, {})])

    def observe(self, tx: Transaction, events: Sequence[object]) -> None:
        """Write a message for each entity that was created, changed or deleted."""
        self.write(
            tx,
            [
                AuditMessage(
                    event.time,
                    event.entity,
                    event.user or get_current_user() or "",
                    _TYPES[type(event)],
                    {},
                )
                for event in events
                if isinstance(event, EntityCreated | EntityUpdated | EntityDeleted)
            ],
        )


_TYPES: Final[dict[type, AuditType]] = {
    EntityCreated: AuditType.CREATE,
    EntityUpdated: AuditType.UPDATE,
    EntityDeleted: AuditType.DELETE,
}


_OF_QUERY: Final = Target(
    "entity or namespace of {query}, or namespace system",
    lambda _, given: [
        given["query"].entity
        or MetadataEntity.of_namespace(given["query"].namespace or SYSTEM_NAMESPACE)
    ],
)


class AuditService:
    """The service ``audit``: reads the audit log, and prunes it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @requires(_OF_QUERY, Permission.READ)
    def list_messages(self, query: AuditQuery) -> list[AuditMessage]:
        """Return messages, the newest first.

        :raises BadRequestError: when the limit or the offset is wrong.
        """
        if not 0 < query.limit <= _MOST or query.offset < 0:
            raise BadRequestError(f"Ask for 1 to {_MOST} messages, from an offset of 0 on.")
        conditions, values = _build_conditions(query)
        rows = self._store.read(
            f"SELECT time, entity, user_name, type, payload FROM audit WHERE {conditions} "  # noqa: S608
            "ORDER BY id DESC LIMIT ? OFFSET ?",
            (*values, query.limit, query.offset),
        )
        return [
            AuditMessage(at, from_key(key), user, AuditType(type), decode_json(payload))
            for at, key, user, type, payload in rows
        ]

    @requires(OF_INSTANCE, Permission.ADMIN)
    def prune(self, before: int) -> int:
        """Delete the messages from before a time, in milliseconds since 1970; return how many they were."""
        with self._store.transaction() as tx:
            return int(tx.execute("DELETE FROM audit WHERE time < ?", (before,))[0][0])


def _list_items(metadata: dict[str, object]) -> list[str]:
    tags, properties = metadata.get("tags"), metadata.get("properties")
    return [
        *(tags if isinstance(tags, list) else []),
        *(list(properties) if isinstance(properties, dict) else []),
    ]


def _name_accessor(payload: dict[str, object]) -> str:
    accessor = payload.get("accessor")
    if not isinstance(accessor, dict):
        return ""
    return str(accessor.get("application") or accessor.get("service") or "")


def _list_change_payloads(change: MetadataChange) -> Iterator[dict[str, Any]]:
    """Yield the payload for each scope that changed (CDAP 6 ``AuditMetadataStorage``)."""
    for scope in (MetadataScope.SYSTEM, MetadataScope.USER):
        before, after = change.before.get(scope), change.after.get(scope)
        if before != after:
            yield {
                "previous": {scope: before},
                "additions": {scope: _subtract(after, before)},
                "deletions": {scope: _subtract(before, after)},
            }


def _subtract(one: Metadata, other: Metadata) -> Metadata:
    """Return what one has, and another has not or with another value."""
    properties = {
        name: value for name, value in one.properties.items() if other.properties.get(name) != value
    }
    return Metadata.of(properties, set(one.tags) - set(other.tags))


def _build_conditions(query: AuditQuery) -> tuple[str, list[Any]]:
    """Return the conditions of a query as SQL, and the values of its parameters."""
    given = {
        "entity = ?": None if query.entity is None else to_key(query.entity),
        "contains(entity || chr(31), ?)": (
            None if query.namespace is None else f"\x1fnamespace\x1f{query.namespace}\x1f"
        ),
        "user_name = ?": query.user,
        "list_contains(?::VARCHAR[], type)": (
            None if query.types is None else [each.value for each in query.types]
        ),
        "time >= ?": query.since,
        "time < ?": query.until,
    }
    used = {sql: value for sql, value in given.items() if value is not None}
    return " AND ".join(["true", *used]), list(used.values())


def _to_values(message: AuditMessage) -> Sequence[Any]:
    return (
        message.time,
        to_key(message.metadata_entity),
        message.user,
        message.type.value,
        msgspec.json.encode(message.payload).decode(),
    )


def _get_time_ms() -> int:
    return time.time_ns() // 1_000_000


_INSERT: Final = (
    "INSERT INTO audit SELECT nextval('audit_ids'), unnest(?::BIGINT[]), unnest(?::VARCHAR[]), "
    "unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), unnest(?::VARCHAR[])"
)
