"""Named connections to systems: properties that many stages share as ``${conn(name)}`` (CDAP 6.5)."""

from __future__ import annotations

import re
import time
from typing import Any, Final

import msgspec

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.api.security import Permission
from localcdap.decoders import convert, decode_json
from localcdap.namespaces.resources import NamespaceResource
from localcdap.namespaces.secure_keys import SecureKeyService
from localcdap.namespaces.service import NamespaceService
from localcdap.security.access import of_namespace, requires
from localcdap.store.store import Store, Transaction
from localcdap.text import format_available

_NOT_IN_ID: Final = re.compile(r"[^a-z0-9_]")
_SECRET: Final = re.compile(
    r"password|secret|token|credential|privatekey|accesskey|json$", re.IGNORECASE
)
"""The names of properties whose values are stored as secure keys."""
_MACRO: Final = "${"
_PREDEFINED_IDS: Final = ("bigquery_default", "cloud_storage_default")
"""The ids of the predefined connections of Data Fusion for which localcdap has plugins."""
_PREDEFINED_PROPERTIES: Final = {
    "project": "auto-detect",
    "serviceAccountType": "filePath",
    "serviceFilePath": "auto-detect",
}
"""The properties that these connections have in Data Fusion."""


class ConnectionPlugin(msgspec.Struct, rename="camel"):
    """The connector plugin of a connection in Data Fusion; its properties are those of the connection."""

    name: str
    type: str = "connector"
    category: str | None = None
    properties: dict[str, str] = {}
    artifact: Any = None


class Connection(msgspec.Struct, rename="camel"):
    """A connection as Data Fusion exports it."""

    name: str
    connection_type: str
    plugin: ConnectionPlugin
    description: str = ""
    created_time_millis: int = 0
    updated_time_millis: int = 0


class ConnectionService:
    """The connections of namespaces. Threads may share it.

    A value whose property name looks secret is stored as a secure key; the connection then holds
    ``${secure(key)}``.
    """

    def __init__(
        self, store: Store, namespaces: NamespaceService, secure_keys: SecureKeyService
    ) -> None:
        self._store = store
        self._namespaces = namespaces
        self._secure_keys = secure_keys
        namespaces.register_resource(NamespaceResource("connections", remove=_remove_all))

    @requires(of_namespace(), Permission.ADMIN)
    def put(self, namespace: str, connection: Connection) -> Connection:
        """Store a connection under its name, and replace the previous one.

        :returns: the stored connection, without secret values.
        :raises BadRequestError: when the name or the type is empty, or another name has the same id.
        :raises NotFoundError: when there is no such namespace.
        """
        name, kind = connection.name.strip(), connection.connection_type.strip()
        if not name or not kind:
            raise BadRequestError("A connection needs a name and a type.")
        self._namespaces.require(namespace)
        with self._store.snapshot() as tx:
            before = _find(tx, namespace, _to_id(name))
        if before is not None and before.name != name:
            raise BadRequestError(
                f"Connections '{before.name}' and '{name}' have the same id '{_to_id(name)}'.",
                "Choose another name.",
            )
        plugin = msgspec.structs.replace(
            connection.plugin, properties=self._extract_secrets(namespace, name, connection.plugin)
        )
        now = time.time_ns() // 1_000_000
        created = before.created_time_millis if before is not None else now
        kept = Connection(name, kind, plugin, connection.description, created, now)
        with self._store.transaction() as tx:
            self._namespaces.require_in_transaction(tx, namespace)
            _write(tx, namespace, kept)
        return kept

    @requires(of_namespace(), Permission.ADMIN)
    def load(self, namespace: str, document: Any) -> Connection:
        """Store a connection from the decoded JSON that Data Fusion exports, or that its REST API accepts.

        :raises BadRequestError: when the JSON is not a connection.
        """
        return self.put(namespace, _read(document))

    @requires(of_namespace(), Permission.READ)
    def get(self, namespace: str, name: str) -> Connection:
        """Return a connection, without secret values.

        :raises NotFoundError: when there is no such connection; the message lists the connections.
        """
        self._namespaces.require(namespace)
        with self._store.snapshot() as tx:
            found = _find(tx, namespace, _to_id(name))
        if found is None:
            known = format_available(name, [each.name for each in self.list_connections(namespace)])
            raise NotFoundError(
                f"There is no connection '{name}' in namespace '{namespace}'; available: {known}.",
                f"Create it: localcdap connections put '{name}' --type TYPE -p KEY=VALUE, or 'localcdap "
                "connections import FILE' for a file that Data Fusion exported.",
            )
        return found

    @requires(of_namespace(), Permission.READ)
    def get_properties(self, namespace: str, name: str) -> dict[str, str]:
        """Return the properties that ``${conn(name)}`` expands to, with ``${secure(key)}`` for secret values.

        The predefined connections of Data Fusion exist too, unless the namespace has one of the same name.

        :raises NotFoundError: as for :meth:`get`.
        """
        try:
            return self.get(namespace, name).plugin.properties
        except NotFoundError:
            self._namespaces.require(namespace)
            if _to_id(name) in _PREDEFINED_IDS:
                return dict(_PREDEFINED_PROPERTIES)
            raise

    @requires(of_namespace())
    def list_connections(self, namespace: str) -> list[Connection]:
        """Return the connections of a namespace, by name."""
        self._namespaces.require(namespace)
        rows = self._store.read(f"{_SELECT} ORDER BY name", (namespace,))
        return [_to_connection(row) for row in rows]

    @requires(of_namespace(), Permission.ADMIN)
    def delete(self, namespace: str, name: str) -> None:
        """Delete a connection and the secure keys of its values.

        :raises NotFoundError: when there is no such connection.
        """
        found = self.get(namespace, name)
        with self._store.transaction() as tx:
            tx.execute(
                "DELETE FROM connections WHERE namespace = ? AND id = ?", (namespace, _to_id(name))
            )
        keys = {key.name for key in self._secure_keys.list_keys(namespace)}
        for key, value in found.plugin.properties.items():
            own = _to_secure_key(found.name, key)
            if value == _to_secure_macro(own) and own in keys:
                self._secure_keys.delete(namespace, own)

    def _extract_secrets(
        self, namespace: str, name: str, plugin: ConnectionPlugin
    ) -> dict[str, str]:
        kept = {}
        for key, value in plugin.properties.items():
            kept[key] = value
            if is_secret_name(key) and value.strip() and _MACRO not in value:
                own = _to_secure_key(name, key)
                self._secure_keys.put(namespace, own, value, f"'{key}' of connection '{name}'")
                kept[key] = _to_secure_macro(own)
        return kept


