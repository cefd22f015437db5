"""Vaults for the values of secure keys: the system's keyring, or a file that only its user can read.

The file is not encrypted: its user, an administrator, and anyone with a copy of the disk can read the
values. On a system with a key store, install ``keyring`` (``pip install 'localcdap[keyring]'``), which
stores the values encrypted.
"""

from __future__ import annotations

import hashlib
import importlib
import threading
from pathlib import Path
from types import ModuleType
from typing import Final, Protocol

import msgspec

from localcdap.api.errors import StoreError
from localcdap.decoders import decode_json
from localcdap.files.atomic import write_internal_file

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
