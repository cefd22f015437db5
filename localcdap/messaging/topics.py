"""Topics: messages are kept for a while, and any number of readers fetch them at their own pace.

A message's id is larger than the ids of all messages that were committed before it in any topic. One number
is therefore the position of a reader of several topics, even when a topic is deleted and created again.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from localcdap.api.app.events import SYSTEM_NAMESPACE, EntityEvent, SystemEvent
from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.serialization.value_types import encode_schema
from localcdap.decoders import decode_json
from localcdap.security.principals import get_current_user
from localcdap.store.store import Store, Transaction
from localcdap.text import format_available

PAYLOAD_LIMIT: Final = 4 * 1024 * 1024
"""The largest payload as JSON, in bytes."""
DAY_S: Final = 86_400
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]+")


EventObserver: TypeAlias = Callable[[Transaction, Sequence[SystemEvent]], None]


class Retention(msgspec.Struct, frozen=True, rename="camel"):
    """The limits for kept messages; the stricter of the two applies. None means without limit."""

    age_limit_s: int | None = 7 * DAY_S
    count_limit: int | None = 100_000


class Topic(msgspec.Struct, rename="camel"):
    """A topic (CDAP 6 ``TopicMetadata``)."""

    namespace: str
    name: str
    generation: int
    """1 for the first topic of this name; each topic created after a deletion has the next number."""
    created: int
    """Milliseconds since 1970."""
    retention: Retention


class TopicMessage(msgspec.Struct):
    """A message of a topic."""

    topic: str
    id: int
    time: int
    """The time of publishing, in milliseconds since 1970."""
    payload: Any
    """Decoded JSON."""


class Topics:
    """The topics of all namespaces, and the threads that wait for messages. Threads may share it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._changed = threading.Condition()
        self._counts: dict[tuple[str, str], int] = {}
        """The number of changes of each topic since this process opened the database."""
        self._observers: list[EventObserver] = []
        self.closed = False
        """Whether :meth:`close` was called: no thread waits any more."""

    def create(
        self, tx: Transaction, namespace: str, name: str, retention: Retention | None = None
    ) -> Topic:
        """Create a topic.

        :raises BadRequestError: when the name or the retention is invalid.
        :raises ConflictError: when the topic exists.
        """
        kept = retention or Retention()
        _check(name, kept)
        rows = tx.execute(_GENERATION, (namespace, name))
        before = rows[0][0] if rows else 0
        if before > 0:
            raise ConflictError(f"Topic '{name}' exists in namespace '{namespace}' already.")
        values = (1 - before, _get_time_ms(), kept.age_limit_s, kept.count_limit, namespace, name)
        tx.execute(_REVIVE if rows else _INSERT, values)
        return Topic(namespace, name, 1 - before, values[1], kept)

    def delete(self, tx: Transaction, namespace: str, name: str) -> None:
        """Delete a topic. Its messages are invisible at once; their rows are deleted later.

        :raises NotFoundError: when there is no such topic.
        """
        self._require_generation(tx, namespace, name)
        tx.execute(f"{_BURY} AND name = ?", (namespace, name))
        tx.on_commit(lambda: self._note(namespace, name))

    def delete_all(self, tx: Transaction, namespace: str) -> None:
        """Delete every topic of a namespace."""
        for topic in self.list(tx, namespace):
            self.delete(tx, namespace, topic.name)

    def list(self, tx: Transaction, namespace: str) -> Sequence[Topic]:
        """Return the topics of a namespace, by name."""
        return [_to_topic(row) for row in tx.execute(f"{_SELECT} ORDER BY name", (namespace,))]

    def describe(self, tx: Transaction, namespace: str, name: str) -> Topic:
        """Return a topic.

        :raises NotFoundError: when there is no such topic; the message lists the topics.
        """
        rows = tx.execute(f"{_SELECT} AND name = ?", (namespace, name))
        if not rows:
            known = format_available(name, [topic.name for topic in self.list(tx, namespace)])
            raise NotFoundError(
                f"There is no topic '{name}' in namespace '{namespace}'; available: {known}."
            )
        return _to_topic(rows[0])

    def publish(
        self, tx: Transaction, namespace: str, name: str, payloads: Iterable[Any]
    ) -> Sequence[int]:
        """Publish messages as part of a transaction; return their ids in the order of the payloads.

        :param payloads: values that can be written as JSON, Structs included.
        :raises NotFoundError: when there is no such topic.
        :raises BadRequestError: when a payload cannot be written as JSON, or exceeds ``PAYLOAD_LIMIT``.
        """
        texts = [_encode_payload(payload) for payload in payloads]
        generation = self._require_generation(tx, namespace, name)
        if not texts:
            return []
        rows = tx.execute("SELECT nextval('message_ids') FROM range(?)", (len(texts),))
        ids = sorted(row[0] for row in rows)
        tx.execute(_PUBLISH, (namespace, name, generation, ids, _get_time_ms(), texts))
        tx.on_commit(lambda: self._note(namespace, name))
        return ids

    def publish_event(self, tx: Transaction, event: SystemEvent) -> None:
        """Publish a system event as part of a transaction, and let its observers take part in it."""
        self.publish_events(tx, [event])

    def publish_events(self, tx: Transaction, events: Sequence[SystemEvent]) -> None:
        """Publish system events of one topic, as :meth:`publish_event` does for one."""
        if not events:
            return
        self.publish(tx, SYSTEM_NAMESPACE, events[0].topic, events)
        for observe in self._observers:
            observe(tx, events)

    def add_observer(self, observe: EventObserver) -> None:
        """Call a function with system events in the transaction of the changes, before the commit.

        Listeners hear of events after the commit; an observer is for what must not be true without the
        change, nor the change without it.
        """
        self._observers.append(observe)

    def publish_entity_event(
        self,
        tx: Transaction,
        kind: type[EntityEvent],
        entity: MetadataEntity,
        generation: int | None = None,
    ) -> None:
        """Publish that the current user has created, changed or deleted an entity.

        :param tx: the transaction of that change.
        :param generation: of a namespace.
        """
        self.publish_event(tx, kind(entity, _get_time_ms(), generation, get_current_user()))

    def publish_entity_events(
        self, tx: Transaction, changes: Iterable[tuple[type[EntityEvent], MetadataEntity]]
    ) -> None:
        """Publish changes of many entities, as :meth:`publish_entity_event` does for one."""
        now, user = _get_time_ms(), get_current_user()
        events = [kind(entity, now, None, user) for kind, entity in changes]
        self.publish_events(tx, events)

    def read(
        self, tx: Transaction, namespace: str, names: Sequence[str], after: int, limit: int
    ) -> Sequence[TopicMessage]:
        """Return the oldest ``limit`` messages of topics with an id above ``after``, by id.

        Messages older than the limit of their topic are included until they are deleted.
        """
        rows = tx.execute(_READ, (namespace, list(names), after, limit))
        return [TopicMessage(topic, id, at, decode_json(text)) for topic, id, at, text in rows]

    def fetch(
        self, namespace: str, names: Sequence[str], after: int, limit: int, wait_s: float
    ) -> Sequence[TopicMessage]:
        """Read committed messages, or wait for the first one.

        :param wait_s: the longest wait in seconds.
        :raises NotFoundError: when one of the topics does not exist, or is deleted meanwhile.
        """
        deadline = time.monotonic() + wait_s
        while True:
            seen = self.count_changes(namespace, names)
            with self._store.snapshot() as tx:
                self._require(tx, namespace, names)
                found = self.read(tx, namespace, names, after, limit)
            rest = deadline - time.monotonic()
            if found or rest <= 0 or self.closed:
                return found
            self.wait(namespace, names, seen, rest)
            if self.count_changes(namespace, names) == seen:
                return []  # the time is over, or the topics are closed

    def get_newest_id(self, tx: Transaction) -> int:
        """Return the id of the newest message in any topic; 0 when there is none."""
        newest: int = tx.execute("SELECT coalesce(max(id), 0) FROM messages")[0][0]
        return newest

    def count_changes(self, namespace: str, names: Sequence[str]) -> int:
        """Return a number that grows with each change of one of the topics."""
        return sum(self._counts.get((namespace, name), 0) for name in names)

    def wait(
        self,
        namespace: str,
        names: Sequence[str],
        seen: int,
        timeout_s: float | None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        """Wait until :meth:`count_changes` differs from ``seen``, the time is over, ``stopped()`` is true
        (checked after :meth:`wake`), or the topics are closed.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self.closed or stopped() or self.count_changes(namespace, names) != seen,
                timeout_s,
            )

    def wake(self) -> None:
        """Let all waiting threads check their conditions again."""
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        """End the waits of all threads; later waits end at once."""
        self.closed = True
        self.wake()

    def _require(self, tx: Transaction, namespace: str, names: Sequence[str]) -> None:
        known = {name for (name,) in tx.execute(_KNOWN, (namespace, list(names)))}
        for name in names:
            if name not in known:
                self.describe(tx, namespace, name)

    def _require_generation(self, tx: Transaction, namespace: str, name: str) -> int:
        rows = tx.execute(_GENERATION, (namespace, name))
        if not rows or rows[0][0] < 0:
            self.describe(tx, namespace, name)
        generation: int = rows[0][0]
        return generation

    def _note(self, namespace: str, name: str) -> None:
        with self._changed:
            key = (namespace, name)
            self._counts[key] = self._counts.get(key, 0) + 1
            self._changed.notify_all()


_GENERATION: Final = "SELECT generation FROM topics WHERE namespace = ? AND name = ?"
_KNOWN: Final = (
    "SELECT name FROM topics "
    "WHERE generation > 0 AND namespace = ? AND list_contains(?::VARCHAR[], name)"
)
_SELECT: Final = (
    "SELECT namespace, name, generation, created, age_limit_s, count_limit FROM topics "
    "WHERE generation > 0 AND namespace = ?"
)
_INSERT: Final = (
    "INSERT INTO topics (generation, created, age_limit_s, count_limit, namespace, name) "
    "VALUES (?, ?, ?, ?, ?, ?)"
)
_REVIVE: Final = (
    "UPDATE topics SET generation = ?, created = ?, age_limit_s = ?, count_limit = ? "
    "WHERE namespace = ? AND name = ?"
)
_BURY: Final = "UPDATE topics SET generation = -generation WHERE namespace = ?"
_PUBLISH: Final = (
    "INSERT INTO messages (namespace, topic, generation, id, time, payload) "
    "SELECT ?, ?, ?, unnest(?::BIGINT[]), ?, unnest(?::VARCHAR[])"
)
_READ: Final = (
    "SELECT topic, id, time, payload FROM messages m JOIN topics t ON t.namespace = m.namespace "
    "AND t.name = m.topic AND t.generation = m.generation "
    "WHERE m.namespace = ? AND list_contains(?::VARCHAR[], m.topic) AND id > ? ORDER BY id LIMIT ?"
)


def _check(name: str, retention: Retention) -> None:
    if not _NAME.fullmatch(name):
        raise BadRequestError(
            f"'{name}' cannot be the name of a topic.",
            "Use letters, digits, '_' and '-'.",
        )
    for limit in (retention.age_limit_s, retention.count_limit):
        if limit is not None and not 0 < limit < 2**53:
            raise BadRequestError(
                f"{limit} is not a valid limit of a topic.", "Use a number from 1 on, or none."
            )


def _to_topic(row: tuple[Any, ...]) -> Topic:
    namespace, name, generation, created, age_limit_s, count_limit = row
    return Topic(namespace, name, generation, created, Retention(age_limit_s, count_limit))


def _encode_payload(payload: Any) -> str:
    try:
        data = msgspec.json.encode(payload, enc_hook=encode_schema)
    except (TypeError, NotImplementedError, ValueError, RecursionError) as error:
        raise BadRequestError(f"A message's payload cannot be written as JSON: {error}") from None
    if len(data) > PAYLOAD_LIMIT:
        raise BadRequestError(
            f"A message's payload has {len(data)} bytes; the limit is {PAYLOAD_LIMIT}.",
            "Store the data elsewhere, and publish its location.",
        )
    return data.decode()


def _get_time_ms() -> int:
    return time.time_ns() // 1_000_000
