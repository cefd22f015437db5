"""The service for namespaces: creating, describing, changing and deleting them with all their contents."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from localcdap.api.app.events import EntityCreated, EntityDeleted, EntityUpdated
from localcdap.api.errors import ConflictError, LocalcdapError, NotFoundError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import Permission
from localcdap.decoders import decode_json
from localcdap.messaging.topics import Topics
from localcdap.namespaces.model import (
    RESERVED,
    SYSTEM,
    Namespace,
    NamespaceCreation,
    NamespaceDeletion,
    NamespaceResource,
    check_namespace_name,
    make_missing_error,
)
from localcdap.security.access import of_namespace, open_to_all, requires, shows_visible
from localcdap.store.backup import BackupReason
from localcdap.store.store import Store, Transaction

_LOG: Final = logging.getLogger(__name__)
PRINCIPAL: Final = "principal"
"""The key of a namespace's configuration that names its user, who owns the datasets in it."""
_ACTIVE: Final = "active"
_DELETING: Final = "deleting"
_DELETED: Final = "deleted"
_RELEASES: Final = 20
"""Attempts of a forced deletion to end what is in use: something may start before the namespace is marked."""
_RELEASE_PAUSE_S: Final = 0.05


class NamespaceService:
    """Namespaces and their life cycle. Threads may share it.

    A deletion first marks the namespace, which then no longer exists for callers. Then it moves files away,
    and finally one transaction removes the rows and publishes the event. When the process is killed in
    between, the next :meth:`resume` completes the deletion.
    """

    def __init__(self, store: Store, topics: Topics) -> None:
        self._store = store
        self._topics = topics
        self._resources: list[NamespaceResource] = []
        self._known: Mapping[str, Namespace] | None = None
        self._changes = 0
        self._changing = threading.Lock()
        self._deleting = threading.Lock()
        """Held during a deletion, so that a running deletion is not resumed."""

    @shows_visible(lambda each: MetadataEntity.of_namespace(each.name))
    def list_namespaces(self) -> list[Namespace]:
        """Return all namespaces except ``system``, by name."""
        return [each for name, each in self._get_active().items() if name != SYSTEM]

    @property
    def changes(self) -> int:
        """A number that is another one after each change of a namespace."""
        return self._changes

    def list_principals(self) -> dict[str, str]:
        """Return the users of namespaces, by the name of the namespace, from memory.

        A namespace may have one, in its configuration under ``principal`` (CDAP 6 ``NamespaceConfig``).
        """
        return {
            each.name: user
            for each in self._get_active().values()
            if (user := each.config.get(PRINCIPAL))
        }

    @requires(of_namespace("name"))
    def describe(self, name: str) -> Namespace:
        """Return a namespace.

        :raises NotFoundError: when it does not exist; the message lists the namespaces.
        """
        found = self._get_active().get(name)
        if found is None:
            raise make_missing_error(name, (each.name for each in self.list_namespaces()))
        return found

    @open_to_all("it answers no more than whether there is such a namespace")
    def exists(self, name: str) -> bool:
        """Return whether there is a namespace of that name, from memory."""
        return name in self._get_active()

    @open_to_all("it answers no more than whether there is such a namespace")
    def require(self, name: str) -> None:
        """Check that a namespace exists, from memory, which is cheap enough for every call.

        :raises NotFoundError: when it does not exist; the message lists the namespaces.
        """
        self.describe(name)

    def require_generation(self, name: str, generation: int) -> None:
        """Check that a namespace has not been deleted since it had this generation, from memory.

        :raises NotFoundError: when it was deleted, even if there is a new one of that name.
        """
        found = self._get_active().get(name)
        if found is None or found.generation != generation:
            raise NotFoundError(
                f"Namespace '{name}' was deleted in the meantime; nothing was changed.",
                "Ask again, if there is a new namespace of that name.",
            )

    def require_in_transaction(self, tx: Transaction, name: str) -> int:
        """Check in a transaction that a namespace exists, and return its generation.

        A transaction that adds something to a namespace calls this, because the namespace may be deleted
        meanwhile.

        :raises NotFoundError: when it does not exist.
        """
        rows = tx.execute(
            "SELECT generation FROM namespaces WHERE name = ? AND state = ?", (name, _ACTIVE)
        )
        if not rows:
            raise make_missing_error(name, (each.name for each in self.list_namespaces()))
        generation: int = rows[0][0]
        return generation

    def exists_in_transaction(self, tx: Transaction, name: str) -> bool:
        """Return whether a transaction sees a namespace of that name."""
        found = _find(tx, name)
        return found is not None and found[1] == _ACTIVE

    @requires(of_namespace("name"), Permission.ADMIN)
    def create(
        self, name: str, description: str = "", config: dict[str, str] | None = None
    ) -> NamespaceCreation:
        """Create a namespace; an existing one is not changed.

        :raises BadRequestError: when the name is invalid.
        :raises ConflictError: when another name differs in case only, or an earlier deletion of this
            namespace cannot be completed.
        """
        check_namespace_name(name, self._get_active())
        with self._deleting:
            self._resume_deletion(name)
            with self._store.transaction() as tx:
                found = _find(tx, name)
                if found is not None and found[1] == _ACTIVE:
                    return NamespaceCreation(found[0], created=False)
                check_namespace_name(name, (each.name for each in _read_active(tx)))
                last = found[0].generation if found is not None else 0
                made = Namespace(name, description, config or {}, max(_get_time_ms(), last + 1))
                _write(tx, made, _ACTIVE)
                entity = MetadataEntity.of_namespace(name)
                self._topics.publish_entity_event(tx, EntityCreated, entity, made.generation)
                tx.on_commit(self._forget)
        return NamespaceCreation(made, created=True)

    @requires(of_namespace("name"), Permission.ADMIN)
    def update(
        self, name: str, description: str | None = None, config: dict[str, str] | None = None
    ) -> Namespace:
        """Change the description and the given keys of the configuration.

        :raises NotFoundError: when the namespace does not exist.
        """
        with self._store.transaction() as tx:
            self.require_in_transaction(tx, name)
            found = _find(tx, name)
            assert found is not None
            before = found[0]
            after = Namespace(
                name,
                before.description if description is None else description,
                before.config | (config or {}),
                before.generation,
            )
            _write(tx, after, _ACTIVE)
            entity = MetadataEntity.of_namespace(name)
            self._topics.publish_entity_event(tx, EntityUpdated, entity, after.generation)
            tx.on_commit(self._forget)
        return after

    @requires(of_namespace("name"), Permission.ADMIN)
    def delete(self, name: str, force: bool = False) -> NamespaceDeletion:
        """Delete a namespace with everything in it. The user's plugin files are moved to the trash, and a
        backup of the database is made before.

        :param force: end active runs; otherwise they prevent the deletion.
        :raises NotFoundError: when the namespace does not exist.
        :raises ConflictError: when it is reserved or in use, or its files cannot be moved; it then still
            exists.
        """
        if name in RESERVED:
            raise ConflictError(f"The namespace '{name}' cannot be deleted.")
        with self._deleting:
            self.require(name)
            self._store.back_up_before(BackupReason.DELETION)
            for _ in range(_RELEASES if force else 1):
                blockers = self._mark_deleted(name)
                if not blockers:
                    return self._complete_deletion(name)
                if force:
                    self._release(name)
        raise ConflictError(
            f"The namespace '{name}' is in use: {', '.join(blockers)}.",
            "Wait until they end, or delete the namespace with --force, which ends them.",
        )

    def register_resource(self, contents: NamespaceResource) -> None:
        """Let deletions of namespaces remove this resource too."""
        self._resources.append(contents)

    def resume(self) -> None:
        """Complete the deletions of a process that was killed."""
        names = self._store.read("SELECT name FROM namespaces WHERE state = ?", (_DELETING,))
        for (name,) in names:
            try:
                with self._deleting:
                    self._resume_deletion(name)
            except LocalcdapError as error:
                _LOG.warning("namespace %s: %s", name, error)

    def _resume_deletion(self, name: str) -> None:
        """Complete the deletion of a namespace, if one was started."""
        with self._store.snapshot() as tx:
            found = _find(tx, name)
        if found is not None and found[1] == _DELETING:
            self._complete_deletion(name)

    def _mark_deleted(self, name: str) -> Sequence[str]:
        """Mark a namespace as deleted, or return what is in use there."""
        with self._store.transaction() as tx:
            self.require_in_transaction(tx, name)
            blockers = [text for each in self._resources for text in each.blockers(tx, name)]
            if not blockers:
                _set_state(tx, name, _DELETING)
                tx.on_commit(self._forget)
        return blockers

    def _complete_deletion(self, name: str) -> NamespaceDeletion:
        with self._store.snapshot() as tx:
            found = _find(tx, name)
        assert found is not None
        generation = found[0].generation
        kept = self._remove_files(name, generation)
        with self._store.transaction() as tx:
            for each in self._resources:
                each.remove(tx, name)
            _set_state(tx, name, _DELETED)
            entity = MetadataEntity.of_namespace(name)
            self._topics.publish_entity_event(tx, EntityDeleted, entity, generation)
        return NamespaceDeletion(name, generation, kept)

    def _release(self, name: str) -> None:
        for each in self._resources:
            each.release(name)
        time.sleep(_RELEASE_PAUSE_S)

    def _remove_files(self, name: str, generation: int) -> list[str]:
        kept: list[str] = []
        for each in self._resources:
            try:
                kept += each.remove_files(name, generation)
            except (OSError, LocalcdapError) as error:
                with self._store.transaction() as tx:
                    _set_state(tx, name, _ACTIVE)
                    tx.on_commit(self._forget)
                reason = error.full_message if isinstance(error, LocalcdapError) else str(error)
                raise ConflictError(
                    f"The namespace '{name}' was not deleted, because its {each.what} cannot be removed: "
                    f"{reason}",
                    "Correct the problem, and delete the namespace again.",
                ) from error
        return kept

    def _get_active(self) -> Mapping[str, Namespace]:
        """Return the namespaces by name; the database is read once and after each change."""
        known = self._known
        if known is None:
            seen = self._changes
            with self._store.snapshot() as tx:
                known = {each.name: each for each in _read_active(tx)}
            with self._changing:
                if seen == self._changes:
                    self._known = known
        return known

    def _forget(self) -> None:
        with self._changing:
            self._changes += 1
            self._known = None


