"""The objects that a directive changes: a row, the columns known before there are rows, or a Spark frame."""

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

    The methods find columns without regard to case (wrangler ``Row``): use them with names of a recipe, and
    the dict's own methods with names that come from the row.
    """

    __slots__ = ()

    def find(self, name: str) -> str | None:
        """Return the column's name as spelled in the row; None when there is no such column."""
        if name in self:
            return name
        wanted = name.lower()
        return next((each for each in self if each.lower() == wanted), None)

    def value(self, name: str) -> Any:
        """Return the value of a column; None when it is missing."""
        if name in self:
            return self[name]
        found = self.find(name)
        return None if found is None else self[found]

    def add(self, name: str, value: Any) -> None:
        """Append a column; an existing column of exactly this name stays unchanged."""
        self.setdefault(name, value)

    def put(self, name: str, value: Any) -> None:
        """Change a column, or append it."""
        self[self.find(name) or name] = value

    def remove(self, name: str) -> None:
        """Remove a column, if it is there."""
        found = self.find(name)
        if found is not None:
            del self[found]

    def rename(self, names: Mapping[str, str]) -> None:
        """Rename columns without moving them.

        :param names: new names by the names in the row.
        """
        if not any(name in self for name in names):
            return
        pairs = [(names.get(name, name), value) for name, value in self.items()]
        self.clear()
        for name, value in pairs:
            self.setdefault(name, value)


