"""Spools and their consumer, whose effects happen exactly once: a message's effect and the new offset are one
transaction.

A spool is a file to which one process appends messages while other processes read them.

Each message is preceded by its length and a checksum (both little-endian 32-bit). An incomplete message at
the end, from a writer that was killed, is therefore recognised, and the next writer cuts it off.

Durability: when ``append`` returns, the operating system has the message, so a killed writer loses nothing.
After a power failure only messages appended with ``durable``, all messages before them, and the messages of
a closed spool are safe.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final, Generic, NamedTuple, TypeVar

import msgspec

from localcdap.api.errors import LocalcdapError, StoreError
from localcdap.api.serialization.value_types import pack, unpack
from localcdap.store.database_errors import is_disk_full, make_disk_full_error
from localcdap.store.store import Store, Transaction

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


M = TypeVar("M")
_LOG: Final = logging.getLogger(__name__)
_BATCH: Final = 200
"""Messages in one transaction, so that other writers need not wait long."""
_ATTEMPTS: Final = 3
"""Attempts to apply a message that the database rejects, for example because the disk is full."""


class PoisonMessage(NamedTuple):
    """A message that was skipped, or the damaged end of a spool."""

    spool: str
    offset: int
    """The position of the message in the spool, in bytes."""
    reason: str
    payload: bytes
    """The message; empty when the spool is damaged."""
    error: Exception | None = None
    """The error that applying the message raised."""


class SpoolConsumer(Generic[M]):
    """Applies the messages of one spool to the store, in their order.

    Several consumers of one spool, in this or a later process, are safe: the offset is read in the
    transaction that moves it.

    :param name: the unique name of the spool, under which the store keeps the offset.
    :param type: the type of the messages: a Struct, or a union of tagged ones.
    :param apply: applies a message, through the transaction only, because a failed transaction is repeated.
    :param on_poison: called for each message that cannot be decoded or for which ``apply`` raises, after the
        message was skipped, outside any transaction.
    :param on_applied: called with messages whose effect is committed, in order. It is not called for them
        when the process crashes right after the commit.
    :param merge: returns one message with the effects of two that follow each other, in their order, or None;
        messages are applied alone again when a merged one fails.
    """

    def __init__(
        self,
        store: Store,
        path: Path,
        name: str,
        type: Any,
        apply: Callable[[Transaction, M], None],
        on_poison: Callable[[PoisonMessage], None],
        on_applied: Callable[[Sequence[M]], None] | None = None,
        merge: Callable[[M, M], M | None] = lambda _first, _second: None,
    ) -> None:
        self._store = store
        self._reader = SpoolReader(path)
        self._name = name
        self._type = type
        self._apply = apply
        self._on_poison = on_poison
        self._on_applied = on_applied
        self._merge = merge
        self._refusals = 0
        self._damage: PoisonMessage | None = None

    @property
    def offset(self) -> int:
        """The bytes of the spool that have been applied."""
        return _to_offset(self._store.read(_SELECT, (self._name,)))

    def consume(self) -> int:
        """Apply all messages that are in the spool now; return how many were applied.

        :raises StoreError: when the database rejects a message now. Nothing is lost: the next call tries
            again, and skips the message after three failures.
        """
        count = 0
        while self._damage is None:
            try:
                applied, seen = self._apply_batch(_BATCH)
            except _ApplyError:
                applied, seen = self._apply_one_by_one()
            count += applied
            if self._damage is not None:
                _LOG.error("%s: %s", self._name, self._damage.reason)
                self._on_poison(self._damage)
            if not seen:
                break
        return count

    def forget(self, tx: Transaction) -> None:
        """Remove the offset, when the spool itself is removed."""
        tx.execute("DELETE FROM spool_offsets WHERE spool = ?", (self._name,))

    def _apply_batch(self, most: int) -> tuple[int, int]:
        """Apply up to ``most`` messages in one transaction: (number applied, number seen).

        :raises _ApplyError: for the first message that cannot be applied; then none of them is.
        """
        done: list[M] = []
        with self._store.transaction() as tx:
            offset = _to_offset(tx.execute(_SELECT, (self._name,)))
            waiting: _Waiting[M] | None = None
            for end, payload in islice(self._read_complete(offset), most):
                message: M = self._decode(offset, end, payload)
                merged = None if waiting is None else self._merge(waiting.message, message)
                if waiting is not None and merged is None:
                    self._apply_message(tx, waiting)
                waiting = _Waiting(message if merged is None else merged, offset, end, payload)
                done.append(message)
                offset = end
            if waiting is not None:
                self._apply_message(tx, waiting)
                tx.execute(_UPSERT, (self._name, offset))
        if done:
            self._refusals = 0
            if self._on_applied is not None:
                self._on_applied(done)
        return len(done), len(done)

    def _decode(self, offset: int, end: int, payload: bytes) -> Any:
        """Return a message.

        :raises _ApplyError: when the bytes are none.
        """
        try:
            return unpack(payload, self._type)
        except Exception as error:
            raise _ApplyError(offset, end, payload, error) from error

    def _apply_message(self, tx: Transaction, waiting: _Waiting[M]) -> None:
        """Apply a message.

        :raises _ApplyError: when that fails.
        """
        place = (waiting.offset, waiting.end, waiting.payload)
        try:
            self._apply(tx, waiting.message)
        except Exception as error:
            raise _ApplyError(*place, error) from error
        if tx.failure is not None:  # apply caught an error, but the transaction cannot commit
            raise _ApplyError(*place, tx.failure)

    def _apply_one_by_one(self) -> tuple[int, int]:
        """Apply a batch again after one of its messages failed, one message per transaction."""
        count = 0
        for _ in range(_BATCH):
            try:
                applied, _seen = self._apply_batch(1)
            except _ApplyError as failure:
                self._skip(failure)
                return count, count + 1
            count += applied
            if not applied:
                break
        return count, count

    def _skip(self, failed: _ApplyError) -> None:
        """Skip a message that cannot be applied, and report it.

        :raises StoreError: instead, while a later attempt may succeed.
        """
        error = failed.error
        self._refusals += 1
        if isinstance(error, StoreError) and self._refusals < _ATTEMPTS:
            raise error
        with self._store.transaction() as tx:
            if _to_offset(tx.execute(_SELECT, (self._name,))) != failed.offset:
                return  # another consumer has applied or skipped it
            tx.execute(_UPSERT, (self._name, failed.end))
        self._refusals = 0
        reason = f"{type(error).__name__}: {error}"
        if isinstance(error, LocalcdapError | msgspec.DecodeError):
            _LOG.error("%s: message at byte %d skipped: %s", self._name, failed.offset, reason)
        else:
            _LOG.error("%s: message at byte %d", self._name, failed.offset, exc_info=error)
        self._on_poison(PoisonMessage(self._name, failed.offset, reason, failed.payload, error))

    def _read_complete(self, offset: int) -> Iterator[tuple[int, bytes]]:
        """Read the messages from ``offset`` on, up to the first damage of the spool."""
        end = offset
        try:
            for end, payload in self._reader.read(offset):
                yield end, payload
        except StoreError as error:
            self._damage = PoisonMessage(self._name, end, str(error), b"")


class _Waiting(NamedTuple, Generic[M]):
    """A message that waits for the next one, with which it may be merged."""

    message: M
    offset: int
    """Where it, or the last of those that it was merged of, begins in the spool."""
    end: int
    payload: bytes


class _ApplyError(Exception):
    """A message that cannot be applied, with its start and end in the spool and the cause."""

    def __init__(self, offset: int, end: int, payload: bytes, error: Exception) -> None:
        super().__init__(offset)
        self.offset = offset
        self.end = end
        self.payload = payload
        self.error = error


_SELECT: Final = "SELECT position FROM spool_offsets WHERE spool = ?"
_UPSERT: Final = (
    "INSERT INTO spool_offsets VALUES (?, ?) "
    "ON CONFLICT (spool) DO UPDATE SET position = excluded.position"
)


def _to_offset(rows: list[tuple[Any, ...]]) -> int:
    return int(rows[0][0]) if rows else 0
