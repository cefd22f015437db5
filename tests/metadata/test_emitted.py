"""What programs emit is stored once and in its order; what cannot be stored holds nothing up."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence

import pytest

from localcdap.api.app.events import MetadataEmitted
from localcdap.api.errors import DiskFullError, StoreError
from localcdap.api.metadata import Metadata, MetadataEntity, MetadataOperation, OperationKind
from localcdap.api.security import Authorizer, Permission
from localcdap.messaging import listeners
from localcdap.messaging.listeners import EventDispatcher
from localcdap.messaging.topics import Topics
from localcdap.metadata.emitted import EmittedMetadataListener
from localcdap.metadata.records import UpdateMutation
from localcdap.metadata.service import MetadataService
from localcdap.metadata.store import MetadataStore
from localcdap.namespaces.service import NamespaceService
from localcdap.security.authorizer import ALLOW_ALL, PrivilegeAuthorizer
from localcdap.security.principals import get_current_user
from localcdap.security.privileges import Privileges
from localcdap.store.store import Store, Transaction
from tests.metadata.catalog import dataset

PUT, DELETE = OperationKind.PUT, OperationKind.DELETE
ORDERS = dataset("default", "orders")
RUN = MetadataEntity.of_program("p", "Workflow", "a", "default").append("program_run", "run-1")


class Emitter:
    """The topic, its consumer, and what is stored."""

    def __init__(self, store: Store, authorizer: Authorizer = ALLOW_ALL) -> None:
        self.store = store
        self.topics = Topics(store)
        self.dispatcher = EventDispatcher(store, self.topics)
        self.namespaces = NamespaceService(store, self.topics)
        self.users: list[str | None] = []
        """Who changed metadata, change by change; None: localcdap itself."""
        self.metadata = MetadataStore(store, lambda *_: self.users.append(get_current_user()))
        self.service = MetadataService(store, self.metadata, self.namespaces, {}, authorizer)
        self.dispatcher.add(EmittedMetadataListener(self.service))

    def emit(self, *operations: MetadataOperation, user: str = "anna") -> None:
        events = [MetadataEmitted(RUN, "stage", each, 1, user) for each in operations]
        with self.store.transaction() as tx:
            for event in events:
                self.topics.publish_event(tx, event)

    def settle(self) -> None:
        """Wait until every event was handled."""
        deadline = time.monotonic() + 60
        while any(each.waiting for each in self.dispatcher.list_statuses()):
            assert time.monotonic() < deadline, self.dispatcher.list_statuses()
            time.sleep(0.01)

    def read(self, entity: MetadataEntity = ORDERS) -> Metadata:
        return self.service.get(entity).user

    def close(self) -> None:
        self.topics.close()
        self.dispatcher.close()


@pytest.fixture
def emitter(store: Store) -> Iterator[Emitter]:
    emitter = Emitter(store)
    yield emitter
    emitter.close()


def put(*tags: str, **properties: str) -> MetadataOperation:
    return MetadataOperation(PUT, ORDERS, properties=properties, tags=list(tags))


def has_tag(mutations: Sequence[UpdateMutation], tag: str) -> bool:
    return any(tag in each.metadata.user.tags for each in mutations)


def test_every_kind_of_operation_takes_effect(emitter: Emitter) -> None:
    emitter.emit(put("a", "b", "c", k="v", l="w", m="x"))
    emitter.emit(MetadataOperation(DELETE, ORDERS, tags=["a"], names=["k"]))
    emitter.settle()
    assert emitter.read() == Metadata.of({"l": "w", "m": "x"}, ["b", "c"])
    emitter.emit(MetadataOperation(OperationKind.DELETE_ALL_TAGS, ORDERS))
    emitter.settle()
    assert emitter.read() == Metadata.of({"l": "w", "m": "x"})
    emitter.emit(put("d"), MetadataOperation(OperationKind.DELETE_ALL_PROPERTIES, ORDERS))
    emitter.settle()
    assert emitter.read() == Metadata.of(tags=["d"])
    emitter.emit(put(k="v"), MetadataOperation(OperationKind.DELETE_ALL, ORDERS))
    emitter.settle()
    assert emitter.read() == Metadata()


def test_the_user_of_the_run_or_localcdap_itself_makes_the_change(emitter: Emitter) -> None:
    emitter.emit(put("a"))
    emitter.emit(put("b"), user="")
    emitter.settle()
    assert emitter.users == ["anna", None]


@pytest.mark.slow
def test_thousands_of_operations_keep_their_order(emitter: Emitter) -> None:
    entities = [dataset("default", f"d{i}") for i in range(7)]
    operations = [
        MetadataOperation(PUT, entities[i % 7], properties={"last": str(i)}) for i in range(2000)
    ]
    emitter.emit(*operations)
    emitter.settle()
    last = {each.entity: each.properties["last"] for each in operations}
    assert {each: emitter.read(each).properties["last"] for each in entities} == last


@pytest.mark.parametrize(
    "operation",
    [
        put("not good", secret="hunter2"),
        MetadataOperation(PUT, dataset("gone", "d"), properties={"secret": "hunter2"}),
    ],
)
def test_what_is_invalid_is_dropped_with_a_warning_without_values(
    emitter: Emitter, operation: MetadataOperation, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        emitter.emit(operation, put("after"))
        emitter.settle()
    assert emitter.read() == Metadata.of(tags=["after"])
    assert (
        "Ignoring the metadata operation PUT that stage 'stage' of run run-1 emitted" in caplog.text
    )
    assert "hunter2" not in caplog.text
    assert "not good" not in caplog.text
    assert emitter.service.list_set_aside() == []


def test_what_cannot_be_stored_is_set_aside_and_listed(
    emitter: Emitter, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply = emitter.metadata.apply

    def fail(tx: Transaction, mutations: Sequence[UpdateMutation]) -> object:
        if has_tag(mutations, "lost"):
            raise ZeroDivisionError("a fault")
        return apply(tx, mutations)

    monkeypatch.setattr(emitter.metadata, "apply", fail)
    emitter.emit(put("lost"), put("kept"))
    emitter.settle()
    assert emitter.read() == Metadata.of(tags=["kept"])
    (aside,) = emitter.service.list_set_aside()
    assert (aside.run.name, aside.stage, aside.entity) == ("run-1", "stage", ORDERS)
    assert aside.error == "ZeroDivisionError: a fault"


def test_an_error_of_the_database_is_tried_again(
    emitter: Emitter, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply, tries = emitter.metadata.apply, []

    def fail_twice(tx: object, mutations: Sequence[object]) -> object:
        tries.append(1)
        if len(tries) < 3:
            raise StoreError("the disk is full")
        return apply(tx, mutations)

    monkeypatch.setattr(emitter.metadata, "apply", fail_twice)
    emitter.emit(put("kept"))
    emitter.settle()
    assert emitter.read() == Metadata.of(tags=["kept"])
    assert emitter.service.list_set_aside() == []


def test_what_the_database_refuses_is_set_aside_in_the_end_and_the_next_go_on(
    emitter: Emitter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listeners, "_FIRST_PAUSE_S", 0.001)
    apply, tries = emitter.metadata.apply, []

    def refuse(tx: Transaction, mutations: Sequence[UpdateMutation]) -> object:
        if has_tag(mutations, "refused"):
            tries.append(1)
            tx.execute("SELECT error('the database refuses')")
        return apply(tx, mutations)

    monkeypatch.setattr(emitter.metadata, "apply", refuse)
    emitter.emit(put("before"), put("refused"), put("after"))
    emitter.settle()
    assert emitter.read() == Metadata.of(tags=["before", "after"])
    (aside,) = emitter.service.list_set_aside()
    assert "the database refuses" in aside.error
    assert len(tries) == 1 + 8, "with the others at first, then alone"


def test_what_a_full_disk_holds_up_is_never_set_aside(
    emitter: Emitter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listeners, "_FIRST_PAUSE_S", 0.0001)
    apply, tries = emitter.metadata.apply, []

    def fail_often(tx: Transaction, mutations: Sequence[UpdateMutation]) -> object:
        tries.append(1)
        if len(tries) < 12:
            raise DiskFullError("the disk is full")
        return apply(tx, mutations)

    monkeypatch.setattr(emitter.metadata, "apply", fail_often)
    emitter.emit(put("kept"))
    emitter.settle()
    assert emitter.read() == Metadata.of(tags=["kept"])
    assert emitter.service.list_set_aside() == []


def test_a_namespace_that_is_deleted_and_a_right_that_is_revoked_meanwhile_drop_the_rest(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    held = {"anna": {"*": [Permission.WRITE]}}
    authorizer = PrivilegeAuthorizer(lambda: Privileges.of(True, held))
    emitter = Emitter(store, authorizer)
    kept, gone = ORDERS, dataset("gone", "orders")
    emitter.namespaces.create("gone")
    puts = [MetadataOperation(PUT, each, tags=["first"]) for each in (kept, gone)]
    emitter.emit(*puts)
    emitter.settle()
    assert emitter.read(gone) == emitter.read(kept) == Metadata.of(tags=["first"])

    emitter.dispatcher.remove(EmittedMetadataListener.name)
    emitter.emit(MetadataOperation(PUT, gone, tags=["second"]), put("second"))
    emitter.namespaces.delete("gone")
    held["anna"] = {"namespaces/other": [Permission.WRITE]}
    emitter.dispatcher.add(EmittedMetadataListener(emitter.service))
    emitter.settle()
    emitter.namespaces.create("gone")
    assert emitter.read(gone) == Metadata()
    assert emitter.read(kept) == Metadata.of(tags=["first"])
    dropped = [each for each in caplog.messages if each.startswith("Ignoring the metadata")]
    assert len(dropped) == 2
    assert dropped[1].endswith("UnauthorizedError")
    emitter.close()
