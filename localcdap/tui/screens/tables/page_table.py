"""One page of a table's rows; what orders, filters and counts them is SQL over all rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from localcdap.api.sql_names import quote_literal
from localcdap.datasets.sql import SqlResult, SqlTable
from localcdap.tui.records.columns import ValueCounts, get_key
from localcdap.tui.records.table import RecordTable
from localcdap.tui.screens.tables.completion import quote_where_needed
from localcdap.tui.studio import StudioNode

PAGE: Final = 1000
"""The number of rows of a page."""
MOST_VALUES: Final = 1000
"""The most values of a column whose frequencies are shown."""
_NESTED: Final = ("STRUCT", "MAP", "UNION")
"""The beginnings of types whose values are not compared."""


class PagedRows(Protocol):
    """Reads the rows of a table page by page."""

    @property
    def table(self) -> SqlTable | None: ...

    @property
    def page(self) -> int: ...

    @property
    def is_filtered(self) -> bool: ...

    def order_by(self, name: str) -> None: ...

    def add_condition(self, condition: str) -> None: ...

    def drop_condition(self) -> None: ...

    def count_values(self, name: str, on_result: Callable[[SqlResult], None]) -> None: ...


class PageTable(StudioNode, RecordTable):
    """Shows a page; has ``rows`` as its id.

    :param rows: reads the rows.
    """

    def __init__(self, rows: PagedRows) -> None:
        super().__init__(id="rows")
        self._rows = rows

    @property
    def first_number(self) -> int:
        return self._rows.page * PAGE + 1

    @property
    def is_filtered(self) -> bool:
        return self._rows.is_filtered

    def order_by(self, column: int) -> None:
        self._rows.order_by(self._get_name(column))

    def filter_by(self, column: int, value: str | None, *, is_kept: bool) -> None:
        table = self._rows.table
        assert table is not None
        name = self._get_name(column)
        condition = build_condition(table, name, value, is_kept=is_kept)
        if condition is None:
            self.studio.explain_no_effect(
                f"values of {name} are not compared; w takes any condition", "filter by value"
            )
        else:
            self._rows.add_condition(condition)

    def unfilter(self) -> None:
        self._rows.drop_condition()

    def count_values(self, column: int) -> None:
        def show(result: SqlResult) -> None:
            rows = result.to_table().to_pylist()
            if rows:
                frequencies = [(get_key(row["value"]), row["count"]) for row in rows]
                counts = ValueCounts(frequencies, rows[0]["different"], int(rows[0]["records"]))
                self.show_frequencies(column, counts)

        self._rows.count_values(self._get_name(column), show)

    def _get_name(self, column: int) -> str:
        assert self.table is not None
        return str(self.table.column_names[column])


def build_count(table: SqlTable, name: str, where: str) -> str:
    """Return the query of the most frequent values of a column, and of how many values there are.

    :param where: the clause that selects the rows; empty for all rows.
    """
    column = quote_where_needed(name)
    return (
        f"FROM {table.identifier}{where} SELECT {column} AS value, count(*) AS count, "
        "count(*) OVER () AS different, sum(count(*)) OVER () AS records "
        f"GROUP BY {column} ORDER BY 2 DESC, 1 LIMIT {MOST_VALUES}"
    )


def build_condition(table: SqlTable, name: str, value: str | None, *, is_kept: bool) -> str | None:
    """Return the condition that a column has a value, or that it has another one.

    :param value: the value as text; None for null.
    :returns: None when values of that type are not compared.
    """
    column = quote_where_needed(name)
    if value is None:
        return f"{column} IS {'' if is_kept else 'NOT '}NULL"
    type = next(each.type for each in table.columns if each.name == name)
    if type.startswith(_NESTED) or type.endswith("]"):
        return None
    literal = quote_literal(value)
    if type == "BLOB":
        literal = f"from_base64({literal})"
    elif type != "VARCHAR":
        literal = f"CAST({literal} AS {type})"
    same = "=" if is_kept else "IS DISTINCT FROM"
    return f"{column} {same} {literal}"
