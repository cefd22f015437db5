"""The consumer of metadata that programs emit: exactly once, and in the order of emission.

It checks again what was checked when it was emitted: the rules may be stricter now, the user may have lost a
privilege, the entity may be gone.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from localcdap.api.app.events import BatchListener, MetadataEmitted
from localcdap.api.errors import DamagedStoreError, DiskFullError, LocalcdapError, StoreError
from localcdap.api.metadata import (
    Metadata,
    MetadataKind,
    MetadataName,
    MetadataOperation,
    MetadataScope,
    OperationKind,
    ScopedMetadata,
)
from localcdap.api.security import SYSTEM_PRINCIPAL, Principal
from localcdap.metadata.records import Mutation, RemoveMutation, UpdateMutation
from localcdap.metadata.service import MetadataService
from localcdap.security.principals import act_as
from localcdap.store.store import Transaction

_LOG: Final = logging.getLogger(__name__)
_ATTEMPTS: Final = 8
"""Attempts to store what the database refuses; with the pauses of the dispatcher they take 13 s."""


class EmittedMetadataListener(BatchListener[Transaction]):
    """Stores what programs emit.

    What is invalid or refused is dropped with a warning, which holds no metadata. What cannot be stored for
    another reason is set aside in the table ``metadata_set_aside``, so that later messages are not held up.
    What the database refuses is tried again first (CDAP 6 ``MetadataSubscriberService`` too), and for ever
    while the disk is full or the file is damaged, since nothing can be set aside then.
    """

    name = "metadata-writer"
    events = (MetadataEmitted,)

    def __init__(self, service: MetadataService) -> None:
        self._service = service
        self._numbers = itertools.count()
        self._refused: _Refusal | None = None

    def on_event(self, event: MetadataEmitted, tx: Transaction) -> None:
        """Store one operation.

        :raises StoreError: when the database refuses it; the listener is called again.
        """
        refused = self._refused
        if refused is not None and refused.event == event and refused.tries >= _ATTEMPTS:
            self._set_aside(tx, event, refused.error)
            return
        try:
            self._store(tx, [event])
        except Exception as error:
            if tx.failure is not None or isinstance(error, StoreError):
                self._note_refusal(event, tx.failure or error)
                raise
            self._set_aside(tx, event, error)

    def on_events(self, events: Sequence[MetadataEmitted], tx: Transaction) -> None:
        """Store operations; those of a run follow each other, and are written together.

        :raises Exception: when one of them cannot be stored.
        """
        for _, of_user in itertools.groupby(events, lambda event: event.user):
            self._store(tx, list(of_user))

    def _store(self, tx: Transaction, events: Sequence[MetadataEmitted]) -> None:
        """Store what a user emitted, without what is invalid or refused."""
        mutations = []
        namespaces: set[str] = set()
        with act_as(Principal(events[0].user) if events[0].user else SYSTEM_PRINCIPAL):
            for event in events:
                mutation = to_mutation(event.operation)
                try:
                    self._service.check_emitted(tx, mutation, event.user, namespaces)
                except StoreError:
                    raise
                except LocalcdapError as error:
                    self._warn(event, type(error).__name__)
                else:
                    mutations.append(mutation)
            if mutations:
                self._service.apply_emitted(tx, mutations)

    def _note_refusal(self, event: MetadataEmitted, error: Exception) -> None:
        if isinstance(error, DiskFullError | DamagedStoreError):
            return
        known = self._refused
        tries = known.tries if known is not None and known.event == event else 0
        self._refused = _Refusal(event, error, tries + 1)

    def _warn(self, event: MetadataEmitted, reason: str) -> None:
        _LOG.warning(
            "Ignoring the metadata operation %s that stage '%s' of run %s emitted for %s: %s",
            event.operation.kind.value,
            event.stage,
            event.run.name,
            event.operation.entity.describe(),
            reason,
        )

    def _set_aside(self, tx: Transaction, event: MetadataEmitted, error: Exception) -> None:
        _LOG.error("metadata that run %s emitted is set aside", event.run.name, exc_info=error)
        number = time.time_ns() // 1_000_000 * 1000 + next(self._numbers) % 1000
        tx.execute(
            "INSERT INTO metadata_set_aside VALUES (?, ?, ?)",
            (
                number,
                msgspec.json.encode(event).decode(),
                f"{type(error).__name__}: {error}",
            ),
        )


class _Refusal(NamedTuple):
    """An event that the database refuses."""

    event: MetadataEmitted
    error: Exception
    tries: int


def to_mutation(operation: MetadataOperation) -> Mutation:
    """Return the mutation of an operation (CDAP 6 ``MetadataOperation``); its scope is USER."""
    entity, kind = operation.entity, operation.kind
    if kind is OperationKind.PUT:
        metadata = Metadata.of(operation.properties, operation.tags)
        return UpdateMutation(entity, ScopedMetadata(user=metadata))
    if kind is OperationKind.DELETE:
        names: list[tuple[MetadataKind, Any]] = [
            *((MetadataKind.PROPERTY, name) for name in operation.names),
            *((MetadataKind.TAG, tag) for tag in operation.tags),
        ]
        user = MetadataScope.USER
        return RemoveMutation(entity, names=[MetadataName(user, of, name) for of, name in names])
    which = {
        OperationKind.DELETE_ALL_PROPERTIES: MetadataKind.PROPERTY,
        OperationKind.DELETE_ALL_TAGS: MetadataKind.TAG,
    }.get(kind)
    return RemoveMutation(entity, MetadataScope.USER, which)
