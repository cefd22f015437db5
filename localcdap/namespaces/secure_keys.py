"""Secure keys: secret values that pipelines use as ``${secure(key)}`` and that are never shown."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.api.security import Permission
from localcdap.decoders import decode_json
from localcdap.namespaces.resources import NamespaceResource
from localcdap.namespaces.service import NamespaceService
from localcdap.namespaces.vaults import Vault
from localcdap.security.access import of_namespace, requires
from localcdap.store.store import Store, Transaction
from localcdap.text import format_available

_NAME: Final = re.compile(r"[a-z0-9_-]+")


class SecureKey(msgspec.Struct, rename="camel"):
    """A secure key without its value (CDAP 6 ``SecureStoreMetadata``)."""

    name: str
    description: str
    created_epoch_ms: int
    last_modified_time: int
    """Milliseconds since 1970."""
    properties: dict[str, str]
    vault: str
    """The store of the value: ``keyring``, or ``file`` for a file of the instance with mode 0600."""


class SecureKeyService:
    """The secure keys of namespaces. Threads may share it.

    :param vaults: the stores in which values may be.
    :param choose: returns the name of the vault for new values.
    """

    def __init__(
        self,
        store: Store,
        namespaces: NamespaceService,
        vaults: Sequence[Vault],
        choose: Callable[[], str],
    ) -> None:
        self._store = store
        self._namespaces = namespaces
        self._vaults = {vault.name: vault for vault in vaults}
        self._choose = choose
        namespaces.register_resource(
            NamespaceResource("secure keys", remove_files=self._remove_values, remove=_remove_all)
        )

    @requires(of_namespace(), Permission.ADMIN)
    def put(
        self,
        namespace: str,
        name: str,
        data: str,
        description: str = "",
        properties: dict[str, str] | None = None,
    ) -> SecureKey:
        """Store a value under a name, and replace the previous one.

        :raises BadRequestError: when the name is invalid, or the value is blank.
        :raises NotFoundError: when there is no such namespace.
        :raises StoreError: when the value cannot be stored.
        """
        _check_key_name(name)
        if not data.strip():
            raise BadRequestError(
                "The data field must not be null or empty. The data will be stored securely under "
                "provided key name."
            )
        vault = self._vaults[self._choose()]
        with self._store.transaction() as tx:
            self._namespaces.require_in_transaction(tx, namespace)
            before = _find(tx, namespace, name)
            now = time.time_ns() // 1_000_000
            created = before.created_epoch_ms if before is not None else now
            key = SecureKey(name, description, created, now, properties or {}, vault.name)
            _write(tx, namespace, key)
        # The name is stored first: a value without a name could never be deleted.
        if before is not None and before.vault != vault.name:
            self._vaults[before.vault].delete(namespace, name)
        vault.put(namespace, name, data)
        return key

    @requires(of_namespace(), Permission.READ)
    def get(self, namespace: str, name: str) -> str:
        """Return the value of a key.

        :raises NotFoundError: when there is no such key; the message lists the keys.
        """
        vault = self._vaults[self.describe(namespace, name).vault]
        value = vault.get(namespace, name)
        if value is None:
            raise NotFoundError(
                f"The value of secure key '{name}' is missing in its {vault.name}.",
                f"Set it again: localcdap secrets put {name}",
            )
        return value

    @requires(of_namespace())
    def describe(self, namespace: str, name: str) -> SecureKey:
        """Return a key without its value.

        :raises NotFoundError: when there is no such key; the message lists the keys.
        """
        self._namespaces.require(namespace)
        with self._store.snapshot() as tx:
            found = _find(tx, namespace, name)
        if found is None:
            known = format_available(name, [key.name for key in self.list_keys(namespace)])
            raise NotFoundError(
                f"There is no secure key '{name}' in namespace '{namespace}'; available: {known}.",
                f"Set it: localcdap secrets put {name}" if _NAME.fullmatch(name) else None,
                entity=f"securekey:{namespace}.{name}",
            )
        return found

    @requires(of_namespace())
    def list_keys(self, namespace: str) -> list[SecureKey]:
        """Return the keys of a namespace without their values, by name."""
        self._namespaces.require(namespace)
        rows = self._store.read(f"{_SELECT} ORDER BY name", (namespace,))
        return [_to_secure_key(row) for row in rows]

    @requires(of_namespace(), Permission.ADMIN)
    def delete(self, namespace: str, name: str) -> None:
        """Delete a key with its value.

        :raises NotFoundError: when there is no such key.
        """
        key = self.describe(namespace, name)
        self._vaults[key.vault].delete(namespace, name)
        with self._store.transaction() as tx:
            tx.execute(
                "DELETE FROM secure_keys WHERE namespace = ? AND name = ?", (namespace, name)
            )

    def _remove_values(self, namespace: str, _: int) -> Sequence[str]:
        for name, vault in self._store.read(
            "SELECT name, vault FROM secure_keys WHERE namespace = ?", (namespace,)
        ):
            self._vaults[vault].delete(namespace, name)
        return ()


def _check_key_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise BadRequestError(
            f"'{name}' cannot be the name of a secure key.",
            "Use lower-case letters, digits, '_' and '-'.",
        )


def _find(tx: Transaction, namespace: str, name: str) -> SecureKey | None:
    rows = tx.execute(f"{_SELECT} AND name = ?", (namespace, name))
    return _to_secure_key(rows[0]) if rows else None


def _to_secure_key(row: tuple[Any, ...]) -> SecureKey:
    name, description, properties, created, modified, vault = row
    return SecureKey(name, description, created, modified, decode_json(properties), vault)


def _write(tx: Transaction, namespace: str, key: SecureKey) -> None:
    tx.execute(
        _UPSERT,
        (
            namespace,
            key.name,
            key.description,
            msgspec.json.encode(key.properties).decode(),
            key.created_epoch_ms,
            key.last_modified_time,
            key.vault,
        ),
    )


def _remove_all(tx: Transaction, namespace: str) -> None:
    tx.execute("DELETE FROM secure_keys WHERE namespace = ?", (namespace,))


_SELECT: Final = (
    "SELECT name, description, properties, created, modified, vault FROM secure_keys "
    "WHERE namespace = ?"
)
_UPSERT: Final = (
    "INSERT INTO secure_keys VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (namespace, name) DO UPDATE SET "
    "description = excluded.description, properties = excluded.properties, "
    "created = excluded.created, modified = excluded.modified, vault = excluded.vault"
)
