"""Spools: files to which one process appends messages while other processes read them.

Each message is preceded by its length and a checksum (both little-endian 32-bit). An incomplete message at
the end, from a writer that was killed, is therefore recognised, and the next writer cuts it off.

Durability: when ``append`` returns, the operating system has the message, so a killed writer loses nothing.
After a power failure only messages appended with ``durable``, all messages before them, and the messages of
a closed spool are safe.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from localcdap.api.errors import StoreError
from localcdap.api.serialization.value_types import pack
from localcdap.store.database_errors import is_disk_full, make_disk_full_error

_HEADER: Final = struct.Struct("<II")
MESSAGE_LIMIT: Final = 64 * 1024 * 1024
"""The largest message, in bytes. Appending a longer one fails; reading one counts as damage."""


class SpoolWriter:
    """Appends to the spool at ``path``, which is created with its folder. Threads may share it.

    :raises StoreError: when another writer has it open, or the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path: Final = path
        self._lock = threading.Lock()
        with _translate_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: int | None = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._end = _find_end(path)
                os.ftruncate(self._file, self._end)
            except BaseException:
                os.close(self._file)
                raise

    def append(self, *messages: msgspec.Struct, durable: bool = False) -> None:
        """Append messages in one write. If the process is killed meanwhile, only the first ones may remain.

        :param durable: wait until they are on the disk.
        :raises StoreError: when the disk is full or the spool is closed; then nothing is appended.
        """
        data = b"".join(_to_frame(pack(message)) for message in messages)
        with self._lock, _translate_errors(self.path):
            if self._file is None:
                raise StoreError(f"The spool {self.path} is closed.")
            try:
                _write(self._file, data)
            except OSError:
                os.ftruncate(self._file, self._end)
                raise
            self._end += len(data)
            if durable:
                os.fsync(self._file)

    def close(self) -> None:
        """Flush the spool to the disk and release it to other writers. May be called twice."""
        with self._lock, _translate_errors(self.path):
            if self._file is not None:
                file, self._file = self._file, None
                try:
                    os.fsync(file)
                finally:
                    os.close(file)

    def __enter__(self) -> SpoolWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class SpoolReader:
    """Reads the spool at ``path``, which need not exist yet and may be written meanwhile."""

    def __init__(self, path: Path) -> None:
        self.path: Final = path

    def read(self, offset: int = 0) -> Iterator[tuple[int, bytes]]:
        """Read the complete messages from ``offset`` on, each with the offset after it.

        :param offset: 0, or an offset that was returned with a message.
        :raises StoreError: when the file is damaged there, or ends before ``offset``.
        """
        with _translate_errors(self.path):
            try:
                file = self.path.open("rb")
            except FileNotFoundError:
                return
            with file:
                if file.seek(0, os.SEEK_END) < offset:
                    raise StoreError(
                        f"The spool {self.path} is shorter than the part already read."
                    )
                file.seek(offset)
                yield from _read_messages(self.path, file, offset)

    def follow(
        self, offset: int, stopped: Callable[[], bool], pause_s: float = 0.1
    ) -> Iterator[tuple[int, bytes]]:
        """Read messages and wait for more until ``stopped()``; messages complete by then are still read."""
        while True:
            last = stopped()
            for end, message in self.read(offset):
                yield end, message
                offset = end
            if last:
                return
            time.sleep(pause_s)


def _to_frame(payload: bytes) -> bytes:
    if len(payload) > MESSAGE_LIMIT:
        raise StoreError(
            f"A message of {len(payload)} bytes is too long; the limit is {MESSAGE_LIMIT}."
        )
    return _HEADER.pack(len(payload), _compute_checksum(payload)) + payload


def _compute_checksum(payload: bytes) -> int:
    """Compute the checksum of length and payload: zeros after a power failure are not a valid message."""
    return zlib.crc32(payload, zlib.crc32(len(payload).to_bytes(4, "little")))


def _read_messages(path: Path, file: BinaryIO, offset: int) -> Iterator[tuple[int, bytes]]:
    while len(header := file.read(_HEADER.size)) == _HEADER.size:
        length, checksum = _HEADER.unpack(header)
        payload = file.read(length) if length <= MESSAGE_LIMIT else b""
        if length <= MESSAGE_LIMIT and len(payload) < length:
            return
        if length > MESSAGE_LIMIT or _compute_checksum(payload) != checksum:
            raise StoreError(f"The spool {path} is damaged at byte {offset}.")
        offset += _HEADER.size + length
        yield offset, payload


def _find_end(path: Path) -> int:
    """Return the number of bytes up to the end of the last complete message."""
    whole = 0
    with contextlib.suppress(StoreError):
        for end, _ in SpoolReader(path).read():
            whole = end
    return whole


def _write(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


@contextlib.contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except BlockingIOError as error:
        raise StoreError(f"Another process writes to the spool {path}.") from error
    except OSError as error:
        if is_disk_full(error):
            raise make_disk_full_error(error, path) from error
        raise StoreError(
            f"The spool {path} cannot be used: {error.strerror or error}.",
            "Check the permissions of the folder.",
        ) from error