def _find(tx: Transaction, name: str) -> tuple[Namespace, str] | None:
    """Return a namespace, which may be deleted, and its state."""
    rows = tx.execute(f"{_SELECT} WHERE name = ?", (name,))
    return (_to_namespace(rows[0]), rows[0][4]) if rows else None


def _read_active(tx: Transaction) -> list[Namespace]:
    rows = tx.execute(f"{_SELECT} WHERE state = ? ORDER BY name", (_ACTIVE,))
    return [_to_namespace(row) for row in rows]


def _write(tx: Transaction, namespace: Namespace, state: str) -> None:
    tx.execute(
        "INSERT INTO namespaces VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
        "description = excluded.description, config = excluded.config, "
        "generation = excluded.generation, state = excluded.state",
        (
            namespace.name,
            namespace.description,
            msgspec.json.encode(namespace.config).decode(),
            namespace.generation,
            state,
        ),
    )


def _set_state(tx: Transaction, name: str, state: str) -> None:
    tx.execute("UPDATE namespaces SET state = ? WHERE name = ?", (state, name))


def _to_namespace(row: tuple[Any, ...]) -> Namespace:
    name, description, config, generation, _ = row
    return Namespace(name, description, decode_json(config), generation)


def _get_time_ms() -> int:
    return time.time_ns() // 1_000_000


_SELECT: Final = "SELECT name, description, config, generation, state FROM namespaces"
