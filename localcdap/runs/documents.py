"""The documents of runs in the instance's database."""

from __future__ import annotations

import hashlib

from localcdap.api.errors import NotFoundError
from localcdap.runs.model import Run
from localcdap.store.store import Store, Transaction


class RunDocuments:
    """Stores the documents of runs; equal documents of a namespace are stored once, under their digest."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def save(self, tx: Transaction, run: Run, text: str) -> None:
        """Store the document of a run, and set its digest in the run."""
        run.document = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
        tx.execute(
            "INSERT INTO run_documents VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (run.namespace, run.document, text),
        )

    def get_text(self, run: Run) -> str:
        """Return the text of the document of a run.

        :raises NotFoundError: when it was not stored, since an older localcdap made the run.
        """
        rows = self._store.read(
            "SELECT document FROM run_documents WHERE namespace = ? AND digest = ?",
            (run.namespace, run.document),
        )
        if not rows:
            raise NotFoundError(
                f"The pipeline of run '{run.run}' was not kept.",
                "It was made by an older localcdap; run the file or the deployed pipeline instead.",
            )
        text: str = rows[0][0]
        return text

    def remove_unused(self, tx: Transaction, namespace: str) -> None:
        """Remove the documents of a namespace that no run has."""
        tx.execute(
            "DELETE FROM run_documents WHERE namespace = ? AND digest NOT IN (SELECT "
            "coalesce(json_extract_string(record, '$.document'), '') FROM runs WHERE namespace = ?)",
            (namespace, namespace),
        )

    def remove_all(self, tx: Transaction, namespace: str) -> None:
        """Remove the documents of all runs of a namespace."""
        tx.execute("DELETE FROM run_documents WHERE namespace = ?", (namespace,))
