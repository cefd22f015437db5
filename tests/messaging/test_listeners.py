"""Listeners: each event takes effect once, in order; one that fails holds up nobody."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from localcdap.api.app.events import (
    BatchListener,
    EntityCreated,
    EntityDeleted,
    RunStatusChanged,
    SystemEventListener,
)
from localcdap.api.errors import ConflictError, NotFoundError
from localcdap.api.metadata import MetadataEntity
from localcdap.messaging import listeners as module
from localcdap.messaging.listeners import EventDispatcher
from localcdap.messaging.topics import Topics
from localcdap.store.store import Store, Transaction
from localcdap.testing.instance import open_new_store


class Writer(SystemEventListener[Transaction]):
    """Writes down which namespaces were made; published to, it fails."""

    name = "writer"
    events: ClassVar[tuple[type[Any], ...]] = (EntityCreated,)
    fails_on: str | None = None

    def on_event(self, event: EntityCreated, tx: Transaction) -> None:
        tx.execute("INSERT INTO seen VALUES (?, ?)", (self.name, event.entity.namespace))
        if event.entity.namespace == self.fails_on:
            raise ZeroDivisionError("a bug")


class Other(Writer):
    name = "other"
    events = (EntityCreated, EntityDeleted, RunStatusChanged)

    def on_event(self, event: Any, tx: Transaction) -> None:
        tx.execute("INSERT INTO seen VALUES (?, ?)", (self.name, type(event).__name__))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_new_store(tmp_path / "x.duckdb") as store:
        with store.transaction() as tx:
            tx.execute("CREATE TABLE seen (who VARCHAR, what VARCHAR)")
        yield store


@pytest.fixture
def topics(store: Store) -> Topics:
    return Topics(store)


@pytest.fixture
def delivery(store: Store, topics: Topics) -> Iterator[EventDispatcher]:
    delivery = EventDispatcher(store, topics)
    yield delivery
    topics.close()
    delivery.close()


def created(name: str) -> EntityCreated:
    return EntityCreated(MetadataEntity.of_namespace(name), 1, 2)


def publish_changes(store: Store, topics: Topics, *events: Any) -> None:
    with store.transaction() as tx:
        for event in events:
            topics.publish_event(tx, event)


def seen(store: Store, who: str = "writer") -> list[str]:
    return [row[0] for row in store.read("SELECT what FROM seen WHERE who = ?", (who,))]


def eventually(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


def test_a_listener_gets_the_events_of_its_classes_in_order(store, topics, delivery):
    publish_changes(store, topics, created("before"))
    delivery.add(Writer())
    delivery.add(Other())
    deleted = EntityDeleted(created("a").entity, 3)
    for event in (created("a"), deleted, RunStatusChanged("n", "p", "r", "RUNNING", 4)):
        publish_changes(store, topics, event)

    eventually(lambda: len(seen(store, "other")) == 4)
    eventually(lambda: seen(store) == ["before", "a"])
    assert seen(store, "other")[2:] == ["EntityDeleted", "RunStatusChanged"]
    eventually(lambda: [s.waiting for s in delivery.list_statuses()] == [0, 0])
    assert [(s.name, s.tries, s.error) for s in delivery.list_statuses()] == [
        ("other", 0, None),
        ("writer", 0, None),
    ]


class OfDatasets(Other):
    name = "datasets"
    entity_types = ("dataset",)


def test_a_listener_gets_the_events_about_entities_of_its_types(store, topics, delivery):
    delivery.add(OfDatasets())
    dataset = MetadataEntity.of_dataset("orders", "team")
    run = RunStatusChanged("n", "p", "r", "RUNNING", 4)
    publish_changes(
        store, topics, created("a"), EntityCreated(dataset, 1), EntityDeleted(dataset, 2), run
    )

    eventually(lambda: len(seen(store, "datasets")) == 3)
    eventually(lambda: [s.waiting for s in delivery.list_statuses()] == [0])
    assert seen(store, "datasets") == ["EntityCreated", "EntityDeleted", "RunStatusChanged"]


def test_a_listener_goes_on_where_it_was(store, topics, delivery):
    delivery.add(Writer())
    publish_changes(store, topics, *[created(str(i)) for i in range(250)])
    eventually(lambda: len(seen(store)) == 250)
    delivery.remove("writer")
    publish_changes(store, topics, created("later"))
    delivery.add(Writer())
    eventually(lambda: len(seen(store)) == 251)

    assert seen(store) == [*map(str, range(250)), "later"]


def test_a_listener_that_raises_is_shown_and_tried_again_and_holds_up_nobody(
    store, topics, delivery, monkeypatch
):
    monkeypatch.setattr(module, "_FIRST_PAUSE_S", 0.005)
    failing = Writer()
    failing.fails_on = "b"
    delivery.add(failing)
    delivery.add(Other())
    publish_changes(store, topics, *[created(name) for name in "abc"])

    eventually(lambda: delivery.list_statuses()[1].tries > 2)
    status = delivery.list_statuses()[1]
    assert (status.name, status.waiting) == ("writer", 2)
    assert status.error == "ZeroDivisionError: a bug"
    assert 0 <= time.time() * 1000 - status.since < 60_000
    assert seen(store) == ["a"]
    eventually(lambda: len(seen(store, "other")) == 3)

    failing.fails_on = None
    eventually(lambda: seen(store) == ["a", "b", "c"])
    eventually(lambda: delivery.list_statuses()[1].tries == 0)


def test_the_event_that_a_listener_fails_on_can_be_skipped(store, topics, delivery):
    failing = Writer()
    failing.fails_on = "b"
    delivery.add(failing)
    with pytest.raises(ConflictError, match="does not fail"):
        delivery.skip("writer")
    publish_changes(store, topics, *[created(name) for name in "abc"])
    eventually(lambda: delivery.list_statuses()[0].tries > 0 and seen(store) == ["a"])
    delivery.skip("writer")
    eventually(lambda: seen(store) == ["a", "c"])

    with pytest.raises(NotFoundError, match="available: writer"):
        delivery.skip("nobody")
    with pytest.raises(ConflictError, match="already"):
        delivery.add(Writer())


def test_an_error_that_a_listener_hides_does_not_lose_the_event(store, topics, delivery):
    class Hiding(Writer):
        broken = True

        def on_event(self, event: EntityCreated, tx: Transaction) -> None:
            try:
                super().on_event(event, tx)
                if self.broken:
                    tx.execute("SELECT * FROM nowhere")
            except Exception:
                return

    hiding = Hiding()
    delivery.add(hiding)
    publish_changes(store, topics, created("a"))
    eventually(lambda: delivery.list_statuses()[0].tries > 0)
    hiding.broken = False
    eventually(lambda: seen(store) == ["a"])


class Batched(Writer, BatchListener):
    """Takes several events at once, unless one of them is bad."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def on_events(self, events: Sequence[EntityCreated], tx: Transaction) -> None:
        self.sizes.append(len(events))
        for event in events:
            super().on_event(event, tx)


