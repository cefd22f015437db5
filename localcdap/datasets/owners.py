"""The owners of datasets: the principal of a dataset, or else that of its namespace.

The rules are those of CDAP 5 ``DefaultOwnerAdmin``, ``DatasetInstanceService`` and
``SecurityUtil.verifyOwnerPrincipal``: a dataset without a principal belongs to that of its namespace, and an
owner does not change. An application, which acts as localcdap itself, creates datasets without a principal.
"""

from __future__ import annotations

import threading

from localcdap.api.errors import BadRequestError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import Authorizer, Permission
from localcdap.namespaces.service import NamespaceService
from localcdap.security.authorizer import ALLOW_ALL, Owned
from localcdap.security.principals import current_principal
from localcdap.store.store import Store, Transaction


class DatasetOwners:
    """Knows who owns which dataset. Threads may share it.

    :param authorizer: decides who may name another user as the owner.
    """

    def __init__(
        self, store: Store, namespaces: NamespaceService, authorizer: Authorizer = ALLOW_ALL
    ) -> None:
        self._store = store
        self._namespaces = namespaces
        self._authorizer = authorizer
        self._lock = threading.Lock()
        self._changes = 0
        self._known: tuple[tuple[int, int], Owned] | None = None
        store.observe_commits(self._note_commit)

    def list_owned(self) -> Owned:
        """Return all datasets that have an owner; the database is read after each change only."""
        version, known = (self._changes, self._namespaces.changes), self._known
        if known is None or known[0] != version:
            known = self._known = (version, self._read())
        return known[1]

    def find_owner(self, namespace: str, principal: str | None) -> str | None:
        """Return the owner of a dataset.

        :param principal: that of the dataset itself, if it has one.
        """
        return principal or self._namespaces.list_principals().get(namespace)

    def check_new_owner(self, namespace: str, principal: str | None) -> None:
        """Check that the current user may give a new dataset to a principal; None: to that of the namespace.

        :raises BadRequestError: when it has no name.
        :raises UnauthorizedError: when it is somebody else, and the user may not administrate the namespace.
        """
        if principal is None:
            return
        if not principal.strip() or not principal.isprintable():
            raise BadRequestError(
                f"The principal of a dataset must be the name of a user, not {principal!r}."
            )
        who = current_principal()
        if principal not in (who.name, self.find_owner(namespace, None)):
            entity = MetadataEntity.of_namespace(namespace)
            self._authorizer.enforce(who, entity, [Permission.ADMIN])

    def _read(self) -> Owned:
        principals = self._namespaces.list_principals()
        rows = self._store.read("SELECT namespace, name, principal FROM dataset_instances")
        found = ((space, name, owner or principals.get(space)) for space, name, owner in rows)
        return {
            tuple(MetadataEntity.of_dataset(name, space).details.items()): owner
            for space, name, owner in found
            if owner
        }

    def _note_commit(self, tx: Transaction) -> None:
        if tx.changed_datasets:
            with self._lock:
                self._changes += 1
