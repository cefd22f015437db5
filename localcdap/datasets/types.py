"""Dataset types, built in or of modules: finding them, and preparing what a call of one changes."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from localcdap.api.dataset.dataset import StagedFolder, name_copy, remove_stray_copies
from localcdap.api.dataset.specification import DatasetSpecification, locate_folder
from localcdap.api.dataset.types import BUILT_IN_TYPES
from localcdap.api.errors import NotFoundError, PluginError
from localcdap.artifacts.model import DatasetTypeRef
from localcdap.datasets.model import DatasetType
from localcdap.datasets.specifications import get_given_properties, lay_out, list_folders
from localcdap.datasets.storage import NamespaceStorage, copy_rows, fingerprint_rows
from localcdap.sandbox.dataset_calls import (
    CustomTypeRequest,
    CustomTypeResult,
    DatasetAction,
    DatasetCall,
    StorageChange,
    StorageFacts,
    TableCopy,
    administrate,
    call_custom_type,
    specify,
)
from localcdap.sandbox.plugin_calls import JobRunner
from localcdap.store import dataset_catalog as catalog
from localcdap.store import table_catalog
from localcdap.store.store import Store, Transaction
from localcdap.text import format_available


class CustomTypes(Protocol):
    """The dataset types of modules; the service of artifacts."""

    def list_dataset_types(self, namespace: str) -> list[DatasetTypeRef]: ...

    def find_dataset_type(self, namespace: str, name: str) -> DatasetTypeRef | None: ...


class PreparedChange(NamedTuple):
    """What a type answered to a call. Nothing has changed yet."""

    specification: DatasetSpecification
    ignored: list[str]
    """A sentence for each property without effect."""
    apply: Callable[[NamespaceStorage], None]
    """Changes the data, in the transaction of the storage."""
    staged: tuple[StagedFolder, ...] = ()
    """The folders with rewritten files."""
    copies: tuple[TableCopy, ...] = ()
    """The rows that the code of the type has seen."""
    rows: Path | None = None
    """The folder with the copies and the changes of rows."""

    @property
    def depends_on_data(self) -> bool:
        """Whether the answer holds only as long as nobody writes the dataset."""
        return bool(self.staged or self.copies)

    def is_current(self, tx: Transaction, namespace: str) -> bool:
        """Return whether nobody has changed the files and rows that the code of the type has seen."""
        return all(each.is_current() for each in self.staged) and all(
            fingerprint_rows(tx, namespace, each.table) == each.fingerprint for each in self.copies
        )

    def discard(self) -> None:
        """Remove the files that the call has written and that have not taken effect."""
        for each in self.staged:
            each.remove()
        if self.rows is not None:
            shutil.rmtree(self.rows, ignore_errors=True)


class DatasetTypes:
    """The types that namespaces can use. Threads may share it.

    The code of a type of a module runs in a plugin worker only.

    :param root: the folder of the file sets of all namespaces.
    :param custom: the types of modules; None when there are only built-in types.
    """

    def __init__(
        self,
        store: Store,
        root: Path,
        custom: CustomTypes | None = None,
        workers: JobRunner | None = None,
    ) -> None:
        self._store = store
        self._root = root
        self._custom = custom
        self._workers = workers

    def list_types(self, namespace: str) -> list[DatasetType]:
        """Return the types that a namespace can use, by name."""
        custom = self._custom.list_dataset_types(namespace) if self._custom is not None else []
        found = [DatasetType(each.name, each.description) for each in BUILT_IN_TYPES.values()]
        found += [
            DatasetType(each.plugin.name, each.description, _format_artifact(each))
            for each in custom
        ]
        found += self._list_missing(namespace, {each.name for each in found})
        return sorted(found, key=lambda each: each.name.lower())

    def _list_missing(self, namespace: str, known: Collection[str]) -> list[DatasetType]:
        """Return the types of which a namespace has datasets, but no code."""
        with self._store.snapshot() as tx:
            found = catalog.list_datasets(tx, namespace)
        missing = {each.specification.type: each.specification for each in found}
        return [
            DatasetType(
                name,
                "",
                each.origin.artifact if each.origin is not None else None,
                describe_missing(each),
            )
            for name, each in missing.items()
            if name not in known
        ]

    def find_problem(self, namespace: str, specification: DatasetSpecification) -> str | None:
        """Return why a dataset cannot be opened because of its type; None when it can."""
        if specification.type in BUILT_IN_TYPES or self._find(namespace, specification.type):
            return None
        return describe_missing(specification)

    def prepare(self, namespace: str, call: DatasetCall) -> PreparedChange:
        """Call a type.

        :raises NotFoundError: when the type does not exist; for a missing one the message names its file.
        :raises DatasetPropertiesError: when the properties are invalid.
        :raises IncompatibleUpdateError: when the dataset cannot get them.
        :raises PluginError: when the code of a custom type raises, hangs or exits.
        """
        definition = BUILT_IN_TYPES.get(call.type)
        if definition is None:
            return self._prepare_custom(namespace, call)
        made = specify(definition, call)
        return PreparedChange(
            made,
            definition.list_ignored(get_given_properties(made)),
            lambda storage: administrate(definition.get_admin(storage, made), call),
        )

    def _find(self, namespace: str, name: str) -> DatasetTypeRef | None:
        return None if self._custom is None else self._custom.find_dataset_type(namespace, name)

    def _prepare_custom(self, namespace: str, call: DatasetCall) -> PreparedChange:
        found = self._find(namespace, call.type)
        if found is None or self._workers is None:
            held = call.held
            if held is not None and call.action is DatasetAction.DROP:
                return PreparedChange(held, [], lambda storage: storage.drop(lay_out(held)))
            raise self._make_missing_error(namespace, call)
        facts = self._collect_facts(namespace, call.name)
        who = f"Dataset type '{call.type}' of artifact {_format_artifact(found)}"
        try:
            facts, answer = self._call(namespace, CustomTypeRequest(found.plugin, call, facts), who)
        except BaseException:
            self._remove_copies(namespace, call.held, facts.id)
            raise
        made = _add_path(answer.specification, found.path)
        staged = tuple(each.staged for each in answer.changes if each.staged is not None)
        rows = Path(facts.rows)
        check_ownership(who, made, call.held, answer.changes)

        def apply(storage: NamespaceStorage) -> None:
            _replay(storage, made.name, answer.changes)
            if call.action is DatasetAction.DROP and call.held is not None:
                # Another version of the type may have kept data elsewhere.
                storage.drop(lay_out(call.held))

        return PreparedChange(made, answer.ignored, apply, staged, tuple(facts.copies), rows)

    def _call(
        self, namespace: str, request: CustomTypeRequest, who: str
    ) -> tuple[StorageFacts, CustomTypeResult]:
        """Call a custom type, again for each table whose rows it opens; return also what it was given."""
        assert self._workers is not None
        while True:
            facts, call = request.facts, request.call
            answer = self._workers.do(call_custom_type, request, request.type, who)
            if answer.missing is None:
                return facts, answer
            if answer.missing not in facts.tables or answer.missing in (
                each.table for each in facts.copies
            ):
                raise PluginError(f"{who} asks for the rows of '{answer.missing}' again.")
            with self._store.snapshot() as tx:
                copy = copy_rows(tx, namespace, call.name, answer.missing, Path(facts.rows))
            copied = msgspec.structs.replace(facts, copies=[*facts.copies, copy])
            request = CustomTypeRequest(request.type, call, copied)

    def _collect_facts(self, namespace: str, name: str) -> StorageFacts:
        with self._store.snapshot() as tx:
            names = table_catalog.list_names(tx, namespace)
        own = sorted(each for each in names if _is_own_table(each, name))
        root, id = self._root / namespace, uuid.uuid4().hex
        return StorageFacts(own, str(root), id, str(name_copy(root / name, f"{id}-rows")))

    def _remove_copies(self, namespace: str, held: DatasetSpecification | None, id: str) -> None:
        """Remove the copies of folders that a call has left which hung or exited."""
        root = self._root / namespace
        folders = list_folders(held) if held is not None else []
        for parent in {root, *(locate_folder(root, each).parent for each in folders)}:
            remove_stray_copies(parent, id=id)

    def _make_missing_error(self, namespace: str, call: DatasetCall) -> NotFoundError:
        if call.held is not None:
            return NotFoundError(
                describe_missing(call.held),
                "Put the file back; the data is kept, and SQL reads it.",
            )
        known = format_available(call.type, [each.name for each in self.list_types(namespace)])
        return NotFoundError(
            f"Requested dataset type is not available: {call.type}; available: {known}."
        )


def describe_missing(specification: DatasetSpecification) -> str:
    """Return that the type of a dataset is missing, with the file that had it."""
    origin = specification.origin
    where = f": its artifact {origin.artifact} was {origin.path}" if origin is not None else ""
    return f"The dataset type '{specification.type}' is missing{where}."


def check_ownership(
    who: str,
    made: DatasetSpecification,
    held: DatasetSpecification | None,
    changes: Sequence[StorageChange],
) -> None:
    """Refuse changes of tables and folders that are not those of the dataset.

    :raises PluginError: when there is such a change.
    """
    layouts = [each for change in changes for each in (change.layout, change.new) if each]
    tables = {name for layout in (lay_out(made), *layouts) for name in layout.tables}
    tables |= {each.rows.table for each in changes if each.rows is not None}
    foreign = sorted(name for name in tables if not _is_own_table(name, made.name))
    if foreign:
        raise PluginError(
            f"{who} uses the table '{foreign[0]}', which is not one of dataset '{made.name}'.",
            f"Call it '{made.name}', or '{made.name}.' with a name of yours.",
        )
    for change in changes:
        if change.staged is not None and not change.staged.is_beside_source():
            raise PluginError(f"{who} stages the folder '{change.staged.path}' in a wrong place.")
    known = [*list_folders(made), *(list_folders(held) if held is not None else ())]
    for layout in layouts:
        if layout.folder is not None and layout.folder not in known:
            raise PluginError(
                f"{who} uses the folder '{layout.folder.path}', which is not one of dataset '{made.name}'.",
                "Return the folder from lay_out.",
            )


def _replay(storage: NamespaceStorage, name: str, changes: Iterable[StorageChange]) -> None:
    for each in changes:
        if each.new is not None:
            storage.change(each.layout, each.new)
        elif each.staged is not None:
            storage.replace(each.layout, each.staged)
        elif each.rows is not None:
            storage.change_rows(name, each.rows)
        elif each.method == "create":
            storage.create(each.layout)
        elif each.method == "truncate":
            storage.truncate(each.layout)
        else:
            storage.drop(each.layout)


def _is_own_table(table: str, dataset: str) -> bool:
    return table == dataset or table.startswith(f"{dataset}.")


def _add_path(specification: DatasetSpecification, path: str) -> DatasetSpecification:
    assert specification.origin is not None
    origin = msgspec.structs.replace(specification.origin, path=path)
    return msgspec.structs.replace(specification, origin=origin)


def _format_artifact(type_: DatasetTypeRef) -> str:
    return f"{type_.plugin.artifact.name} {type_.plugin.artifact.version}"
