"""A database with the functions of GoogleSQL, for tests of translated statements."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator

import duckdb

from localcdap.store.googlesql_functions import register_functions


@contextlib.contextmanager
def open_tables(*statements: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """The database with tables that statements make, which a rollback removes at the end of the block.

    It is one for a process, since to define the functions takes a tenth of a second of the processor.
    """
    engine = _open_database()
    engine.execute("BEGIN")
    try:
        for statement in statements:
            engine.execute(statement)
        yield engine
    finally:
        engine.execute("ROLLBACK")


@functools.cache
def _open_database() -> duckdb.DuckDBPyConnection:
    engine = duckdb.connect()
    register_functions(engine)
    engine.execute("SET TimeZone = 'UTC'")
    return engine


def close_database() -> None:
    """Close the database, if it was opened."""
    if _open_database.cache_info().currsize:
        _open_database().close()
        _open_database.cache_clear()
