"""The consumer of metadata that programs emit: exactly once, and in the order of emission.

It checks again what was checked when it was emitted: the rules may be stricter now, the user may have lost a
privilege, the entity may be gone.
"""

from __future__ import annotations

import itertools
import logging
import time
from typing import Any, Final

import msgspec

from localcdap.api.app.events import MetadataEmitted, SystemEventListener
from localcdap.api.errors import LocalcdapError, StoreError
from localcdap.api.metadata import (
    Metadata,
    MetadataKind,
    MetadataName,
    MetadataOperation,
    MetadataScope,
    OperationKind,
    ScopedMetadata,
)
from localcdap.api.security import Principal
from localcdap.metadata.mutations import Mutation, RemoveMutation, UpdateMutation
from localcdap.metadata.service import MetadataService
from localcdap.security.principals import act_as
from localcdap.store.store import Transaction

_LOG: Final = logging.getLogger(__name__)


class EmittedMetadataListener(SystemEventListener[Transaction]):
    """Stores what programs emit.

    What is invalid or refused is dropped with a warning, which holds no metadata. What cannot be stored for
    another reason is set aside in the table ``metadata_set_aside``, so that later messages are not held up.
    """

    name = "metadata-writer"
    events = (MetadataEmitted,)

    def __init__(self, service: MetadataService) -> None:
        self._service = service
        self._numbers = itertools.count()

    def on_event(self, event: MetadataEmitted, tx: Transaction) -> None:
        """Store one operation."""
        try:
            with act_as(Principal(event.user) if event.user else None):
                self._service.apply_emitted(tx, to_mutation(event.operation), event.user)
        except StoreError:
            raise  # such as a full disk: the listener is called again
        except LocalcdapError as error:
            if tx.failure is not None:
                raise
            self._warn(event, type(error).__name__)
        except Exception as error:
            if tx.failure is not None:
                raise
            self._set_aside(tx, event, error)

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
        _LOG.exception("metadata that run %s emitted is set aside", event.run.name)
        number = time.time_ns() // 1_000_000 * 1000 + next(self._numbers) % 1000
        tx.execute(
            "INSERT INTO metadata_set_aside VALUES (?, ?, ?)",
            (
                number,
                msgspec.json.encode(event).decode(),
                f"{type(error).__name__}: {error}",
            ),
        )


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
