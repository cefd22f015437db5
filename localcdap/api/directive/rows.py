"""What directives work on: a row of values, the columns that are known before there is any, a Spark frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from localcdap.api.schema import Schema
from localcdap.api.stage import FindTable, Metrics
from localcdap.api.tables import Lookup

if TYPE_CHECKING:
    from pyspark.sql import Column


class Row(dict[str, Any]):
    """The values of a record by column, in the order of the columns.

    Columns are found without regard to case (wrangler ``Row``): use the methods with the names that a
    recipe holds, and the dict's own with names that came from the row.
    """

    __slots__ = ()

    def find(self, name: str) -> str | None:
        """The name of the column as the row has it, or None where there is no such column."""
        if name in self:
            return name
        wanted = name.lower()
        return next((each for each in self if each.lower() == wanted), None)

    def value(self, name: str) -> Any:
        """The value of a column; None where it is missing."""
        if name in self:
            return self[name]
        found = self.find(name)
        return None if found is None else self[found]

    def add(self, name: str, value: Any) -> None:
        """Add a column behind the others. Of two with one name the first counts, so a present one stays."""
        self.setdefault(name, value)

    def put(self, name: str, value: Any) -> None:
        """Change a column, or add it behind the others."""
        self[self.find(name) or name] = value

    def remove(self, name: str) -> None:
        """Remove a column, if it is there."""
        found = self.find(name)
        if found is not None:
            del self[found]

    def rename(self, names: Mapping[str, str]) -> None:
        """Give columns new names where they stand.

        :param names: new names by the names that the row has.
        """
        if not any(name in self for name in names):
            return
        pairs = [(names.get(name, name), value) for name, value in self.items()]
        self.clear()
        for name, value in pairs:
            self.setdefault(name, value)


class Columns:
    """The columns of rows as far as they are known before there are rows; a directive changes them as it
    will change the rows. Names are found without regard to case.
    """

    def __init__(
        self,
        given: Iterable[tuple[str, Schema | None]] = (),
        *,
        open: bool = False,
        find_table: FindTable = lambda _: None,
    ) -> None:
        self._schemas: dict[str, Schema | None] = dict(given)
        self.open: bool = open
        """Whether there may be more columns, which only data can tell. Set it to True, never to False."""
        self.find_table: FindTable = find_table
        """Finds the columns of a structured dataset by its name; None where it is not there, or tables are
        not looked at.
        """
        self.problems: list[tuple[str, str | None]] = []
        """Messages and corrective actions that :meth:`fail` was given."""
        self.warnings: list[tuple[str, str | None]] = []
        """Those that :meth:`warn` was given."""

    def __iter__(self) -> Iterator[str]:
        """The names, in order."""
        return iter(self._schemas)

    def __len__(self) -> int:
        return len(self._schemas)

    def items(self) -> list[tuple[str, Schema | None]]:
        """Names with their schemas, None where only data can tell the type."""
        return list(self._schemas.items())

    def find(self, name: str) -> str | None:
        """The name of a known column as it is spelt, or None."""
        if name in self._schemas:
            return name
        wanted = name.lower()
        return next((each for each in self._schemas if each.lower() == wanted), None)

    def is_missing(self, name: str) -> bool:
        """Whether it is certain that no row has the column."""
        return not self.open and self.find(name) is None

    def schema(self, name: str) -> Schema | None:
        """The schema of a column; None where it is unknown, or there is no such column."""
        found = self.find(name)
        return None if found is None else self._schemas[found]

    def add(self, name: str, schema: Schema | None) -> None:
        """Add a column behind the others; a present one of exactly this name stays as it is."""
        self._schemas.setdefault(name, schema)

    def put(self, name: str, schema: Schema | None) -> None:
        """Change the schema of a column, or add it behind the others; None where it is unknown."""
        self._schemas[self.find(name) or name] = schema

    def remove(self, name: str) -> None:
        """Remove a column, if it is there."""
        found = self.find(name)
        if found is not None:
            del self._schemas[found]

    def rename(self, names: Mapping[str, str]) -> None:
        """Give columns new names where they stand; of two that get one name the first stays."""
        renamed: dict[str, Schema | None] = {}
        for name, schema in self._schemas.items():
            renamed.setdefault(names.get(name, name), schema)
        self._schemas = renamed

    def replace(self, given: Iterable[tuple[str, Schema | None]]) -> None:
        """Have these columns instead."""
        self._schemas = dict(given)

    def record(self) -> Schema:
        """A record of the columns whose schemas are known."""
        known = [(name, schema) for name, schema in self._schemas.items() if schema is not None]
        return Schema.record("row", known)

    def copy(self) -> Columns:
        """The same columns, without what was told, to be changed on their own."""
        return Columns(self._schemas.items(), open=self.open, find_table=self.find_table)

    def fail(self, message: str, corrective_action: str | None = None) -> None:
        """Tell that the directive cannot work on these columns. All that is told is shown."""
        self.problems.append((message, corrective_action))

    def warn(self, message: str, corrective_action: str | None = None) -> None:
        """Tell that the directive does nothing useful on these columns, though no row fails."""
        self.warnings.append((message, corrective_action))


class RowContext:
    """What a directive sees beside the row. One for a task; the variables are those of the record at hand."""

    def __init__(
        self,
        metrics: Metrics,
        arguments: Mapping[str, str],
        lookups: Mapping[str, Lookup] = MappingProxyType({}),
    ) -> None:
        self.variables: dict[str, Any] = {}
        """Transient variables by name; a record begins without any."""
        self.metrics = metrics
        self.arguments = arguments
        """Those of the run."""
        self.lookups = lookups
        """By name, the tables that the recipe's directives name; none where records are only sampled."""


