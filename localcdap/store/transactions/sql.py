"""Parts of SQL statements on a structured table: identifiers, conditions, clauses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple

from localcdap.api.app.specification import FieldType, StructuredTableSpecification
from localcdap.api.app.table import Bound, Range
from localcdap.store.columns import quote_identifier
from localcdap.store.transactions.validation import Point

PREFIX: Final = "app_"
"""The prefix of structured tables' names in DuckDB, which separates them from localcdap's own tables."""
TYPES: Final = {
    FieldType.INTEGER: "INTEGER",
    FieldType.LONG: "BIGINT",
    FieldType.FLOAT: "FLOAT",
    FieldType.DOUBLE: "DOUBLE",
    FieldType.STRING: "VARCHAR",
    FieldType.BYTES: "BLOB",
    FieldType.BOOLEAN: "BOOLEAN",
}


class SqlCondition(NamedTuple):
    """A part of an SQL statement, mostly a condition on rows, with its parameters."""

    sql: str
    params: tuple[Any, ...] = ()


ALL: Final = SqlCondition("true")
NONE: Final = SqlCondition("false")


def match_any(conditions: Iterable[SqlCondition]) -> SqlCondition:
    """Combine conditions with OR."""
    found = [c for c in conditions if c != NONE]
    if ALL in found:
        return ALL
    if not found:
        return NONE
    sql = " OR ".join(f"({c.sql})" for c in found)
    return SqlCondition(sql, tuple(p for c in found for p in c.params))


def match_all(*conditions: SqlCondition) -> SqlCondition:
    """Combine conditions with AND."""
    found = [c for c in conditions if c != ALL]
    if NONE in found:
        return NONE
    if not found:
        return ALL
    sql = " AND ".join(f"({c.sql})" for c in found)
    return SqlCondition(sql, tuple(p for c in found for p in c.params))


class TableSql:
    """The SQL names and clauses of one structured table."""

    def __init__(self, spec: StructuredTableSpecification) -> None:
        self.spec: Final = spec
        self.name: Final = quote_identifier(PREFIX + spec.table)
        self.columns: Final = tuple(spec.fields)
        self.key: Final = tuple(spec.primary_key)

    @cached_property
    def all_columns(self) -> str:
        return ", ".join(map(quote_identifier, self.columns))

    @cached_property
    def key_columns(self) -> str:
        return ", ".join(map(quote_identifier, self.key))

    @cached_property
    def has_key(self) -> str:
        """A condition that selects the row with the primary key in the parameters."""
        return " AND ".join(f"{quote_identifier(name)} = ?" for name in self.key)

    def build_order_by(self, descending: bool, first: str | None = None) -> str:
        """Return an ORDER BY clause: by the key, or by the column ``first`` and then ascending by the key."""
        direction = " DESC" if descending else ""
        if first is not None:
            return f"ORDER BY {quote_identifier(first)}{direction}, {self.key_columns}"
        return "ORDER BY " + ", ".join(f"{quote_identifier(name)}{direction}" for name in self.key)

    def build_placeholder(self, field: str) -> str:
        """Return the placeholder of a value: a FLOAT is cast, because a comparison needs its rounding."""
        return "?::FLOAT" if self.spec.fields[field] is FieldType.FLOAT else "?"

    def build_assignments(self, fields: Iterable[str]) -> str:
        """Return the assignments of a SET clause."""
        return ", ".join(
            f"{quote_identifier(name)} = {self.build_placeholder(name)}" for name in fields
        )

    def build_unnest(self, fields: Iterable[str]) -> str:
        """Return a select list that turns parameters, one list per field, into rows."""
        spec = self.spec
        return ", ".join(f"unnest(?::{TYPES[spec.fields[name]]}[])" for name in fields)

    def build_equality(self, field: str, value: Any) -> SqlCondition:
        """Return the condition that a field has a value, which may be null."""
        if value is None:
            return SqlCondition(f"{quote_identifier(field)} IS NULL")
        return SqlCondition(
            f"{quote_identifier(field)} = {self.build_placeholder(field)}", (value,)
        )

    def build_range(self, range: Range, points: tuple[Point, Point]) -> SqlCondition:
        """Return the condition that a row is in the range."""
        begin, end = points
        inclusive = range.begin_bound is range.end_bound is Bound.INCLUSIVE
        if begin == end and begin[0] and inclusive:
            return self._build_bound(begin, "=", inclusive=True)
        return match_all(
            self._build_bound(begin, ">", inclusive=range.begin_bound is Bound.INCLUSIVE),
            self._build_bound(end, "<", inclusive=range.end_bound is Bound.INCLUSIVE),
        )

    def _build_bound(self, point: Point, operator: str, *, inclusive: bool) -> SqlCondition:
        fields, values = point
        if not fields:
            return ALL
        if None in values:  # a comparison with null is never true
            return NONE
        sql, places = _build_comparison(
            tuple(quote_identifier(name) for name in fields),
            tuple(self.build_placeholder(name) for name in fields),
            operator,
            inclusive,
        )
        return SqlCondition(sql, tuple(values[place] for place in places))


@lru_cache(maxsize=1024)
def _build_comparison(
    names: Sequence[str], parameters: Sequence[str], operator: str, inclusive: bool
) -> tuple[str, tuple[int, ...]]:
    """Return SQL that compares columns with parameters as tuples, and the index of each parameter's value.

    DuckDB's own comparison of tuples treats null as the largest value; here a null matches no comparison.
    """
    if operator == "=":
        pairs = zip(names, parameters, strict=True)
        return " AND ".join(f"{n} = {p}" for n, p in pairs), tuple(range(len(names)))
    last = len(names) - 1
    sql = f"{names[last]} {operator}{'=' if inclusive else ''} {parameters[last]}"
    places: tuple[int, ...] = (last,)
    for place in reversed(range(last)):
        name, parameter = names[place], parameters[place]
        # DuckDB can skip whole blocks of rows because of the first comparison.
        sql = (
            f"{name} {operator}= {parameter} AND "
            f"({name} {operator} {parameter} OR {name} = {parameter} AND ({sql}))"
        )
        places = (place, place, place, *places)
    return sql, places
