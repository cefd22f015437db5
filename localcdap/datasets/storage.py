"""The tables and folders of datasets: their creation, change and removal in a transaction of the host.

The admin of a custom dataset type gets copies of the rows in its plugin worker, and changes these.

Folders change together with the transaction. A folder is moved or renamed at once, and renamed back when the
transaction does not commit. The renames are written to a journal before they happen. After a kill the next
host reads the journals: the database says whether the transaction was committed. Only after a commit does a
removed folder lose its files.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from localcdap.api.dataset.dataset import StagedFolder, copy_folder, refuse_writing_runs
from localcdap.api.dataset.rows import RowTable
from localcdap.api.dataset.schema_evolution import (
    COMPATIBILITY_RULE,
    find_field_changes,
    list_reasons,
    merge_schemas,
)
from localcdap.api.dataset.specification import (
    DatasetSpecification,
    FolderLayout,
    StorageLayout,
    TableLayout,
    locate_folder,
)
from localcdap.api.dataset.types.file_sets import BASE_PATH
from localcdap.api.errors import (
    ConflictError,
    DatasetPropertiesError,
    IncompatibleUpdateError,
    NotFoundError,
)
from localcdap.api.serialization.value_types import pack, unpack
from localcdap.datasets.specifications import lay_out
from localcdap.decoders import decode_json
from localcdap.files.atomic import write_internal_file
from localcdap.sandbox.dataset_calls import RowChanges, TableCopy
from localcdap.store import dataset_catalog
from localcdap.store import table_catalog as catalog
from localcdap.store.columns import check_names
from localcdap.store.store import Store, Transaction
from localcdap.store.transactions.opened_datasets import TransactionRows, Unguarded
from localcdap.store.transactions.operations import ALL_ROWS, AnyOperation, Operation, Result, Rows
from localcdap.store.transactions.pending_rows import PendingRows, StoredRows
from localcdap.store.transactions.session import decode_operation, encode_rows
from localcdap.store.transactions.structured_table import DatasetTable, TableInfo
from localcdap.store.transactions.table import OpenedTable, TableRef
from localcdap.text import format_available

_JOURNALS: Final = ".changes"
"""The folder of the journals, below that of the file sets."""


class FolderJournal(msgspec.Struct):
    """The folder changes of one transaction, in the order in which they happened."""

    id: str
    renames: list[tuple[str, str]] = []
    """Old and new path."""
    created: list[str] = []
    """Empty folders that were created, each with its new parents before it."""
    removed: list[str] = []
    """Folders to be deleted after the commit; they are among the new paths of the renames."""


class FolderChanges:
    """The changes of one transaction. Use :func:`change_folders` or :func:`join_transaction`.

    :param on_first: called with the id of the journal before the first change.
    """

    def __init__(self, root: Path, on_first: Callable[[str], None] = lambda _: None) -> None:
        self._root: Final = root
        self._journal: Final = FolderJournal(uuid.uuid4().hex)
        self._on_first: Callable[[str], None] | None = on_first

    @property
    def id(self) -> str | None:
        """The id of the journal; None when nothing has changed."""
        has_changes = self._journal.renames or self._journal.created
        return self._journal.id if has_changes else None

    def create(self, folder: Path) -> None:
        """Create a folder and its missing parents.

        :raises ConflictError: when something of that name exists already.
        """
        if folder.exists():
            raise ConflictError(
                f"The folder {folder} exists already.",
                "Choose another 'base.path'; set 'data.use.existing' or 'data.possess.existing' to use it.",
            )
        self._write()
        missing = [each for each in (folder, *folder.parents) if not each.exists()]
        for each in reversed(missing):
            self._journal.created.append(str(each))
            self._write()
            each.mkdir()

    def move(self, old: Path, new: Path) -> None:
        """Move a folder.

        :raises ConflictError: when something of the new name exists already.
        """
        if new.exists():
            raise ConflictError(f"The folder {new} exists already.", "Choose another 'base.path'.")
        if not new.parent.exists():
            self.create(new.parent)
        self._rename(old, new)

    def remove(self, folder: Path) -> None:
        """Remove a folder with its files; nothing happens when it does not exist."""
        if folder.exists():
            trash = folder.with_name(f".{folder.name}.{self._journal.id}.removed")
            self._journal.removed.append(str(trash))
            self._rename(folder, trash)

    def replace(self, folder: Path, staged: Path) -> None:
        """Put another folder in the place of a folder, whose files are removed."""
        self.remove(folder)
        self._rename(staged, folder)

    def empty(self, folder: Path) -> None:
        """Remove the files of a folder."""
        if folder.exists():
            self.remove(folder)
            self.create(folder)

    def _rename(self, old: Path, new: Path) -> None:
        self._journal.renames.append((str(old), str(new)))
        self._write()
        _move(old, new)

    def _write(self) -> None:
        """Write the journal before the change that it describes."""
        if self._on_first is not None:
            on_first, self._on_first = self._on_first, None
            on_first(self._journal.id)
        folder = self._root / _JOURNALS
        folder.mkdir(parents=True, exist_ok=True)
        write_internal_file(folder / self._journal.id, msgspec.json.encode(self._journal))

    def undo(self) -> None:
        """Restore the folders as they were."""
        _undo(self._journal)
        _remove_journal(self._root, self._journal.id)

    def finish(self) -> None:
        """Delete what was removed."""
        _finish(self._journal)
        _remove_journal(self._root, self._journal.id)


@contextlib.contextmanager
def change_folders(store: Store, root: Path) -> Iterator[tuple[Transaction, FolderChanges]]:
    """Open a transaction in which folders can be changed, too.

    :param root: the folder of all file sets, for the journals.
    """
    folders = FolderChanges(root)
    try:
        with store.transaction() as tx:
            yield tx, folders
            if folders.id is not None:
                tx.execute("INSERT INTO dataset_folder_changes VALUES (?)", (folders.id,))
    except BaseException:
        if folders.id is not None:
            folders.undo()
        raise
    if folders.id is not None:
        folders.finish()
        _forget(store, folders.id)


def join_transaction(store: Store, tx: Transaction, root: Path) -> FolderChanges:
    """Return folder changes that take effect with a transaction which others have opened.

    :param root: the folder of all file sets, for the journals.
    """
    folders = FolderChanges(root, lambda journal: _register(store, tx, folders, journal))
    return folders


def _register(store: Store, tx: Transaction, folders: FolderChanges, journal: str) -> None:
    tx.execute("INSERT INTO dataset_folder_changes VALUES (?)", (journal,))
    tx.on_rollback(folders.undo)
    tx.on_commit(folders.finish)
    tx.on_commit(lambda: _forget(store, journal))


def recover_folders(store: Store, root: Path) -> None:
    """Finish or undo the changes that a killed host has left."""
    committed = {row[0] for row in store.read("SELECT id FROM dataset_folder_changes")}
    for temporary in (root / _JOURNALS).glob(".*"):
        temporary.unlink()
    for path in sorted((root / _JOURNALS).glob("*")):
        journal = decode_json(path.read_bytes(), type=FolderJournal)
        (_finish if journal.id in committed else _undo)(journal)
        _remove_journal(root, journal.id)
    for id in committed:
        _forget(store, id)


def _undo(journal: FolderJournal) -> None:
    for old, new in reversed(journal.renames):
        if Path(new).exists():
            # A folder that was created in its place is still empty.
            with contextlib.suppress(OSError):
                Path(old).rmdir()
            _move(Path(new), Path(old))
    for folder in reversed(journal.created):
        # One that is not empty or gone has been restored, or belongs to somebody else.
        if not any(folder == old for old, _ in journal.renames):
            with contextlib.suppress(OSError):
                Path(folder).rmdir()


def _finish(journal: FolderJournal) -> None:
    for folder in journal.removed:
        shutil.rmtree(folder, ignore_errors=True)


def _move(old: Path, new: Path) -> None:
    # Files are copied where the two are on different file systems.
    shutil.move(old, new)


def _remove_journal(root: Path, id: str) -> None:
    (root / _JOURNALS / id).unlink(missing_ok=True)


def _forget(store: Store, id: str) -> None:
    with store.transaction() as tx:
        tx.execute("DELETE FROM dataset_folder_changes WHERE id = ?", (id,))


def measure_folder(folder: Path) -> tuple[int, int]:
    """Return the number and the size in bytes of the files in a folder; 0 when there is no such folder.

    Files that are removed meanwhile are left out.
    """
    count = size = 0
    for place, _, files in os.walk(folder):
        for file in files:
            with contextlib.suppress(FileNotFoundError):
                size += (Path(place) / file).lstat().st_size
                count += 1
    return count, size


_CHUNK: Final = 10_000
"""Rows that are converted at a time."""


def copy_rows(tx: Transaction, namespace: str, dataset: str, table: str, folder: Path) -> TableCopy:
    """Write the rows of a table to a file in a folder.

    :raises NotFoundError: when there is no such table.
    """
    info = _describe(tx, namespace, dataset, table)
    opened = info.table
    stored = StoredRows(opened, tx)
    rows = stored.read(ALL_ROWS.check(opened), opened.columns)
    chunks = [
        encode_rows(opened, Rows(opened.columns, rows[start : start + _CHUNK]))
        for start in range(0, len(rows), _CHUNK)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"rows-{len(list(folder.iterdir()))}"
    file.write_bytes(pack(chunks))
    fingerprint = fingerprint_rows(tx, namespace, table)
    return TableCopy(table, info.document, info.key, str(file), fingerprint)


def fingerprint_rows(tx: Transaction, namespace: str, table: str) -> str:
    """Return the number of rows and the sum of their hashes; empty when there is no such table."""
    if table not in catalog.list_names(tx, namespace):
        return ""
    identifier = catalog.to_identifier(namespace, table)
    sql = f"SELECT count(*), sum(hash(r)::HUGEINT) FROM (SELECT t AS r FROM {identifier} AS t)"  # noqa: S608
    return repr(tx.execute(sql)[0])


class AppliedRows:
    """Performs operations on the tables of a dataset in a transaction of the host, one after another."""

    def __init__(self, tx: Transaction, namespace: str, dataset: str) -> None:
        self._tx: Final = tx
        self._namespace: Final = namespace
        self._dataset: Final = dataset

    def open(self, table: str) -> DatasetTable:
        """Return a table as it is now.

        :raises NotFoundError: when there is none of that name.
        """
        return _describe(self._tx, self._namespace, self._dataset, table).table

    def perform(self, table: OpenedTable, operation: Operation) -> Result:
        """Perform one operation.

        :raises BadRequestError: when it does not fit the table.
        """
        assert isinstance(table, DatasetTable)
        rows = PendingRows(table, self._tx)
        result = operation.prepare(table)(rows)
        self._apply(rows)
        return result

    def repeat(self, changes: RowChanges) -> None:
        """Repeat the operations of an admin in a worker.

        :raises BadRequestError: when one does not fit the table.
        """
        table = self.open(changes.table)
        rows = PendingRows(table, self._tx)
        operations: list[Any] = unpack(Path(changes.file).read_bytes(), list[AnyOperation])
        for operation in operations:
            decode_operation(table, operation).prepare(table)(rows)
        self._apply(rows)

    def _apply(self, rows: PendingRows) -> None:
        if not rows.is_empty:
            rows.apply(self._tx)
            self._tx.note_rows(rows.table.ref.namespace, rows.table.ref.table)


def _describe(tx: Transaction, namespace: str, dataset: str, table: str) -> TableInfo:
    schema, key = catalog.read_schema_and_key(tx, namespace, table)
    return TableInfo(TableRef(namespace, dataset, table), str(schema), key)


class NamespaceStorage:
    """The storage of the datasets of one namespace, see :class:`localcdap.api.dataset.DatasetStorage`.

    :param root: the folder of the namespace's file sets.
    """

    def __init__(self, tx: Transaction, folders: FolderChanges, namespace: str, root: Path) -> None:
        self._tx: Final = tx
        self._folders: Final = folders
        self._namespace: Final = namespace
        self._root: Final = root

    def exists(self, layout: StorageLayout) -> bool:
        names = catalog.list_names(self._tx, self._namespace)
        has_folder = layout.folder is None or self.locate(layout.folder).is_dir()
        return has_folder and all(name in names for name in layout.tables)

    def create(self, layout: StorageLayout) -> None:
        for name, table in layout.tables.items():
            self._create_table(name, table)
        if layout.folder is None:
            return
        folder = self.locate(layout.folder)
        if not layout.folder.must_exist:
            self._folders.create(folder)
        elif not folder.is_dir():
            raise ConflictError(
                f"The folder {folder} must exist, but it does not.",
                "Create it, or let localcdap do that: remove the property that says that it exists.",
            )

    def change(self, old: StorageLayout, new: StorageLayout) -> None:
        for name, table in old.tables.items():
            if name not in new.tables:
                self._drop_table(name)
            else:
                self._change_table(name, table, new.tables[name])
        for name, table in new.tables.items():
            if name not in old.tables:
                self._create_table(name, table)
        if old.folder is not None and new.folder is not None:
            before, after = self.locate(old.folder), self.locate(new.folder)
            if before != after and old.folder.is_owned:
                self._folders.move(before, after)

    def truncate(self, layout: StorageLayout) -> None:
        for name in layout.tables:
            if name in catalog.list_names(self._tx, self._namespace):
                catalog.truncate(self._tx, self._namespace, name)
        if layout.folder is not None and layout.folder.is_owned:
            self._folders.empty(self.locate(layout.folder))

    def drop(self, layout: StorageLayout) -> None:
        for name in layout.tables:
            self._drop_table(name)
        if layout.folder is not None and layout.folder.is_owned:
            self._folders.remove(self.locate(layout.folder))

    def stage_folder(self, layout: StorageLayout) -> Path:
        if layout.folder is None or not layout.folder.is_owned:
            raise ConflictError(
                "The dataset has no folder of its own whose files could be rewritten."
            )
        folder = self.locate(layout.folder)
        refuse_writing_runs(folder)
        staged = Path(copy_folder(folder).path)
        # The copy is the folder from now on; the transaction restores the old one, or removes it.
        self._folders.replace(folder, staged)
        return folder

    def replace(self, layout: StorageLayout, staged: StagedFolder) -> None:
        """Put a folder that was staged before the transaction in its place."""
        assert layout.folder is not None
        self._folders.replace(self.locate(layout.folder), Path(staged.path))

    def open_table(self, layout: StorageLayout, name: str) -> RowTable:
        if name not in layout.tables:
            known = format_available(name, layout.tables)
            raise NotFoundError(f"The layout has no table '{name}'; available: {known}.")
        rows = AppliedRows(self._tx, self._namespace, name)
        return TransactionRows(rows, rows.open(name), Unguarded())

    def change_rows(self, dataset: str, changes: RowChanges) -> None:
        """Repeat what an admin in a plugin worker has done with the rows of a table."""
        AppliedRows(self._tx, self._namespace, dataset).repeat(changes)

    def locate(self, folder: FolderLayout) -> Path:
        """Return the path of a folder.

        :raises DatasetPropertiesError: when it is relative and not below the folder of the namespace.
        """
        path = locate_folder(self._root, folder)
        is_below = path != self._root and path.is_relative_to(self._root)
        if not Path(folder.path).is_absolute() and not is_below:
            raise DatasetPropertiesError(
                f"The folder '{folder.path}' is not below that of the file sets of namespace "
                f"'{self._namespace}'.",
                "Use an absolute path, or the name of a folder.",
                property=BASE_PATH,
            )
        return path

    def _create_table(self, name: str, table: TableLayout) -> None:
        if name in catalog.list_names(self._tx, self._namespace):
            raise ConflictError(
                f"There is a table '{name}' in namespace '{self._namespace}' already.",
                f"Choose another name, or drop it: localcdap tables '{name}' --drop",
            )
        check_names(table.schema.field_names)
        catalog.create(self._tx, self._namespace, name, table.schema, table.key, None)
        catalog.create_indexes(self._tx, self._namespace, name, table.indexes)

    def _change_table(self, name: str, old: TableLayout, new: TableLayout) -> None:
        """Change a table as it is, which may be wider than the old layout says."""
        held, _ = catalog.read_schema_and_key(self._tx, self._namespace, name)
        changes = find_field_changes(held, new.schema)
        reasons = list_reasons(changes, name)
        if reasons:
            raise IncompatibleUpdateError(reasons=reasons, corrective_action=COMPATIBILITY_RULE)
        merged = merge_schemas(held, new.schema)
        check_names(merged.field_names)
        if merged != held:
            catalog.widen(self._tx, self._namespace, name, held, merged)
        there = set(catalog.list_indexes(self._tx, self._namespace, name))
        gone = there.intersection(old.indexes).difference(new.indexes)
        missing = [each for each in new.indexes if each not in there]
        catalog.drop_indexes(self._tx, self._namespace, name, sorted(gone))
        catalog.create_indexes(self._tx, self._namespace, name, missing)

    def _drop_table(self, name: str) -> None:
        if name in catalog.list_names(self._tx, self._namespace):
            identifier = catalog.to_identifier(self._namespace, name)
            self._tx.execute(f"DROP TABLE {identifier}")
            catalog.delete(self._tx, self._namespace, name)


def refuse_shared_folder(
    tx: Transaction, root: Path, namespace: str, specification: DatasetSpecification
) -> None:
    """Refuse a folder that another dataset would delete with its own, or that would delete another's.

    :param root: the folder of the file sets of all namespaces.
    :raises ConflictError: when there is such a dataset.
    """
    folder = lay_out(specification).folder
    if folder is None:
        return
    path = locate_folder(root / namespace, folder)
    for each in dataset_catalog.list_datasets(tx):
        other = lay_out(each.specification).folder
        is_same = (each.namespace, each.name) == (namespace, specification.name)
        if other is None or is_same or not (folder.is_owned or other.is_owned):
            continue
        place = locate_folder(root / each.namespace, other)
        if path.is_relative_to(place) or place.is_relative_to(path):
            raise ConflictError(
                f"The folder {path} overlaps that of dataset '{each.name}' in namespace "
                f"'{each.namespace}', {place}.",
                "Choose another 'base.path', or set 'data.external' for both.",
            )
