"""The rows that tables of applications have for a namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from localcdap.api.app.namespaces import GENERATION, NAMESPACE
from localcdap.api.app.table import Range
from localcdap.api.app.transactions import TransactionRunner


class ApplicationRows:
    """Reads them. Threads may share it.

    :param get_generation: returns the generation of a namespace.
    """

    def __init__(
        self, transactions: TransactionRunner, get_generation: Callable[[str], int]
    ) -> None:
        self._transactions = transactions
        self._get_generation = get_generation

    def fetch(self, namespace: str, table: str) -> list[dict[str, Any]]:
        """Return the rows of a table with a namespace in its key, without those of deleted namespaces.

        :raises NotFoundError: when there is no such table, or no such namespace.
        """
        generation = self._get_generation(namespace)
        of_namespace = Range.singleton({NAMESPACE: namespace})
        rows = self._transactions.run(lambda tx: list(tx.table(table).scan(of_namespace)))
        return [dict(row) for row in rows if row.get(GENERATION, generation) == generation]
