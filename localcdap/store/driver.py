"""DuckDB as the store uses it, ``from localcdap.store.driver import duckdb``: its extension module alone.

The Python classes of the package ``duckdb`` are for other uses, and importing them takes 60 ms of every
command, five times as long as all else of it. What is here are the very objects that ``duckdb`` shows too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb as duckdb
else:

    def __getattr__(name: str) -> object:
        if name != "duckdb":
            raise AttributeError(name)
        try:
            import _duckdb as found
        except ImportError:  # another version may be made up otherwise
            import duckdb as found
        return found
