"""Accesses of programs to datasets: their check, and their record in lineage and in the audit log.

The owner of a dataset is its principal, or else that of its namespace. The rules are those of CDAP 5
``DefaultOwnerAdmin``, ``DatasetInstanceService`` and ``SecurityUtil.verifyOwnerPrincipal``: a dataset without
a principal belongs to that of its namespace, and an owner does not change. An application, which acts as
localcdap itself, creates datasets without a principal.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Collection
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.dataset.access import AccessKind, AnnotationRules
from localcdap.api.errors import BadRequestError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import Authorizer, Permission
from localcdap.datasets.partitions import (
    PublishPartitions,
    create_event,
    ignore_partitions,
)
from localcdap.metadata.accesses import AccessRecorder
from localcdap.metadata.lineage.relations import AccessType, DatasetId, ProgramId, ProgramRunId
from localcdap.namespaces.service import NamespaceService
from localcdap.security.access import SwitchedAuthorizer
from localcdap.security.authorizer import ALLOW_ALL, Owned
from localcdap.security.principals import current_principal
from localcdap.store.store import Store, Transaction
from localcdap.transactions.calls import Accessor

_KEPT: Final = 100_000
"""The most accesses that are remembered as recorded; then the oldest are forgotten, and recorded again."""
_TYPES: Final = {
    AccessKind.NONE: (),
    AccessKind.READ: (AccessType.READ,),
    AccessKind.WRITE: (AccessType.WRITE,),
    AccessKind.READ_WRITE: (AccessType.READ, AccessType.WRITE),
    AccessKind.UNKNOWN: (AccessType.UNKNOWN,),
}
Noted = tuple[str, str, AccessKind, AccessKind]
"""Namespace and dataset, what a method did, and what counts for lineage."""


class _Record(msgspec.Struct, frozen=True, gc=False):
    """One kind of access of one context to one dataset."""

    context: str
    dataset: DatasetId
    type: AccessType
    is_audited: bool
    """Whether it is in the audit log; otherwise it is in lineage."""


def get_annotation_rules(shipped: bool) -> AnnotationRules:
    """Return the rules of CDAP 6, or those of the design of datasets."""
    return AnnotationRules.SHIPPED if shipped else AnnotationRules.STRICT


class DatasetAccessLog:
    """Checks and records the accesses of all programs. Threads may share it.

    :param folder: of the file sets of all namespaces.
    :param rules: which calls between methods of a dataset are allowed.
    :param publish: publishes events about partitions, as part of a transaction.
    """

    def __init__(
        self,
        store: Store,
        authorizer: SwitchedAuthorizer,
        recorder: AccessRecorder,
        folder: Path,
        rules: AnnotationRules = AnnotationRules.STRICT,
        publish: PublishPartitions = ignore_partitions,
    ) -> None:
        self._publish = publish
        self._store = store
        self._authorizer = authorizer
        self._recorder = recorder
        self._folder = folder
        self._rules = rules
        self._lock = threading.Lock()
        self._recorded: dict[_Record, None] = {}

    def open(self, accessor: object) -> AccessorAccesses:
        """Return what checks and records the accesses of an accessor; None: of a new client."""
        known = accessor if isinstance(accessor, Accessor) else Accessor.of_client()
        return AccessorAccesses(self, known, self._rules)

    def get_folder(self, namespace: str) -> str:
        """Return the folder of the file sets of a namespace."""
        return str(self._folder / namespace)

    def check(self, namespace: str, dataset: str, permissions: Collection[Permission]) -> None:
        """Check that the current principal has permissions on a dataset.

        :raises UnauthorizedError: when one is missing.
        """
        if not self._authorizer.is_enabled:
            return
        entity = MetadataEntity.of_dataset(dataset, namespace)
        self._authorizer.enforce(current_principal(), entity, permissions)

    def record(self, accessor: Accessor, noted: Noted) -> None:
        """Record an access, if this accessor has not made the same before."""
        if self._find_new(accessor, [noted]):
            with self._store.transaction() as tx:
                self.record_within(tx, accessor, [noted])

    def record_within(self, tx: Transaction, accessor: Accessor, every: Collection[Noted]) -> None:
        """Record accesses as part of a transaction; those that were recorded before are left out."""
        new = self._find_new(accessor, every)
        for dataset in dict.fromkeys(each.dataset for each in new):
            found = [each for each in new if each.dataset == dataset]
            self._recorder.record_access(
                tx,
                dataset,
                _find_run(accessor),
                audited=[each.type for each in found if each.is_audited],
                related=[each.type for each in found if not each.is_audited],
            )
        tx.on_commit(lambda: self._remember(new))

    def note_partitions(self, tx: Transaction, namespace: str, dataset: str, count: int) -> None:
        """Publish that a dataset gets partitions, as part of a transaction."""
        self._publish(tx, create_event(namespace, dataset, count))

    def _find_new(self, accessor: Accessor, every: Collection[Noted]) -> list[_Record]:
        if not accessor.context:
            return []  # a preview leaves nothing
        found = {
            _Record(accessor.context, DatasetId(namespace, dataset), type, is_audited): None
            for namespace, dataset, access, effective in every
            for is_audited, types in ((True, _TYPES[access]), (False, _TYPES[effective]))
            for type in types
        }
        return [each for each in found if each not in self._recorded]

    def _remember(self, records: Collection[_Record]) -> None:
        with self._lock:
            self._recorded.update(dict.fromkeys(records))
            excess = len(self._recorded) - _KEPT
            for oldest in list(itertools.islice(self._recorded, max(0, excess))):
                del self._recorded[oldest]


def _find_run(accessor: Accessor) -> ProgramRunId | None:
    if not accessor.application:
        return None
    program = ProgramId(accessor.namespace, accessor.application, accessor.type, accessor.program)
    return ProgramRunId(program, accessor.context)


class AccessorAccesses:
    """The :class:`localcdap.store.transactions.dataset_session.DatasetAccesses` of one accessor."""

    def __init__(self, log: DatasetAccessLog, accessor: Accessor, rules: AnnotationRules) -> None:
        self.rules = rules
        self._log = log
        self._accessor = accessor

    def get_folder(self, namespace: str) -> str:
        return self._log.get_folder(namespace)

    def check(self, namespace: str, dataset: str, permissions: Collection[Permission]) -> None:
        self._log.check(namespace, dataset, permissions)

    def record(
        self, namespace: str, dataset: str, access: AccessKind, recorded: AccessKind
    ) -> None:
        self._log.record(self._accessor, (namespace, dataset, access, recorded))

    def record_at_commit(self, tx: Transaction, found: Collection[Noted]) -> None:
        self._log.record_within(tx, self._accessor, found)

    def note_partitions(self, tx: Transaction, namespace: str, dataset: str, count: int) -> None:
        self._log.note_partitions(tx, namespace, dataset, count)


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
