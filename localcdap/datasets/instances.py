"""The service ``datasets``: creating, changing and removing the datasets of a namespace."""

from __future__ import annotations

import contextlib
import itertools
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from localcdap.api.app.events import EntityCreated, EntityDeleted, EntityEvent, EntityUpdated
from localcdap.api.dataset.dataset import remove_stray_copies
from localcdap.api.dataset.definition import DatasetChange
from localcdap.api.dataset.specification import (
    DatasetSpecification,
    StorageLayout,
    locate_folder,
)
from localcdap.api.errors import BadRequestError, ConflictError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import Permission
from localcdap.datasets.accesses import DatasetOwners
from localcdap.datasets.model import (
    DatasetDetail,
    DatasetRequest,
    DatasetSummary,
    DatasetType,
    DatasetUpdate,
)
from localcdap.datasets.specifications import (
    compare,
    get_given_properties,
    get_row_schema,
    lay_out,
    list_folders,
)
from localcdap.datasets.storage import (
    NamespaceStorage,
    change_folders,
    measure_folder,
    recover_folders,
    refuse_shared_folder,
)
from localcdap.datasets.types import DatasetTypes, PreparedChange
from localcdap.messaging.topics import Topics
from localcdap.metadata.audit import AuditLog
from localcdap.metadata.lineage.relations import DatasetId, DatasetUsage, list_usage_of_dataset
from localcdap.namespaces.model import NamespaceResource
from localcdap.namespaces.service import NamespaceService
from localcdap.rpc.methods import non_idempotent
from localcdap.sandbox.dataset_calls import DatasetAction, DatasetCall
from localcdap.security.access import of_dataset, of_namespace, requires, shows_visible
from localcdap.store import dataset_catalog as catalog
from localcdap.store import table_catalog
from localcdap.store.dataset_catalog import StoredDataset
from localcdap.store.store import Store, Transaction

_MOST_REWRITTEN: Final = 5
"""How many times the code of a type rewrites rows and files that others change meanwhile."""
_WRONG_NAME: Final = ("/", "\\", "\0")


