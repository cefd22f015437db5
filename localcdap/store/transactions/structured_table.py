"""Structured tables as operations see them: the checks of CDAP ``FieldValidator``, and names in DuckDB.

Missing fields and wrong types are reported before fields at the wrong position of a key.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from localcdap.api.app.table import FieldType, Range, StructuredTableSpecification
from localcdap.api.errors import InvalidTableFieldError, NotFoundError
from localcdap.api.sql_names import quote_identifier
from localcdap.store.transactions.table import KeyValues, OpenedTable, TableRef
from localcdap.text import format_available

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
_EXACT: Final = {
    FieldType.BOOLEAN: bool,
    FieldType.DOUBLE: float,
    FieldType.BYTES: bytes,
    FieldType.INTEGER: int,
    FieldType.LONG: int,
    FieldType.STRING: str,
}
_BITS: Final = {FieldType.INTEGER: 31, FieldType.LONG: 63}


class StructuredTableInfo(OpenedTable):
    """A structured table with its specification. It has a primary key, whose order rows are in."""

    is_ordered_by_key = True

    def __init__(self, spec: StructuredTableSpecification) -> None:
        super().__init__(
            TableRef.of_structured(spec.table),
            quote_identifier(PREFIX + spec.table),
            {name: TYPES[type] for name, type in spec.fields.items()},
            spec.primary_key,
        )
        self.spec: Final = spec

    def make_error(
        self, message: str, action: str | None = None, columns: Sequence[str] = ()
    ) -> InvalidTableFieldError:
        return InvalidTableFieldError(message, action, table=self.spec.table, fields=columns)

    def check_column(self, column: str) -> None:
        self._get_type(column)

    def _get_type(self, field: str) -> FieldType:
        try:
            return self.spec.fields[field]
        except (KeyError, TypeError):
            raise self.make_error(
                f"Field {field} is not part of the schema of table {self.spec.table}",
                f"Use one of: {', '.join(self.spec.fields)}.",
                [str(field)],
            ) from None

    def check_value(self, column: str, value: Any) -> Any:
        expected = self._get_type(column)
        if value is None:
            if column in self.key:
                raise self.make_error(
                    f"Field {column} of table {self.spec.table} is a primary key but the value is null",
                    columns=[column],
                )
            return None
        actual = FieldType.of(value)
        if not expected.accepts(actual):
            raise self.make_error(
                f"Wrong type for field {column} in table {self.spec.table}. "
                f"Expected {expected}, actual {actual or type(value).__name__}",
                columns=[column],
            )
        return value

    def check_values(self, field: str, values: Collection[Any]) -> None:
        """Check many values of one field in a few passes of built-in functions; see :meth:`check_value`."""
        kinds = set(map(type, values))
        if type(None) in kinds and field not in self.key:
            kinds.discard(type(None))
            values = [value for value in values if value is not None]
        expected = self._get_type(field)
        if kinds == {_EXACT.get(expected)}:
            if (bits := _BITS.get(expected)) is not None:
                if -(2**bits) <= min(values) and max(values) < 2**bits:
                    return
            elif expected is not FieldType.STRING or all(map(str.isascii, values)):
                return
        for value in values:
            self.check_value(field, value)

    def check_number(self, column: str) -> int:
        type = self._get_type(column)
        if type is not FieldType.LONG or column in self.key:
            raise self.make_error(
                f"Field {column} of table {self.spec.table} cannot be incremented: it must be a LONG that "
                f"is not a primary key, and is a {type}"
                + (" of the key" if column in self.key else ""),
                columns=[column],
            )
        return 64

    def check_rows(self, rows: Sequence[dict[str, Any]], *, whole: bool) -> list[dict[str, Any]]:
        if len(rows) == 1:
            self.check_row(rows[0])
        else:
            groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
            for row in rows:
                groups.setdefault(tuple(row), []).append(row)
            for fields, group in groups.items():
                for name in fields:
                    self.check_values(name, [row[name] for row in group])
                self._require_whole_key(fields)
        if whole:
            return [{name: row.get(name) for name in self.columns} for row in rows]
        return list(rows)

    def check_row(self, row: Mapping[str, Any]) -> KeyValues:
        """Return the key of a row, which has the whole primary key and only fields of the table."""
        for field, value in row.items():
            self.check_value(field, value)
        self._require_whole_key(row)
        return tuple(row[name] for name in self.key)

    def _require_whole_key(self, fields: Collection[str]) -> None:
        missing = [name for name in self.key if name not in fields]
        if missing:
            raise self.make_error(
                f"Fields {', '.join(missing)} of the primary key of table {self.spec.table} are missing",
                columns=missing,
            )

    def check_order(self, column: str) -> None:
        self.check_column(column)  # all types of fields have an order

    # -- rules of the methods of StructuredTable -------------------------------------------------

    def check_scan_range(self, range: Range) -> None:
        """Check a range to scan; begin and end must start with the first field of the primary key."""
        for fields, _ in self.check_range(range):
            if fields and fields[0] != self.key[0]:
                raise self.make_error(
                    f"Given Range fields {', '.join(fields)} do not start with the first primary key of "
                    f"table {self.spec.table}, {self.key[0]}",
                    columns=fields,
                )

    def check_prefix_range(self, range: Range) -> None:
        """Check a range to change; begin and end must be prefixes of the primary key."""
        self.check_range(range)
        for point in (range.begin, range.end):
            self.check_key_prefix(point)

    def check_indexes(self, fields: Iterable[str]) -> None:
        """Reject fields that are not indexes."""
        for field in fields:
            self.check_column(field)
            if field not in self.spec.indexes:
                raise self.make_error(
                    f"Field {field} of table {self.spec.table} is not an indexed column",
                    f"Use one of: {', '.join(self.spec.indexes) or 'none'}.",
                    [field],
                )


def find_specification(
    specifications: Mapping[str, StructuredTableSpecification], table: str
) -> StructuredTableSpecification:
    """Return the specification of a table.

    :raises NotFoundError: when it is not among the specifications; the message lists them.
    """
    spec = specifications.get(table)
    if spec is None:
        raise NotFoundError(
            f"There is no structured table '{table}'; available: "
            f"{format_available(table, sorted(specifications))}."
        )
    return spec
