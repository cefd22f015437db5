"""Topics: ids, retention, generations, waiting; what a killed publisher leaves behind."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError
from localcdap.messaging import topics as module
from localcdap.messaging.listeners import EventDispatcher
from localcdap.messaging.retention import delete_expired, find_needed
from localcdap.messaging.service import MessagingService
from localcdap.messaging.topics import Retention, Topics
from localcdap.store.store import Store
from localcdap.testing.instance import open_new_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_new_store(tmp_path / "x.duckdb") as store:
        yield store


@pytest.fixture
def topics(store: Store) -> Iterator[Topics]:
    topics = Topics(store)
    yield topics
    topics.close()


@pytest.fixture
def service(store: Store, topics: Topics) -> Iterator[MessagingService]:
    delivery = EventDispatcher(store, topics)
    yield MessagingService(store, topics, delivery)
    topics.close()
    delivery.close()


def payloads(service: MessagingService, topic: str = "t", after: int = 0) -> list[object]:
    return [message.payload for message in service.fetch("ns", topic, after)]


def test_messages_are_fetched_in_order_from_anywhere(service: MessagingService):
    service.create_topic("ns", "t")
    ids = service.publish("ns", "t", [{"n": 1}, ["two"], None]) + service.publish("ns", "t", ["é"])

    assert ids == sorted(set(ids))
    assert payloads(service) == [{"n": 1}, ["two"], None, "é"]
    assert payloads(service, after=ids[1]) == [None, "é"]
    assert [m.id for m in service.fetch("ns", "t", 0, limit=2)] == ids[:2]
    assert service.fetch("ns", "t", service.get_newest_id()) == []


def test_several_topics_are_followed_with_one_position(service: MessagingService):
    for name in ("a", "b", "c"):
        service.create_topic("ns", name)
    for topic in "abcab":
        service.publish("ns", topic, [topic])

    found = service.fetch("ns", ["a", "b"], 0)
    assert [m.topic for m in found] == ["a", "b", "a", "b"]
    assert [m.payload for m in service.fetch("ns", ["b", "a"], found[1].id)] == ["a", "b"]


def test_a_transaction_that_is_rolled_back_publishes_nothing(store, topics, service):
    service.create_topic("ns", "t")
    seen = topics.count_changes("ns", ["t"])
    with contextlib.suppress(ZeroDivisionError), store.transaction() as tx:
        topics.publish(tx, "ns", "t", ["never"])
        raise ZeroDivisionError

    assert payloads(service) == []
    assert topics.count_changes("ns", ["t"]) == seen
    service.publish("ns", "t", ["then"])
    assert payloads(service) == ["then"]


def test_a_topic_made_again_starts_empty_and_goes_on_counting(service: MessagingService):
    first = service.create_topic("ns", "t")
    (old,) = service.publish("ns", "t", ["old"])
    service.delete_topic("ns", "t")
    with pytest.raises(NotFoundError, match="no topic 't' in namespace 'ns'; available: none"):
        service.fetch("ns", "t", 0)
    again = service.create_topic("ns", "t", Retention(count_limit=7))

    assert (first.generation, again.generation) == (1, 2)
    assert again == service.describe_topic("ns", "t")
    assert again.retention.count_limit == 7
    assert payloads(service) == []
    service.publish("ns", "t", ["new"])
    assert payloads(service, after=old) == ["new"]


def test_wrong_requests_say_what_is_wrong(service: MessagingService, monkeypatch):
    service.create_topic("ns", "t")
    with pytest.raises(ConflictError, match="exists in namespace 'ns' already"):
        service.create_topic("ns", "t")
    with pytest.raises(NotFoundError, match="available: t"):
        service.publish("ns", "tt", [1])
    with pytest.raises(BadRequestError, match="cannot be written as JSON"):
        service.publish("ns", "t", [1, object()])
    with pytest.raises(BadRequestError, match="not a valid limit"):
        service.create_topic("ns", "u", Retention(age_limit_s=0))
    with pytest.raises(BadRequestError, match="at least one message"):
        service.fetch("ns", [], 0)
    monkeypatch.setattr(module, "PAYLOAD_LIMIT", 10)
    with pytest.raises(BadRequestError, match="the limit is 10"):
        service.publish("ns", "t", ["x" * 11])
    assert payloads(service) == []


@pytest.mark.parametrize("topic", ["entities", "runs", "artifacts"])
def test_the_topics_of_system_events_are_the_systems_own(service: MessagingService, topic):
    assert service.fetch("system", topic, 0) == []
    for refused in (
        lambda: service.publish("system", topic, [1]),
        lambda: service.delete_topic("system", topic),
    ):
        with pytest.raises(ConflictError, match="holds system events"):
            refused()


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(name=st.text(max_size=6))
def test_names_are_those_of_cdap(service: MessagingService, name: str):
    import string

    allowed = set(string.ascii_letters + string.digits + "_-")
    if name and set(name) <= allowed:
        service.create_topic("names", name)
        assert service.describe_topic("names", name).name == name
        service.delete_topic("names", name)
    else:
        with pytest.raises(BadRequestError, match="cannot be the name"):
            service.create_topic("names", name)


def test_a_reader_that_waits_gets_a_message_at_once(service: MessagingService):
    service.create_topic("ns", "t")
    service.create_topic("ns", "other")
    threading.Timer(0.05, service.publish, ["ns", "other", [0]]).start()
    threading.Timer(0.10, service.publish, ["ns", "t", [1]]).start()
    found = service.fetch("ns", "t", 0, wait_s=600)  # longer than a test may take

    assert [m.payload for m in found] == [1]
    began = time.monotonic()
    assert service.fetch("ns", "t", found[0].id, wait_s=0.05) == []
    assert time.monotonic() - began >= 0.05


def test_waiting_ends_when_the_topic_or_the_host_goes(topics: Topics, service: MessagingService):
    service.create_topic("ns", "t")
    threading.Timer(0.05, service.delete_topic, ["ns", "t"]).start()
    with pytest.raises(NotFoundError):
        service.fetch("ns", "t", 0, wait_s=60)

    service.create_topic("ns", "t")
    threading.Timer(0.05, topics.close).start()
    assert service.fetch("ns", "t", 0, wait_s=60) == []


def test_many_publishers_and_a_reader_miss_nothing(service: MessagingService):
    service.create_topic("ns", "t")

    def publish(who: int) -> None:
        for i in range(40):
            service.publish("ns", "t", [[who, i], [who, i + 0.5]])

    threads = [threading.Thread(target=publish, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    got: list[module.TopicMessage] = []
    while len(got) < 320:
        found = service.fetch("ns", "t", got[-1].id if got else 0, limit=7, wait_s=60)
        assert found
        got += found

    ids = [m.id for m in got]
    assert ids == sorted(set(ids))
    for who in range(4):
        own = [m.payload[1] for m in got if m.payload[0] == who]
        assert own == sorted(own)
        assert len(own) == 80


def test_what_is_too_old_or_too_much_is_swept(store: Store, service: MessagingService):
    service.create_topic("ns", "few", Retention(age_limit_s=None, count_limit=3))
    service.create_topic("ns", "young", Retention(age_limit_s=60, count_limit=None))
    service.create_topic("ns", "all", Retention(age_limit_s=None, count_limit=None))
    service.create_topic("ns", "gone")
    for name in ("few", "young", "all", "gone"):
        service.publish("ns", name, list(range(5)))
    service.delete_topic("ns", "gone")
    with store.transaction() as tx:
        tx.execute("UPDATE messages SET time = time - 61000 WHERE payload IN ('0', '1')")
        assert delete_expired(tx, {}) == 2 + 2 + 5

    assert payloads(service, "few") == [2, 3, 4]
    assert payloads(service, "young") == [2, 3, 4]
    assert payloads(service, "all") == [0, 1, 2, 3, 4]


def test_what_a_listener_still_needs_is_not_swept(store: Store, service: MessagingService):
    service.create_topic("ns", "t", Retention(age_limit_s=1, count_limit=1))
    ids = service.publish("ns", "t", list(range(5)))
    with store.transaction() as tx:
        tx.execute("UPDATE messages SET time = 0")
        assert delete_expired(tx, {("ns", "t"): ids[1]}) == 2
    assert payloads(service) == [2, 3, 4]

    service.publish("ns", "t", list(range(5, 20)))
    with store.transaction() as tx:
        assert delete_expired(tx, {("ns", "t"): ids[1]}) == 8
    assert payloads(service) == list(range(10, 20))


def test_a_listener_of_another_process_is_waited_for(store: Store, service: MessagingService):
    service.save_listener_position("app", ["entities"], 0)
    with store.transaction() as tx:
        assert find_needed(tx) == {("system", "entities"): 0}
    service.save_listener_position("app", ["entities", "runs"], 7)
    service.save_listener_position("app", ["entities"], 5)
    service.save_listener_position("other", ["entities", "runs"], 6)
    with store.transaction() as tx:
        assert find_needed(tx) == {("system", "entities"): 6, ("system", "runs"): 6}
    service.forget_listener("other")
    with store.transaction() as tx:
        assert find_needed(tx) == {("system", "entities"): 7}


PUBLISHER = """
import sys
from pathlib import Path
from localcdap.messaging.topics import Topics
from localcdap.store.store import Store
store = Store(Path(sys.argv[1]) / "x.duckdb")
topics = Topics(store)
with store.transaction() as tx:
    if not topics.list(tx, "ns"):
        topics.create(tx, "ns", "t")
        tx.execute("CREATE TABLE pairs (first BIGINT, second BIGINT)")
while True:
    with store.transaction() as tx:
        ids = topics.publish(tx, "ns", "t", ["a", "b"])
        tx.execute("INSERT INTO pairs VALUES (?, ?)", ids)
    print("published", flush=True)
"""


def test_a_killed_publisher_leaves_messages_and_their_effects_together(store, tmp_path: Path):
    store.close()
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", PUBLISHER, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(10):
            assert process.stdout.readline() == "published\n"
        process.send_signal(signal.SIGKILL)
        process.communicate()

    with Store(tmp_path / "x.duckdb") as again:
        found = Topics(again).fetch("ns", ["t"], 0, 10**6, 0)
        pairs = again.read("SELECT first, second FROM pairs ORDER BY first")
    ids = [m.id for m in found]
    assert ids == [id for pair in pairs for id in pair] != []
    assert len(set(ids)) == len(ids)
    assert [m.payload for m in found] == ["a", "b"] * len(pairs)
    assert msgspec.json.encode(found[0])
