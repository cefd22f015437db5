"""What an operation on a table is, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Protocol

import msgspec

from localcdap.store.structured.sql import TableSql


class Work(Protocol):
    """A transaction, as operations need it."""

    def execute(self, sql: str, params: Any = ()) -> list[tuple[Any, ...]]: ...

    def add_keys(self, table: str, keys: Collection[tuple[Any, ...]], *, writes: bool) -> None: ...

    def add_table(self, table: str, *, writes: bool) -> None: ...


class Rows(msgspec.Struct, array_like=True):
    """Rows that were read."""

    columns: tuple[str, ...]
    values: list[Any]
    """For each row a tuple, or what became of it on its way, with one value for each column."""
    rest: int | None = None
    """Under what number the host keeps those that are not among ``values``."""


Result = Rows | bool | int | None
Action = Callable[[Work], Result]


class Operation(msgspec.Struct, frozen=True, tag=True):
    """One method call on a table."""

    @property
    def writes(self) -> bool:
        return True

    def prepared(self, table: TableSql) -> Action:
        """What carries it out.

        :raises TableUsageError: when it does not fit the table.
        """
        raise NotImplementedError


class ReadOperation(Operation, frozen=True):
    @property
    def writes(self) -> bool:
        return False
