"""The source MultiTableDatabase, which reads many tables of a database at once."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api import (
    BatchSource,
    Schema,
    SchemaContext,
    SourceContext,
    StageConfigurer,
    StageError,
    plugin,
)
from localcdap.java.numbers import is_number
from localcdap.plugin_lib.spark.columns import get_column, to_ddl
from localcdap.plugin_lib.spark.conversion import conform_columns, to_text

from .catalogue import build_keys_query, build_tables_query, has_schemas, quote_names
from .column_types import UnsupportedTypeError, to_table_schema
from .connection_arguments import get_database_kind
from .database_source import split_conditions, strip_semicolon
from .errors import call_database
from .jdbc import make_reader
from .multi_table_config import FAIL, SEND, STATEMENTS, MultiTableConfig
from .table_schemas import unite_schemas

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

_MOST_SPLITS: Final = 8
_ERROR: Final = Schema.record(
    "multi_db_source_error",
    [
        ("reference_name", Schema.STRING),
        ("error_message", Schema.STRING),
        ("exception_class_name", Schema.STRING),
        ("table_name", Schema.STRING.as_nullable),
    ],
)
"""(``io/cdap/plugin/format/error/ErrorSchema.java``)"""
_EXCEPTION: Final = "java.io.IOException"
"""The exception of CDAP's reader of a table that the database refuses (``DBTableRecordReader.java``)."""
_MESSAGE, _RECORD = "__error_message__", "__error_record__"


class _Wanted(msgspec.Struct):
    """A table to read, or the statement that gives its rows."""

    name: str
    owner: str | None = None
    """The schema that the table is in."""
    statement: str | None = None


class _Table(msgspec.Struct):
    """A table, or the result of a statement, that can be read."""

    schema: Schema
    """With the name of the table."""
    parts: list[DataFrame]


