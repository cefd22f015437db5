"""The service ``sync``: plans synchronizations of namespaces with folders, and makes their changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from localcdap.api.errors import ConflictError, LocalcdapError, NotFoundError
from localcdap.api.security import Permission
from localcdap.namespaces.model import NamespaceResource
from localcdap.namespaces.service import NamespaceService
from localcdap.rpc.methods import non_idempotent
from localcdap.security.access import of_namespace, open_to_all, requires
from localcdap.store.store import Store
from localcdap.sync import base_records
from localcdap.sync.files import read_files
from localcdap.sync.json_files import format_document
from localcdap.sync.kinds import EntityKind, HeldBackError, RefusedEntityError
from localcdap.sync.model import (
    BaseRecord,
    HeldEntity,
    InstanceChange,
    InstanceOrder,
    SyncAction,
    SyncOutcome,
    SyncPlan,
    SyncProblem,
    SyncRequest,
    complete_records,
    make_address,
)
from localcdap.sync.planner import Planner, group_states

_Write = Callable[[], None]
_Entities = dict[tuple[str, str], Any]


class SyncService:
    """Synchronizes the entities of namespaces with the files that front ends read and write.

    Threads may share it.

    :param kinds: in the order in which their entities are written; later ones may need earlier ones.
    """

    def __init__(
        self, store: Store, namespaces: NamespaceService, kinds: Sequence[EntityKind]
    ) -> None:
        self._store = store
        self._namespaces = namespaces
        self._kinds = {kind.name: kind for kind in kinds}
        namespaces.register_resource(
            NamespaceResource("synchronizations", remove=base_records.remove_all)
        )

    @requires(of_namespace("request.namespace"), Permission.READ)
    def plan(self, request: SyncRequest) -> SyncPlan:
        """Return what a synchronization will do; nothing is changed.

        :raises NotFoundError: when there is no such namespace.
        """
        namespace = request.namespace
        self._namespaces.require(namespace)
        with self._store.snapshot() as tx:
            bases = base_records.read_records(tx, namespace, request.folder)
        instance = self._list_documents(namespace)
        pipelines = {key for kind, key in (*instance, *bases) if kind == "pipelines"}
        read = read_files(namespace, request.files, self._kinds, pipelines)
        planner = Planner(request, [each.path for each in request.files])
        planner.plan.problems.extend(read.problems)
        if any(
            kind == "pipelines" and "/" not in each.file.path
            for (kind, _), each in read.entities.items()
        ):
            planner.put_pipelines_at_top()
        if len(bases) > 1 and not read.entities and not read.problems:
            planner.plan.problems.append(_make_empty_problem(request, len(bases)))
        elif not read.problems:  # an entity in a broken file is not one that was deleted
            for states in group_states(self._kinds, instance, read.entities, bases):
                planner.add(states)
            planner.plan.problems.extend(self._find_secrets(namespace, planner.plan, instance))
        return planner.plan

    @requires(of_namespace("order.namespace"), Permission.ADMIN)
    @non_idempotent
    def apply(self, order: InstanceOrder) -> SyncOutcome:
        """Make changes of the instance, all or none; return the problems that prevent them.

        Connections are stored by an application, in transactions of their own: they are written before
        everything else, and get their previous values when that fails; they are deleted after it.

        :raises ConflictError: when an entity has changed since the plan was made; nothing was changed.
        :raises NotFoundError: when there is no such namespace.
        """
        self._namespaces.require(order.namespace)
        self._require_unchanged(order)
        outcome = SyncOutcome([], [], {})
        writes = self._prepare(order, outcome)
        if outcome.problems:
            return outcome
        undo: list[_Write] = []
        try:
            self._write(writes, outcome, undo, is_transactional=False)
            with self._store.unite() as tx:
                self._require_unchanged(order, is_transactional=True)
                self._write(writes, outcome, undo, is_transactional=True)
                held = {each.entity for each in outcome.held}
                stored = self._read_stored(order, held)
                records = [
                    each for each in order.records if make_address(each.kind, each.key) not in held
                ]
                records = complete_records(records, order.changes, stored)
                base_records.write_records(tx, order.namespace, order.folder, records)
        except BaseException:
            for restore in reversed(undo):
                restore()
            raise
        for change, kind, write, _ in writes:
            if change.action is SyncAction.DELETE and not kind.is_transactional:
                write()
        outcome.stored = stored
        return outcome

    @requires(of_namespace(), Permission.ADMIN)
    def record(self, namespace: str, folder: str, records: list[BaseRecord]) -> None:
        """Store what instance and folder agree on, after the files were written.

        :raises NotFoundError: when there is no such namespace.
        """
        with self._store.transaction() as tx:
            self._namespaces.require_in_transaction(tx, namespace)
            base_records.write_records(tx, namespace, folder, records)

    @open_to_all("they are the same for all namespaces")
    def list_folders(self) -> list[str]:
        """Return the names of the folders in which the files of the kinds of entities are."""
        return list(self._kinds)

    @requires(of_namespace(), Permission.ADMIN)
    def forget(self, namespace: str, folder: str) -> None:
        """Forget what a namespace and a folder agreed on; the next synchronization compares everything.

        :raises NotFoundError: when there is no such namespace.
        """
        with self._store.transaction() as tx:
            self._namespaces.require_in_transaction(tx, namespace)
            base_records.remove_folder(tx, namespace, folder)

    @requires(of_namespace(), Permission.READ)
    def list_synchronized(self, namespace: str) -> list[str]:
        """Return the folders that a namespace was synchronized with, by path.

        :raises NotFoundError: when there is no such namespace.
        """
        self._namespaces.require(namespace)
        with self._store.snapshot() as tx:
            return base_records.list_folders(tx, namespace)

    def _list_documents(self, namespace: str) -> _Entities:
        return {
            (name, key): document
            for name, kind in self._kinds.items()
            for key, document in kind.list_documents(namespace).items()
        }

    def _find_secrets(
        self, namespace: str, plan: SyncPlan, instance: Mapping[tuple[str, str], Any]
    ) -> list[SyncProblem]:
        """Return the secrets that would get into files, or into conflicts that are shown."""
        shown = {each.entity for each in plan.files} | {each.entity for each in plan.conflicts}
        problems = []
        for (name, key), document in instance.items():
            kind, entity = self._kinds[name], make_address(name, key)
            title = kind.get_title(key, document)
            if not shown & {entity, make_address(name, title)}:
                continue
            problems += [
                SyncProblem(
                    f"The instance has a secret in plain text in {kind.noun} '{title}': {secret.where}. "
                    "It is not written into a file.",
                    "Store the value as a secure key (localcdap secrets put KEY), and write "
                    "${secure(KEY)} in its place.",
                    entity,
                )
                for secret in kind.find_secrets(namespace, document)
            ]
        return problems

    def _require_unchanged(self, order: InstanceOrder, *, is_transactional: bool = False) -> None:
        """Check that entities are as the plan has seen them.

        :param is_transactional: only those that are changed in the transaction.
        """
        changes = [
            each
            for each in order.changes
            if self._kinds[each.kind].is_transactional or not is_transactional
        ]
        found = {
            name: self._kinds[name].list_documents(order.namespace)
            for name in {each.kind for each in changes}
        }
        for each in changes:
            document = found[each.kind].get(each.key)
            if (None if document is None else format_document(document)) != each.before:
                raise ConflictError(
                    f"{each.title} was changed in the instance while it was being synchronized.",
                    "Synchronize again.",
                )

    def _prepare(
        self, order: InstanceOrder, outcome: SyncOutcome
    ) -> list[tuple[InstanceChange, EntityKind, _Write, _Write]]:
        """Return for each change how it is made, and how it is undone where no transaction does that."""
        places = {name: place for place, name in enumerate(self._kinds)}
        prepared = []
        for each in sorted(order.changes, key=lambda each: places[each.kind]):
            kind, namespace = self._kinds[each.kind], order.namespace
            try:
                prepared.append(
                    (
                        each,
                        kind,
                        _make_write(kind, namespace, each, fix=order.fix),
                        _make_undo(kind, namespace, each),
                    )
                )
            except (RefusedEntityError, LocalcdapError) as error:
                outcome.problems.append(
                    SyncProblem(
                        f"{each.title}: {error.message}", error.corrective_action, each.entity
                    )
                )
        return prepared

    def _write(
        self,
        writes: Sequence[tuple[InstanceChange, EntityKind, _Write, _Write]],
        outcome: SyncOutcome,
        undo: list[_Write],
        *,
        is_transactional: bool,
    ) -> None:
        for change, kind, write, restore in writes:
            is_later = change.action is SyncAction.DELETE and not kind.is_transactional
            if kind.is_transactional is not is_transactional or is_later:
                continue
            try:
                write()
            except HeldBackError as error:
                outcome.held.append(HeldEntity(change.entity, change.title, error.message))
                continue
            if not is_transactional:
                undo.append(restore)

    def _read_stored(self, order: InstanceOrder, held: set[str]) -> dict[str, str]:
        """Return the texts of the entities that were written, as the instance has them now."""
        kinds = {each.kind for each in order.changes}
        found = {name: self._kinds[name].list_documents(order.namespace) for name in kinds}
        return {
            each.entity: format_document(found[each.kind][each.key])
            for each in order.changes
            if each.action is not SyncAction.DELETE
            and each.entity not in held
            and each.key in found[each.kind]
        }


def _make_empty_problem(request: SyncRequest, count: int) -> SyncProblem:
    """Return the problem of a folder that is probably not the one that was meant, or not mounted."""
    return SyncProblem(
        f"{request.folder} has none of the {count} entities that were synchronized with it before.",
        "Restore its files, for example with Git. To write all files again, use --restart; to delete the "
        "entities, delete them in the instance.",
    )


def _make_write(kind: EntityKind, namespace: str, change: InstanceChange, *, fix: bool) -> _Write:
    if change.action is not SyncAction.DELETE:
        return kind.prepare_write(namespace, change.key, change.document, fix=fix)

    def delete() -> None:
        try:
            kind.delete(namespace, change.key)
        except NotFoundError:  # it has gone with another entity, as metadata goes with its pipeline
            return

    return delete


def _make_undo(kind: EntityKind, namespace: str, change: InstanceChange) -> _Write:
    def restore() -> None:
        if change.before is None:
            kind.delete(namespace, change.key)
        else:
            kind.write(namespace, change.key, json.loads(change.before))

    return restore
