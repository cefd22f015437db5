"""CDAP's StructuredTableAdminTest and registry test, by number: how tables are made and changed."""

from __future__ import annotations

import pytest

from localcdap.api.app import (
    FieldType,
    IncompatibleTableError,
    StructuredTableSpecification,
)
from localcdap.api.errors import ConflictError, NotFoundError
from localcdap.store.store import Store
from localcdap.store.structured.admin import TableRegistry

from .conftest import SIMPLE, Instance

SPEC = StructuredTableSpecification(
    "people",
    fields={
        "l": FieldType.LONG,
        "i": FieldType.INTEGER,
        "s": FieldType.STRING,
        "v": FieldType.DOUBLE,
    },
    primary_key=["i", "l", "s"],
    indexes=["s"],
)


def changed(**parts) -> StructuredTableSpecification:
    known = {name: getattr(SPEC, name) for name in ("table", "fields", "primary_key", "indexes")}
    return StructuredTableSpecification(**(known | parts))


def test_B1_a_table_is_there_once_it_was_created(instance: Instance):
    assert not instance.admin.exists("people")
    with pytest.raises(NotFoundError, match="no structured table 'people'; available: none"):
        instance.admin.get_schema("people")

    instance.admin.create_or_update(SPEC)

    assert instance.admin.exists("people")
    assert instance.admin.get_schema("people") == SPEC
    instance.admin.create_or_update(SPEC)
    assert instance.admin.get_schema("people") == SPEC


def test_B2_fields_and_indexes_are_added(instance: Instance):
    instance.admin.create_or_update(SPEC)
    key = {"i": 1, "l": 2, "s": "x"}
    instance.transactions.run(lambda c: c.table("people").upsert(key | {"v": 1.5}))
    fields = dict(SPEC.fields) | {"f": FieldType.FLOAT, "n": FieldType.LONG}
    wider = changed(fields=fields, indexes=["s", "l"])

    instance.admin.create_or_update(wider)

    assert instance.admin.get_schema("people") == wider
    read = lambda c: c.table("people").read(key)  # noqa: E731
    assert instance.transactions.run(read) == key | {"v": 1.5, "f": None, "n": None}
    instance.transactions.run(lambda c: c.table("people").upsert(key | {"n": 7}))
    assert instance.transactions.run(read)["n"] == 7


def test_B3_what_is_there_cannot_be_taken_away(instance: Instance):
    instance.admin.create_or_update(SPEC)
    fields = {name: type for name, type in SPEC.fields.items() if name != "v"}

    with pytest.raises(IncompatibleTableError) as caught:
        instance.admin.create_or_update(
            changed(
                fields=fields | {"l": FieldType.INTEGER}, primary_key=["l", "i", "s"], indexes=[]
            )
        )

    for reason in (
        "field v is missing",
        "field l is INTEGER instead of LONG",
        "the primary key is (l, i, s) instead of (i, l, s)",
        "index s is missing",
    ):
        assert reason in str(caught.value)
    assert instance.admin.get_schema("people") == SPEC


def test_B4_the_key_keeps_its_order(instance: Instance):
    instance.admin.create_or_update(SPEC)

    assert tuple(instance.admin.get_schema("people").primary_key) == ("i", "l", "s")
    assert tuple(instance.admin.get_schema("people").fields) == ("l", "i", "s", "v")


def test_B5_a_dropped_table_is_gone(instance: Instance):
    instance.admin.create_or_update(SPEC)
    key = {"i": 1, "l": 2, "s": "x"}
    instance.transactions.run(lambda c: c.table("people").upsert(key))

    instance.admin.drop("people")
    instance.admin.drop("people")

    assert not instance.admin.exists("people")
    with pytest.raises(NotFoundError):
        instance.transactions.run(lambda c: c.table("people"))
    instance.admin.create_or_update(SPEC)
    assert instance.transactions.run(lambda c: c.table("people").count()) == 0


def test_names_that_differ_in_case_only_are_refused(instance: Instance):
    instance.admin.create_or_update(SPEC)

    with pytest.raises(ConflictError, match="'people' already"):
        instance.admin.create_or_update(changed(table="People"))


def test_E1_the_registry(path):
    with Store(path) as store:
        registry = TableRegistry(store)
        shipped = registry.list_names()
        assert registry.find("people") is None
        with store.transaction() as tx:
            registry.register(tx, SPEC)
            registry.register(tx, SIMPLE)
            assert registry.list_names() == shipped
        assert registry.find("people") == SPEC
        with pytest.raises(ConflictError), store.transaction() as tx:
            registry.register(tx, SPEC)
        with store.transaction() as tx:
            registry.remove(tx, "people")
        assert registry.find("people") is None
        assert registry.list_names() == [*shipped, "simpleTable"]
        with store.transaction() as tx:
            registry.register(tx, SPEC)
        assert TableRegistry(store).find("people") == registry.find("people") == SPEC
        with store.transaction() as tx:
            registry.remove(tx, "people")
            registry.remove(tx, "simpleTable")
        assert registry.list_names() == TableRegistry(store).list_names() == shipped


def test_what_a_failed_transaction_registered_is_forgotten(path):
    with Store(path) as store:
        registry = TableRegistry(store)

        def fail() -> None:
            with store.transaction() as tx:
                registry.register(tx, SPEC)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert registry.find("people") is None


def test_tables_of_applications_have_a_prefix_in_the_file(instance: Instance, stored):
    instance.admin.create_or_update(SPEC)

    found = stored._store.read(
        "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE '%people'"
    )

    assert found == [("app_people",)]
