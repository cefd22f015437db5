"""The documents of runs, kept so that a run can be looked at and repeated when its file has changed."""

from __future__ import annotations

import hashlib

from localcdap.api.errors import NotFoundError
from localcdap.runs.model import Run
from localcdap.store.store import Store, Transaction


class RunDocuments:
    """Keeps each text once in a namespace, under its digest."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def keep(self, tx: Transaction, run: Run, text: str) -> None:
        """Keep the document of a run, which notes its digest."""
        run.document = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
        tx.execute(
            "INSERT INTO run_documents VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (run.namespace, run.document, text),
        )

    def of(self, run: Run) -> str:
        """The text of the document of a run.

        :raises NotFoundError: when it was not kept, since an older localcdap made the run.
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

    def remove_all(self, tx: Transaction, namespace: str) -> None:
        """Remove the documents of all runs of a namespace."""
        tx.execute("DELETE FROM run_documents WHERE namespace = ?", (namespace,))
