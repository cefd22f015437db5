"""Changes of the folders of file sets that take effect together with a transaction.

A folder is moved or renamed at once, and renamed back when the transaction does not commit. The renames are
written to a journal before they happen. After a kill the next host reads the journals: the database says
whether the transaction was committed. Only after a commit does a removed folder lose its files.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.errors import ConflictError
from localcdap.decoders import decode_json
from localcdap.files.atomic import write_internal_file
from localcdap.store.store import Store, Transaction

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
