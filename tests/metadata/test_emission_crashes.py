"""``kill -9`` of the run or the host at every step between emission and store: nothing is lost, nothing takes
effect twice, and the mutations of an entity keep their order.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from localcdap.api.app.events import MetadataEmitted
from localcdap.api.metadata import MetadataEntity, MetadataOperation, MetadataScope, OperationKind
from localcdap.engine.messages.orders import SPOOL
from localcdap.engine.messages.spool import Message, MetadataOperations
from localcdap.engine.plan.run_metadata import RunMetadata
from localcdap.messaging.consumer import PoisonMessage, SpoolConsumer, SpoolReader, SpoolWriter
from localcdap.messaging.listeners import EventDispatcher
from localcdap.messaging.topics import Topics
from localcdap.metadata.emitted import EmittedMetadataListener
from localcdap.metadata.service import MetadataService
from localcdap.metadata.store import MetadataStore
from localcdap.namespaces.service import NamespaceService
from localcdap.processes.identity import ProcessIdentity
from localcdap.runs.effects import RunEffects, merge_messages
from localcdap.runs.records import RunRecords
from localcdap.store.store import Store, Transaction
from tests.metadata.catalog import dataset
from tests.runs.stored_runs import make_run

ENTITIES: Final = [dataset("default", f"d{number}") for number in range(3)]
STEPS: Final = {
    "while the run's messages are applied": "apply_message",
    "after they were published": "publish",
    "while metadata is stored": "store",
    "after it was stored": "acknowledge",
}
"""By the moment of the kill, the step of :class:`Host` that ends with it."""


class Host:
    """The part of a host that takes what a run emits, from its spool to the store of metadata.

    :param on_step: called with each step, at its end.
    """

    def __init__(self, folder: Path, on_step: Callable[[str], None] = lambda _: None) -> None:
        self.store = Store(folder / "x.duckdb")
        self.topics = Topics(self.store)
        self._on_step = on_step
        self.dispatcher = EventDispatcher(self.store, self.topics)
        self.namespaces = NamespaceService(self.store, self.topics)
        self.metadata = MetadataStore(self.store)
        service = MetadataService(self.store, self.metadata, self.namespaces, {})
        records = RunRecords(self.store, self.topics, self.namespaces)
        if not self.store.read("SELECT 1 FROM runs"):
            with self.store.transaction() as tx:
                tx.execute("CREATE TABLE stored (entity VARCHAR, number INTEGER)")
            records.add(make_run(), ProcessIdentity(1, 0.0), "{}")
        (self.run,) = (run for (run,) in self.store.read("SELECT run FROM runs"))
        self.consumer: SpoolConsumer[Message] = SpoolConsumer(
            self.store,
            folder / SPOOL,
            self.run,
            Message,
            self._wrap("apply_message", RunEffects(self.store, records, self.run).apply),
            _fail,
            lambda _: on_step("publish"),
            merge_messages,
        )
        self.dispatcher.add(Recorder(service, on_step))

    def _wrap(self, step: str, call: Callable[..., None]) -> Callable[..., None]:
        def wrapped(*arguments: Any) -> None:
            call(*arguments)
            self._on_step(step)

        return wrapped

    def settle(self) -> None:
        """Take everything that was emitted so far."""
        self.consumer.consume()
        deadline = time.monotonic() + 120
        while any(each.waiting for each in self.dispatcher.list_statuses()):
            assert time.monotonic() < deadline, self.dispatcher.list_statuses()
            time.sleep(0.01)

    def close(self) -> None:
        self.topics.close()
        self.dispatcher.close()
        self.store.close()


class Recorder(EmittedMetadataListener):
    """Writes down, in the transaction of each mutation, that it was stored."""

    def __init__(self, service: MetadataService, on_step: Callable[[str], None]) -> None:
        super().__init__(service)
        self._on_step = on_step

    def on_events(self, events: Sequence[MetadataEmitted], tx: Transaction) -> None:
        super().on_events(events, tx)
        for event in events:
            operation = event.operation
            row = (operation.entity.name, int(operation.properties["n"]))
            tx.execute("INSERT INTO stored VALUES (?, ?)", row)
            tx.on_commit(lambda: self._on_step("acknowledge"))
            self._on_step("store")

    def on_event(self, event: MetadataEmitted, tx: Transaction) -> None:
        raise AssertionError("nothing fails, so that nothing is delivered alone")


def _fail(poison: PoisonMessage) -> None:
    raise AssertionError(poison.reason)


def emit(folder: Path, first: int, count: int) -> None:
    """Emit numbered properties, for each entity in turn, as a run process does."""
    with SpoolWriter(folder / SPOOL) as spool:
        metadata = RunMetadata(emit=lambda stage, op: spool.append(MetadataOperations(stage, [op])))
        for number in range(first, first + count):
            entity = ENTITIES[number % len(ENTITIES)]
            properties = {"n": str(number)}
            metadata.emit("s", MetadataOperation(OperationKind.PUT, entity, properties))


def emit_for_ever(folder: Path) -> None:
    """Emit until another thread kills this process, when the spool has some messages."""

    def kill() -> None:
        while count_emitted(folder) < 20:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=kill).start()
    emit(folder, 0, 10**9)


def count_emitted(folder: Path) -> int:
    return sum(1 for _ in SpoolReader(folder / SPOOL).read())


def serve(folder: Path, step: str, after: int) -> None:
    """Be a host that kills itself at the end of a step, the given number of times after its start."""
    counted = iter(range(after))

    def kill(done: str) -> None:
        if done == step and next(counted, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)

    host = Host(folder, kill)
    host.settle()
    threading.Event().wait(60)


def run_child(folder: Path, call: str) -> int:
    code = f"from tests.metadata.test_emission_crashes import *\nfolder = Path(sys.argv[1])\n{call}"
    return subprocess.run([sys.executable, "-c", code, str(folder)], check=False).returncode


def check(folder: Path, emitted: int) -> None:
    """Check that each mutation was stored once, and those of an entity in their order."""
    host = Host(folder)
    try:
        host.settle()
        stored = host.store.read("SELECT entity, number FROM stored ORDER BY rowid")
        assert sorted(number for _, number in stored) == list(range(emitted))
        for place, entity in enumerate(ENTITIES):
            mine = [number for name, number in stored if name == entity.name]
            assert mine == list(range(place, emitted, len(ENTITIES)))
            assert read_number(host, entity) == str(mine[-1])
    finally:
        host.close()


def read_number(host: Host, entity: MetadataEntity) -> str:
    with host.store.snapshot() as tx:
        return host.metadata.read(tx, entity).get(MetadataScope.USER).properties["n"]


@pytest.mark.soak
def test_the_host_is_killed_at_every_step(tmp_path: Path) -> None:
    Host(tmp_path).close()
    for place, step in enumerate(STEPS.values()):
        emit(tmp_path, place * 30, 30)
        assert run_child(tmp_path, f"serve(folder, {step!r}, 0)") == -signal.SIGKILL
    check(tmp_path, 30 * len(STEPS))


@pytest.mark.soak
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_the_host_is_killed_again_and_again(tmp_path: Path, step: str) -> None:
    """With more than a batch waiting, at the beginning, in the middle and at the end of one."""
    Host(tmp_path).close()
    for place, after in enumerate((0, 1, 57, 99, 3)):
        emit(tmp_path, place * 250, 250)
        # Messages are applied and published in batches, of which there are few.
        times = min(after, 1) if step in ("apply_message", "publish") else after
        assert run_child(tmp_path, f"serve(folder, {step!r}, {times})") == -signal.SIGKILL
    check(tmp_path, 5 * 250)


def test_the_run_is_killed_while_it_emits(tmp_path: Path) -> None:
    """What it had emitted by then is stored, all of it, while the rest of the spool is torn off."""
    Host(tmp_path).close()
    assert run_child(tmp_path, "emit_for_ever(folder)") == -signal.SIGKILL
    emitted = count_emitted(tmp_path)
    spool = tmp_path / SPOOL
    os.truncate(spool, spool.stat().st_size - 3)
    assert count_emitted(tmp_path) == emitted - 1
    keep_first(spool, 200)
    check(tmp_path, count_emitted(tmp_path))


def keep_first(spool: Path, count: int) -> None:
    """Cut a spool off after some messages, which keeps the test short on a fast machine."""
    for number, (end, _) in enumerate(SpoolReader(spool).read(), start=1):
        if number == count:
            os.truncate(spool, end + 5)
            return


@pytest.mark.soak
def test_ten_thousand_emissions_of_one_run_are_stored_in_their_order(tmp_path: Path) -> None:
    Host(tmp_path).close()
    emit(tmp_path, 0, 10_000)
    check(tmp_path, 10_000)


def test_what_a_stage_emits_is_published_together_and_in_its_order(tmp_path: Path) -> None:
    host = Host(tmp_path)
    published: list[list[int]] = []
    host.topics.add_observer(
        lambda _tx, events: published.append(
            [int(e.operation.properties["n"]) for e in events if isinstance(e, MetadataEmitted)]
        )
    )
    emit(tmp_path, 0, 150)
    host.settle()
    host.close()
    assert published == [list(range(150))]
    check(tmp_path, 150)
