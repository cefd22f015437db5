"""SQL on the structured datasets of a run's namespace, carried out by the host."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from localcdap.api.errors import HostError
from localcdap.api.tables import CreatedTable, TableResult
from localcdap.engine.driver.hosts import reach_host
from localcdap.rpc.methods import non_idempotent

SERVICE: Final = "table-statements"
"""Name under which the host serves :class:`TableStatements`."""


class Statements(msgspec.Struct):
    """Statements that are carried out one after the other, all or none."""

    namespace: str
    sql: list[str]
    """Each a single statement of DuckDB."""
    changes: list[str]
    """Names of the tables that are changed, made or dropped; those of a query alone are none."""
    makes: list[CreatedTable] = []
    """Those of them that are made."""


class StatementsDone(msgspec.Struct):
    """What they did."""

    rows: int
    """Rows that the last one found, or changed."""
    first: bytes
    """The first row that the last query found, as an Arrow IPC stream; empty when there was no query."""


class TableStatements:
    """The host's side, as the run process calls it."""

    @non_idempotent
    def carry_out(self, statements: Statements) -> StatementsDone:
        """:raises QueryError: when a statement is wrong or takes more than its limits."""
        raise NotImplementedError


def carry_out(home: str | None, statements: Statements) -> TableResult:
    """Have the host carry out statements.

    :param home: the instance's folder.
    :raises QueryError: when one is wrong or takes more than its limits; nothing is changed then.
    :raises HostError: when there is no host to ask.
    """
    if home is None:
        raise HostError(
            "Statements cannot be carried out: this run has no host.",
            "Run the pipeline through localcdap.",
        )
    with reach_host(Path(home)) as client:
        done = client.service(SERVICE, TableStatements).carry_out(statements)
    return TableResult(done.rows, _first(done.first))


def _first(stream: bytes) -> dict[str, Any] | None:
    import pyarrow as pa

    if not stream:
        return None
    with pa.ipc.open_stream(stream) as reader:
        rows: list[dict[str, Any]] = reader.read_all().to_pylist()
    return rows[0] if rows else None
