"""Listeners whose effects are in structured tables: each event once, also from two places at once."""

from __future__ import annotations

import threading

import pytest

from localcdap.api.app import FieldType, StructuredTableSpecification, TransactionContext
from localcdap.api.app.events import EntityCreated, EntityDeleted, SystemEventListener
from localcdap.datasets.listeners import TableListenerDelivery
from localcdap.messaging.retention import find_needed

from .conftest import Instance

SEEN = StructuredTableSpecification(
    "seen",
    fields={"namespace": FieldType.STRING, "times": FieldType.LONG},
    primary_key=["namespace"],
)


class Counting(SystemEventListener[TransactionContext]):
    """Counts how often each namespace was created; on request it fails."""

    name = "counting"
    events = (EntityCreated,)
    fails_on: str | None = None

    def on_event(self, event: EntityCreated, tx: TransactionContext) -> None:
        assert not isinstance(event, EntityDeleted)
        tx.table("seen").increment({"namespace": event.entity.namespace}, "times", 1)
        if event.entity.namespace == self.fails_on:
            raise ZeroDivisionError("a bug")


@pytest.fixture(autouse=True)
def table(instance: Instance) -> None:
    instance.tables.admin.create_or_update(SEEN)


def listening_to(instance: Instance, listener: Counting) -> TableListenerDelivery:
    tables = instance.tables
    return TableListenerDelivery(instance.messaging, tables.transactions, tables.admin, listener)


def seen(instance: Instance) -> dict[str, int]:
    return instance.tables.transactions.run(
        lambda context: {row["namespace"]: row["times"] for row in context.table("seen").scan()}
    )


def test_events_take_effect_once_and_in_their_transaction(instance: Instance):
    instance.namespaces.create("a")
    listener = Counting()
    listening = listening_to(instance, listener)
    instance.namespaces.create("b")
    instance.namespaces.delete("b")
    instance.namespaces.create("c")
    listener.fails_on = "b"
    with pytest.raises(ZeroDivisionError):
        listening.deliver()
    assert seen(instance) == {"a": 1}
    listener.fails_on = None

    assert listening.deliver() == 3
    assert listening.deliver() == 0
    assert listening_to(instance, Counting()).deliver() == 0
    assert seen(instance) == {"a": 1, "b": 1, "c": 1}
    with instance.store.snapshot() as tx:
        assert find_needed(tx) == {("system", "entities"): instance.messaging.get_newest_id()}


def test_it_waits_for_events(instance: Instance):
    listening = listening_to(instance, Counting())
    threading.Timer(0.05, instance.namespaces.create, ["late"]).start()

    assert listening.deliver(wait_s=60) == 1


def test_two_deliveries_at_once_do_no_harm(instance: Instance):
    def work() -> None:
        listening = listening_to(instance, Counting())
        while seen(instance) != everything:
            listening.deliver(0.1)

    everything = {f"n{i}": 1 for i in range(15)}
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for name in everything:
        instance.namespaces.create(name)
    for thread in threads:
        thread.join(60)

    assert seen(instance) == everything


def test_a_forgotten_listener_begins_again(instance: Instance):
    instance.namespaces.create("a")
    listening = listening_to(instance, Counting())
    listening.deliver()
    listening.forget()
    with instance.store.snapshot() as tx:
        assert find_needed(tx) == {}

    assert listening_to(instance, Counting()).deliver() == 1
    assert seen(instance) == {"a": 2}
