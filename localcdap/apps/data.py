"""What applications read of the database beyond their tables: exports of rows, and the runs of before."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from localcdap.api.app.context import KnownRun
from localcdap.api.app.exports import ExportedRows, ExportRequest
from localcdap.runs.known_runs import KnownRuns
from localcdap.store.store import Store
from localcdap.store.structured.admin import TableAdmin
from localcdap.store.structured.exports import StructuredExports

_MOST_RUNS: Final = 10_000


class AppData:
    """Reads the database for applications. Threads may share it."""

    def __init__(self, store: Store, admin: TableAdmin) -> None:
        self._exports = StructuredExports(store, admin)
        self._runs = KnownRuns(store)

    def export(self, request: ExportRequest, file: Path) -> ExportedRows:
        """See :meth:`localcdap.store.structured.exports.StructuredExports.export`."""
        return self._exports.export(request, file)

    def list_runs(self, after: str | None, limit: int) -> list[KnownRun]:
        """Return at least one and at most 10,000 runs after a position, if there are any."""
        return self._runs.list_known(after, max(1, min(limit, _MOST_RUNS)))