class DatasetService:
    """Datasets of all types. Threads may share it.

    :param folder: of the file sets of all namespaces.
    :param types: the dataset types; None for the built-in ones only.
    :param owners: knows who owns which dataset; None: nobody asks who may do what.
    """

    def __init__(
        self,
        store: Store,
        namespaces: NamespaceService,
        topics: Topics,
        audit: AuditLog,
        folder: Path,
        types: DatasetTypes | None = None,
        owners: DatasetOwners | None = None,
    ) -> None:
        self._store = store
        self._owners = owners or DatasetOwners(store, namespaces)
        self._namespaces = namespaces
        self._topics = topics
        self._audit = audit
        self._folder = folder
        self._types = types or DatasetTypes(store, folder)
        recover_folders(store, folder)
        self._remove_stray_copies()
        namespaces.register_resource(
            NamespaceResource("datasets", remove_files=self._remove_files, remove=_remove_all)
        )

    @requires(of_namespace())
    def list_types(self, namespace: str) -> list[DatasetType]:
        """Return the dataset types that a namespace can use, by name."""
        self._namespaces.require(namespace)
        return self._types.list_types(namespace)

    @requires(of_namespace())
    @shows_visible(lambda each: MetadataEntity.of_dataset(each.name, each.namespace))
    def list_datasets(
        self, namespace: str, properties: dict[str, str] | None = None
    ) -> list[DatasetSummary]:
        """Return the datasets of a namespace, by name.

        :param properties: only datasets that have all of these properties.
        """
        self._namespaces.require(namespace)
        with self._store.snapshot() as tx:
            found = catalog.list_datasets(tx, namespace)
        wanted = (properties or {}).items()
        return [
            _summarize(each)
            for each in found
            if wanted <= (get_given_properties(each.specification).items())
        ]

    @requires(of_dataset())
    def has_dataset(self, namespace: str, name: str) -> bool:
        """Return whether there is a dataset of that name."""
        self._namespaces.require(namespace)
        with self._store.snapshot() as tx:
            return catalog.find_dataset(tx, namespace, name) is not None

    @requires(of_dataset())
    def describe(self, namespace: str, name: str) -> DatasetDetail:
        """Return everything about a dataset.

        :raises NotFoundError: when there is none of that name; the message lists the datasets.
        """
        self._namespaces.require(namespace)
        with self._store.snapshot() as tx:
            found = catalog.require_dataset(tx, namespace, name)
            return self._describe(tx, found)

    @requires(of_dataset("request.namespace", "request.name"), Permission.ADMIN)
    @non_idempotent
    def create(self, request: DatasetRequest) -> DatasetChange:
        """Create a dataset.

        :raises NotFoundError: when there is no such namespace or type.
        :raises DatasetPropertiesError: when the properties are invalid.
        :raises ConflictError: when there is a dataset or table of that name, or its folder exists.
        :raises UnauthorizedError: when its principal is somebody whom the user may not name.
        """
        _check_dataset_name(request.name)
        self._namespaces.require(request.namespace)
        self._owners.check_new_owner(request.namespace, request.principal)
        call = DatasetCall(
            DatasetAction.CREATE,
            request.type,
            request.name,
            properties=request.properties,
            description=request.description,
        )
        made = self._types.prepare(request.namespace, call)
        specification = made.specification
        with contextlib.ExitStack() as stack:
            stack.callback(made.discard)
            tx, storage = stack.enter_context(self._change(request.namespace))
            held = catalog.find_dataset(tx, request.namespace, request.name)
            if held is not None:
                raise ConflictError(
                    f"There is a dataset '{request.name}' of type '{held.specification.type}' in namespace "
                    f"'{request.namespace}' already.",
                    f"Choose another name, or change it: localcdap datasets update '{request.name}'",
                )
            refuse_shared_folder(tx, self._folder, request.namespace, specification)
            made.apply(storage)
            catalog.save_dataset(tx, request.namespace, specification, request.principal)
            self._publish(tx, EntityCreated, request.namespace, specification)
        return compare(None, specification, made.ignored)

    @requires(of_dataset("update.namespace", "update.name"), Permission.ADMIN)
    @non_idempotent
    def update(self, update: DatasetUpdate) -> DatasetChange:
        """Give a dataset new properties; its data is changed so that it fits them.

        When anything fails, neither the properties nor the data have changed. Another update waits, and is
        then compared with the properties of this one.

        :raises NotFoundError: when there is no such dataset.
        :raises DatasetPropertiesError: when the properties are invalid.
        :raises IncompatibleUpdateError: when the dataset cannot get them; it has all reasons.
        """
        with self._alter(update, DatasetAction.UPDATE) as (tx, storage, held, made):
            specification = made.specification
            change = compare(held, specification, made.ignored)
            if change.is_empty:
                return change
            refuse_shared_folder(tx, self._folder, update.namespace, specification)
            made.apply(storage)
            catalog.save_dataset(tx, update.namespace, specification)
            self._publish(tx, EntityUpdated, update.namespace, specification)
        return change

    @requires(of_dataset("update.namespace", "update.name"))
    def check_update(self, update: DatasetUpdate) -> DatasetChange:
        """Return what :meth:`update` would change; its errors are the same. Nothing is changed."""
        self._namespaces.require(update.namespace)
        held = self._read(update.namespace, update.name)
        made = self._types.prepare(
            update.namespace, _to_call(DatasetAction.CHECK_UPDATE, held, update)
        )
        return compare(held, made.specification, made.ignored)

    @requires(of_dataset(), Permission.ADMIN)
    @non_idempotent
    def truncate(self, namespace: str, name: str) -> None:
        """Remove the data of a dataset, which stays with its properties.

        :raises NotFoundError: when there is no such dataset.
        """
        target = DatasetUpdate(name, {}, namespace)
        with self._alter(target, DatasetAction.TRUNCATE) as (tx, storage, _held, made):
            made.apply(storage)
            self._audit.note_truncation(tx, MetadataEntity.of_dataset(name, namespace))

    @requires(of_dataset(), Permission.ADMIN)
    @non_idempotent
    def upgrade(self, namespace: str, name: str) -> None:
        """Migrate the data of a dataset after the code of its type has changed.

        :raises NotFoundError: when there is no such dataset.
        """
        target = DatasetUpdate(name, {}, namespace)
        with self._alter(target, DatasetAction.UPGRADE) as (tx, storage, held, made):
            made.apply(storage)
            if (
                made.specification != held
            ):  # the new code of a custom type may lay it out differently
                catalog.save_dataset(tx, namespace, made.specification)
            self._publish(tx, EntityUpdated, namespace, held)

    @requires(of_dataset(), Permission.ADMIN)
    @non_idempotent
    def drop(self, namespace: str, name: str) -> None:
        """Remove a dataset with its data. Files that it does not own stay.

        :raises NotFoundError: when there is no such dataset.
        """
        target = DatasetUpdate(name, {}, namespace)
        with self._alter(target, DatasetAction.DROP) as (tx, storage, held, made):
            made.apply(storage)
            catalog.delete_dataset(tx, namespace, name)
            self._publish(tx, EntityDeleted, namespace, held)

    @requires(of_dataset())
    @shows_visible(lambda each: each.program.to_entity())
    def list_usage(self, namespace: str, name: str) -> list[DatasetUsage]:
        """Return the programs that have read or written a dataset, by name, if it exists or not."""
        self._namespaces.require(namespace)
        with self._store.snapshot() as tx:
            return list_usage_of_dataset(tx, DatasetId(namespace, name))

    def _remove_stray_copies(self) -> None:
        """Remove the copies of folders in which a killed host let files be rewritten."""
        with self._store.snapshot() as tx:
            found = catalog.list_datasets(tx)
        for parent in self._folder.glob("*"):
            remove_stray_copies(parent)
        for each in found:
            for folder in list_folders(each.specification):
                place = locate_folder(self._folder / each.namespace, folder)
                remove_stray_copies(place.parent, place.name)

    @contextmanager
    def _change(self, namespace: str) -> Iterator[tuple[Transaction, NamespaceStorage]]:
        with change_folders(self._store, self._folder) as (tx, folders):
            self._namespaces.require_in_transaction(tx, namespace)
            yield tx, NamespaceStorage(tx, folders, namespace, self._folder / namespace)

    @contextmanager
    def _alter(
        self, update: DatasetUpdate, action: DatasetAction
    ) -> Iterator[tuple[Transaction, NamespaceStorage, DatasetSpecification, PreparedChange]]:
        """Call the type of a dataset, and open the transaction that changes the dataset.

        The type is called before, since it may take long. It is called again when the dataset has changed
        meanwhile.
        """
        self._namespaces.require(update.namespace)
        with contextlib.ExitStack() as stack:
            for rewritten in itertools.count():
                held = self._read(update.namespace, update.name)
                made = self._types.prepare(update.namespace, _to_call(action, held, update))
                with contextlib.ExitStack() as attempt:
                    attempt.callback(made.discard)
                    tx, storage = attempt.enter_context(self._change(update.namespace))
                    now = catalog.require_dataset(tx, update.namespace, update.name)
                    if now.specification == held and made.is_current(tx, update.namespace):
                        stack.enter_context(attempt.pop_all())
                        break
                    if rewritten >= _MOST_REWRITTEN and made.depends_on_data:
                        raise ConflictError(
                            f"The rows or files of dataset '{update.name}' change all the time.",
                            "Try again when no program writes them.",
                        )
            yield tx, storage, held, made

    def _read(self, namespace: str, name: str) -> DatasetSpecification:
        with self._store.snapshot() as tx:
            return catalog.require_dataset(tx, namespace, name).specification

    def _remove_files(self, namespace: str, _generation: int) -> Sequence[str]:
        """Remove the folders that the datasets of a deleted namespace own."""
        with self._store.snapshot() as tx:
            found = catalog.list_datasets(tx, namespace)
        for each in found:
            folder = lay_out(each.specification).folder
            if folder is not None and folder.is_owned:
                path = locate_folder(self._folder / namespace, folder)
                shutil.rmtree(path, ignore_errors=True)
        return ()

    def _describe(self, tx: Transaction, dataset: StoredDataset) -> DatasetDetail:
        specification = dataset.specification
        layout = lay_out(specification)
        storage_root = self._folder / dataset.namespace
        folder = None if layout.folder is None else locate_folder(storage_root, layout.folder)
        files, size = (None, None) if folder is None else measure_folder(folder)
        names = set(table_catalog.list_names(tx, dataset.namespace)) & set(layout.tables)
        return DatasetDetail(
            dataset.namespace,
            dataset.name,
            specification.type,
            specification.description,
            get_given_properties(specification),
            specification,
            self._owners.find_owner(dataset.namespace, dataset.principal),
            dataset.created,
            dataset.updated,
            get_row_schema(specification, layout),
            sorted(layout.tables),
            sum(_count_rows(tx, dataset.namespace, name) for name in names) if names else None,
            None if folder is None else str(folder),
            files,
            size,
            self._types.find_problem(dataset.namespace, specification)
            or _find_problem(layout, names),
        )

    def _publish(
        self,
        tx: Transaction,
        kind: type[EntityEvent],
        namespace: str,
        specification: DatasetSpecification,
    ) -> None:
        """Publish a change. That of the dataset's own table is published with the changes of all tables."""
        if (namespace, specification.name) not in tx.changed_tables:
            entity = MetadataEntity.of_dataset(specification.name, namespace)
            self._topics.publish_entity_event(tx, kind, entity)


