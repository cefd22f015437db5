"""The extension module of DuckDB: ``from localcdap.store.driver import duckdb``.

The package ``duckdb`` also imports Python classes that the store does not use. That import takes 60 ms of
every command, five times as long as the rest of it. The extension module holds the same objects.
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
        except ImportError:  # another version of DuckDB may name its extension module differently
            import duckdb as found
        return found
