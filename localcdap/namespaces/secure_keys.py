"""Secure keys: secret values that pipelines use as ``${secure(key)}`` and that are never shown.

Vaults for the values of secure keys: the system's keyring, or a file that only its user can read.

The file is not encrypted: its user, an administrator, and anyone with a copy of the disk can read the
values. On a system with a key store, install ``keyring`` (``pip install 'localcdap[keyring]'``), which
stores the values encrypted.
"""

from __future__ import annotations

import hashlib
import importlib
import re
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Protocol

import msgspec

from localcdap.api.errors import BadRequestError, NotFoundError, StoreError
from localcdap.api.security import Permission
from localcdap.decoders import decode_json
from localcdap.files.atomic import write_internal_file
from localcdap.namespaces.model import NamespaceResource
from localcdap.namespaces.service import NamespaceService
from localcdap.security.access import of_namespace, requires
from localcdap.store.store import Store, Transaction
from localcdap.text import format_available

_Values = dict[str, dict[str, str]]
"""Values by namespace and key."""


class Vault(Protocol):
    """A store of secret values by namespace and key.

    Every method raises :class:`StoreError` when it fails; no error ever contains a value.
    """

    name: str

    def put(self, namespace: str, key: str, value: str) -> None: ...

    def get(self, namespace: str, key: str) -> str | None:
        """Return a value, or None when there is no such value."""

    def delete(self, namespace: str, key: str) -> None:
        """Delete a value, if it exists."""


class FileVault:
    """A vault in a JSON file with mode 0600. The file is replaced atomically, so a crash cannot damage it."""

    name = "file"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def put(self, namespace: str, key: str, value: str) -> None:
        with self._lock:
            values = self._read()
            values.setdefault(namespace, {})[key] = value
            self._write(values)

    def get(self, namespace: str, key: str) -> str | None:
        with self._lock:
            return self._read().get(namespace, {}).get(key)

    def delete(self, namespace: str, key: str) -> None:
        with self._lock:
            values = self._read()
            if values.get(namespace, {}).pop(key, None) is not None:
                if not values[namespace]:
                    del values[namespace]
                self._write(values)

    def _read(self) -> _Values:
        try:
            return decode_json(self._path.read_bytes(), type=_Values)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._make_error(error.strerror or type(error).__name__) from None
        except (msgspec.DecodeError, UnicodeDecodeError):  # their messages could quote a value
            raise self._make_error("it is damaged") from None

    def _write(self, values: _Values) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_internal_file(self._path, msgspec.json.encode(values), mode=0o600)
        except OSError as error:
            raise self._make_error(error.strerror or type(error).__name__) from None

    def _make_error(self, why: str) -> StoreError:
        return StoreError(
            f"The file of secure keys {self._path} cannot be used: {why}.",
            "Correct the problem, or move the file away and set the keys again.",
        )


class KeyringVault:
    """A vault in the system's keyring; each instance has its own service name there.

    :param home: the instance's folder.
    """

    name = "keyring"

    def __init__(self, home: Path) -> None:
        instance = hashlib.sha256(str(home).encode(errors="surrogateescape")).hexdigest()[:16]
        self._service: Final = f"localcdap {instance}"

    def put(self, namespace: str, key: str, value: str) -> None:
        self._call("set_password", f"{namespace}/{key}", value)

    def get(self, namespace: str, key: str) -> str | None:
        return self._call("get_password", f"{namespace}/{key}")

    def delete(self, namespace: str, key: str) -> None:
        if self.get(namespace, key) is not None:
            self._call("delete_password", f"{namespace}/{key}")

    def _call(self, function: str, *arguments: str) -> str | None:
        try:
            keyring = _import_keyring()
            result: str | None = getattr(keyring, function)(self._service, *arguments)
            return result
        except Exception as error:  # any exception of a backend; its message could quote a value
            raise StoreError(
                f"The keyring of the system cannot be used ({type(error).__name__}).",
                "Unlock the keyring, and try again.",
            ) from None


def has_keyring() -> bool:
    """Return whether the library ``keyring`` is installed and has a backend that stores values."""
    try:
        keyring = _import_keyring()
        from keyring.backends import chainer, fail, null
    except ImportError:
        return False
    backend = keyring.get_keyring()
    if isinstance(backend, chainer.ChainerBackend):
        return bool(backend.backends)
    return not isinstance(backend, fail.Keyring | null.Keyring)


def _import_keyring() -> ModuleType:
    """Import the library ``keyring`` and its backends, on the stack of another thread.

    Outside of Windows, its backend for Windows keeps the traceback of an import that fails, and with that the
    frames of all callers with their variables: the value of a secret, and the whole host.

    :raises ImportError: when it is not installed.
    """
    from concurrent.futures import ThreadPoolExecutor

    def load() -> ModuleType:
        keyring = importlib.import_module("keyring")
        keyring.get_keyring()  # which imports the backends
        return keyring

    with ThreadPoolExecutor(1) as executor:
        return executor.submit(load).result()


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
