"""Listeners whose effects are in structured tables: each event once, also from two places at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcdap.api.app import FieldType, StructuredTableSpecification, TransactionContext
from localcdap.api.app.events import EntityCreated, EntityDeleted, SystemEventListener
from localcdap.datasets.listening import TableListening
from localcdap.messaging.listeners import Delivery
from localcdap.messaging.positions import needed
from localcdap.messaging.service import MessagingService
from localcdap.messaging.topics import Topics
from localcdap.namespaces.service import NamespaceService
from localcdap.store.store import Store
from localcdap.store.structured.tables import StructuredTables

SEEN = StructuredTableSpecification(
    "seen",
    fields={"namespace": FieldType.STRING, "times": FieldType.LONG},
    primary_key=["namespace"],
)


class Counting(SystemEventListener[TransactionContext]):
    """Counts how often each namespace was created; told to, it fails."""

    name = "counting"
    events = (EntityCreated,)
    fails_on: str | None = None

    def on_event(self, event: EntityCreated, tx: TransactionContext) -> None:
        assert not isinstance(event, EntityDeleted)
        tx.table("seen").increment({"namespace": event.entity.namespace}, "times", 1)
        if event.entity.namespace == self.fails_on:
            raise ZeroDivisionError("a bug")


class Instance:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.topics = Topics(store)
        self.tables = StructuredTables(store)
        self.delivery = Delivery(store, self.topics)
        self.messaging = MessagingService(store, self.topics, self.delivery)
        self.namespaces = NamespaceService(store, self.topics)
        self.tables.admin.create_or_update(SEEN)

    def listening(self, listener: Counting) -> TableListening:
        return TableListening(self.messaging, self.tables.transactions, self.tables.admin, listener)

    def seen(self) -> dict[str, int]:
        return self.tables.transactions.run(
            lambda context: {row["namespace"]: row["times"] for row in context.table("seen").scan()}
        )


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[Instance]:
    with Store(tmp_path / "x.duckdb") as store:
        made = Instance(store)
        yield made
        made.topics.close()
        made.delivery.close()
        made.tables.close()


def test_events_take_effect_once_and_in_their_transaction(instance: Instance):
    instance.namespaces.create("a")
    listener = Counting()
    listening = instance.listening(listener)
    instance.namespaces.create("b")
    instance.namespaces.delete("b")
    instance.namespaces.create("c")
    listener.fails_on = "b"
    with pytest.raises(ZeroDivisionError):
        listening.deliver()
    assert instance.seen() == {"a": 1}
    listener.fails_on = None

    assert listening.deliver() == 3
    assert listening.deliver() == 0
    assert instance.listening(Counting()).deliver() == 0
    assert instance.seen() == {"a": 1, "b": 1, "c": 1}
    with instance.store.snapshot() as tx:
        assert needed(tx) == {("system", "entities"): instance.messaging.newest()}


def test_it_waits_for_events(instance: Instance):
    listening = instance.listening(Counting())
    threading.Timer(0.05, instance.namespaces.create, ["late"]).start()

    assert listening.deliver(wait_s=20) == 1


def test_two_deliveries_at_once_do_no_harm(instance: Instance):
    def work() -> None:
        listening = instance.listening(Counting())
        while instance.seen() != everything:
            listening.deliver(0.1)

    everything = {f"n{i}": 1 for i in range(15)}
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for name in everything:
        instance.namespaces.create(name)
    for thread in threads:
        thread.join(30)

    assert instance.seen() == everything


def test_a_forgotten_listener_begins_anew(instance: Instance):
    instance.namespaces.create("a")
    listening = instance.listening(Counting())
    listening.deliver()
    listening.forget()
    with instance.store.snapshot() as tx:
        assert needed(tx) == {}

    assert instance.listening(Counting()).deliver() == 1
    assert instance.seen() == {"a": 2}