class Columns:
    """The columns of rows as far as they are known before there are rows.

    A directive changes them as it will change the rows. Names are found without regard to case.
    """

    def __init__(
        self,
        given: Iterable[tuple[str, Schema | None]] = (),
        *,
        open: bool = False,
        find_table: FindTable = lambda _: None,
    ) -> None:
        self._schemas: dict[str, Schema | None] = dict(given)
        self._prefixes: set[str] = {""} if open else set()
        self.find_table: FindTable = find_table
        """Returns the columns of a table by name; None when there is no such table, or
        tables are not available.
        """
        self.problems: list[tuple[str, str | None]] = []
        """The messages and corrective actions given to :meth:`fail`."""
        self.warnings: list[tuple[str, str | None]] = []
        """The messages and corrective actions given to :meth:`warn`."""

    @property
    def open(self) -> bool:
        """Whether rows may have more columns than are known. Set it to True, never to False."""
        return bool(self._prefixes)

    @open.setter  # noqa: A003 - the property, not the function
    def open(self, is_open: bool) -> None:
        self._prefixes = {""} if is_open else set()

    def open_for(self, prefix: str) -> None:
        """Report that rows may have more columns than are known, whose names begin with a prefix.

        A directive that sets :attr:`open` instead says that they may have any names.
        """
        self._prefixes.add(prefix.lower())

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, in order."""
        return iter(self._schemas)

    def __len__(self) -> int:
        return len(self._schemas)

    def items(self) -> list[tuple[str, Schema | None]]:
        """Return names with schemas; a schema is None when only the data determines it."""
        return list(self._schemas.items())

    def find(self, name: str) -> str | None:
        """Return the spelling of a known column; None when it is not known."""
        if name in self._schemas:
            return name
        wanted = name.lower()
        return next((each for each in self._schemas if each.lower() == wanted), None)

    def is_missing(self, name: str) -> bool:
        """Return whether it is certain that no row has the column."""
        is_possible = any(name.lower().startswith(prefix) for prefix in self._prefixes)
        return not is_possible and self.find(name) is None

    def schema(self, name: str) -> Schema | None:
        """Return the schema of a column; None when the schema or the column is unknown."""
        found = self.find(name)
        return None if found is None else self._schemas[found]

    def add(self, name: str, schema: Schema | None) -> None:
        """Append a column; an existing column of exactly this name stays unchanged."""
        self._schemas.setdefault(name, schema)

    def put(self, name: str, schema: Schema | None) -> None:
        """Change the schema of a column, or append the column; None when the schema is unknown."""
        self._schemas[self.find(name) or name] = schema

    def remove(self, name: str) -> None:
        """Remove a column, if it is there."""
        found = self.find(name)
        if found is not None:
            del self._schemas[found]

    def rename(self, names: Mapping[str, str]) -> None:
        """Rename columns without moving them; of two that get the same name the first remains."""
        renamed: dict[str, Schema | None] = {}
        for name, schema in self._schemas.items():
            renamed.setdefault(names.get(name, name), schema)
        self._schemas = renamed

    def replace(self, given: Iterable[tuple[str, Schema | None]]) -> None:
        """Replace all columns."""
        self._schemas = dict(given)

    def record(self) -> Schema:
        """Return a record schema of the columns with known schemas."""
        known = [(name, schema) for name, schema in self._schemas.items() if schema is not None]
        return Schema.record("row", known)

    def copy(self) -> Columns:
        """Return an independent copy of the columns, without problems and warnings."""
        made = Columns(self._schemas.items(), find_table=self.find_table)
        made._prefixes = set(self._prefixes)
        return made

    def fail(self, message: str, corrective_action: str | None = None) -> None:
        """Report that the directive cannot work on these columns. All reported problems are shown."""
        self.problems.append((message, corrective_action))

    def warn(self, message: str, corrective_action: str | None = None) -> None:
        """Report that the directive has no useful effect on these columns, though no row fails."""
        self.warnings.append((message, corrective_action))


class RowContext:
    """The context of a directive, one for each task. Its variables belong to the current record."""

    def __init__(
        self,
        metrics: Metrics,
        arguments: Mapping[str, str],
        lookups: Mapping[str, Lookup] = MappingProxyType({}),
    ) -> None:
        self.variables: dict[str, Any] = {}
        """Transient variables by name; empty at the start of each record."""
        self.metrics = metrics
        self.arguments = arguments
        """The arguments of the run."""
        self.lookups = lookups
        """By name, the tables that the directives of the recipe name; empty in samples."""


class Native(Protocol):
    """An expression over the columns of a DataFrame."""

    column: Column
    type: Schema
    failing: Column | None
    """True on the rows for which the expression raises an error in a batch, where ``column`` is null; None
    when it never raises one."""


class Expression(Protocol):
    """A JEXL expression of a recipe."""

    text: str
    variables: frozenset[str]
    """The names that it reads: columns, transient variables, and ``this`` when it reads the whole row."""

    def type(self, schema: Schema) -> Schema | None:
        """Return the schema of the value; None when only the data determines it.

        :param schema: a record of the known columns.
        """

    def compile(self) -> Callable[..., Any]:
        """Return a function from values by name, and optional values that take precedence, to the value."""

    def native(self, schema: Schema, column: Callable[[str], Column]) -> Native | None:
        """Return the expression in Spark; None when there is no equal Spark expression.

        :param schema: a record of all columns; any other column is missing, and null.
        :param column: returns the value of a column of the record.
        """


class Frame(Protocol):
    """The columns of a DataFrame while a recipe is compiled to Spark.

    A directive's :meth:`localcdap.api.directive.Directive.native` changes it as the directive changes rows.
    Its columns must never raise an error in Spark: report rows that fail with :meth:`fail_where`.
    """

    columns: Columns
    """All columns, with known schemas, and never open. Read only."""
    wanted: frozenset[str] | None
    """The lower-case names that later directives or the output use; None when all may be used. A directive
    that could create any number of columns needs to create only these."""

    def column(self, name: str) -> Column:
        """Return the current value of a column.

        :raises KeyError: when there is no such column.
        """

    def evaluate(self, expression: Expression) -> Native:
        """Return the value of an expression; the directive reports the rows where the expression fails.

        :raises NoNativeFormError: when there is no equal Spark expression.
        """

    def put(self, name: str, value: Column, schema: Schema) -> None:
        """Change a column, or append it. ``value`` must have the Spark type of the schema."""

    def remove(self, name: str) -> None:
        """Remove a column, if it is there."""

    def rename(self, names: Mapping[str, str]) -> None:
        """Rename columns without moving them."""

    def keep_where(self, condition: Column) -> None:
        """Drop the rows for which the condition is not true."""

    def fail_where(self, condition: Column, message: Column | str) -> None:
        """Report the rows for which the directive fails, as :class:`DirectiveError` does in a batch."""

    def error_where(self, condition: Column, message: Column | str, code: int = 1) -> None:
        """Send rows to the error port, as :class:`ErrorRow` does in a batch."""
