"""Operations that change one column by what it holds: compare and swap, increment."""

from __future__ import annotations

from typing import Any

from localcdap.api.app.specification import FieldType
from localcdap.api.app.table import Key
from localcdap.api.errors import TableUsageError
from localcdap.store.columns import quoted
from localcdap.store.structured import validation as valid
from localcdap.store.structured.operations.operation import Action, Operation, Work
from localcdap.store.structured.operations.statements import changed, insert
from localcdap.store.structured.sql import SqlCondition, TableSql, all_of

_LARGEST_LONG = 2**63 - 1


class CompareAndSwap(Operation, frozen=True, tag=True):
    key: Key
    column: str
    old: Any
    new: Any

    def prepared(self, table: TableSql) -> Action:
        key = valid.full_key(table.spec, self.key)
        if self.column in table.key:
            raise TableUsageError(
                f"Field {self.column} of table {table.spec.table} is a primary key, which cannot be "
                "swapped"
            )
        for value in (self.old, self.new):
            valid.check_value(table.spec, self.column, value)

        def carry_out(work: Work) -> bool:
            work.add_keys(table.spec.table, [key], writes=True)
            as_before = table.equals(self.column, self.old)
            condition = all_of(SqlCondition(table.has_key, key), as_before)
            update = SqlCondition(
                f"UPDATE {table.name} SET {table.assignments([self.column])} "  # noqa: S608
                f"WHERE {condition.sql}",
                (self.new, *condition.params),
            )
            if changed(work, update):
                return True
            if self.old is not None:
                return False
            fields = (*table.key, self.column)
            return insert(work, table, fields, [*key, self.new], ignore=True)

        return carry_out


class Increment(Operation, frozen=True, tag=True):
    key: Key
    column: str
    amount: int

    def prepared(self, table: TableSql) -> Action:
        key = valid.full_key(table.spec, self.key)
        type = valid.check_column(table.spec, self.column)
        if type is not FieldType.LONG or self.column in table.key:
            raise TableUsageError(
                f"Field {self.column} of table {table.spec.table} cannot be incremented: it must be a "
                f"LONG that is no primary key, and is a {type}"
                + (" of the key" if self.column in table.key else "")
            )
        if self.amount is None:
            raise TableUsageError(f"Field {self.column} cannot be incremented by None")
        valid.check_value(table.spec, self.column, self.amount)

        def carry_out(work: Work) -> None:
            work.add_keys(table.spec.table, [key], writes=True)
            column = quoted(self.column)
            total = f"coalesce({column}, 0)::HUGEINT + ?"
            update = SqlCondition(
                f"UPDATE {table.name} SET {column} = {total} WHERE {table.has_key} "  # noqa: S608
                f"AND {total} BETWEEN {-_LARGEST_LONG - 1} AND {_LARGEST_LONG}",
                (self.amount, *key, self.amount),
            )
            fields = (*table.key, self.column)
            if changed(work, update) or insert(
                work, table, fields, [*key, self.amount], ignore=True
            ):
                return
            raise TableUsageError(
                f"Field {self.column} of table {table.spec.table} cannot be incremented by "
                f"{self.amount}: the sum has more than 64 bits"
            )

        return carry_out
