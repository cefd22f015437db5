"""The messaging service: topics, publishing, fetching, and the listeners of system events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from localcdap.api.app.events import SYSTEM_NAMESPACE, TOPICS
from localcdap.api.errors import BadRequestError, ConflictError
from localcdap.api.security import Permission
from localcdap.messaging import retention
from localcdap.messaging.listeners import EventDispatcher, ListenerStatus
from localcdap.messaging.topics import Retention, Topic, TopicMessage, Topics
from localcdap.rpc.methods import non_idempotent
from localcdap.security.access import OF_INSTANCE, of_namespace, open_to_all, requires
from localcdap.store.store import Store

LONGEST_WAIT_S: Final = 30.0
"""The longest wait of one fetch, in seconds; to wait longer, fetch again."""
MOST_MESSAGES: Final = 1000
"""The most messages that one fetch returns."""


class MessagingService:
    """The topics of namespaces; those of the namespace ``system`` carry system events. Threads may share it.

    :param check_namespace: raises NotFoundError for a namespace that does not exist.
    """

    def __init__(
        self,
        store: Store,
        topics: Topics,
        delivery: EventDispatcher,
        check_namespace: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._store = store
        self._topics = topics
        self._delivery = delivery
        self._check_namespace = check_namespace

    @requires(of_namespace())
    def list_topics(self, namespace: str) -> list[Topic]:
        """Return the topics of a namespace, by name."""
        self._check_namespace(namespace)
        with self._store.snapshot() as tx:
            return list(self._topics.list(tx, namespace))

    @requires(of_namespace())
    def describe_topic(self, namespace: str, name: str) -> Topic:
        """Return a topic.

        :raises NotFoundError: when there is no such topic.
        """
        self._check_namespace(namespace)
        with self._store.snapshot() as tx:
            return self._topics.describe(tx, namespace, name)

    @requires(of_namespace(), Permission.ADMIN)
    @non_idempotent
    def create_topic(self, namespace: str, name: str, retention: Retention | None = None) -> Topic:
        """Create a topic; without a retention it keeps messages for a week.

        :raises ConflictError: when there is a topic of that name.
        :raises BadRequestError: when the name is invalid.
        """
        self._check_namespace(namespace)
        with self._store.transaction() as tx:
            return self._topics.create(tx, namespace, name, retention)

    @requires(of_namespace(), Permission.ADMIN)
    @non_idempotent
    def delete_topic(self, namespace: str, name: str) -> None:
        """Delete a topic with its messages.

        :raises NotFoundError: when there is no such topic.
        :raises ConflictError: when it is a topic of system events.
        """
        self._check_namespace(namespace)
        _refuse_system_topic(namespace, name, "deleted")
        with self._store.transaction() as tx:
            self._topics.delete(tx, namespace, name)

    @requires(of_namespace(), Permission.WRITE)
    @non_idempotent
    def publish(self, namespace: str, topic: str, payloads: list[Any]) -> list[int]:
        """Publish messages, all or none; return their ids in the order of the payloads.

        :raises NotFoundError: when there is no such topic.
        :raises ConflictError: when it is a topic of system events.
        """
        self._check_namespace(namespace)
        _refuse_system_topic(namespace, topic, "published on")
        with self._store.transaction() as tx:
            return list(self._topics.publish(tx, namespace, topic, payloads))

    @requires(of_namespace(), Permission.READ)
    def fetch(
        self,
        namespace: str,
        topics: str | list[str],
        after: int,
        limit: int = 100,
        wait_s: float = 0.0,
    ) -> list[TopicMessage]:
        """Return the oldest messages after ``after`` of one or more topics, in the order of their commits.

        :param after: the id of the last message that was seen; 0 to start with the oldest message, the
            result of :meth:`get_newest_id` to start with the next one.
        :param limit: the most messages to return, up to ``MOST_MESSAGES``.
        :param wait_s: seconds to wait for a message, up to ``LONGEST_WAIT_S``. The result may be empty sooner
            when the host closes.
        :raises NotFoundError: when one of the topics does not exist.
        """
        self._check_namespace(namespace)
        names = [topics] if isinstance(topics, str) else topics
        if limit < 1 or not names:
            raise BadRequestError("Fetch at least one message of at least one topic.")
        most, wait = min(limit, MOST_MESSAGES), min(wait_s, LONGEST_WAIT_S)
        return list(self._topics.fetch(namespace, names, after, most, wait))

    @open_to_all("it reveals no content")
    def get_newest_id(self) -> int:
        """Return the id of the newest message in any topic; later messages have larger ids."""
        with self._store.snapshot() as tx:
            return self._topics.get_newest_id(tx)

    @open_to_all("it reveals no content")
    def list_listeners(self) -> list[ListenerStatus]:
        """Return the progress of the listeners to system events, by name."""
        return self._delivery.list_statuses()

    @requires(OF_INSTANCE, Permission.ADMIN)
    def save_listener_position(self, name: str, topics: list[str], position: int) -> None:
        """Store the position of a listener in another process, so that later messages are kept for it.

        :param topics: topics of system events.
        :param position: the id of the last message that it has handled; 0 when there was none.
        """
        with self._store.transaction() as tx:
            retention.save_position(tx, name, topics, position)

    @requires(OF_INSTANCE, Permission.ADMIN)
    def forget_listener(self, name: str) -> None:
        """Delete the position of a listener, if it exists, so that no messages are kept for it."""
        self._delivery.forget(name)

    @requires(OF_INSTANCE, Permission.ADMIN)
    @non_idempotent
    def skip_event(self, listener: str) -> None:
        """Let a listener skip the event on which it fails.

        :raises NotFoundError: when there is no such listener.
        :raises ConflictError: when it does not fail on any event.
        """
        self._delivery.skip(listener)


def _refuse_system_topic(namespace: str, name: str, what: str) -> None:
    if namespace == SYSTEM_NAMESPACE and name in TOPICS:
        raise ConflictError(
            f"Topic '{name}' of namespace '{namespace}' holds system events; it cannot be {what}.",
            "Create and use another topic.",
        )
