"""The source MultiTableDatabase, which reads many tables of a database at once.

The one schema that the records of several tables have.

The properties of the source MultiTableDatabase.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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
    Type,
    field,
    plugin,
)
from localcdap.api.rules import check_reference_name
from localcdap.api.sql_names import quote_column
from localcdap.java.numbers import is_number
from localcdap.plugin_lib.spark.columns import get_column, to_ddl
from localcdap.plugin_lib.spark.conversion import conform_columns, to_text

from . import servers
from .catalogue import (
    build_keys_query,
    build_tables_query,
    has_schemas,
    quote_names,
)
from .column_types import UnsupportedTypeError, to_table_schema
from .database_source import split_conditions, strip_semicolon
from .exact_times import list_local_columns, list_text_columns, parse_times
from .jdbc import (
    DatabaseConfig,
    call_database,
    check_isolation,
    get_database_kind,
    make_reader,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row
    from pyspark.sql.types import StructType


ALLOW, BLOCK, STATEMENTS = "allow-list", "block-list", "sql-statements"
SKIP, SEND, FAIL = "skip-table", "send-to-error-port", "fail-pipeline"
_TABLES: Final = "tables"
_SEPARATOR: Final = re.compile(r"(?<!\\);")


class MultiTableConfig(DatabaseConfig, macros=True, rename="camel", additions=servers.MULTI_TABLE):
    """Properties as CDAP's (multi-table-plugins, ``io/cdap/plugin/format/MultiTableConf.java``)."""

    reference_name: str = field(
        "Name of this source in lineage and metadata: letters, digits, '_', '-', '.', '$'.",
        macro=False,
    )
    mode: str = field(
        "What is read: the tables on the allow list, or all of them; all but those on the block list; or SQL "
        "statements.",
        default=ALLOW,
        choices=(ALLOW, BLOCK, STATEMENTS),
        name="dataSelectionMode",
    )
    schema_pattern: str | None = field(
        "Pattern of SQL for the schemas of the tables; without effect for MySQL.",
        default=None,
        name="schemaNamePattern",
        group=_TABLES,
    )
    table_pattern: str | None = field(
        "Pattern of SQL for the names of the tables.",
        default=None,
        name="tableNamePattern",
        group=_TABLES,
    )
    allowed: list[str] = field(
        "The tables to read; by default all of them.", default=[], name="whiteList", group=_TABLES
    )
    blocked: list[str] = field(
        "The tables not to read.", default=[], name="blackList", group=_TABLES
    )
    where_clause: str | None = field(
        "Condition for the rows of each table, as: where updated_at > '2018-08-20'.",
        default=None,
        syntax="sql",
        group=_TABLES,
    )
    splits: int = field(
        "Number of parts of each table that are read in parallel, at most 8. A table is split by its primary "
        "key, if that is one column of numbers.",
        default=1,
        name="splitsPerTable",
        group=_TABLES,
    )
    statements: str = field(
        "SELECT statements, separated by ';'. A semicolon in a statement is written '\\;'.",
        default="",
        name="sqlStatements",
        syntax="sql",
        group="SQL statements",
    )
    aliases: str = field(
        "Table names of the records of each statement, separated by ';'; by default sql_statement_1 and so "
        "on.",
        default="",
        name="tableAliases",
        group="SQL statements",
    )
    name_field: str = field(
        "Field for the name of the table, which must not be the name of a column.",
        default="tablename",
        name="tableNameField",
        macro=False,
    )
    on_error: str = field(
        "What happens when a table cannot be read: the run fails, the table is left out, or there is an "
        "error record. A row that cannot be fetched always fails the run.",
        default=FAIL,
        choices=(SKIP, SEND, FAIL),
        name="errorHandlingMode",
        macro=False,
    )
    fetch_size: int | None = field(
        "Number of rows that the driver fetches at once.", default=None, group="more"
    )
    timeout: int | None = field(
        "Time limit of a query in seconds.",
        default=None,
        name="queryTimeoutSeconds",
        group="more",
        macro=False,
    )
    isolation: str = field(
        "Isolation level; without effect, because reading uses the database's default.",
        default="TRANSACTION_SERIALIZABLE",
        name="transactionIsolationLevel",
        group="more",
    )

    def check(self, stage: StageConfigurer) -> None:
        """Add failures for what is wrong by itself."""
        super().check(stage)
        check_reference_name(stage, self.reference_name)
        check_isolation(stage, self, self.isolation)
        if (
            self.splits is not None
            and self.splits < 1
            and not self.contains_macro("splitsPerTable")
        ):
            stage.failures.add(
                f"Invalid number of splits '{self.splits}'.", "It must be at least 1."
            ).with_config_property("splitsPerTable")
        if self.mode == STATEMENTS and not self.contains_macro("sqlStatements"):
            self._check_statements(stage)

    def _check_statements(self, stage: StageConfigurer) -> None:
        statements, aliases = self.list_statements(), split_texts(self.aliases)
        if not statements:
            stage.failures.add(
                "There is no SQL statement.", "Write one, or choose tables."
            ).with_config_property("sqlStatements")
        elif len(aliases) < len(statements) and not self.contains_macro("tableAliases"):
            stage.warnings.add(
                "Not every SQL statement has an alias: Spark does not tell the tables of a statement, so "
                "that the names of the others are sql_statement_1 and so on.",
                "Write an alias for each statement.",
            ).with_config_property("tableAliases")

    def list_statements(self) -> list[tuple[str, str]]:
        """Return the statements with the names of their tables."""
        aliases = split_texts(self.aliases)
        return [
            (aliases[n] if n < len(aliases) else f"sql_statement_{n + 1}", statement)
            for n, statement in enumerate(split_texts(self.statements))
        ]

    def is_selected(self, table: str) -> bool:
        """Return whether a table is to be read; both lists count in both modes, as in CDAP."""
        return table not in self.blocked and (not self.allowed or table in self.allowed)

    def build_condition(self, split: str) -> str:
        """Return the WHERE clause of a part of a table."""
        given = re.sub(r"^\s*where\b", "", self.where_clause or "", flags=re.IGNORECASE).strip()
        return f"WHERE ({given}) AND {split}" if given else f"WHERE {split}"


