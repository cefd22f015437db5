"""Documents that clients of the REST API keep in an instance: JSON that localcdap does not interpret.

The original has a store of its own for each of these: settings of its pages, states of applications, compute
profiles, properties of artifacts, and JARs, which nothing here can run.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from localcdap.api.errors import NotFoundError, StoreError
from localcdap.api.security import Permission
from localcdap.decoders import decode_json
from localcdap.namespaces.model import NamespaceResource
from localcdap.namespaces.service import NamespaceService
from localcdap.security.access import of_namespace, requires
from localcdap.store.store import Store, Transaction
from localcdap.text import format_available


class ClientDocument(msgspec.Struct):
    """A document."""

    name: str
    document: Any
    """Decoded JSON."""
    updated: int
    """Milliseconds since 1970."""


class ClientDocumentService:
    """The documents of clients, by namespace, kind and name. Threads may share it.

    :param files: the folder of the files that belong to documents, with a sub-folder for each namespace.
    """

    def __init__(self, store: Store, namespaces: NamespaceService, files: Path) -> None:
        self._store = store
        self._namespaces = namespaces
        self._files = files
        namespaces.register_resource(
            NamespaceResource(
                "documents of clients", remove_files=self._remove_files, remove=_remove_all
            )
        )

    @requires(of_namespace())
    def list_documents(self, namespace: str, kind: str) -> list[ClientDocument]:
        """Return the documents of a kind, by name.

        :raises NotFoundError: when there is no such namespace.
        """
        self._namespaces.require(namespace)
        rows = self._store.read(f"{_SELECT} ORDER BY name", (namespace, kind))
        return [_to_document(row) for row in rows]

    @requires(of_namespace())
    def find(self, namespace: str, kind: str, name: str) -> ClientDocument | None:
        """Return a document; None when there is none.

        :raises NotFoundError: when there is no such namespace.
        """
        self._namespaces.require(namespace)
        rows = self._store.read(f"{_SELECT} AND name = ?", (namespace, kind, name))
        return _to_document(rows[0]) if rows else None

    @requires(of_namespace(), Permission.WRITE)
    def put(
        self, namespace: str, kind: str, name: str, document: Any, file: str | None = None
    ) -> ClientDocument:
        """Store a document, and replace the previous one of its name.

        :param file: the absolute path of a file that belongs to it, which is moved into the instance.
        :raises NotFoundError: when there is no such namespace.
        :raises StoreError: when the file cannot be moved.
        """
        kept = ClientDocument(name, document, time.time_ns() // 1_000_000)
        with self._store.transaction() as tx:
            self._namespaces.require_in_transaction(tx, namespace)
            if file is not None:
                self._keep_file(namespace, kind, name, Path(file))
            text = msgspec.json.encode(document).decode()
            tx.execute(_UPSERT, (namespace, kind, name, text, kept.updated))
        return kept

    @requires(of_namespace(), Permission.WRITE)
    def delete(self, namespace: str, kind: str, name: str) -> None:
        """Delete a document, and the file that belongs to it.

        :raises NotFoundError: when there is none; the message lists the documents of the kind.
        """
        if self.find(namespace, kind, name) is None:
            known = [each.name for each in self.list_documents(namespace, kind)]
            raise NotFoundError(
                f"There is no {kind} '{name}' in namespace '{namespace}'; available: "
                f"{format_available(name, known)}."
            )
        with self._store.transaction() as tx:
            tx.execute(
                "DELETE FROM client_documents WHERE namespace = ? AND kind = ? AND name = ?",
                (namespace, kind, name),
            )
        self._get_file(namespace, kind, name).unlink(missing_ok=True)

    def _keep_file(self, namespace: str, kind: str, name: str, file: Path) -> None:
        target = self._get_file(namespace, kind, name)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(file, target)
        except OSError as error:
            raise StoreError(
                f"{file.name} cannot be kept in {target.parent}: {error.strerror}."
            ) from None

    def _get_file(self, namespace: str, kind: str, name: str) -> Path:
        # A name may hold any characters, and more than a file name may have.
        return self._files / namespace / kind / hashlib.sha256(name.encode()).hexdigest()

    def _remove_files(self, namespace: str, _: int) -> Sequence[str]:
        shutil.rmtree(self._files / namespace, ignore_errors=True)
        return ()


def _to_document(row: tuple[Any, ...]) -> ClientDocument:
    name, document, updated = row
    return ClientDocument(name, decode_json(document), updated)


def _remove_all(tx: Transaction, namespace: str) -> None:
    tx.execute("DELETE FROM client_documents WHERE namespace = ?", (namespace,))


_SELECT: Final = (
    "SELECT name, document, updated FROM client_documents WHERE namespace = ? AND kind = ?"
)
_UPSERT: Final = (
    "INSERT INTO client_documents VALUES (?, ?, ?, ?, ?) ON CONFLICT (namespace, kind, name) "
    "DO UPDATE SET document = excluded.document, updated = excluded.updated"
)
