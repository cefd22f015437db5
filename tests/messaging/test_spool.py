"""Spools: framing, torn tails, concurrent readers, killed writers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localcdap.api.errors import StoreError
from localcdap.api.schema import Schema
from localcdap.api.serialization.value_types import unpack
from localcdap.messaging import consumer as spools
from localcdap.messaging.consumer import SpoolReader, SpoolWriter

from .messages import Counted, Message, Shaped


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "messages.spool"


def messages(path: Path, offset: int = 0) -> list[Message]:
    return [unpack(payload, Message) for _, payload in SpoolReader(path).read(offset)]


def test_messages_are_read_as_they_were_appended(path: Path):
    schema = Schema.record("r", [("a", Schema.DATE.as_nullable)])
    with SpoolWriter(path) as writer:
        writer.append(Counted(1, "é"), Shaped(schema))
        writer.append()
        writer.append(Shaped(None), durable=True)
        assert messages(path) == [Counted(1, "é"), Shaped(schema), Shaped(None)]

    offsets = [offset for offset, _ in SpoolReader(path).read()]
    assert [len(messages(path, offset)) for offset in [0, *offsets]] == [3, 2, 1, 0]
    assert offsets[-1] == path.stat().st_size


def test_a_spool_that_is_not_there_yet_is_empty(path: Path):
    assert messages(path) == []


def test_several_messages_are_one_write(path: Path, monkeypatch):
    writes = []
    real = os.write
    with SpoolWriter(path) as writer:
        monkeypatch.setattr(os, "write", lambda f, d: writes.append(1) or real(f, d))
        writer.append(*[Counted(i) for i in range(100)])

    assert writes == [1]
    assert messages(path) == [Counted(i) for i in range(100)]


def test_a_later_writer_continues(path: Path):
    for number in range(3):
        with SpoolWriter(path) as writer:
            writer.append(Counted(number))

    assert messages(path) == [Counted(0), Counted(1), Counted(2)]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_torn_tail_is_not_read_and_then_overwritten(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("torn") / "s"
    with SpoolWriter(path) as writer:
        writer.append(*[Counted(i, "x" * i) for i in range(5)])
    ends = [offset for offset, _ in SpoolReader(path).read()]
    cut = data.draw(st.integers(0, ends[-1]))
    os.truncate(path, cut)
    kept = [Counted(i, "x" * i) for i, end in enumerate(ends) if end <= cut]
    assert messages(path) == kept

    with SpoolWriter(path) as writer:
        writer.append(Counted(9))
    assert messages(path) == [*kept, Counted(9)]


@settings(max_examples=60, deadline=None)
@given(garbage=st.binary(min_size=1, max_size=100))
def test_garbage_behind_the_last_message_is_cut_off(tmp_path_factory, garbage: bytes):
    path = tmp_path_factory.mktemp("garbage") / "s"
    with SpoolWriter(path) as writer:
        writer.append(Counted(1))
    with path.open("ab") as file:
        file.write(garbage)

    with SpoolWriter(path) as writer:
        writer.append(Counted(2))
    assert messages(path) == [Counted(1), Counted(2)]


@pytest.mark.parametrize("tail", [bytes(64), b"\xff" * 64])
def test_damage_is_distinguished_from_a_message_that_is_still_coming(path: Path, tail: bytes):
    with SpoolWriter(path) as writer:
        writer.append(Counted(1))
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(tail)
    reading = SpoolReader(path).read()

    assert unpack(next(reading)[1], Message) == Counted(1)
    with pytest.raises(StoreError, match=f"damaged at byte {size}"):
        next(reading)


def test_a_spool_that_got_shorter_is_an_error(path: Path):
    SpoolWriter(path).close()

    with pytest.raises(StoreError, match="shorter than the part already read"):
        list(SpoolReader(path).read(7))


def test_one_writer_at_a_time(path: Path):
    with SpoolWriter(path) as writer:
        with pytest.raises(StoreError, match="Another process writes"):
            SpoolWriter(path)
        writer.append(Counted(1))
    writer.close()
    with pytest.raises(StoreError, match="is closed"):
        writer.append(Counted(2))
    assert messages(path) == [Counted(1)]


def test_a_full_disk_leaves_whole_messages_only(path: Path, monkeypatch):
    real = os.write

    def fills_up(file: int, data: memoryview) -> int:
        if len(data) <= 20:
            raise OSError(28, "No space left on device")
        return real(file, data[: len(data) - 20])

    with SpoolWriter(path) as writer:
        writer.append(Counted(1))
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", fills_up)
            with pytest.raises(StoreError, match="No space left on device"):
                writer.append(Counted(2, "x" * 100))
        writer.append(Counted(3))

    assert messages(path) == [Counted(1), Counted(3)]


def test_a_message_over_the_limit_is_refused(path: Path, monkeypatch):
    monkeypatch.setattr(spools, "MESSAGE_LIMIT", 50)
    with SpoolWriter(path) as writer:
        with pytest.raises(StoreError, match="too long; the limit is 50"):
            writer.append(Counted(1), Counted(2, "x" * 60))
        writer.append(Counted(3))

    assert messages(path) == [Counted(3)]


def test_threads_share_a_writer(path: Path):
    with SpoolWriter(path) as writer:
        threads = [
            threading.Thread(target=lambda t=t: [writer.append(Counted(t)) for _ in range(100)])
            for t in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert sorted(m.number for m in messages(path)) == sorted(list(range(8)) * 100)


def test_a_reader_follows_until_it_is_stopped(path: Path):
    done = threading.Event()

    def write() -> None:
        with SpoolWriter(path) as writer:
            for i in range(20):
                writer.append(Counted(i))
                time.sleep(0.005)
        done.set()

    threading.Timer(0.05, write).start()
    followed = SpoolReader(path).follow(0, done.is_set, pause_s=0.002)
    assert [unpack(p, Message).number for _, p in followed] == list(range(20))


KILLED = """
import sys
from pathlib import Path
from localcdap.messaging.consumer import SpoolWriter
from tests.messaging.messages import Counted
writer = SpoolWriter(Path(sys.argv[1]))
i = 0
while True:
    writer.append(*[Counted(i + k, "x" * 1000) for k in range(50)])
    i += 50
    print("appended", flush=True)
"""


def test_a_killed_writer_leaves_an_unbroken_beginning(path: Path):
    for _ in range(3):
        before = len(messages(path))
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(10):
            assert process.stdout.readline() == "appended\n"
        process.send_signal(signal.SIGKILL)
        process.communicate()

        numbers = [m.number for m in messages(path)][before:]
        assert numbers == list(range(len(numbers)))
        assert len(numbers) > 0
