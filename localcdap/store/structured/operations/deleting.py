"""Operations that delete: a row, or those in a range."""

from __future__ import annotations

from localcdap.api.app.table import Key, Range
from localcdap.store.structured import validation as valid
from localcdap.store.structured.operations.operation import Action, Operation, Work
from localcdap.store.structured.sql import TableSql


class Delete(Operation, frozen=True, tag=True):
    key: Key

    def prepared(self, table: TableSql) -> Action:
        key = valid.full_key(table.spec, self.key)

        def carry_out(work: Work) -> None:
            work.add_keys(table.spec.table, [key], writes=True)
            work.execute(f"DELETE FROM {table.name} WHERE {table.has_key}", key)  # noqa: S608

        return carry_out


class DeleteRange(Operation, frozen=True, tag=True):
    range: Range
    any_fields: bool = False
    """Whether the range may be of other fields than the first ones of the key."""

    def prepared(self, table: TableSql) -> Action:
        check = valid.points if self.any_fields else valid.prefix_points
        condition = table.within(self.range, check(table.spec, self.range))

        def carry_out(work: Work) -> None:
            work.add_table(table.spec.table, writes=True)
            sql = f"DELETE FROM {table.name} WHERE {condition.sql}"  # noqa: S608
            work.execute(sql, condition.params)

        return carry_out
