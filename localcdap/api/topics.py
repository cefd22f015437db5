"""The topics of an instance, as stages of a run use them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class TopicContext(Protocol):
    """The part of a context that publishes messages, which are visible at once: also if the run fails."""

    def has_topic(self, name: str, namespace: str | None = None) -> bool:
        """Return whether there is a topic of messages.

        :param namespace: by default that of the run.
        """

    def create_topic(self, name: str) -> None:
        """Create a topic in the namespace of the run, unless it exists.

        :raises StageError: when its name is invalid, or the user may not create topics.
        """

    def publish_messages(
        self, topic: str, payloads: Sequence[Any], namespace: str | None = None
    ) -> None:
        """Publish messages on a topic, all or none; each is a value that can be written as JSON.

        :raises StageError: when there is no such topic, or the user may not write to it.
        """
