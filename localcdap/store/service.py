"""The database service: backups and checks of an instance's database while it is in use."""

from __future__ import annotations

from pathlib import Path

from localcdap.api.security import Permission
from localcdap.security.access import OF_INSTANCE, open_to_all, requires
from localcdap.store.backup import Backup, format_timestamp
from localcdap.store.store import Store


class DatabaseService:
    """Makes backups of the database and checks it. Threads may share it.

    :param backups: the folder of backups for which the caller gives no file.
    """

    def __init__(self, store: Store, backups: Path) -> None:
        self._store = store
        self._backups = backups

    @requires(OF_INSTANCE, Permission.ADMIN)
    def back_up(self, file: str | None = None) -> Backup:
        """Copy the committed state of the database into a new file, while it is in use.

        :param file: absolute path; by default a file in the instance's folder named by the time.
        :raises StoreError: when the file exists already or cannot be written.
        """
        target = Path(file) if file else self._backups / f"localcdap-{format_timestamp()}.duckdb"
        return self._store.back_up(target)

    @open_to_all("it reveals no content")
    def find_damage(self) -> list[str]:
        """Read all tables; return a text for each table that cannot be read.

        What the host holds in memory is not read from the disk again.
        """
        return self._store.find_damage()
