"""Consuming a spool with exactly-once effects: a message's effect and the new offset are one transaction."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

from localcdap.api.errors import LocalcdapError, StoreError
from localcdap.api.serialization.value_types import unpack
from localcdap.messaging.spool import SpoolReader
from localcdap.store.store import Store, Transaction

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