def split_texts(text: str) -> list[str]:
    r"""Split texts that ``;`` separates, and ``\;`` does not.

    >>> split_texts(r"a; b\;c;")
    ['a', 'b;c']
    """
    parts = (part.replace("\\;", ";").strip() for part in _SEPARATOR.split(text or ""))
    return [part for part in parts if part]


_WHOLE: Final = frozenset((Type.INT, Type.LONG))
_FRACTIONS: Final = frozenset((Type.INT, Type.FLOAT, Type.DOUBLE))
"""The types whose values are all doubles."""


def unite_schemas(tables: Sequence[Schema]) -> tuple[Schema, dict[str, list[str]]]:
    """Return the schema that the records of all tables have, and the fields whose types differ.

    It has the columns of all tables, by name. Those that not every table has may be null. Numbers of several
    types become the type that has them all, and anything else of several types becomes a text.

    :param tables: their schemas, which have the names of the tables.
    :returns: the schema; and by field, its types with their tables, for messages.
    """
    found: dict[str, list[tuple[str | None, Schema]]] = {}
    for table in tables:
        for each in table:
            found.setdefault(each.name, []).append((table.name, each.schema))
    fields, different = [], {}
    for name, given in found.items():
        kinds = {schema.non_nullable for _, schema in given}
        common = _find_common(kinds)
        if len(kinds) > 1:
            different[name] = [f"{schema.display_name} in '{table}'" for table, schema in given]
        may_be_null = len(given) < len(tables) or any(schema.is_nullable for _, schema in given)
        fields.append((name, common.as_nullable if may_be_null else common))
    return Schema.record("tables", fields), different


def _find_common(kinds: set[Schema]) -> Schema:
    if len(kinds) == 1:
        return next(iter(kinds))
    if all(each.logical_type is None for each in kinds):
        types = {each.type for each in kinds}
        if types <= _WHOLE:
            return Schema.LONG
        if types <= _FRACTIONS:
            return Schema.DOUBLE
    return Schema.STRING


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
    queries: list[str]
    """Those of its parts."""
    columns: StructType
    """With Spark's default types."""


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
            for query in table.queries:
                rows = self._read_part(context, query, table.columns)
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
        asked = self._options | {"query": queries[0]}
        columns = call_database(
            context, self._options["url"], lambda: make_reader(context, asked).load().schema
        )
        try:
            schema = to_table_schema(columns, wanted.name)
        except UnsupportedTypeError as error:
            raise context.fail(f"table '{wanted.name}': {error}") from None
        if schema.field(self.config.name_field) is not None:
            raise context.fail(
                f"table '{wanted.name}' has a column '{self.config.name_field}' already.",
                "Change 'tableNameField'.",
            )
        return _Table(schema, queries, columns)

    def _read_part(self, context: SourceContext, query: str, columns: StructType) -> DataFrame:
        texts = list_text_columns(columns, self._kind)
        local = list_local_columns(columns, self._kind)
        types = ", ".join(
            f"{quote_column(column.name)} {'string' if column in texts else 'timestamp'}"
            for column in (*texts, *local)
        )
        asked = self._options | {"query": query} | ({"customSchema": types} if types else {})
        parsed, changes = parse_times(context, texts, self._options)
        rows = context.observe_altered(make_reader(context, asked).load(), *changes)
        return rows.withColumns(parsed) if parsed else rows

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