def is_secret_name(name: str) -> bool:
    """Return whether the name of a property or an argument suggests that its value is a secret."""
    return _SECRET.search(name) is not None


def _to_id(name: str) -> str:
    """Return the id of a connection (CDAP ``ConnectionId``); equal ids mean the same connection."""
    return _NOT_IN_ID.sub("_", name.strip().lower())


def _to_secure_key(name: str, property: str) -> str:
    return f"connection-{_to_id(name)}-{_to_id(property)}"


def _to_secure_macro(key: str) -> str:
    return f"${{secure({key})}}"


def _read(document: Any) -> Connection:
    plugin = document.get("plugin") if isinstance(document, dict) else None
    kind = plugin.get("name") if isinstance(plugin, dict) else None
    given = {"connectionType": kind} | document if isinstance(document, dict) else document
    try:
        return convert(given, Connection)
    except msgspec.ValidationError as error:
        raise BadRequestError(
            f"The JSON is not a connection: {error}.",
            'Use the JSON that Data Fusion exports: {"name", "connectionType", "plugin": {"name", '
            '"properties": {…}}}.',
        ) from None


def _find(tx: Transaction, namespace: str, id: str) -> Connection | None:
    rows = tx.execute(f"{_SELECT} AND id = ?", (namespace, id))
    return _to_connection(rows[0]) if rows else None


def _to_connection(row: tuple[Any, ...]) -> Connection:
    name, kind, description, plugin, created, updated = row
    decoded = decode_json(plugin, type=ConnectionPlugin)
    return Connection(name, kind, decoded, description, created, updated)


def _write(tx: Transaction, namespace: str, kept: Connection) -> None:
    tx.execute(
        _UPSERT,
        (
            namespace,
            _to_id(kept.name),
            kept.name,
            kept.connection_type,
            kept.description,
            msgspec.json.encode(kept.plugin).decode(),
            kept.created_time_millis,
            kept.updated_time_millis,
        ),
    )


def _remove_all(tx: Transaction, namespace: str) -> None:
    tx.execute("DELETE FROM connections WHERE namespace = ?", (namespace,))


_SELECT: Final = (
    "SELECT name, type, description, plugin, created, updated FROM connections WHERE namespace = ?"
)
_UPSERT: Final = (
    "INSERT INTO connections VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (namespace, id) DO UPDATE SET "
    "name = excluded.name, type = excluded.type, description = excluded.description, "
    "plugin = excluded.plugin, updated = excluded.updated"
)