class Native(Protocol):
    """An expression over the columns of a DataFrame."""

    column: Column
    type: Schema
    failing: Column | None
    """True on the rows for which the expression raises in a batch; ``column`` is null there. None: it never
    does.
    """


class Expression(Protocol):
    """A JEXL expression of a recipe."""

    text: str
    variables: frozenset[str]
    """The names it reads: columns and transient variables, and ``this`` when it reads the whole row."""

    def type(self, schema: Schema) -> Schema | None:
        """The schema of its value, None where only data can tell.

        :param schema: a record of the columns that are known; of others nothing is known.
        """

    def compile(self) -> Callable[..., Any]:
        """A function from values by name, and optionally further ones that win, to the value."""

    def native(self, schema: Schema, column: Callable[[str], Column]) -> Native | None:
        """The expression in Spark, None where it has no equal there.

        :param schema: a record of all columns; any other is missing, and null.
        :param column: the value of a column of the record.
        """


class Frame(Protocol):
    """The columns of a DataFrame while a recipe is compiled to Spark.

    A directive's :meth:`localcdap.api.directive.Directive.native` changes it as the directive changes rows.
    What it puts in must never raise in Spark: rows that fail are told with :meth:`fail_where`.
    """

    columns: Columns
    """All of them, every schema known, and never open. Read it only."""
    wanted: frozenset[str] | None
    """Names (in lower case) that later directives or the output name; None where all may be needed. A
    directive that could make any number of columns need make these only."""

    def column(self, name: str) -> Column:
        """The present value of a column.

        :raises KeyError: when there is none of that name.
        """

    def evaluate(self, expression: Expression) -> Native:
        """The value of an expression; the directive tells the rows where it fails itself.

        :raises NoNativeFormError: when Spark has no equal.
        """

    def put(self, name: str, value: Column, schema: Schema) -> None:
        """Change a column, or add it behind the others. ``value`` must have the Spark type of the schema."""

    def remove(self, name: str) -> None:
        """Remove a column, if it is there."""

    def rename(self, names: Mapping[str, str]) -> None:
        """Give columns new names where they stand."""

    def keep_where(self, condition: Column) -> None:
        """Drop the rows for which the condition is not true."""

    def fail_where(self, condition: Column, message: Column | str) -> None:
        """Tell the rows for which the directive fails, as :class:`DirectiveError` does in a batch."""

    def error_where(self, condition: Column, message: Column | str, code: int = 1) -> None:
        """Send rows to the error port, as :class:`ErrorRow` does in a batch."""
