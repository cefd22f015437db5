"""Statements that DuckDB has parsed, which are kept to be executed again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from localcdap.store.driver import duckdb

_MOST: Final = 1000
"""The most statements that are kept; then all are forgotten."""
_LONGEST: Final = 4000
"""The characters of the longest text that is kept; longer ones are hardly executed twice."""


class ParsedStatements:
    """The statements that were executed lately, by their text.

    The parser takes a fifth of the time of a read by key. Threads and connections may share the object:
    DuckDB copies a parsed statement when it executes one.
    """

    def __init__(self) -> None:
        self._known: dict[str, duckdb.Statement] = {}

    def find(self, connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement | str:
        """Return the statement of a text; the text itself when it is long, or not one statement.

        :raises duckdb.ParserException: when the text is not SQL.
        """
        found = self._known.get(sql)
        if found is not None:
            return found
        if len(sql) > _LONGEST:
            return sql
        parsed = connection.extract_statements(sql)
        if len(parsed) != 1 or not _is_kept(parsed[0]):
            return sql
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[sql] = parsed[0]
        return parsed[0]

    def clear(self) -> None:
        """Forget all statements. At the end of a process, DuckDB complains about those that are left."""
        self._known.clear()


def _is_kept(statement: duckdb.Statement) -> bool:
    from localcdap.store.driver import duckdb

    kind = duckdb.StatementType
    return statement.type in (
        kind.SELECT,
        kind.INSERT,
        kind.UPDATE,
        kind.DELETE,
        kind.TRANSACTION,
    )
