"""Connections: kept, imported, deleted; their secrets are secure keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError
from localcdap.namespaces.connections import ConnectionService
from localcdap.namespaces.secure_keys import FileVault, SecureKeyService
from localcdap.namespaces.service import NamespaceService
from localcdap.store.store import Store
from localcdap.store.structured.admin import StructuredTables

EXPORTED: dict[str, Any] = {
    "name": "My DB",
    "connectionId": "my_db",
    "connectionType": "PostgreSQL",
    "description": "of the shop",
    "preConfigured": False,
    "isDefault": False,
    "createdTimeMillis": 1,
    "updatedTimeMillis": 2,
    "plugin": {
        "category": "Database",
        "name": "PostgreSQL",
        "type": "connector",
        "artifact": {"name": "postgresql-plugin", "version": "1.9.0", "scope": "USER"},
        "properties": {"host": "db", "user": "me", "password": "hunter2", "port": "5432"},
    },
}


@pytest.fixture
def keys(store: Store, namespaces: NamespaceService, tmp_path) -> SecureKeyService:
    namespaces.create("team")
    vault = FileVault(tmp_path / "secrets.json")
    return SecureKeyService(store, namespaces, [vault], lambda: vault.name)


@pytest.fixture
def connections(
    store: Store, namespaces: NamespaceService, keys: SecureKeyService
) -> Iterator[ConnectionService]:
    tables = StructuredTables(store, namespaces.require_generation)
    yield ConnectionService(tables.transactions, namespaces, keys)
    tables.close()


def test_an_export_is_kept_without_its_password(connections, keys):
    kept = connections.load("team", EXPORTED)

    assert kept.plugin.properties["password"] == "${secure(connection-my_db-password)}"
    assert keys.get("team", "connection-my_db-password") == "hunter2"
    assert (kept.name, kept.connection_type, kept.description) == (
        "My DB",
        "PostgreSQL",
        "of the shop",
    )
    assert connections.list_connections("team") == [kept] == [connections.get("team", "my db")]
    assert connections.get_properties("team", "My DB")["port"] == "5432"
    assert connections.list_connections("default") == []


def test_it_is_replaced_by_what_is_exported_again(connections, keys):
    first = connections.load("team", EXPORTED)
    again = connections.load(
        "team", {"name": "My DB", "plugin": EXPORTED["plugin"] | {"properties": {}}}
    )
    assert again.created_time_millis == first.created_time_millis
    assert connections.get("team", "My DB").plugin.properties == {}


def test_what_comes_back_keeps_its_secret(connections, keys):
    kept = connections.load("team", EXPORTED)
    assert connections.put("team", kept).plugin == kept.plugin
    assert keys.get("team", "connection-my_db-password") == "hunter2"


def test_another_name_of_the_same_id_replaces_only_when_asked(connections, keys):
    first = connections.load("team", EXPORTED)
    properties = EXPORTED["plugin"]["properties"] | {"password": "new"}
    other = EXPORTED | {"name": "my-db", "plugin": EXPORTED["plugin"] | {"properties": properties}}
    with pytest.raises(
        ConflictError, match="Connection My DB in namespace team has same id my_db. Please choose"
    ):
        connections.load("team", other)
    assert connections.list_connections("team") == [first]
    assert keys.get("team", "connection-my_db-password") == "hunter2"

    kept = connections.load("team", other, rename=True)

    assert (kept.name, kept.created_time_millis) == ("my-db", first.created_time_millis)
    assert connections.list_connections("team") == [kept]
    assert keys.get("team", "connection-my_db-password") == "new"


def test_deleting_takes_the_secure_keys_along(connections, keys):
    keys.put("team", "other", "x")
    connections.load("team", EXPORTED)
    connections.delete("team", "My DB")
    assert [key.name for key in keys.list_keys("team")] == ["other"]
    with pytest.raises(NotFoundError, match="no connection 'My DB' .*; available: none"):
        connections.get_properties("team", "My DB")


@pytest.mark.parametrize("name", ["BigQuery Default", "Cloud Storage Default"])
def test_those_that_data_fusion_is_delivered_with_are_there_until_they_are_made(connections, name):
    assert connections.get_properties("team", name)["project"] == "auto-detect"
    assert connections.list_connections("team") == []
    connections.load("team", {"name": name, "plugin": {"name": "GCS", "properties": {"a": "b"}}})
    assert connections.get_properties("team", name) == {"a": "b"}
    with pytest.raises(NotFoundError, match="nowhere"):
        connections.get_properties("nowhere", name)


@pytest.mark.parametrize(
    "document", [None, [], {}, {"name": "x"}, EXPORTED | {"plugin": 1}, EXPORTED | {"name": " "}]
)
def test_what_is_no_connection_is_refused(connections, document):
    with pytest.raises(BadRequestError):
        connections.load("team", document)


def test_they_go_with_their_namespace(connections, namespaces):
    connections.load("team", EXPORTED)
    namespaces.delete("team")
    namespaces.create("team")
    assert connections.list_connections("team") == []
