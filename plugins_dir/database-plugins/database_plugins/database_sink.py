"""The Database sink."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localcdap.api import (
    BatchSink,
    SinkContext,
    StageConfigurer,
    field,
    plugin,
)
from localcdap.api.rules import check_reference_name, check_simple_fields
from localcdap.plugin_lib.spark.columns import get_column

from .errors import call_database
from .jdbc import (
    DatabaseConfig,
    JdbcConfig,
    check_isolation,
    get_column_types,
    make_reader,
    to_isolation_level,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_TABLE = "tableName"


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
        default="insert",
        choices=("insert",),
        name="operationName",
        group="more",
    )
    table_key: str | None = field(
        "Fields that identify a row, for updates. Must be empty, because only inserts are supported.",
        default=None,
        name="relationTableKey",
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
        if config.table_key and not config.contains_macro("relationTableKey"):
            stage.failures.add(
                "Table key should be null in case of 'INSERT'.",
                "Remove it; only inserts are supported.",
            ).with_config_property("relationTableKey").with_config_property("operationName")
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

    def configure_connected(self, stage: StageConfigurer) -> None:
        self.config.check_driver(stage)

    def write(self, df: DataFrame, context: SinkContext) -> None:
        config = self.config
        options = config.build_options(context) | {"dbtable": config.get_table_name()}
        url = options["url"]
        there = call_database(
            context, url, lambda: get_column_types(make_reader(context, options).load())
        )
        rows = df.select(self._select_columns(context, get_column_types(df), there))
        # One task writes all rows, in one transaction.
        writer = rows.repartition(1).write.format("jdbc").mode("append")
        options |= {"isolationLevel": config.get_isolation()}
        call_database(context, url, lambda: writer.options(**options).save())

    def _select_columns(
        self, context: SinkContext, given: dict[str, str], there: dict[str, str]
    ) -> list[Column]:
        """Return the values to write, with the column names of the table.

        :raises StageError: when the table lacks a column.
        """
        folded = {name.lower(): name for name in there}
        columns = []
        for name in self.config.columns or given:
            target = name if name in there else folded.get(name.lower())
            if target is None:
                raise context.fail(
                    f"table '{self.config.table}' has no column '{name}'; its columns are: "
                    f"{', '.join(there)}.",
                    "Rename or drop the field, or set 'columns' to the fields to write.",
                )
            value = get_column(name)
            if (given[name], there[target]) == ("timestamp", "timestamp_ntz"):
                value = value.cast("timestamp_ntz")
            columns.append(value.alias(target))
        return columns


@plugin(
    name="Database",
    description="Inserts each record as a row into a table, with a JDBC driver that you supply.",
)
class DatabaseSink(DatabaseSinkBase):
    """The rows are in the table as soon as this sink has ended, even if another stage fails the run later."""

    class Config(DatabaseSinkConfig, DatabaseConfig):
        """Any database."""
