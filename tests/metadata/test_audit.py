"""The audit log: its messages are those of CDAP 6 ``AuditMessageTest``, and who wants what finds it."""

from __future__ import annotations

import msgspec
import pytest

from localcdap.api.app.events import EntityCreated, EntityDeleted, EntityUpdated
from localcdap.api.errors import BadRequestError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import Principal
from localcdap.decoders import decode_json
from localcdap.messaging.topics import Topics
from localcdap.metadata.audit import AuditLog, AuditMessage, AuditQuery, AuditService, AuditType
from localcdap.metadata.records import DropMutation, UpdateMutation
from localcdap.metadata.store import MetadataStore
from localcdap.security.principals import act_as
from localcdap.store.store import Store
from tests.metadata.catalog import both, dataset, system, user

ORDERS = dataset("n", "orders")


class Audited:
    """A store of metadata with an audit log."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.user = "anna"
        self.topics = Topics(store)
        self.log = AuditLog(self.topics)
        self.metadata = MetadataStore(store, self.log.note_changes)
        self.service = AuditService(store)
        self.topics.add_observer(self.log.observe)

    def apply(self, *mutations: UpdateMutation | DropMutation) -> None:
        with act_as(Principal(self.user)), self.store.transaction() as tx:
            self.metadata.apply(tx, mutations)

    def read(self, **query: object) -> list[AuditMessage]:
        return self.service.list_messages(AuditQuery(**query))

    def read_topic(self) -> list[AuditMessage]:
        with self.store.snapshot() as tx:
            found = self.topics.read(tx, "system", ["audit"], 0, 100)
        return [decode_json(msgspec.json.encode(each.payload), AuditMessage) for each in found]


@pytest.fixture
def audited(store: Store) -> Audited:
    return Audited(store)


def test_a_message_has_the_form_of_the_original() -> None:
    message = AuditMessage(1000, dataset("ns1", "ds1"), "user1", AuditType.CREATE, {})
    assert msgspec.to_builtins(message) == {
        "version": 2,
        "time": 1000,
        "metadataEntity": {"details": {"namespace": "ns1", "dataset": "ds1"}, "type": "dataset"},
        "user": "user1",
        "type": "CREATE",
        "payload": {},
    }


def test_a_change_of_metadata_is_written_by_scope(audited: Audited) -> None:
    audited.apply(UpdateMutation(ORDERS, both(system("s"), user("a", "b", k="v", l="w"))))
    audited.user = "ben"
    audited.apply(UpdateMutation(ORDERS, user("c", k="x")))
    newest, second, first = audited.read()
    assert (newest.user, newest.type) == ("ben", AuditType.METADATA_CHANGE)
    assert newest.payload == {
        "previous": {"USER": {"properties": {"k": "v", "l": "w"}, "tags": ["a", "b"]}},
        "additions": {"USER": {"properties": {"k": "x"}, "tags": ["c"]}},
        "deletions": {"USER": {"properties": {"k": "v"}, "tags": []}},
    }
    assert [list(each.payload["previous"]) for each in (second, first)] == [["USER"], ["SYSTEM"]]
    assert audited.read_topic() == [first, second, newest]


def test_what_changes_nothing_is_not_written(audited: Audited) -> None:
    audited.apply(DropMutation(ORDERS), UpdateMutation(ORDERS, user()))
    assert audited.read() == []


def test_what_is_rolled_back_is_not_written(audited: Audited) -> None:
    def fail() -> None:
        with audited.store.transaction() as tx:
            audited.metadata.apply(tx, [UpdateMutation(ORDERS, user("t"))])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert audited.read() == audited.read_topic() == []


def test_entities_that_come_change_and_go_are_written(audited: Audited) -> None:
    with audited.store.transaction() as tx:
        for event in (EntityCreated(ORDERS, 1), EntityUpdated(ORDERS, 2), EntityDeleted(ORDERS, 3)):
            audited.topics.publish_event(tx, event)
    found = [(each.time, each.type.value) for each in audited.read()]
    assert found == [(3, "DELETE"), (2, "UPDATE"), (1, "CREATE")]


def test_messages_are_selected(audited: Audited) -> None:
    other = dataset("m", "orders")
    with audited.store.transaction() as tx:
        for name, at in (("anna", 1), ("ben", 2), ("anna", 3)):
            for entity in (ORDERS, other, MetadataEntity.of_namespace("n")):
                audited.topics.publish_event(tx, EntityUpdated(entity, at, user=name))
        audited.topics.publish_event(tx, EntityDeleted(other, 4))
    assert len(audited.read(entity=ORDERS)) == 3
    assert {each.metadata_entity.namespace for each in audited.read(namespace="n")} == {"n"}
    assert len(audited.read(namespace="n")) == 6
    assert [each.time for each in audited.read(user="ben")] == [2, 2, 2]
    assert [each.time for each in audited.read(types=[AuditType.DELETE])] == [4]
    assert {each.time for each in audited.read(since=2, until=4)} == {2, 3}
    assert [each.time for each in audited.read(limit=2, offset=1)] == [3, 3]
    assert audited.read(entity=dataset("n", "absent")) == []


@pytest.mark.parametrize("query", [{"limit": 0}, {"limit": 10_001}, {"offset": -1}])
def test_wrong_limits_are_refused(audited: Audited, query: dict[str, int]) -> None:
    with pytest.raises(BadRequestError, match="Ask for 1 to 10000 messages"):
        audited.read(**query)


def test_old_messages_are_pruned_and_others_stay(audited: Audited) -> None:
    with audited.store.transaction() as tx:
        for at in (1, 2, 3):
            audited.topics.publish_event(tx, EntityUpdated(ORDERS, at))
    assert audited.service.prune(3) == 2
    assert audited.service.prune(3) == 0
    assert [each.time for each in audited.read()] == [3]
