"""Named connections to systems: properties that many stages share as ``${conn(name)}`` (CDAP 6.5)."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from localcdap.api.app.connections import (
    CONNECTIONS,
    Connection,
    ConnectionPlugin,
    to_connection_id,
)
from localcdap.api.app.namespaces import NamespaceSummary
from localcdap.api.app.table import StructuredTable
from localcdap.api.app.transactions import TransactionRunner
from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError
from localcdap.api.security import Permission
from localcdap.decoders import convert, decode_json
from localcdap.namespaces.secure_keys import SecureKeyService
from localcdap.namespaces.service import NamespaceService
from localcdap.security.access import of_namespace, requires
from localcdap.text import format_available

_T = TypeVar("_T")
_SECRET: Final = re.compile(
    r"password|secret|token|credential|privatekey|accesskey|json$", re.IGNORECASE
)
"""The names of properties whose values are stored as secure keys."""
_MACRO: Final = "${"
_PREDEFINED: Final = {"bigquery_default": "BigQuery", "cloud_storage_default": "GCS"}
"""The types of the predefined connections of Data Fusion for which localcdap has plugins, by id."""
_PREDEFINED_PROPERTIES: Final = {
    "project": "auto-detect",
    "serviceAccountType": "filePath",
    "serviceFilePath": "auto-detect",
}
"""The properties that these connections have in Data Fusion."""


class ConnectionService:
    """The connections of namespaces, in a table of the application that manages them. Threads may share it.

    A value whose property name looks secret is stored as a secure key; the connection then holds
    ``${secure(key)}``.
    """

    def __init__(
        self,
        transactions: TransactionRunner,
        namespaces: NamespaceService,
        secure_keys: SecureKeyService,
    ) -> None:
        self._transactions = transactions
        self._namespaces = namespaces
        self._secure_keys = secure_keys

    @requires(of_namespace(), Permission.ADMIN)
    def put(
        self,
        namespace: str,
        connection: Connection,
        *,
        overwrite: bool = True,
        rename: bool = False,
    ) -> Connection:
        """Store a connection under its name.

        :param overwrite: whether it may replace the previous one of the name.
        :param rename: whether it may replace one of another name with the same id, as ``a.b`` and ``a b``
            (``overWrite`` in CDAP 6 ``ConnectionStore.saveConnection``).
        :returns: the stored connection, without secret values.
        :raises BadRequestError: when the name or the type is empty.
        :raises ConflictError: when there is one of the name or the id, and it may not be replaced.
        :raises NotFoundError: when there is no such namespace, or it was deleted meanwhile.
        """
        name, kind = connection.name.strip(), connection.connection_type.strip()
        if not name or not kind:
            raise BadRequestError("A connection needs a name and a type.")
        space, id = self._summarize(namespace), to_connection_id(name)

        def check(held: Connection | None) -> None:
            if held is not None and held.name != name and not rename:
                raise _create_id_conflict(held, namespace)
            if held is not None and held.name == name and not overwrite:
                raise ConflictError(
                    f"There is a connection '{name}' already.",
                    "Choose another name, or overwrite it.",
                )

        check(self._run(lambda table: _find(table, space, id)))
        plugin = msgspec.structs.replace(
            connection.plugin, properties=self._extract_secrets(namespace, name, connection.plugin)
        )
        now = time.time_ns() // 1_000_000
        kept = msgspec.structs.replace(
            connection,
            name=name,
            connection_type=kind,
            plugin=plugin,
            connection_id=id,
            created_time_millis=now,
            updated_time_millis=now,
            pre_configured=False,
            is_default=False,
        )

        def write(table: StructuredTable) -> Connection:
            before = _find(table, space, id)
            check(before)
            if before is not None:
                kept.created_time_millis = before.created_time_millis
            table.upsert(_to_row(space, kept))
            return kept

        return self._run(write)

    @requires(of_namespace(), Permission.ADMIN)
    def load(self, namespace: str, document: Any, *, rename: bool = False) -> Connection:
        """Store a connection from the decoded JSON that Data Fusion exports, or that its REST API accepts.

        :param rename: see :meth:`put`.
        :raises BadRequestError: when the JSON is not a connection.
        :raises ConflictError: when another connection has its id, and may not be replaced.
        """
        return self.put(namespace, read_connection(document), rename=rename)

    @requires(of_namespace(), Permission.READ)
    def get(self, namespace: str, name: str) -> Connection:
        """Return a connection, without secret values.

        :raises NotFoundError: when there is no such connection; the message lists the connections.
        """
        space, id = self._summarize(namespace), to_connection_id(name)
        found = self._run(lambda table: _find(table, space, id))
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

        :raises NotFoundError: as for :meth:`find`.
        """
        return self.find(namespace, name).plugin.properties

    @requires(of_namespace(), Permission.READ)
    def find(self, namespace: str, name: str) -> Connection:
        """Return a connection, as :meth:`get` does.

        The predefined connections of Data Fusion exist too, unless the namespace has one of the same name.

        :raises NotFoundError: as for :meth:`get`.
        """
        try:
            return self.get(namespace, name)
        except NotFoundError:
            self._namespaces.require(namespace)
            kind = _PREDEFINED.get(to_connection_id(name))
            if kind is None:
                raise
            plugin = ConnectionPlugin(kind, properties=dict(_PREDEFINED_PROPERTIES))
            id = to_connection_id(name)
            return Connection(name, kind, plugin, connection_id=id, pre_configured=True)

    @requires(of_namespace())
    def list_connections(self, namespace: str) -> list[Connection]:
        """Return the connections of a namespace, by name."""
        space = self._summarize(namespace)

        def read(table: StructuredTable) -> list[Connection]:
            return [_decode(row["connection_data"]) for row in table.scan(space.rows())]

        return sorted(self._run(read), key=lambda each: each.name)

    @requires(of_namespace(), Permission.ADMIN)
    def delete(self, namespace: str, name: str) -> None:
        """Delete a connection and the secure keys of its values.

        :raises NotFoundError: when there is no such connection.
        """
        found, space = self.get(namespace, name), self._summarize(namespace)
        row = space.key | {"connection_id": to_connection_id(name)}
        self._run(lambda table: table.delete(row))
        keys = {key.name for key in self._secure_keys.list_keys(namespace)}
        for key, value in found.plugin.properties.items():
            own = _to_secure_key(found.name, key)
            if value == _to_secure_macro(own) and own in keys:
                self._secure_keys.delete(namespace, own)

    def _summarize(self, namespace: str) -> NamespaceSummary:
        """Return a namespace as the keys of its rows name it.

        :raises NotFoundError: when there is no such namespace.
        """
        found = self._namespaces.describe(namespace)
        return NamespaceSummary(found.name, found.description, found.generation)

    def _run(self, work: Callable[[StructuredTable], _T]) -> _T:
        return self._transactions.run(lambda tx: work(tx.table(CONNECTIONS.table)))

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


