"""Events are kept until they are delivered: in order, whatever fails, and within a limit."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcdap.openlineage import delivery
from localcdap.openlineage.delivery import Deliveries
from localcdap.openlineage.destinations import EventFile, add_events
from localcdap.openlineage.http_endpoint import HttpEndpoint
from localcdap.store.store import Store
from localcdap.testing.instance import open_new_store
from tests.openlineage.test_destinations import Receiver
from tests.openlineage.validation import wait_until


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_new_store(tmp_path / "x.duckdb") as store:
        yield store


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "_FIRST_PAUSE_S", 0.01)


def add(store: Store, *events: str, most: int = 1000) -> int:
    with store.transaction() as tx:
        return add_events(tx, events, most)


def test_an_endpoint_that_fails_at_first_gets_everything_in_order(store: Store) -> None:
    with Receiver(500, 503, 500) as receiver:
        deliveries = Deliveries(store, [HttpEndpoint(receiver.url, "x")])
        add(store, "1", "2")
        deliveries.wake()
        wait_until(lambda: len(receiver.bodies) == 2)
        add(store, "3")
        deliveries.wake()
        wait_until(lambda: not deliveries.are_active())
        deliveries.close()
        assert receiver.bodies == ["1", "2", "3"]
        (status,) = deliveries.list_statuses()
        assert (status.waiting, status.tries, status.refused, status.error) == (0, 0, 0, None)
    assert store.read("SELECT count(*) FROM openlineage_events") == [(0,)]


def test_a_dead_endpoint_holds_up_no_other_destination(store: Store, tmp_path: Path) -> None:
    with Receiver() as gone:
        endpoint = HttpEndpoint(gone.url, "x")
    file = tmp_path / "events.jsonl"
    deliveries = Deliveries(store, [EventFile(file), endpoint])
    add(store, "1", "2")
    deliveries.wake()
    wait_until(lambda: deliveries.list_statuses()[1].tries > 1)
    wait_until(lambda: deliveries.list_statuses()[0].waiting == 0)
    assert not deliveries.are_active()
    assert file.read_text(encoding="utf-8") == "1\n2\n"
    failing = deliveries.list_statuses()[1]
    assert (failing.name, failing.waiting, failing.target) == ("http", 2, endpoint.target)
    assert "cannot be reached" in failing.error
    deliveries.close()

    # A later host goes on with what waits; a destination that was removed gets nothing more.
    with Receiver() as receiver:
        deliveries = Deliveries(store, [HttpEndpoint(receiver.url, "x")])
        add(store, "3")
        deliveries.wake()
        wait_until(lambda: receiver.bodies == ["1", "2", "3"])
        deliveries.close()
    deliveries = Deliveries(store, [EventFile(file)])
    add(store, "4")
    deliveries.wake()
    wait_until(lambda: file.read_text(encoding="utf-8") == "1\n2\n4\n")
    deliveries.close()


def test_an_event_that_is_refused_is_left_out_and_counted(store: Store) -> None:
    with Receiver(201, 422) as receiver:
        deliveries = Deliveries(store, [HttpEndpoint(receiver.url, "x")])
        add(store, "1", "2", "3")
        deliveries.wake()
        wait_until(lambda: deliveries.list_statuses()[0].waiting == 0)
        deliveries.close()
        assert receiver.bodies == ["1", "3"]
        (status,) = deliveries.list_statuses()
        assert status.refused == 1
        assert "answers 422" in status.refusal


def test_the_oldest_events_over_the_limit_are_dropped_and_counted(store: Store) -> None:
    with Receiver() as gone:
        deliveries = Deliveries(store, [HttpEndpoint(gone.url, "x")])
    assert add(store, "1", "2", "3", most=3) == 0
    assert add(store, "4", "5", most=3) == 2
    assert store.read("SELECT event FROM openlineage_events ORDER BY id") == [
        ("3",),
        ("4",),
        ("5",),
    ]
    (status,) = deliveries.list_statuses()
    assert (status.waiting, status.dropped) == (3, 2)
    deliveries.close()


def test_without_destinations_nothing_is_kept(store: Store) -> None:
    with Receiver() as gone:
        Deliveries(store, [HttpEndpoint(gone.url, "x")]).close()
    add(store, "1")
    Deliveries(store, []).close()
    for table in ("openlineage_events", "openlineage_destinations"):
        assert store.read(f"SELECT count(*) FROM {table}") == [(0,)]


@pytest.mark.soak
def test_a_killed_process_neither_loses_nor_repeats_an_event(tmp_path: Path) -> None:
    file, count = tmp_path / "events.jsonl", 60
    program = Path(__file__).with_name("killed_sender.py")

    def start(until: int) -> subprocess.Popen[bytes]:
        command = [program, tmp_path / "x.duckdb", file, until]
        return subprocess.Popen([sys.executable, *map(str, command)])

    def count_lines() -> int:
        return file.read_bytes().count(b"\n") if file.exists() else 0

    def wait_for_lines(least: int) -> None:
        wait_until(lambda: count_lines() >= least)

    for killed_at in (1, 17, 40):
        process = start(10**9)
        wait_for_lines(killed_at)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    total = count_lines() + count
    assert start(total).wait() == 0
    lines = file.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["number"] for line in lines] == list(range(len(lines)))
    assert len(lines) >= total
