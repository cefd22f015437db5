"""What the columns of all rows of a file are like, counted while the rows pass.

The rows are Python's here. DuckDB takes twice the time for the same: most of it to get the values into Arrow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from localcdap.api import Schema
from localcdap.java.strings import to_java_string
from localcdap.workspace_views import ColumnTotals

_MOST_DISTINCT: Final = 100_000
"""Different values that are counted; a column with more has at least so many."""
_LONGEST: Final = 200


class TotalsCounter:
    """Counts records of a schema."""

    def __init__(self, schema: Schema) -> None:
        self._columns: Final = [_ColumnCounter(each.name, each.schema) for each in schema]

    def add(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Count more records."""
        for column in self._columns:
            column.add([record.get(column.totals.name) for record in records])

    def find_totals(self) -> list[ColumnTotals]:
        """Return what all records are like."""
        return [column.find_totals() for column in self._columns]


class _ColumnCounter:
    def __init__(self, name: str, schema: Schema) -> None:
        self.totals = ColumnTotals(name, schema.display_name)
        self._is_text = schema.non_nullable == Schema.STRING
        self._distinct: set[Any] = set()
        self._ends: list[Any] = []
        """The lowest and the highest value so far."""

    def add(self, values: list[Any]) -> None:
        totals = self.totals
        present = [each for each in values if each is not None]
        totals.rows += len(values)
        totals.nulls += len(values) - len(present)
        if self._is_text:
            totals.empty += sum(not each.strip() for each in present)
        try:
            found = set(present)
        except TypeError:  # lists, maps and records
            found = set(map(repr, present))
        else:
            self._extend(found)
        if not totals.has_more:
            self._distinct |= found
            if len(self._distinct) > _MOST_DISTINCT:
                totals.distinct, totals.has_more = _MOST_DISTINCT, True
                self._distinct.clear()

    def _extend(self, values: set[Any]) -> None:
        ordered = [each for each in values if each == each and not isinstance(each, bool | bytes)]
        if ordered:
            ends = [*self._ends, *ordered]
            self._ends = [min(ends), max(ends)]

    def find_totals(self) -> ColumnTotals:
        totals = self.totals
        if not totals.has_more:
            totals.distinct = len(self._distinct)
        if self._ends:
            totals.lowest, totals.highest = (to_java_string(each)[:_LONGEST] for each in self._ends)
        return totals
