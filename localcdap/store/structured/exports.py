"""Exports of structured tables: files and groups of rows, all from one snapshot."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from localcdap.api.app.table import (
    ExportedRows,
    ExportRequest,
    FieldCondition,
    Grouping,
    Measure,
    RowGroup,
    SortOrder,
)
from localcdap.api.dataset.rows import RowComparison, RowCondition, one_of
from localcdap.api.errors import InvalidTableFieldError, StoreError
from localcdap.api.sql_names import quote_identifier, quote_literal
from localcdap.files.atomic import FileReplacement
from localcdap.store.store import Store, Transaction
from localcdap.store.structured.admin import TableAdmin
from localcdap.store.transactions.sql import SqlCondition, match_all, match_any
from localcdap.store.transactions.structured_table import StructuredTableInfo

_NUMBERS: Final = ("INTEGER", "LONG", "FLOAT", "DOUBLE")


class StructuredExports:
    """Exports the rows of structured tables. Threads may share it."""

    def __init__(self, store: Store, admin: TableAdmin) -> None:
        self._store = store
        self._admin = admin

    def export(self, request: ExportRequest, file: Path) -> ExportedRows:
        """Write rows into a new Parquet file, and return their groups.

        :param file: appears when it is complete; an existing one is replaced.
        :raises NotFoundError: when there is no such table.
        :raises InvalidTableFieldError: when there is no such field, or a value does not fit.
        :raises StoreError: when the file cannot be written.
        """
        table = StructuredTableInfo(self._admin.get_schema(request.table))
        condition = build_condition(table, request.where)
        groupings = [_build_grouping(table, each, condition) for each in request.groupings]
        rows = _build_rows(table, request, condition)
        try:
            replacement = FileReplacement(file, is_synced=False, has_name=True)
        except OSError as error:
            raise StoreError(f"{file} cannot be written: {error.strerror}.") from None
        with replacement, self._store.snapshot() as tx:
            target = quote_literal(replacement.new_file)
            written = tx.execute(f"COPY ({rows.sql}) TO {target} (FORMAT parquet)", rows.params)
            groups = [
                _read_groups(tx, grouping, sql)
                for grouping, sql in zip(request.groupings, groupings, strict=True)
            ]
        return ExportedRows(int(written[0][0]), groups)


def build_condition(table: StructuredTableInfo, where: list[list[FieldCondition]]) -> SqlCondition:
    """Return the condition of rows that meet at least one condition of each list.

    :raises InvalidTableFieldError: when a field is unknown, or a value does not fit it.
    """
    return match_all(match_any(_build_field(table, each) for each in some) for some in where)


def _build_field(table: StructuredTableInfo, condition: FieldCondition) -> SqlCondition:
    name = condition.field
    table.check_column(name)
    column = quote_identifier(name)
    parts = [SqlCondition(f"{column} IS {'' if condition.is_null else 'NOT '}NULL")]
    for values, word in ((condition.values, ""), (condition.excluded, "NOT ")):
        if values is not None:
            table.check_values(name, values)
            among = table.build_condition(one_of(name, values))
            parts.append(SqlCondition(f"{word}{among.sql}", among.params))
    for value, comparison in ((condition.minimum, ">="), (condition.maximum, "<")):
        if value is not None:
            limit = RowCondition(name, RowComparison(comparison), value)
            parts.append(table.build_condition(table.check_condition(limit)))
    return match_all(parts)


def _build_rows(
    table: StructuredTableInfo, request: ExportRequest, condition: SqlCondition
) -> SqlCondition:
    for name in request.columns:
        table.check_column(name)
    if not request.columns:
        raise InvalidTableFieldError("No columns are specified to export", table=table.spec.table)
    names = ", ".join(map(quote_identifier, request.columns))
    sql = f"SELECT {names} FROM {table.identifier} WHERE {condition.sql}"  # noqa: S608
    if request.order_by is not None:
        table.check_column(request.order_by)
        direction = "DESC" if request.order is SortOrder.DESC else "ASC"
        column = quote_identifier(request.order_by)
        sql += f" ORDER BY {column} {direction} NULLS LAST, {table.key_columns}"
    return SqlCondition(sql, condition.params)


def _build_grouping(
    table: StructuredTableInfo, grouping: Grouping, condition: SqlCondition
) -> SqlCondition:
    for name in (*grouping.by, *grouping.measured):
        table.check_column(name)
    for name in grouping.measured:
        if table.spec.fields[name] not in _NUMBERS:
            raise InvalidTableFieldError(
                f"Field {name} of table {table.spec.table} cannot be measured: it has no numbers",
                table=table.spec.table,
                fields=[name],
            )
    by = [quote_identifier(name) for name in grouping.by]
    measured = [
        f"{function}({quote_identifier(name)})"
        for name in grouping.measured
        for function in ("min", "max", "avg")
    ]
    sql = f"SELECT {', '.join([*by, 'count(*)', *measured])} FROM {table.identifier} WHERE {condition.sql}"  # noqa: S608
    if by:
        sql += f" GROUP BY {', '.join(by)} ORDER BY {', '.join(by)}"
    return SqlCondition(sql, condition.params)


def _read_groups(tx: Transaction, grouping: Grouping, query: SqlCondition) -> list[RowGroup]:
    groups = []
    for row in tx.execute(query.sql, query.params):
        values, count, measured = _split(row, len(grouping.by))
        measures = {
            name: Measure(*measured[3 * place : 3 * place + 3])
            for place, name in enumerate(grouping.measured)
        }
        groups.append(RowGroup(values, count, measures))
    return groups


def _split(row: tuple[Any, ...], by: int) -> tuple[list[Any], int, tuple[Any, ...]]:
    return list(row[:by]), row[by], row[by + 1 :]
