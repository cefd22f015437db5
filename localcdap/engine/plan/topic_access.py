"""The topics of the instance, for stages whose code runs in the run's own process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from localcdap.api.errors import LocalcdapError
from localcdap.engine.host_client import HostTopics


class TopicAccess:
    """A :class:`localcdap.api.topics.TopicContext`, as a part of the context of a stage."""

    namespace: str
    _topics: HostTopics

    def fail(self, message: str, corrective_action: str | None = None) -> Exception:
        """Return the error of the stage with a message."""
        raise NotImplementedError

    def has_topic(self, name: str, namespace: str | None = None) -> bool:
        """Return whether there is a topic."""
        with self._topic_scope():
            return self._topics.has(namespace or self.namespace, name)

    def create_topic(self, name: str) -> None:
        """Create a topic in the namespace of the run, unless it exists."""
        with self._topic_scope():
            self._topics.create(self.namespace, name)

    def publish_messages(
        self, topic: str, payloads: Sequence[Any], namespace: str | None = None
    ) -> None:
        """Publish messages on a topic, all or none."""
        with self._topic_scope():
            self._topics.publish(namespace or self.namespace, topic, payloads)

    @contextlib.contextmanager
    def _topic_scope(self) -> Iterator[None]:
        try:
            yield
        except LocalcdapError as error:
            raise self.fail(error.message, error.corrective_action) from None
