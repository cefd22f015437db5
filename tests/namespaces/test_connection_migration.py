"""Connections of the version before are moved into the table of the application."""

from __future__ import annotations

from pathlib import Path

import duckdb

from localcdap.api.app.connections import CONNECTIONS
from localcdap.messaging.topics import Topics
from localcdap.namespaces.connections import ConnectionService
from localcdap.namespaces.secure_keys import FileVault, SecureKeyService
from localcdap.namespaces.service import NamespaceService
from localcdap.store.migration import SHIPPED, migrate, read_migrations
from localcdap.store.store import Store
from localcdap.store.structured.admin import StructuredTables

NUMBER = 541
PLUGIN = (
    '{"name":"PostgreSQL","type":"connector","category":"Database","artifact":null,'
    '"properties":{"host":"db","password":"${secure(connection-my_db-password)}","odd":"a\\"b\'ü"}}'
)


def test_an_instance_of_the_version_before_opens(tmp_path: Path) -> None:
    file = tmp_path / "x.duckdb"
    with duckdb.connect(str(file)) as database:
        migrate(database, file, [m for m in read_migrations(SHIPPED) if m.number != NUMBER])
        database.execute(
            "INSERT INTO namespaces VALUES ('team', '', '{}', 77, 'active'), ('gone', '', '{}', 5, 'deleted')"
        )
        for namespace in ("default", "team", "gone"):
            database.execute(
                "INSERT INTO connections VALUES (?, 'my_db', 'My DB', 'PostgreSQL', 'of the shop', ?, 1, 2)",
                [namespace, PLUGIN],
            )
    with Store(file) as store:
        namespaces = NamespaceService(store, Topics(store))
        tables = StructuredTables(store, namespaces.require_generation)
        assert tables.admin.get_schema(CONNECTIONS.table) == CONNECTIONS
        tables.admin.create_or_update(CONNECTIONS)  # as the deployment of the application does
        vault = FileVault(tmp_path / "secrets.json")
        keys = SecureKeyService(store, namespaces, [vault], lambda: vault.name)
        connections = ConnectionService(tables.transactions, namespaces, keys)
        for namespace in ("default", "team"):
            (found,) = connections.list_connections(namespace)
            assert (found.name, found.connection_id) == ("My DB", "my_db")
            assert (found.connection_type, found.description) == ("PostgreSQL", "of the shop")
            assert (found.created_time_millis, found.updated_time_millis) == (1, 2)
            assert found.plugin.category == "Database"
            assert connections.get_properties(namespace, "my-db")["odd"] == "a\"b'ü"
        rows = store.read("SELECT namespace, generation FROM app_connections_store ORDER BY ALL")
        assert rows == [("default", 0), ("team", 77)]
        tables.close()
