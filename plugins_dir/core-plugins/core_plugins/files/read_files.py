"""What a source does with files that a run has read: it notes them in a table, and moves or deletes them."""

from __future__ import annotations

import shutil
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from localcdap.api import FinishContext, NotFoundError, SourceContext
from localcdap.api.app.transactions import TransactionContext, TransactionKind
from localcdap.api.dataset.classes.tables import KeyValueTable

DELETE, MOVE, ARCHIVE = "delete", "move", "archive"
_DAY_MS: Final = 24 * 3600 * 1000


class ReadFiles:
    """A key-value table with the files that runs have read, and when: the time in milliseconds, as 8 bytes.

    :param table: its name.
    :param days: after how many days a file is forgotten; None for never.
    """

    def __init__(self, table: str, days: int | None) -> None:
        self._table: Final = table
        self._days: Final = days

    def list_known(self, context: SourceContext) -> set[str]:
        """Return the files that earlier runs have read; the table is created if there is none."""
        context.create_dataset(self._table, "keyValueTable", {})
        try:
            rows = context.transactions.run(self._read, kind=TransactionKind.READ_ONLY)
        except NotFoundError:  # a preview creates no table
            return set()
        return {key.decode() for key, read_at in rows.items() if not self._is_old(read_at)}

    def add(self, context: FinishContext, files: Sequence[str]) -> None:
        """Note the files that a run has read, and forget the old ones."""
        now = int(time.time() * 1000).to_bytes(8, "big")
        rows = {file.encode(): now for file in files}
        context.transactions.run(lambda tx: self._write(tx, rows))

    def _read(self, tx: TransactionContext) -> dict[bytes, int]:
        return {key: int.from_bytes(value, "big") for key, value in self._open(tx).scan()}

    def _write(self, tx: TransactionContext, rows: dict[bytes, bytes]) -> None:
        old = [key for key, read_at in self._read(tx).items() if self._is_old(read_at)]
        if old:
            self._open(tx).delete_all(old)
        self._open(tx).write_all(rows)

    def _is_old(self, read_at: int) -> bool:
        return bool(self._days) and read_at < int(time.time() * 1000) - (self._days or 0) * _DAY_MS

    def _open(self, tx: TransactionContext) -> KeyValueTable:
        table = tx.dataset(self._table)
        assert isinstance(table, KeyValueTable), self._table
        return table


def dispose_file(file: Path, action: str, folder: Path | None) -> None:
    """Delete a file, move it into a folder, or replace it by a zip file there.

    :param action: nothing is done for any other word.
    :raises OSError: when that is not possible.
    """
    if action == DELETE:
        file.unlink()
    elif action == MOVE and folder is not None:
        shutil.move(file, folder / file.name)
    elif action == ARCHIVE and folder is not None:
        with zipfile.ZipFile(folder / f"{file.name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(file, file.name)
        file.unlink()
