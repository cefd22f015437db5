"""Listeners whose effects are in structured tables: delivery of events to them, in any process."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import msgspec

from localcdap.api.app import (
    FieldType,
    StructuredTableAdmin,
    StructuredTableSpecification,
    TransactionContext,
    TransactionRunner,
)
from localcdap.api.app.events import (
    SYSTEM_NAMESPACE,
    BatchListener,
    EntityDeleted,
    SystemEvent,
    SystemEventListener,
    is_subscribed,
)
from localcdap.api.app.namespaces import GENERATION, NAMESPACE, is_namespaced
from localcdap.api.sql_names import quote_identifier
from localcdap.decoders import convert
from localcdap.messaging.service import MessagingService
from localcdap.messaging.topics import TopicMessage
from localcdap.namespaces.model import NamespaceResource
from localcdap.store.store import Transaction
from localcdap.store.structured.admin import StructuredTables, TableAdmin
from localcdap.store.transactions.structured_table import StructuredTableInfo

_LOG: Final = logging.getLogger(__name__)
_BATCH: Final = 500
POSITIONS: Final = StructuredTableSpecification(
    "listener_positions",
    fields={"listener": FieldType.STRING, "position": FieldType.LONG},
    primary_key=["listener"],
)
"""The position of each listener; the copy of it in the messaging tables may be a little older."""


class TableListenerDelivery:
    """Delivers events to one listener of an application. A single thread calls it.

    The position moves in the transaction of the effect. Until :meth:`forget`, events that the listener has
    not handled are kept, even when nothing delivers them.

    :param name: the name under which the position is stored; None for the listener's own name.
    """

    def __init__(
        self,
        messaging: MessagingService,
        transactions: TransactionRunner,
        admin: StructuredTableAdmin,
        listener: SystemEventListener[TransactionContext],
        name: str | None = None,
    ) -> None:
        self._messaging = messaging
        self._transactions = transactions
        self._listener = listener
        self._name = name or listener.name
        self._topics = sorted({kind.topic for kind in listener.events})
        admin.create_or_update(POSITIONS)
        messaging.save_listener_position(self._name, self._topics, self._get_position())

    def deliver(self, wait_s: float = 0.0) -> int:
        """Deliver the waiting events, or wait for the first one.

        :returns: the number of messages that were handled or skipped.
        :raises Exception: what the listener raised; earlier events have taken effect, and the next call
            delivers the failed one again.
        """
        messages = self._messaging.fetch(
            SYSTEM_NAMESPACE, self._topics, self._get_position(), _BATCH, wait_s
        )
        if len(messages) > 1 and isinstance(self._listener, BatchListener):
            with contextlib.suppress(
                Exception
            ):  # delivered one by one, the one that fails is known
                self._transactions.run(partial(self._call_with_all, self._listener, messages))
                self._messaging.save_listener_position(self._name, self._topics, messages[-1].id)
                return len(messages)
        done = 0
        try:
            for message in messages:
                self._transactions.run(partial(self._call_listener, message))
                done += 1
        finally:
            if done:
                at = messages[done - 1].id
                self._messaging.save_listener_position(self._name, self._topics, at)
        return done

    def _call_with_all(
        self,
        listener: BatchListener[TransactionContext],
        messages: Sequence[TopicMessage],
        context: TransactionContext,
    ) -> None:
        position = _read_position(context, self._name)
        events = [self._decode(each) for each in messages if each.id > position]
        wanted = [each for each in events if is_subscribed(type(listener), each)]
        if wanted:
            listener.on_events(wanted, context)
        last = max(position, messages[-1].id)
        context.table(POSITIONS.table).upsert({"listener": self._name, "position": last})

    def _decode(self, message: TopicMessage) -> Any:
        """Return the event of a message; None when a newer version of localcdap has published it."""
        try:
            return convert(message.payload, SystemEvent)
        except msgspec.ValidationError as error:
            _LOG.warning("event %d cannot be decoded and is skipped: %s", message.id, error)
            return None

    def forget(self) -> None:
        """Delete the position of a removed listener; a new listener of that name starts with the oldest
        event.
        """
        self._messaging.forget_listener(self._name)
        self._transactions.run(
            lambda context: context.table(POSITIONS.table).delete({"listener": self._name})
        )

    def _call_listener(self, message: TopicMessage, context: TransactionContext) -> None:
        if _read_position(context, self._name) >= message.id:
            return  # another process has delivered it
        event = self._decode(message)
        if is_subscribed(type(self._listener), event):
            self._listener.on_event(event, context)
        context.table(POSITIONS.table).upsert({"listener": self._name, "position": message.id})

    def _get_position(self) -> int:
        return self._transactions.run(lambda context: _read_position(context, self._name))


def read_listener_position(
    transactions: TransactionRunner, admin: StructuredTableAdmin, name: str
) -> int:
    """Return the id of the last message that a listener has handled; 0 when there was none."""
    if not admin.exists(POSITIONS.table):
        return 0
    return transactions.run(lambda context: _read_position(context, name))


def _read_position(context: TransactionContext, name: str) -> int:
    row = context.table(POSITIONS.table).read({"listener": name})
    return int(row["position"]) if row is not None else 0


def create_structured_rows_resource(tables: StructuredTables) -> NamespaceResource:
    """Return the resource that lets a deletion wait for transactions which have not noticed it.

    :class:`DeletedNamespaceCleanup` deletes the rows, when the deletion is announced after that.
    """

    def wait(_namespace: str, _generation: int) -> Sequence[str]:
        tables.wait_for_commit()
        return ()

    return NamespaceResource("rows of structured tables", remove_files=wait)


class DeletedNamespaceCleanup(SystemEventListener[Transaction]):
    """Deletes the rows of deleted namespaces from the structured tables of applications.

    It handles tables whose key begins with ``namespace, generation``, as in CDAP 6's applications: nothing
    reads their rows once the namespace is deleted or has a new generation. For other tables it cannot know
    which namespace a row belongs to.
    """

    name = "structured-table-sweep"
    events = (EntityDeleted,)
    entity_types = (NAMESPACE,)

    def __init__(self, tables: TableAdmin) -> None:
        self._tables = tables

    def on_event(self, event: EntityDeleted, tx: Transaction) -> None:
        if event.generation is None:
            return
        for spec in self._tables.list_tables():
            if is_namespaced(spec):
                tx.execute(
                    f"DELETE FROM {StructuredTableInfo(spec).identifier} "  # noqa: S608
                    f"WHERE {quote_identifier(NAMESPACE)} = ? AND {quote_identifier(GENERATION)} <= ?",
                    (event.entity.namespace, event.generation),
                )