def test_a_listener_takes_events_together_and_one_by_one_when_that_fails(
    store, topics, delivery, monkeypatch
):
    monkeypatch.setattr(module, "_FIRST_PAUSE_S", 0.005)
    batched = Batched()
    batched.fails_on = "b"
    publish_changes(store, topics, *[created(name) for name in "abc"])
    delivery.add(batched)
    eventually(lambda: delivery.list_statuses()[0].tries > 0 and seen(store) == ["a"])
    assert batched.sizes == [3]
    batched.fails_on = None
    eventually(lambda: seen(store) == ["a", "b", "c"])
    publish_changes(store, topics, *[created(name) for name in "de"])
    eventually(lambda: seen(store) == ["a", "b", "c", "d", "e"])
    eventually(lambda: sum(batched.sizes[1:]) >= 2)


def test_an_event_of_a_newer_version_is_passed_over(store, topics, delivery):
    with store.transaction() as tx:
        topics.publish(tx, "system", "entities", [{"kind": "entityPainted"}, "garbage"])
    publish_changes(store, topics, created("a"))
    delivery.add(Writer())

    eventually(lambda: seen(store) == ["a"])


def test_the_sweep_spares_what_a_listener_has_yet_to_see(store, topics, delivery):
    failing = Writer()
    failing.fails_on = "b"
    delivery.add(failing)
    publish_changes(store, topics, *[created(name) for name in "abc"])
    eventually(lambda: delivery.list_statuses()[0].tries > 0 and seen(store) == ["a"])
    with store.transaction() as tx:
        tx.execute("UPDATE messages SET time = 0")

    assert delivery.sweep() == 1
    failing.fails_on = None
    eventually(lambda: seen(store) == ["a", "b", "c"])
    assert delivery.sweep() == 2


HOST = """
import sys, time
from pathlib import Path
from localcdap.messaging.listeners import EventDispatcher
from localcdap.messaging.topics import Topics
from localcdap.store.store import Store
from tests.messaging.test_listeners import Writer, created, eventually, seen, publish_changes
store = Store(Path(sys.argv[1]) / "x.duckdb")
topics = Topics(store)
EventDispatcher(store, topics).add(Writer())
number = store.read("SELECT count(*) FROM messages")[0][0]
while True:
    publish_changes(store, topics, created(str(number)))
    number += 1
    if number % 10 == 0:
        eventually(lambda: seen(store))
        print("published and seen", flush=True)
"""


def test_nothing_is_lost_or_doubled_when_the_host_is_killed(store: Store, tmp_path: Path):
    store.close()
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", HOST, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(3):
            assert process.stdout.readline() == "published and seen\n"
        process.send_signal(signal.SIGKILL)
        process.communicate()

    with Store(tmp_path / "x.duckdb") as again:
        topics = Topics(again)
        before, published = len(seen(again)), again.read("SELECT count(*) FROM messages")[0][0]
        delivery = EventDispatcher(again, topics)
        delivery.add(Writer())
        eventually(lambda: len(seen(again)) == published)
        topics.close()
        delivery.close()
        assert seen(again) == [str(i) for i in range(published)]
    assert 0 < before <= published
