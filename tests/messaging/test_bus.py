"""The event bus: order, types, slow and closed subscribers."""

from __future__ import annotations

import doctest
import threading
import time

from localcdap.messaging import bus as module
from localcdap.messaging.bus import EventBus


def test_events_come_in_order_to_those_who_subscribed_to_their_type():
    bus = EventBus()
    numbers, everything = bus.subscribe(int), bus.subscribe(object)
    for event in (1, "a", 2):
        bus.publish(event)

    assert numbers.take() == [1, 2]
    assert everything.take() == [1, "a", 2]
    assert numbers.take() == []


def test_who_subscribes_late_misses_what_was_before():
    bus = EventBus()
    bus.publish(1)
    late = bus.subscribe(int)
    bus.publish(2)

    assert late.take() == [2]


def test_a_slow_subscriber_loses_the_oldest_and_holds_nobody_up():
    bus = EventBus()
    slow, quick = bus.subscribe(int, limit=10), bus.subscribe(int, limit=100)
    for i in range(100):
        bus.publish(i)

    assert slow.take() == list(range(90, 100))
    assert slow.missed == 90
    assert quick.take() == list(range(100))
    assert quick.missed == 0


def test_taking_waits_for_an_event_or_the_end_of_the_time():
    bus = EventBus()
    events = bus.subscribe(int)
    threading.Timer(0.05, bus.publish, [1]).start()

    assert events.take(5) == [1]
    began = time.monotonic()
    assert events.take(0.05) == []
    assert time.monotonic() - began >= 0.05


def test_iterating_ends_when_the_subscription_is_closed():
    bus = EventBus()
    got = []
    events = bus.subscribe(int)
    thread = threading.Thread(target=lambda: got.extend(events))
    thread.start()
    for i in range(5):
        bus.publish(i)
    events.close()
    bus.publish(99)
    thread.join(5)

    assert not thread.is_alive()
    assert got == [0, 1, 2, 3, 4]


def test_many_threads_publish_and_each_keeps_its_order():
    bus = EventBus()
    events = bus.subscribe(tuple, limit=10_000)
    threads = [
        threading.Thread(target=lambda t=t: [bus.publish((t, i)) for i in range(200)])
        for t in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    taken = events.take()
    assert len(taken) == 1600
    assert all([i for t, i in taken if t == n] == list(range(200)) for n in range(8))


def test_the_example_in_the_docstring_runs():
    assert doctest.testmod(module).failed == 0