@plugin(
    name="MultiTableDatabase",
    description="Reads many tables of a database: one record for each row, with the name of its table.",
)
class MultiTableDatabaseSource(BatchSource):
    """Properties, arguments and error records are those of CDAP's plugin (multi-table-plugins,
    ``io/cdap/plugin/MultiTableDBSource.java``, ``io/cdap/plugin/format/*.java``).

    Its tables, and so the output schema, are found when a run begins. In CDAP each record has the schema of
    its table; here all have the fields of all tables, and those of other tables are null. A field that has
    several types becomes a number that holds them all, or a text; sinks that write the tables apart restore
    its type by the arguments ``multisink.NAME``. Statements set such arguments, too.

    A table that fails, also while its columns are read, is one failure in CDAP's modes. There the latter
    leaves the source without any records.
    """

    class Config(MultiTableConfig, macros=True):
        """A database of any kind."""

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        self.config.check(stage)
        stage.error_schema = _ERROR

    def configure_connected(self, stage: StageConfigurer) -> None:
        self.config.check_driver(stage)

    def find_schema(self, context: SchemaContext) -> Schema:
        self._options = self._build_options(context)
        self._failed: list[tuple[str, str]] = []
        self._tables: list[_Table] = []
        for wanted in self._list_wanted(context):
            try:
                self._tables.append(self._find_table(context, wanted))
            except StageError as error:
                if self.config.on_error == FAIL:
                    raise
                context.logger.warning("Table '%s' is left out: %s", wanted.name, error.message)
                self._failed.append((wanted.name, error.message))
        self._set_arguments(context)
        united, different = unite_schemas([table.schema for table in self._tables])
        for each in united:
            if each.name in different:
                types = ", ".join(different[each.name])
                text = "Field '%s' is %s; it is read as %s."
                context.logger.warning(text, each.name, types, each.schema.display_name)
        fields = [(each.name, each.schema) for each in united]
        return Schema.record("tables", [*fields, (self.config.name_field, Schema.STRING)])

    def _set_arguments(self, context: SchemaContext) -> None:
        """Set the arguments from which sinks know the tables."""
        by_name: dict[str, list[Schema]] = {}
        for table in self._tables:
            by_name.setdefault(table.schema.name or "", []).append(table.schema)
        for name, schemas in by_name.items():
            context.set_argument(f"multisink.{name}", str(unite_schemas(schemas)[0].renamed(name)))

    def read(self, context: SourceContext) -> DataFrame:
        from pyspark.sql import functions as f

        schema = context.output_schema
        assert schema is not None
        name_field = self.config.name_field
        frames = []
        for table in self._tables:
            for rows in table.parts:
                own = rows.select(conform_columns(context, rows, table.schema))
                columns = [
                    _widen(each.name, table.schema, each.schema).alias(each.name)
                    for each in schema
                    if each.name != name_field
                ]
                frames.append(own.select(*columns, f.lit(table.schema.name).alias(name_field)))
        if not frames:
            context.logger.warning("There is no table to read.")
        read = reduce(lambda one, other: one.union(other), frames or [context.empty(schema)])
        if self.config.on_error == SEND and self._failed:
            return self._add_errors(context, read)
        return read

    def _build_options(self, context: SchemaContext) -> dict[str, str]:
        config = self.config
        options = config.build_options(context)
        given = {"fetchsize": config.fetch_size, "queryTimeout": config.timeout}
        return options | {name: str(value) for name, value in given.items() if value}

    @property
    def _kind(self) -> str:
        return get_database_kind(self._options["url"])

    def _ask(self, context: SchemaContext, query: str) -> list[Row]:
        """Return the rows of a query of the catalogue."""
        options = self._options | {"query": query}
        rows: list[Row] = call_database(
            context, options["url"], lambda: make_reader(context, options).load().collect()
        )
        return rows

    def _list_wanted(self, context: SchemaContext) -> list[_Wanted]:
        """Return what is to be read."""
        config = self.config
        if config.mode == STATEMENTS:
            return [_Wanted(name, statement=text) for name, text in config.list_statements()]
        query = build_tables_query(self._kind, config.schema_pattern, config.table_pattern)
        found = sorted((row[0], row[1]) for row in self._ask(context, query))
        there = {name for _, name in found}
        for name in config.allowed:
            if name not in there:
                context.logger.warning("There is no table '%s' to read.", name)
        self._keys = self._find_keys(context) if config.splits > 1 else {}
        return [_Wanted(name, owner) for owner, name in found if config.is_selected(name)]

    def _find_keys(self, context: SchemaContext) -> dict[tuple[str | None, str], list[str]]:
        """Return the columns of the primary keys, by schema and table."""
        query = build_keys_query(self._kind)
        keys: dict[tuple[str | None, str], list[str]] = {}
        for owner, table, column in self._ask(context, query) if query else ():
            keys.setdefault((owner, table), []).append(column)
        return keys

    def _find_table(self, context: SchemaContext, wanted: _Wanted) -> _Table:
        """Return a table, or the result of a statement, with its columns.

        :raises StageError: when it cannot be read.
        """
        queries = self._list_queries(context, wanted)
        parts = [make_reader(context, self._options | {"query": each}).load() for each in queries]
        columns = call_database(context, self._options["url"], lambda: parts[0].schema)
        try:
            schema = to_table_schema(columns, wanted.name)
        except UnsupportedTypeError as error:
            raise context.fail(f"table '{wanted.name}': {error}") from None
        if schema.field(self.config.name_field) is not None:
            raise context.fail(
                f"table '{wanted.name}' has a column '{self.config.name_field}' already.",
                "Change 'tableNameField'.",
            )
        return _Table(schema, parts)

    def _list_queries(self, context: SchemaContext, wanted: _Wanted) -> list[str]:
        """Return the queries of the parts of a table, or the statement."""
        if wanted.statement is not None:
            return [strip_semicolon(wanted.statement)]
        owner = wanted.owner if has_schemas(self._kind) else None
        source = quote_names(self._kind, owner, wanted.name)
        conditions = self._split(context, wanted, source)
        build = self.config.build_condition
        return [f"SELECT * FROM {source} {build(each)}" for each in conditions]  # noqa: S608

    def _split(self, context: SchemaContext, wanted: _Wanted, source: str) -> list[str]:
        """Return the condition of each part of a table."""
        key = self._keys.get((wanted.owner, wanted.name), [])
        if len(key) != 1:
            return ["1 = 1"]
        column = quote_names(self._kind, key[0])
        where = self.config.build_condition("1 = 1")
        query = f"SELECT MIN({column}) AS least, MAX({column}) AS most FROM {source} {where}"  # noqa: S608
        ((least, most),) = self._ask(context, query)
        if not is_number(least) or not is_number(most):
            return ["1 = 1"]
        return split_conditions(column, least, most, min(self.config.splits, _MOST_SPLITS))

    def _add_errors(self, context: SourceContext, read: DataFrame) -> DataFrame:
        """Add an error record for each table that cannot be read."""
        from pyspark.sql import functions as f

        record = f"named_struct({', '.join(repr(n) + ', ' + n for n in _ERROR.field_names)})"
        rows = [
            (self.config.reference_name, message, _EXCEPTION, name)
            for name, message in self._failed
        ]
        errors = context.spark.createDataFrame(rows, _ERROR.field_names).select(
            *[f.lit(None).cast(type).alias(name) for name, type in read.dtypes],
            f.col("error_message").alias(_MESSAGE),
            f.expr(record).alias(_RECORD),
        )
        records = read.select(
            *[get_column(name) for name in read.columns],
            f.lit(None).cast("string").alias(_MESSAGE),
            f.lit(None).cast(to_ddl(_ERROR)).alias(_RECORD),
        )
        both = context.without_errors(
            records.union(errors), code=f.lit(0), message=f.col(_MESSAGE), record=f.col(_RECORD)
        )
        return both.select(*[get_column(name) for name in read.columns])


def _widen(name: str, given: Schema, wanted: Schema) -> Any:
    """Return a field of a table as the type that it has for all tables; null if the table lacks it."""
    from pyspark.sql import functions as f

    held = given.field(name)
    if held is None:
        return f.lit(None).cast(to_ddl(wanted))
    value = get_column(name)
    if held.schema.non_nullable == wanted.non_nullable:
        return value
    if wanted.non_nullable == Schema.STRING:
        return to_text(value, held.schema)
    return value.cast(to_ddl(wanted))
