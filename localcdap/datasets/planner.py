"""The datasets that pipelines declare: what a deployment or a run creates and updates.

The rules are those of :mod:`localcdap.datasets.declarations`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.dataset.declaration import (
    DatasetChange,
    DatasetDeclaration,
    DatasetFiles,
    PartitionChange,
)
from localcdap.api.dataset.specification import SCHEMA
from localcdap.api.dataset.types import BUILT_IN_TYPES
from localcdap.api.errors import ConflictError, IncompatibleUpdateError, LocalcdapError
from localcdap.api.failures import INVALID_STAGE, ValidationFailure
from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import Authorizer, Permission
from localcdap.datasets.accesses import DatasetOwners
from localcdap.datasets.declarations import create_call
from localcdap.datasets.folders import join_transaction
from localcdap.datasets.partitions import (
    PublishPartitions,
    adopt_partitions,
    change_partition,
    create_event,
    describe_files,
    ignore_partitions,
)
from localcdap.datasets.specifications import compare, list_folders
from localcdap.datasets.storage import NamespaceStorage, refuse_shared_folder
from localcdap.datasets.types import DatasetTypes, PreparedChange
from localcdap.pipeline.validation.datasets import (
    DatasetPlan,
    StageDataset,
    create_update_failures,
    list_causes,
)
from localcdap.rpc.methods import non_idempotent
from localcdap.sandbox.dataset_calls import DatasetCall
from localcdap.security.access import of_dataset, requires
from localcdap.security.authorizer import ALLOW_ALL
from localcdap.security.principals import current_principal
from localcdap.store import dataset_catalog as catalog
from localcdap.store.store import Store, Transaction

_MOST_PREPARED: Final = 100
"""The most answers of custom types that are kept."""


class PipelineDatasets:
    """Plans and applies the declarations of pipelines. Threads may share it."""

    def __init__(
        self,
        store: Store,
        root: Path,
        authorizer: Authorizer = ALLOW_ALL,
        types: DatasetTypes | None = None,
        owners: DatasetOwners | None = None,
        publish: PublishPartitions = ignore_partitions,
    ) -> None:
        """Build the planner.

        :param root: the folder of the file sets of all namespaces.
        :param authorizer: decides which datasets the user of a deployment or run may create and change.
        :param types: the dataset types; None for the built-in ones only.
        :param owners: decides who may be named as an owner; None: anybody.
        :param publish: publishes events about partitions, as part of a transaction.
        """
        self._publish = publish
        self._owners = owners
        self._store = store
        self._root = root
        self._authorizer = authorizer
        self._types = types or DatasetTypes(store, root)
        self._prepared: dict[str, PreparedChange] = {}
        """What custom types answered to plans, for transactions that apply these."""

    def plan(
        self, namespace: str, datasets: Sequence[StageDataset], application: str | None
    ) -> DatasetPlan:
        """See :class:`localcdap.pipeline.validation.datasets.DatasetPlanner`."""
        if not datasets:
            return DatasetPlan()
        failures, changes, calls = [], [], []
        with self._store.snapshot() as tx:
            for each in datasets:
                try:
                    call = create_call(tx, self._root, namespace, each, datasets, application)
                    calls.append((each, call))
                except LocalcdapError as error:
                    failures += list(_to_failures(each, error))
        for each, call in calls:
            try:
                made = self._prepare(namespace, call)
            except LocalcdapError as error:
                failures += list(_to_failures(each, error))
                continue
            change = compare(call.held, made.specification, made.ignored)
            if not change.is_empty:
                changes.append((each, change))
        return DatasetPlan(failures, changes)

    def apply(
        self,
        tx: Transaction,
        namespace: str,
        datasets: Sequence[StageDataset],
        application: str | None,
        principal: str | None = None,
    ) -> list[DatasetChange]:
        """See :class:`localcdap.pipeline.validation.datasets.DatasetPlanner`."""
        if self._owners is not None:
            self._owners.check_new_owner(namespace, principal)
        folders = join_transaction(self._store, tx, self._root)
        storage = NamespaceStorage(tx, folders, namespace, self._root / namespace)
        changes = []
        for each in datasets:
            call = create_call(tx, self._root, namespace, each, datasets, application)
            made = self._find_prepared(namespace, call)
            new = made.specification
            change = compare(call.held, new, made.ignored)
            if change.is_empty:
                continue
            entity = MetadataEntity.of_dataset(new.name, namespace)
            self._authorizer.enforce(current_principal(), entity, [Permission.ADMIN])
            refuse_shared_folder(tx, self._root, namespace, new)
            made.apply(storage)
            tx.on_commit(made.discard)
            catalog.save_dataset(tx, namespace, new, principal)
            if change.is_new:
                left_out = adopt_partitions(tx, self._root, namespace, new)
                change = msgspec.structs.replace(change, warnings=[*change.warnings, *left_out])
            changes.append(change)
        if application is not None:
            self.forget(tx, namespace, application)
            _store_declarations(tx, namespace, application, [each.declaration for each in datasets])
        return changes

    def change_partitions(self, tx: Transaction, changes: Sequence[PartitionChange]) -> None:
        """See :class:`localcdap.pipeline.validation.datasets.DatasetPlanner`."""
        folders = join_transaction(self._store, tx, self._root)
        for each in changes:
            change_partition(tx, folders, self._root, each)
        added = Counter((e.namespace, e.dataset) for e in changes if e.path is not None)
        for (namespace, dataset), count in added.items():
            self._publish(tx, create_event(namespace, dataset, count))

    def forget(self, tx: Transaction, namespace: str, application: str) -> None:
        """See :class:`localcdap.pipeline.validation.datasets.DatasetPlanner`."""
        tx.execute(
            "DELETE FROM dataset_declarations WHERE namespace = ? AND application = ?",
            (namespace, application),
        )

    def _prepare(self, namespace: str, call: DatasetCall) -> PreparedChange:
        """Call the type of a declared dataset, and keep the answer of a custom one."""
        made = self._types.prepare(namespace, call)
        if made.depends_on_data:
            made.discard()
            raise ConflictError(
                f"Dataset '{call.name}' of type '{call.type}' rewrites its rows or files when it is updated.",
                f"Update it before: localcdap datasets update '{call.name}'",
            )
        if list_folders(made.specification):
            with self._store.snapshot() as tx:
                refuse_shared_folder(tx, self._root, namespace, made.specification)
        if call.type not in BUILT_IN_TYPES:
            self._keep(_make_key(namespace, call), made)
        return made

    def _keep(self, key: str, made: PreparedChange) -> None:
        replaced = self._prepared.pop(key, None)
        self._prepared[key] = made
        if len(self._prepared) > _MOST_PREPARED:
            replaced = self._prepared.pop(next(iter(self._prepared)))
        if replaced is not None:
            replaced.discard()

    def _find_prepared(self, namespace: str, call: DatasetCall) -> PreparedChange:
        """Return the answer of a type; that of a custom type was given to the plan.

        :raises ConflictError: when there is none, since the dataset has changed after the plan.
        """
        if call.type in BUILT_IN_TYPES:
            return self._types.prepare(namespace, call)
        made = self._prepared.get(_make_key(namespace, call))
        if made is None:
            raise ConflictError(
                f"Dataset '{call.name}' of type '{call.type}' has changed since the pipeline was checked.",
                "Try again.",
            )
        return made


def _make_key(namespace: str, call: DatasetCall) -> str:
    return f"{namespace} {msgspec.json.encode(call).decode()}"


def _store_declarations(
    tx: Transaction, namespace: str, application: str, declarations: Sequence[DatasetDeclaration]
) -> None:
    tx.execute_many(
        "INSERT INTO dataset_declarations VALUES (?, ?, ?, ?)",
        [(namespace, application, each.name, each.properties.get(SCHEMA)) for each in declarations],
    )


def _to_failures(dataset: StageDataset, error: LocalcdapError) -> Iterator[ValidationFailure]:
    """Yield a failure for each reason of an error, with stage and property."""
    reasons = error.reasons if isinstance(error, IncompatibleUpdateError) else [error.message]
    for reason in reasons:
        yield ValidationFailure(
            INVALID_STAGE,
            reason,
            error.corrective_action,
            list_causes(dataset),
            stage=dataset.stage,
            field=dataset.declaration.config_property,
        )


class RunDatasets:
    """The datasets that sinks create while they run. Threads may share it."""

    def __init__(self, store: Store, root: Path, planner: PipelineDatasets) -> None:
        """:param root: the folder of the file sets of all namespaces."""
        self._store = store
        self._root = root
        self._planner = planner

    @requires(of_dataset("namespace", "declaration.name"), Permission.WRITE)
    @non_idempotent
    def declare(
        self, namespace: str, stage: str, declaration: DatasetDeclaration
    ) -> DatasetFiles | None:
        """Create a dataset for the sink of a run, unless it exists and is as the sink declares it.

        :returns: its files; None when it has no folder.
        :raises IncompatibleUpdateError: when it exists and is not.
        """
        declared = [StageDataset(stage, declaration)]
        plan = self._planner.plan(namespace, declared, None)
        failures = [*plan.failures, *create_update_failures(plan)]
        if failures:
            raise IncompatibleUpdateError(
                reasons=[each.message for each in failures],
                corrective_action=failures[0].corrective_action,
            )
        if plan.changes:
            with self._store.transaction() as tx:
                self._planner.apply(tx, namespace, declared, None)
        with self._store.snapshot() as tx:
            return describe_files(tx, self._root, namespace, declaration.name)
