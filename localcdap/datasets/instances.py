"""The service ``datasets``: creating, changing and removing the datasets of a namespace."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.app.events import EntityCreated, EntityDeleted, EntityEvent, EntityUpdated
from localcdap.api.dataset.declaration import DatasetChange
from localcdap.api.dataset.definition import DatasetDefinition
from localcdap.api.dataset.specification import DatasetSpecification, StorageLayout
from localcdap.api.dataset.types import BUILT_IN_TYPES
from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import Permission
from localcdap.datasets.folders import change_folders, recover_folders
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
)
from localcdap.datasets.storage import NamespaceStorage, locate_folder
from localcdap.messaging.topics import Topics
from localcdap.metadata.audit import AuditLog
from localcdap.metadata.lineage.relations import DatasetId
from localcdap.metadata.lineage.usage import DatasetUsage, list_usage_of_dataset
from localcdap.namespaces.resources import NamespaceResource
from localcdap.namespaces.service import NamespaceService
from localcdap.rpc.methods import non_idempotent
from localcdap.security.access import of_dataset, of_namespace, requires, shows_visible
from localcdap.store import dataset_catalog as catalog
from localcdap.store import table_catalog
from localcdap.store.dataset_catalog import StoredDataset
from localcdap.store.store import Store, Transaction
from localcdap.text import format_available

_WRONG_NAME: Final = ("/", "\\", "\0")


class DatasetService:
    """Datasets of all types. Threads may share it.

    :param folder: of the file sets of all namespaces.
    """

    def __init__(
        self,
        store: Store,
        namespaces: NamespaceService,
        topics: Topics,
        audit: AuditLog,
        folder: Path,
    ) -> None:
        self._store = store
        self._namespaces = namespaces
        self._topics = topics
        self._audit = audit
        self._folder = folder
        recover_folders(store, folder)
        namespaces.register_resource(
            NamespaceResource("datasets", remove_files=self._remove_files, remove=_remove_all)
        )

    @requires(of_namespace())
    def list_types(self, namespace: str) -> list[DatasetType]:
        """Return the dataset types that a namespace can use, by name."""
        self._namespaces.require(namespace)
        return [
            DatasetType(each.name, each.description)
            for each in sorted(BUILT_IN_TYPES.values(), key=lambda each: each.name.lower())
        ]

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
        """
        _check_name(request.name)
        definition = self._find_type(request.type)
        specification = msgspec.structs.replace(
            definition.configure(request.name, request.properties),
            original_properties=dict(request.properties),
            description=request.description,
        )
        with self._change(request.namespace) as (tx, storage):
            held = catalog.find_dataset(tx, request.namespace, request.name)
            if held is not None:
                raise ConflictError(
                    f"There is a dataset '{request.name}' of type '{held.specification.type}' in namespace "
                    f"'{request.namespace}' already.",
                    f"Choose another name, or change it: localcdap datasets update '{request.name}'",
                )
            self._refuse_shared_folder(tx, request.namespace, specification)
            definition.get_admin(storage, specification).create()
            catalog.save_dataset(tx, request.namespace, specification, request.principal)
            self._publish(tx, EntityCreated, request.namespace, specification)
        return compare(definition, None, specification)

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
        with self._change(update.namespace) as (tx, storage):
            held = catalog.require_dataset(tx, update.namespace, update.name).specification
            definition = self._find_type(held.type)
            specification = _reconfigure(definition, held, _choose_properties(held, update))
            change = compare(definition, held, specification)
            if change.is_empty:
                return change
            self._refuse_shared_folder(tx, update.namespace, specification)
            definition.get_admin(storage, specification).update(held)
            catalog.save_dataset(tx, update.namespace, specification)
            self._publish(tx, EntityUpdated, update.namespace, specification)
        return change

    @requires(of_dataset("update.namespace", "update.name"))
    def check_update(self, update: DatasetUpdate) -> DatasetChange:
        """Return what :meth:`update` would change; its errors are the same. Nothing is changed."""
        self._namespaces.require(update.namespace)
        with self._store.snapshot() as tx:
            held = catalog.require_dataset(tx, update.namespace, update.name).specification
        definition = self._find_type(held.type)
        specification = _reconfigure(definition, held, _choose_properties(held, update))
        return compare(definition, held, specification)

    @requires(of_dataset(), Permission.ADMIN)
    @non_idempotent
    def truncate(self, namespace: str, name: str) -> None:
        """Remove the data of a dataset, which stays with its properties.

        :raises NotFoundError: when there is no such dataset.
        """
        with self._change(namespace) as (tx, storage):
            held = catalog.require_dataset(tx, namespace, name).specification
            self._find_type(held.type).get_admin(storage, held).truncate()
            self._audit.note_truncation(tx, MetadataEntity.of_dataset(name, namespace))

    @requires(of_dataset(), Permission.ADMIN)
    @non_idempotent
    def upgrade(self, namespace: str, name: str) -> None:
        """Migrate the data of a dataset after the code of its type has changed.

        :raises NotFoundError: when there is no such dataset.
        """
        with self._change(namespace) as (tx, storage):
            held = catalog.require_dataset(tx, namespace, name).specification
            self._find_type(held.type).get_admin(storage, held).upgrade()
            self._publish(tx, EntityUpdated, namespace, held)

    @requires(of_dataset(), Permission.ADMIN)
    @non_idempotent
    def drop(self, namespace: str, name: str) -> None:
        """Remove a dataset with its data. Files that it does not own stay.

        :raises NotFoundError: when there is no such dataset.
        """
        with self._change(namespace) as (tx, storage):
            held = catalog.require_dataset(tx, namespace, name).specification
            self._find_type(held.type).get_admin(storage, held).drop()
            catalog.delete_dataset(tx, namespace, name)
            self._publish(tx, EntityDeleted, namespace, held)

    @requires(of_dataset())
    @shows_visible(lambda each: each.program.to_entity())
    def list_usage(self, namespace: str, name: str) -> list[DatasetUsage]:
        """Return the programs that have read or written a dataset, by name, if it exists or not."""
        self._namespaces.require(namespace)
        with self._store.snapshot() as tx:
            return list_usage_of_dataset(tx, DatasetId(namespace, name))

    @contextmanager
    def _change(self, namespace: str) -> Iterator[tuple[Transaction, NamespaceStorage]]:
        with change_folders(self._store, self._folder) as (tx, folders):
            self._namespaces.require_in_transaction(tx, namespace)
            yield tx, NamespaceStorage(tx, folders, namespace, self._folder / namespace)

    def _refuse_shared_folder(
        self, tx: Transaction, namespace: str, specification: DatasetSpecification
    ) -> None:
        """Refuse a folder that another dataset would delete with its own, or that would delete another's.

        :raises ConflictError: when there is such a dataset.
        """
        folder = lay_out(specification).folder
        if folder is None:
            return
        path = locate_folder(self._folder / namespace, folder)
        for each in catalog.list_datasets(tx):
            other = lay_out(each.specification).folder
            is_same = (each.namespace, each.name) == (namespace, specification.name)
            if other is None or is_same or not (folder.is_owned or other.is_owned):
                continue
            place = locate_folder(self._folder / each.namespace, other)
            if path.is_relative_to(place) or place.is_relative_to(path):
                raise ConflictError(
                    f"The folder {path} overlaps that of dataset '{each.name}' in namespace "
                    f"'{each.namespace}', {place}.",
                    "Choose another 'base.path', or set 'data.external' for both.",
                )

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

    def _find_type(self, name: str) -> DatasetDefinition:
        found = BUILT_IN_TYPES.get(name)
        if found is None:
            known = format_available(name, list(BUILT_IN_TYPES))
            raise NotFoundError(
                f"Requested dataset type is not available: {name}; available: {known}."
            )
        return found

    def _describe(self, tx: Transaction, dataset: StoredDataset) -> DatasetDetail:
        specification = dataset.specification
        layout = lay_out(specification)
        storage_root = self._folder / dataset.namespace
        names = set(table_catalog.list_names(tx, dataset.namespace)) & set(layout.tables)
        return DatasetDetail(
            dataset.namespace,
            dataset.name,
            specification.type,
            specification.description,
            get_given_properties(specification),
            specification,
            dataset.principal,
            dataset.created,
            dataset.updated,
            get_row_schema(specification, layout),
            sorted(layout.tables),
            sum(_count_rows(tx, dataset.namespace, name) for name in names) if names else None,
            str(locate_folder(storage_root, layout.folder)) if layout.folder is not None else None,
            _find_problem(specification, layout, names),
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


def _reconfigure(
    definition: DatasetDefinition, held: DatasetSpecification, properties: Mapping[str, str]
) -> DatasetSpecification:
    return msgspec.structs.replace(
        definition.reconfigure(held.name, properties, held),
        original_properties=dict(properties),
        description=held.description,
    )


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


def _find_problem(
    specification: DatasetSpecification, layout: StorageLayout, tables: set[str]
) -> str | None:
    if specification.type not in BUILT_IN_TYPES:
        return f"The dataset type '{specification.type}' is missing."
    missing = sorted(set(layout.tables) - tables)
    return f"The data is missing: there is no table {', '.join(missing)}." if missing else None


def _count_rows(tx: Transaction, namespace: str, name: str) -> int:
    table = table_catalog.to_identifier(namespace, name)
    return int(tx.execute(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608


def _check_name(name: str) -> None:
    if not name or name.startswith(".") or any(each in name for each in _WRONG_NAME):
        raise BadRequestError(
            f"A dataset cannot be called {name!r}.",
            "Use a name that does not begin with a dot and has neither slashes nor backslashes.",
        )


def _remove_all(tx: Transaction, namespace: str) -> None:
    for each in catalog.list_datasets(tx, namespace):
        catalog.delete_dataset(tx, namespace, each.name)
    tx.execute("DELETE FROM dataset_declarations WHERE namespace = ?", (namespace,))
