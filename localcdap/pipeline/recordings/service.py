"""The service ``recordings``: what stands in for stages, as an instance remembers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.api.security import Permission
from localcdap.namespaces.model import NamespaceResource
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.recordings.model import (
    INSTANCE,
    SETTINGS,
    RecordingRule,
    parse_recording,
)
from localcdap.security.access import of_namespace, requires
from localcdap.store.store import Store, Transaction

_SELECT: Final = "SELECT key, recording FROM recordings WHERE namespace = ? ORDER BY key"
_DELETE: Final = "DELETE FROM recordings WHERE namespace = ? AND key = ?"


class RecordingService:
    """The recordings of namespaces. Threads may share it.

    :param settings: the recordings of the settings, by key; they are those of every namespace.
    """

    def __init__(
        self, store: Store, namespaces: NamespaceService, settings: Mapping[str, str]
    ) -> None:
        self._store = store
        self._namespaces = namespaces
        self._settings = dict(settings)
        namespaces.register_resource(NamespaceResource("recordings", remove=_remove_all))

    @requires(of_namespace())
    def list_recordings(self, namespace: str) -> list[RecordingRule]:
        """Return the recordings of a namespace by key, then those of the settings.

        :raises NotFoundError: when there is no such namespace.
        """
        self._namespaces.require(namespace)
        return read_rules(self._store, self._settings, namespace)

    @requires(of_namespace(), Permission.ADMIN)
    def set_recording(self, namespace: str, key: str, recording: str) -> RecordingRule:
        """Store what stands in for stages, in place of what the key had before.

        :param key: see :class:`localcdap.pipeline.recordings.model.RecordingRule`.
        :raises BadRequestError: when the key is empty, or the text is not a recording.
        :raises NotFoundError: when there is no such namespace.
        """
        rule = RecordingRule(key.strip(), recording.strip(), INSTANCE)
        if not rule.subject.partition(":")[2]:
            raise BadRequestError(
                f"The key '{key}' names nothing.",
                "Write the name of a stage, reference:NAME, plugin:NAME or type:TYPE.",
            )
        parse_recording(rule.recording)
        with self._store.transaction() as tx:
            self._namespaces.require_in_transaction(tx, namespace)
            tx.execute(_DELETE, (namespace, rule.subject))
            tx.execute(
                "INSERT INTO recordings VALUES (?, ?, ?)",
                (namespace, rule.subject, rule.recording),
            )
        return rule

    @requires(of_namespace(), Permission.ADMIN)
    def remove_recording(self, namespace: str, key: str) -> RecordingRule:
        """Forget what stands in for stages; return it.

        :raises NotFoundError: when the namespace has none with this key; the message lists the keys.
        """
        wanted = RecordingRule(key.strip(), "").subject
        with self._store.transaction() as tx:
            self._namespaces.require_in_transaction(tx, namespace)
            stored = dict(tx.execute(_SELECT, (namespace,)))
            if wanted not in stored:
                raise NotFoundError(
                    f"There is no recording '{key}'.", f"Recordings: {', '.join(stored) or 'none'}."
                )
            tx.execute(_DELETE, (namespace, wanted))
        return RecordingRule(wanted, stored[wanted], INSTANCE)


def read_rules(store: Store, settings: Mapping[str, str], namespace: str) -> list[RecordingRule]:
    """Return the recordings of a namespace, and those of the settings."""
    stored = store.read(_SELECT, (namespace,))
    return [
        *(RecordingRule(key, recording, INSTANCE) for key, recording in stored),
        *(RecordingRule(key, text, SETTINGS) for key, text in settings.items()),
    ]


def _remove_all(tx: Transaction, namespace: str) -> None:
    tx.execute("DELETE FROM recordings WHERE namespace = ?", (namespace,))
