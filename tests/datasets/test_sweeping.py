"""Rows of structured tables go with their namespace, and no others do."""

from __future__ import annotations

import threading
import time

import pytest

from localcdap.api.app import FieldType, StructuredTableSpecification
from localcdap.api.app.transactions import TransactionKind
from localcdap.api.errors import LocalcdapError, NotFoundError, TransactionConflictError
from localcdap.datasets.listeners import DeletedNamespaceCleanup
from localcdap.store.transactions.operations import Delete, Operation, Write
from localcdap.store.transactions.selections import RowSelection
from localcdap.store.transactions.session import LocalTransactionSession
from localcdap.store.transactions.structured_table import StructuredTableInfo

from .conftest import Instance

KEYED = StructuredTableSpecification(
    "keyed",
    fields={"namespace": FieldType.STRING, "generation": FieldType.LONG, "id": FieldType.LONG},
    primary_key=["namespace", "generation", "id"],
)
OTHER = StructuredTableSpecification(
    "other",
    fields={"namespace": FieldType.STRING, "generation": FieldType.LONG},
    primary_key=["namespace"],
)


@pytest.fixture(autouse=True)
def tables(instance: Instance) -> None:
    for spec in (KEYED, OTHER):
        instance.tables.admin.create_or_update(spec)


def put(instance: Instance, namespace: str, generation: int) -> None:
    row = {"namespace": namespace, "generation": generation}

    def body(context):
        context.table("keyed").upsert(row | {"id": 1})
        context.table("other").upsert(row)

    instance.tables.transactions.run(body)


def rows(instance: Instance, table: str) -> list[tuple[str, int]]:
    return instance.tables.transactions.run(
        lambda context: [(r["namespace"], r["generation"]) for r in context.table(table).scan()]
    )


def test_rows_of_a_deleted_namespace_are_swept_away(instance: Instance):
    first = instance.namespaces.create("team").namespace.generation
    put(instance, "team", first)
    put(instance, "default", 0)
    instance.namespaces.delete("team")
    second = instance.namespaces.create("team").namespace.generation
    put(instance, "team", second)
    instance.delivery.add(DeletedNamespaceCleanup(instance.tables.admin))

    until = time.monotonic() + 60
    while rows(instance, "keyed") != [("default", 0), ("team", second)]:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert rows(instance, "other") == [("default", 0), ("team", second)]
    assert [status.tries for status in instance.delivery.list_statuses()] == [0]


def begin(instance: Instance, *operations: Operation) -> LocalTransactionSession:
    """A transaction that has performed operations on the table ``keyed`` and is not committed yet."""
    session = instance.tables.open(TransactionKind.DEFAULT, None)
    try:
        for operation in operations:
            session.perform(StructuredTableInfo(KEYED), operation)
    except LocalcdapError:
        session.rollback()
        raise
    return session


@pytest.mark.parametrize("is_new", [False, True])
def test_a_transaction_that_began_before_a_deletion_leaves_no_row(instance: Instance, is_new: bool):
    first = instance.namespaces.create("team").namespace.generation
    row = {"namespace": "team", "generation": first, "id": 1}
    session = begin(instance, Write([row]))
    instance.namespaces.delete("team")
    if is_new:
        instance.namespaces.create("team")

    with pytest.raises(NotFoundError, match="Namespace 'team' was deleted in the meantime"):
        session.commit()
    assert rows(instance, "keyed") == []


def test_rows_of_a_deleted_namespace_may_be_deleted(instance: Instance):
    first = instance.namespaces.create("team").namespace.generation
    put(instance, "team", first)
    instance.namespaces.delete("team")

    begin(instance, Delete(RowSelection(keys=[("team", first, 1)]))).commit()
    assert rows(instance, "keyed") == []


def test_a_deletion_waits_for_a_commit_that_has_not_noticed_it(instance: Instance):
    """The row is either refused or swept, wherever the deletion comes between check and commit."""
    generation = instance.namespaces.create("team").namespace.generation
    instance.delivery.add(DeletedNamespaceCleanup(instance.tables.admin))
    outcomes = []

    def work() -> None:
        for number in range(200):
            try:
                begin(
                    instance, Write([{"namespace": "team", "generation": generation, "id": number}])
                ).commit()
                outcomes.append(True)
            except TransactionConflictError:
                continue
            except NotFoundError:
                outcomes.append(False)
                return

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    while not outcomes and any(each.is_alive() for each in threads):
        time.sleep(0.001)
    instance.namespaces.delete("team")
    for thread in threads:
        thread.join()

    until = time.monotonic() + 60
    while rows(instance, "keyed"):
        assert time.monotonic() < until
        time.sleep(0.01)
