"""Messages take effect exactly once, even when processes are killed; poison messages are skipped."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from localcdap.api.errors import NotFoundError, StoreError
from localcdap.api.serialization.value_types import unpack
from localcdap.messaging.consumer import PoisonMessage, SpoolConsumer, SpoolReader, SpoolWriter
from localcdap.store.store import Store, Transaction
from localcdap.testing.instance import open_new_store

from .messages import Counted, Message, Shaped


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s"


@pytest.fixture
def writer(path: Path) -> Iterator[SpoolWriter]:
    with SpoolWriter(path) as writer:
        yield writer


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_new_store(tmp_path / "x.duckdb") as store:
        with store.transaction() as tx:
            tx.execute("CREATE TABLE seen (number INTEGER PRIMARY KEY)")
        yield store


@pytest.fixture
def poison() -> list[PoisonMessage]:
    return []


@pytest.fixture
def consumer(store: Store, path: Path, poison: list[PoisonMessage]) -> SpoolConsumer[Message]:
    return SpoolConsumer(store, path, "run 1", Message, note, poison.append)


def note(tx: Transaction, message: Message) -> None:
    """Write the number down; a number that was seen violates the primary key."""
    if isinstance(message, Shaped):
        raise NotFoundError("there is no shape")
    if message.text == "bug":
        raise ZeroDivisionError("a bug")
    tx.execute("INSERT INTO seen VALUES (?)", (message.number,))


def seen(store: Store) -> list[int]:
    return [row[0] for row in store.read("SELECT number FROM seen ORDER BY number")]


def test_messages_take_effect_once(writer, consumer, store: Store, poison, path: Path):
    writer.append(*[Counted(i) for i in range(450)])
    assert consumer.consume() == 450
    assert consumer.consume() == 0
    writer.append(Counted(450))
    assert consumer.consume() == 1
    again = SpoolConsumer(store, path, "run 1", Message, note, poison.append)
    assert again.consume() == 0

    assert seen(store) == list(range(451))
    assert consumer.offset == path.stat().st_size
    assert poison == []


def test_what_is_half_written_waits(writer, consumer, store: Store, path: Path):
    writer.append(Counted(1), Counted(2))
    whole = path.read_bytes()
    path.write_bytes(whole[:-3])
    assert consumer.consume() == 1
    path.write_bytes(whole)
    assert consumer.consume() == 1

    assert seen(store) == [1, 2]


def test_a_poison_message_is_passed_over_and_reported(writer, consumer, store: Store, poison, path):
    writer.append(Counted(0), Counted(1), Shaped(None), Counted(2), Counted(3, "bug"), Counted(1))
    writer.append(*[Counted(i) for i in range(10, 15)])
    starts = [0] + [offset for offset, _ in SpoolReader(path).read()]

    assert consumer.consume() == 8
    assert seen(store) == [0, 1, 2, 10, 11, 12, 13, 14]
    assert [p.offset for p in poison] == [starts[2], starts[4], starts[5]]
    assert [p.reason.split(":")[0] for p in poison] == [
        "NotFoundError",
        "ZeroDivisionError",
        "ConflictError",
    ]
    assert all(p.spool == "run 1" and p.payload for p in poison)
    assert consumer.consume() == 0
    assert len(poison) == 3


def test_a_message_that_cannot_be_decoded_is_poison(writer, consumer, store: Store, poison):
    class Stranger(Counted, tag="Stranger"):
        pass

    writer.append(Stranger(1), Counted(2))

    assert consumer.consume() == 1
    assert seen(store) == [2]
    assert "Stranger" in poison[0].reason


def test_what_the_database_refuses_is_tried_again_before_it_is_poison(
    writer, store: Store, poison, path: Path
):
    refusals = 2

    def moody(tx: Transaction, message: Message) -> None:
        nonlocal refusals
        if message.number == 1 and refusals:
            refusals -= 1
            raise StoreError("the disk is full")
        note(tx, message)

    consumer = SpoolConsumer(store, path, "run 1", Message, moody, poison.append)
    writer.append(Counted(0), Counted(1), Counted(2))
    with pytest.raises(StoreError, match="disk is full"):
        consumer.consume()
    assert seen(store) == [0]
    assert consumer.consume() == 2
    assert seen(store) == [0, 1, 2]

    refusals = 100
    writer.append(Counted(3), Counted(1), Counted(4))
    for _ in range(2):
        with pytest.raises(StoreError, match="disk is full"):
            consumer.consume()
    assert poison == []
    assert consumer.consume() == 1
    assert seen(store) == [0, 1, 2, 3, 4]
    assert [p.reason for p in poison] == ["StoreError: the disk is full"]


def test_an_error_that_the_handler_hides_does_not_lose_its_batch(
    writer, store: Store, poison, path
):
    def hides(tx: Transaction, message: Message) -> None:
        try:
            note(tx, message)
        except Exception:
            return

    consumer = SpoolConsumer(store, path, "run 1", Message, hides, poison.append)
    writer.append(Counted(0), Counted(0), Counted(1))

    assert consumer.consume() == 2
    assert seen(store) == [0, 1]
    assert [p.reason.split(":")[0] for p in poison] == ["ConflictError"]


def test_a_damaged_spool_is_reported_once_and_ends_there(
    writer, consumer, store: Store, poison, path
):
    writer.append(Counted(1))
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(bytes(100))

    assert consumer.consume() == 1
    assert consumer.consume() == 0
    assert seen(store) == [1]
    assert [(p.offset, p.payload) for p in poison] == [(size, b"")]
    assert f"damaged at byte {size}" in poison[0].reason


def test_what_was_committed_is_reported_in_order(writer, store: Store, poison, path: Path):
    reported = []
    consumer = SpoolConsumer(store, path, "r", Message, note, poison.append, reported.extend)
    writer.append(Counted(0), Shaped(None), *[Counted(i) for i in range(1, 300)])
    consumer.consume()

    assert [m.number for m in reported] == list(range(300))


def test_consumers_side_by_side_do_no_harm(writer, store: Store, poison, path: Path):
    def work(_: int) -> int:
        consumer = SpoolConsumer(store, path, "run 1", Message, note, poison.append)
        return sum(consumer.consume() for _ in range(20))

    with ThreadPoolExecutor(4) as pool:
        futures = pool.map(work, range(4))
        for i in range(300):
            writer.append(Counted(i))
        count = sum(futures)
    count += SpoolConsumer(store, path, "run 1", Message, note, poison.append).consume()

    assert count == 300
    assert seen(store) == list(range(300))
    assert poison == []


def test_spools_have_offsets_of_their_own(writer, consumer, store: Store, poison, tmp_path: Path):
    with SpoolWriter(tmp_path / "other") as other:
        other.append(Counted(100))
    second = SpoolConsumer(store, tmp_path / "other", "run 2", Message, note, poison.append)
    writer.append(Counted(1))
    assert (consumer.consume(), second.consume()) == (1, 1)

    with store.transaction() as tx:
        second.forget(tx)
    assert second.offset == 0
    assert consumer.offset > 0


HOST = """
import sys
from pathlib import Path
from localcdap.messaging.consumer import SpoolConsumer
from localcdap.store.store import Store
from tests.messaging.messages import Message
from tests.messaging.test_consumer import note
store = Store(Path(sys.argv[1]) / "x.duckdb")
taken = 0
def noted(tx, message):
    global taken
    note(tx, message)
    taken += 1
    if taken == 500:  # some of them for ever
        print("at work", flush=True)
