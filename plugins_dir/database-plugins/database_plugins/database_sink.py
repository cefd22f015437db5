"""The Database sink."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from localcdap.api import (
    AlteredRows,
    BatchSink,
    SinkContext,
    StageConfigurer,
    StageError,
    field,
    plugin,
)
from localcdap.api.rules import check_reference_name, check_simple_fields
from localcdap.plugin_lib.spark.columns import get_column

from . import keyed_writes
from .column_limits import build_alteration_check, describe_column, to_written
from .jdbc import (
    DatabaseConfig,
    JdbcConfig,
    call_database,
    check_isolation,
    execute_statement,
    get_column_types,
    get_database_kind,
    make_reader,
    to_isolation_level,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_TABLE = "tableName"
_OPERATION, _TABLE_KEY = "operationName", "relationTableKey"
_INSERT = "insert"
_WITH_KEY = ("Table key should be null in case of 'INSERT'.", "Remove it, or change the operation.")
_WITHOUT_KEY = (
    "Table key must be set if the operation is 'Update' or 'Upsert'.",
    "Set it to the fields that identify a row.",
)


class DatabaseSinkConfig(JdbcConfig, macros=True):
    """The properties of sinks of databases."""

    reference_name: str | None = field(
        "Name of this sink in lineage and metadata: letters, digits, '_', '-', '.', '$'.",
        default=None,
        name="referenceName",
        macro=False,
    )
    table: str = field(
        "Table to insert rows into, with its schema if needed: sales.orders. It must exist.",
        name=_TABLE,
    )
    schema_name: str | None = field(
        "Schema of the table; by default, the one in its name or the default schema of the user.",
        default=None,
        name="dbSchemaName",
    )
    columns: list[str] = field(
        "Fields to write, each into the column of its name; by default, all fields of the input.",
        default=[],
        form="{input-field},",
    )
    operation: str = field(
        "Operation; only insert is supported.",
        default=_INSERT,
        choices=(_INSERT,),
        name=_OPERATION,
        group="more",
    )
    table_key: list[str] = field(
        "Fields that identify a row, for updates. Must be empty, because only inserts are supported.",
        default=[],
        name=_TABLE_KEY,
        group="more",
    )
    name_case: str | None = field(
        "Case of column names; without effect, because columns are found in any case.",
        default=None,
        name="columnNameCase",
        group="more",
    )
    isolation: str = field(
        "Isolation level of the transaction in which all rows are written.",
        default="TRANSACTION_SERIALIZABLE",
        name="transactionIsolationLevel",
        group="more",
    )

    def get_table_name(self) -> str:
        """Return the table's name in SQL."""
        return ".".join(
            part.strip() for part in (self.schema_name or "", self.table) if part.strip()
        )

    def get_isolation(self) -> str:
        """Return Spark's name of the isolation level."""
        return "NONE" if self.auto_commit else to_isolation_level(self.isolation)


