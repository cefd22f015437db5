"""The record of the committed bytes of the write-ahead log, which tells a lost commit from none.

DuckDB appends each commit to the write-ahead log and, at a checkpoint, moves it into the database file. It
opens a database without its log, and ignores a log whose end or beginning is damaged, in silence. The record
is a small file beside the log: for which state of the database how many bytes are committed, and
their CRC-32. It is written after each commit, without waiting for the disk: a crash leaves an older record,
which is still true of the longer log.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.errors import DamagedStoreError
from localcdap.decoders import decode_json
from localcdap.processes.single_instance import is_open_file
from localcdap.store.database_errors import get_file_size
from localcdap.store.file_header import read_header, read_open_header
from localcdap.text import format_size

_CHUNK: Final = 1 << 20
_LINE: Final = 128
"""The record always has as many bytes, so that it can be written over on a full disk."""


class _Record(msgspec.Struct, frozen=True):
    iteration: int
    state: str
    """The checksum of the database header after the last checkpoint, in hexadecimal."""
    bytes: int
    """How much of the log is committed."""
    crc: int


class CommitRecord:
    """The record of one open database. Commits and checkpoints of the database must exclude each other."""

    def __init__(self, database: Path) -> None:
        """Begin the record of a database that DuckDB has open.

        The file is opened once more until :meth:`close`: closing it would end DuckDB's lock on it.
        """
        self._database: Final = database
        self._file: Final = os.open(database, os.O_RDONLY | os.O_CLOEXEC)
        self._log: Final = get_log_path(database)
        self._iteration, self._state = -1, ""
        self._bytes, self._crc = 0, 0
        self.note_checkpoint()

    @property
    def is_of_open_file(self) -> bool:
        """Whether the database's path still leads to the file that DuckDB has open. DuckDB writes and removes
        the log by its path, which is that of another database otherwise.
        """
        return is_open_file(self._file, self._database)

    def close(self) -> None:
        """End the record, after DuckDB has closed the database."""
        os.close(self._file)

    @property
    def bytes(self) -> int:
        """The size of the log after the last commit that was noted."""
        return self._bytes

    def note_checkpoint(self) -> None:
        """Begin a new record: the database was opened, or a checkpoint was written."""
        header = read_open_header(self._file)
        if header is not None:
            self._iteration, self._state = header.iteration, f"{header.checksum:016x}"
        self._bytes, self._crc = 0, 0
        self.note_commit()

    def note_commit(self) -> None:
        """Record the size of the log after a commit; nothing, when the commit wrote nothing."""
        size = get_file_size(self._log)
        if not size:
            get_record_path(self._database).unlink(missing_ok=True)
            return
        if size == self._bytes:
            return
        if size < self._bytes:
            self._bytes, self._crc = 0, 0
        self._crc, self._bytes = _compute_crc(self._log, self._bytes, size, self._crc)
        record = _Record(self._iteration, self._state, self._bytes, self._crc)
        with contextlib.suppress(OSError):  # without space for it, an older record stays
            _write(get_record_path(self._database), msgspec.json.encode(record))
            _make_private(self._log)


def find_log_damage(database: Path) -> str | None:
    """Return what is lost or damaged of the write-ahead log of a closed database; None when nothing is.

    The log may be longer than the record says: the record of the last commit may be missing.
    """
    record, header = _read(get_record_path(database)), read_header(database)
    if record is None or not record.bytes or header is None:
        return None
    if (header.iteration, f"{header.checksum:016x}") != (record.iteration, record.state):
        return None  # the record belongs to an earlier or another state of the database
    log = get_log_path(database)
    size = get_file_size(log)
    if not log.exists():
        return f"its write-ahead log {log}, with {format_size(record.bytes)} of commits, is missing"
    if size < record.bytes:
        return f"its write-ahead log {log} has only {size:,} of {record.bytes:,} committed bytes"
    if _compute_crc(log, 0, record.bytes, 0) != (record.crc, record.bytes):
        return f"its write-ahead log {log} is damaged: its checksum is wrong"
    return None


def get_recorded_iteration(database: Path) -> int | None:
    """Return how many checkpoints the database had when it was last written; None when that is not known."""
    record = _read(get_record_path(database))
    return record.iteration if record is not None else None


def check_log(database: Path) -> None:
    """Check that no commit of a closed database is lost.

    :raises DamagedStoreError: when the write-ahead log is missing, shortened or damaged.
    """
    damage = find_log_damage(database)
    if damage is not None:
        raise DamagedStoreError(
            f"The newest commits of the database {database} are lost: {damage}.",
            f"If you have the file {get_log_path(database).name}, put it back. Otherwise run "
            "'localcdap doctor --repair', which opens the database with what is left, and says what is lost, "
            "or 'localcdap restore' with a backup. No file was changed.",
        )


def get_log_path(database: Path) -> Path:
    """Return the path of a database's write-ahead log, which holds the commits since its last checkpoint."""
    return database.with_name(f"{database.name}.wal")


def get_record_path(database: Path) -> Path:
    """Return the path of the record of a database's write-ahead log."""
    return database.with_name(f"{database.name}.commits")


def _compute_crc(path: Path, start: int, end: int, crc: int) -> tuple[int, int]:
    """Return the CRC-32 after the bytes from ``start`` to ``end``, and the position up to which it goes."""
    if start >= end:
        return crc, start
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        while start < end and (data := file.read(min(_CHUNK, end - start))):
            crc, start = zlib.crc32(data, crc), start + len(data)
    return crc, start


def _make_private(log: Path) -> None:
    """Take the rights of other users away; DuckDB creates the log again after each checkpoint."""
    with contextlib.suppress(FileNotFoundError):
        if log.stat().st_mode & 0o077:
            log.chmod(0o600)


def _read(path: Path) -> _Record | None:
    try:
        return decode_json(path.read_bytes(), _Record)
    except (OSError, msgspec.DecodeError):
        return None


def _write(path: Path, line: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.pwrite(file, line.ljust(_LINE), 0)
    finally:
        os.close(file)