def _to_secure_key(name: str, property: str) -> str:
    return f"connection-{to_connection_id(name)}-{to_connection_id(property)}"


def _to_secure_macro(key: str) -> str:
    return f"${{secure({key})}}"


def read_connection(document: Any) -> Connection:
    """Return the connection in the decoded JSON that Data Fusion exports, or that its REST API accepts.

    :raises BadRequestError: when the JSON is not a connection.
    """
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


def _find(table: StructuredTable, namespace: NamespaceSummary, id: str) -> Connection | None:
    row = table.read(namespace.key | {"connection_id": id})
    return None if row is None else _decode(row["connection_data"])


def _create_id_conflict(held: Connection, namespace: str) -> ConflictError:
    """Return the error of CDAP 6 ``ConnectionStore`` about a name whose id another connection has."""
    return ConflictError(
        f"Connection {held.name} in namespace {namespace} has same id {held.connection_id}. Please choose a "
        "different connection name."
    )


def _decode(text: str) -> Connection:
    return decode_json(text, type=Connection)


def _to_row(namespace: NamespaceSummary, kept: Connection) -> dict[str, Any]:
    return namespace.key | {
        "connection_id": kept.connection_id,
        "createdtimemillis": kept.created_time_millis,
        "updatedtimemillis": kept.updated_time_millis,
        "connection_data": msgspec.json.encode(kept).decode(),
    }
