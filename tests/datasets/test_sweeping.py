"""Rows of structured tables go with their namespace, and no others do."""

from __future__ import annotations

import time

import pytest

from localcdap.api.app import FieldType, StructuredTableSpecification
from localcdap.datasets.listeners import DeletedNamespaceCleanup

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