def _to_call(
    action: DatasetAction, held: DatasetSpecification, update: DatasetUpdate
) -> DatasetCall:
    return DatasetCall(action, held.type, held.name, held, _choose_properties(held, update))


def _choose_properties(held: DatasetSpecification, update: DatasetUpdate) -> dict[str, str]:
    if update.replaces:
        return update.properties
    given = {k: v for k, v in get_given_properties(held).items() if k not in update.removed}
    return {**given, **update.properties}


def _summarize(dataset: StoredDataset) -> DatasetSummary:
    specification = dataset.specification
    return DatasetSummary(
        dataset.namespace,
        dataset.name,
        specification.type,
        specification.description,
        get_given_properties(specification),
    )


def _find_problem(layout: StorageLayout, tables: set[str]) -> str | None:
    missing = sorted(set(layout.tables) - tables)
    return f"The data is missing: there is no table {', '.join(missing)}." if missing else None


def _count_rows(tx: Transaction, namespace: str, name: str) -> int:
    table = table_catalog.to_identifier(namespace, name)
    return int(tx.execute(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608


def _check_dataset_name(name: str) -> None:
    if not name or name.startswith(".") or any(each in name for each in _WRONG_NAME):
        raise BadRequestError(
            f"A dataset cannot be called {name!r}.",
            "Use a name that does not begin with a dot and has neither slashes nor backslashes.",
        )


def _remove_all(tx: Transaction, namespace: str) -> None:
    for each in catalog.list_datasets(tx, namespace):
        catalog.delete_dataset(tx, namespace, each.name)
    tx.execute("DELETE FROM dataset_declarations WHERE namespace = ?", (namespace,))