consumer = SpoolConsumer(store, Path(sys.argv[1]) / "s", "run 1", Message, noted, print)
while True:
    consumer.consume()
"""
RUN = """
import sys, time
from pathlib import Path
from localcdap.messaging.consumer import SpoolReader, SpoolWriter
from tests.messaging.messages import Counted
path = Path(sys.argv[1]) / "s"
writer = SpoolWriter(path)
i = sum(1 for _ in SpoolReader(path).read())
begin = i
while True:
    writer.append(*[Counted(i + k) for k in range(7)])
    i += 7
    if i - begin == 280:
        print("at work", flush=True)
    time.sleep(0.005)
"""


def test_nothing_is_lost_or_doubled_when_either_side_is_killed(store: Store, tmp_path: Path):
    store.close()

    def start(code: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", code, str(tmp_path)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    processes = {code: start(code) for code in (HOST, RUN)}
    for victim in (HOST, RUN, HOST):
        assert processes[victim].stdout.readline() == "at work\n"
        processes[victim].send_signal(signal.SIGKILL)
        assert processes[victim].communicate()[0] == ""
        processes[victim] = start(victim)
    for process in processes.values():
        process.kill()
        process.communicate()

    poison: list[PoisonMessage] = []
    with Store(tmp_path / "x.duckdb") as again:
        before = len(seen(again))
        SpoolConsumer(again, tmp_path / "s", "run 1", Message, note, poison.append).consume()
        appended = sum(1 for _ in SpoolReader(tmp_path / "s").read())
        assert seen(again) == list(range(appended))
        assert poison == []
    assert 0 < before <= appended


def join(first: Message, second: Message) -> Message | None:
    """Count several messages as one, whose text has the numbers of all."""
    if isinstance(first, Counted) and isinstance(second, Counted):
        return Counted(
            second.number, f"{first.text or first.number} {second.text or second.number}"
        )
    return None


def test_messages_that_follow_each_other_are_merged(writer, store: Store, poison, path: Path):
    applied: list[str] = []
    reported: list[Message] = []

    def apply(tx: Transaction, message: Message) -> None:
        applied.append(message.text or str(message.number))
        if "bug" in applied[-1]:
            raise ZeroDivisionError("a bug")

    consumer = SpoolConsumer(store, path, "r", Message, apply, poison.append, reported.extend, join)
    writer.append(*[Counted(number) for number in range(4)])
    assert consumer.consume() == 4
    assert applied == ["0 1 2 3"]
    assert reported == [Counted(number) for number in range(4)]
    assert consumer.consume() == 0

    # When one of them fails, only that one is skipped.
    applied.clear()
    writer.append(Counted(4), Counted(5, "bug"), Counted(6))
    assert consumer.consume() == 2
    assert [each for each in applied if "bug" not in each] == ["4", "6"]
    assert [unpack(each.payload, Message) for each in poison] == [Counted(5, "bug")]