class DatabaseSinkBase(BatchSink):
    """Inserts rows into a table with Spark's JDBC writer, all in one transaction."""

    config: DatabaseSinkConfig

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        check_reference_name(stage, config.reference_name)
        config.check(stage)
        check_isolation(stage, config, config.isolation)
        self._check_operation(stage)
        schema = stage.input_schema
        if schema is None:
            return
        check_simple_fields(stage, schema, is_input=True)
        for name in config.columns:
            if schema.field(name) is None:
                stage.failures.add(
                    f"Column '{name}' is not a field of the input schema.",
                    f"Use one of {', '.join(schema.field_names)}.",
                ).with_config_property("columns", element=name)

    def _check_operation(self, stage: StageConfigurer) -> None:
        """Apply the rules of CDAP's ``AbstractDBSink.validateOperations``."""
        config = self.config
        if config.contains_macro(_OPERATION) or config.contains_macro(_TABLE_KEY):
            return
        is_insert = config.operation == _INSERT
        if is_insert == bool(config.table_key):
            message, action = _WITH_KEY if is_insert else _WITHOUT_KEY
            stage.failures.add(message, action).with_config_property(
                _TABLE_KEY
            ).with_config_property(_OPERATION)
        schema = stage.input_schema
        if schema is None or is_insert:
            return
        for name in config.table_key:
            if schema.field(name) is None:
                stage.failures.add(
                    f"Table key field '{name}' does not exist in the schema.",
                    "Change the Table key field to be one of the schema fields.",
                ).with_config_property(_TABLE_KEY, element=name)
            elif config.columns and name not in config.columns:
                stage.failures.add(
                    f"Table key field '{name}' is not one of the columns to write.",
                    "Add it to 'columns', or leave 'columns' empty.",
                ).with_config_property(_TABLE_KEY, element=name)

    def configure_connected(self, stage: StageConfigurer) -> None:
        self.config.check_driver(stage)

    def write(self, df: DataFrame, context: SinkContext) -> None:
        config = self.config
        options = config.build_options(context) | {"dbtable": config.get_table_name()}
        url = options["url"]
        columns = call_database(context, url, lambda: make_reader(context, options).load().schema)
        there = {column.name: column.dataType.simpleString() for column in columns}
        given = get_column_types(df)
        targets = self._find_targets(context, given, there)
        df = self._count_altered(context, df, targets, columns, options)
        kind = get_database_kind(url)
        rows = df.select(
            [
                to_written(get_column(name), given[name], there[target], kind).alias(target)
                for name, target in targets.items()
            ]
        )
        if config.operation != _INSERT:
            self._write_by_key(context, rows, options, targets)
            return
        self._insert(context, rows, options)

    def _count_altered(
        self,
        context: SinkContext,
        df: DataFrame,
        targets: dict[str, str],
        columns: StructType,
        options: dict[str, str],
    ) -> DataFrame:
        """Count the values that the columns of the table cannot hold as they are."""
        from pyspark.sql import functions as F  # noqa: N812

        given, kind = get_column_types(df), get_database_kind(options["url"])
        changes = []
        for name, target in targets.items():
            value, column = get_column(name), columns[target]
            is_altered = build_alteration_check(
                value, given[name], column, kind, options.get("driver")
            )
            if is_altered is not None:
                change = (
                    f"field '{name}' does not fit column '{target}' of the type "
                    f"{describe_column(column)}, which changes it"
                )
                changes.append(AlteredRows(change, F.when(is_altered, value.cast("string"))))
        return context.observe_altered(df, *changes)

    def _insert(self, context: SinkContext, rows: DataFrame, options: dict[str, str]) -> None:
        # One task writes all rows, in one transaction.
        writer = rows.repartition(1).write.format("jdbc").mode("append")
        level = {"isolationLevel": self.config.get_isolation()}
        call_database(context, options["url"], lambda: writer.options(**options | level).save())

    def _write_by_key(
        self,
        context: SinkContext,
        rows: DataFrame,
        options: dict[str, str],
        targets: dict[str, str],
    ) -> None:
        """Update rows, or insert those that are new, all in one statement.

        :param targets: the column of each field.
        """
        from pyspark.sql import functions as F  # noqa: N812

        config, table = self.config, self.config.get_table_name()
        staging = keyed_writes.build_staging_name(table, uuid.uuid4().hex)
        columns = list(targets.values())
        keys = [targets[name] for name in config.table_key]
        statement = keyed_writes.build_keyed_write(config.operation, table, staging, columns, keys)
        create = keyed_writes.build_staging_statement(table, staging, columns)
        execute_statement(context, config, create)
        try:
            records = rows.withColumn(keyed_writes.ORDER, F.monotonically_increasing_id())
            self._insert(context, records, options | {"dbtable": staging})
            if config.operation == keyed_writes.UPDATE:
                self._report_unmatched(context, options, staging, keys)
            execute_statement(context, config, statement)
        finally:
            try:
                execute_statement(context, config, f"DROP TABLE IF EXISTS {staging}")
            except StageError as error:
                # What failed before, or that the rows are written, matters more.
                context.logger.warning("Drop the table %s: %s", staging, error.message)

    def _report_unmatched(
        self, context: SinkContext, options: dict[str, str], staging: str, keys: list[str]
    ) -> None:
        """Log how many records update no row."""
        table = self.config.get_table_name()
        query = keyed_writes.build_unmatched_query(table, staging, keys)
        asked = {name: value for name, value in options.items() if name != "dbtable"}
        ((count,),) = call_database(
            context,
            options["url"],
            lambda: make_reader(context, asked | {"query": query}).load().collect(),
        )
        if count:
            context.logger.warning(
                "Records without a row in table %s, which an update leaves out: %d.", table, count
            )

    def _find_targets(
        self, context: SinkContext, given: dict[str, str], there: dict[str, str]
    ) -> dict[str, str]:
        """Return the column of the table for each field to write.

        :raises StageError: when the table lacks a column.
        """
        folded = {name.lower(): name for name in there}
        targets = {}
        for name in self.config.columns or given:
            target = name if name in there else folded.get(name.lower())
            if target is None:
                raise context.fail(
                    f"table '{self.config.table}' has no column '{name}'; its columns are: "
                    f"{', '.join(there)}.",
                    "Rename or drop the field, or set 'columns' to the fields to write.",
                )
            targets[name] = target
        return targets


@plugin(
    name="Database",
    description="Inserts each record as a row into a table, with a JDBC driver that you supply.",
)
class DatabaseSink(DatabaseSinkBase):
    """The rows are in the table as soon as this sink has ended, even if another stage fails the run later."""

    class Config(DatabaseSinkConfig, DatabaseConfig):
        """Any database."""
