"""The namespaces of an instance: created, described, changed, and deleted with all that is in them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from localcdap.api.app.events import Entity, EntityCreated, EntityDeleted
from localcdap.api.errors import ConflictError, LocalcdapError
from localcdap.messaging.topics import Topics
from localcdap.namespaces.model import (
    RESERVED,
    SYSTEM,
    Namespace,
    NamespaceCreation,
    NamespaceDeletion,
    check_name,
    make_missing_error,
)
from localcdap.namespaces.resources import NamespaceResource
from localcdap.store.store import Store, Transaction

_LOG: Final = logging.getLogger(__name__)
_ACTIVE: Final = "active"
_DELETING: Final = "deleting"
_DELETED: Final = "deleted"
_RELEASES: Final = 20
"""How often a forced deletion ends what is busy; something may begin again before the namespace is marked."""
_RELEASE_PAUSE_S: Final = 0.05


class NamespaceService:
    """Namespaces and their life. Threads may share it.

    A deletion marks the namespace first, which thereby is gone for everybody; then files are put away; then
    one transaction removes its rows and publishes the event. When the process is killed in between, the
    next :meth:`resume` takes it to its end.
    """

    def __init__(self, store: Store, topics: Topics) -> None:
        self._store = store
        self._topics = topics
        self._contents: list[NamespaceResource] = []
        self._known: Mapping[str, Namespace] | None = None
        self._changes = 0
        self._changing = threading.Lock()
        self._deleting = threading.Lock()
        """One deletion at a time, so that none is resumed while it is under way."""

    def list_namespaces(self) -> list[Namespace]:
        """Return all but ``system``, by name."""
        return [each for name, each in self._active().items() if name != SYSTEM]

    def describe(self, name: str) -> Namespace:
        """:raises NotFoundError: when it does not exist; the message lists those that do."""
        found = self._active().get(name)
        if found is None:
            raise make_missing_error(name, (each.name for each in self.list_namespaces()))
        return found

    def exists(self, name: str) -> bool:
        """Return whether there is a namespace of that name; answered from memory."""
        return name in self._active()

    def require(self, name: str) -> None:
        """:meth:`describe` for its exception alone; from memory, so cheap enough for every call."""
        self.describe(name)

    def require_in_transaction(self, tx: Transaction, name: str) -> int:
        """Return the generation, as the transaction sees it: for who adds to a namespace that may be
        about to go.

        :raises NotFoundError: when it does not exist.
        """
        rows = tx.execute(
            "SELECT generation FROM namespaces WHERE name = ? AND state = ?", (name, _ACTIVE)
        )
        if not rows:
            raise make_missing_error(name, (each.name for each in self.list_namespaces()))
        generation: int = rows[0][0]
        return generation

    def create(
        self, name: str, description: str = "", config: dict[str, str] | None = None
    ) -> NamespaceCreation:
        """Create a namespace; one that exists stays as it is.

        :raises BadRequestError: when it cannot be called so.
        :raises ConflictError: when another's name differs in case only, or its deletion does not succeed.
        """
        check_name(name, self._active())
        with self._deleting:
            self._finish(name)
            with self._store.transaction() as tx:
                found = _find(tx, name)
                if found is not None and found[1] == _ACTIVE:
                    return NamespaceCreation(found[0], created=False)
                check_name(name, (each.name for each in _all_active(tx)))
                last = found[0].generation if found is not None else 0
                made = Namespace(name, description, config or {}, max(_now(), last + 1))
                _write(tx, made, _ACTIVE)
                self._topics.publish_event(
                    tx, EntityCreated(_entity(name), _now(), made.generation)
                )
                tx.on_commit(self._forget)
        return NamespaceCreation(made, created=True)

    def update(
        self, name: str, description: str | None = None, config: dict[str, str] | None = None
    ) -> Namespace:
        """Change what is given; keys of ``config`` that are not given stay.

        :raises NotFoundError: when it does not exist.
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
            tx.on_commit(self._forget)
        return after

    def delete(self, name: str, force: bool = False) -> NamespaceDeletion:
        """Delete a namespace with everything in it. Plugin files of the user are put away, not deleted.

        :param force: end the runs that are active there; otherwise they keep it from being deleted.
        :raises NotFoundError: when it does not exist.
        :raises ConflictError: when it is protected or busy, or when its files cannot be put away; it is
            then still there.
        """
        if name in RESERVED:
            raise ConflictError(f"The namespace '{name}' cannot be deleted.")
        with self._deleting:
            for _ in range(_RELEASES if force else 1):
                blockers = self._mark(name)
                if not blockers:
                    return self._take_out(name)
                if force:
                    self._release(name)
        raise ConflictError(
            f"The namespace '{name}' is in use: {', '.join(blockers)}.",
            "Wait until that has ended, or delete it with --force, which ends it.",
        )

    def register_resource(self, contents: NamespaceResource) -> None:
        """From now on, deletions take this along."""
        self._contents.append(contents)

    def resume(self) -> None:
        """Take deletions that a killed process left behind to their end."""
        names = self._store.read("SELECT name FROM namespaces WHERE state = ?", (_DELETING,))
        for (name,) in names:
            try:
                with self._deleting:
                    self._finish(name)
            except LocalcdapError as error:
                _LOG.warning("namespace %s: %s", name, error)

    def _finish(self, name: str) -> None:
        """Take its deletion to the end, if there is one."""
        with self._store.snapshot() as tx:
            found = _find(tx, name)
        if found is not None and found[1] == _DELETING:
            self._take_out(name)

    def _mark(self, name: str) -> Sequence[str]:
        """Put a namespace out of use, or say what keeps it from that."""
        with self._store.transaction() as tx:
            self.require_in_transaction(tx, name)
            blockers = [text for each in self._contents for text in each.blockers(tx, name)]
            if not blockers:
                _set_state(tx, name, _DELETING)
                tx.on_commit(self._forget)
        return blockers

    def _take_out(self, name: str) -> NamespaceDeletion:
        with self._store.snapshot() as tx:
            found = _find(tx, name)
        assert found is not None
        generation = found[0].generation
        kept = self._put_files_away(name, generation)
        with self._store.transaction() as tx:
            for each in self._contents:
                each.remove(tx, name)
            _set_state(tx, name, _DELETED)
            self._topics.publish_event(tx, EntityDeleted(_entity(name), _now(), generation))
        return NamespaceDeletion(name, generation, kept)

    def _release(self, name: str) -> None:
        for each in self._contents:
            each.release(name)
        time.sleep(_RELEASE_PAUSE_S)

    def _put_files_away(self, name: str, generation: int) -> list[str]:
        kept: list[str] = []
        for each in self._contents:
            try:
                kept += each.remove_files(name, generation)
            except (OSError, LocalcdapError) as error:
                with self._store.transaction() as tx:
                    _set_state(tx, name, _ACTIVE)
                    tx.on_commit(self._forget)
                reason = error.full_message if isinstance(error, LocalcdapError) else str(error)
                raise ConflictError(
                    f"The namespace '{name}' was not deleted, because its {each.what} cannot be put "
                    f"away: {reason}",
                    "Correct that, and delete it again.",
                ) from error
        return kept

    def _active(self) -> Mapping[str, Namespace]:
        """By name; reads the database once and after each change."""
        known = self._known
        if known is None:
            seen = self._changes
            with self._store.snapshot() as tx:
                known = {each.name: each for each in _all_active(tx)}
            with self._changing:
                if seen == self._changes:
                    self._known = known
        return known

    def _forget(self) -> None:
        with self._changing:
            self._changes += 1
            self._known = None


def _find(tx: Transaction, name: str) -> tuple[Namespace, str] | None:
    """Return a namespace that is or was, and its state."""
    rows = tx.execute(f"{_SELECT} WHERE name = ?", (name,))
    return (_namespace(rows[0]), rows[0][4]) if rows else None


def _all_active(tx: Transaction) -> list[Namespace]:
    rows = tx.execute(f"{_SELECT} WHERE state = ? ORDER BY name", (_ACTIVE,))
    return [_namespace(row) for row in rows]


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


def _namespace(row: tuple[Any, ...]) -> Namespace:
    name, description, config, generation, _ = row
    return Namespace(name, description, msgspec.json.decode(config), generation)


def _entity(name: str) -> Entity:
    return Entity("namespace", {"namespace": name})


def _now() -> int:
    return time.time_ns() // 1_000_000


_SELECT: Final = "SELECT name, description, config, generation, state FROM namespaces"
