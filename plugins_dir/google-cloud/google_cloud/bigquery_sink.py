"""The BigQueryTable sink."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from localcdap.api import (
    BatchSink,
    Capabilities,
    Schema,
    SinkContext,
    StageConfigurer,
    capability,
    plugin,
)
from localcdap.api.rules import check_names, check_reference_name, check_subset, check_table_key
from localcdap.api.table_writes import Order, TableWrite
from localcdap.dataframes.columns import column
from localcdap.dataframes.guards import required

from .bigquery_sink_config import BigQuerySinkConfig
from .tables import check_columns, check_table, table_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_INSERT: Final = "insert"
_ORDERS: Final = ("asc", "desc")


@plugin(
    type="batchsink",
    name="BigQueryTable",
    description="Stand-in: writes into the table of this instance that stands for one of BigQuery.",
)
@capability(Capabilities.Mode.NATIVE)
class BigQuerySink(BatchSink):
    Config = BigQuerySinkConfig
    config: BigQuerySinkConfig

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        check_reference_name(stage, config.reference_name)
        check_table(stage, config, config.dataset, config.table)
        if config.partition_filter and not config.contains_macro("partitionFilter"):
            stage.failures.add(
                "Property 'partitionFilter' is set, but tables have no partitions here.",
                "Remove it: rows are matched by their keys in the whole table.",
            ).with_config_property("partitionFilter")
        self._check_operation(stage)
        schema = self._written(stage.input_schema)
        if schema is None or config.contains_macro("schema"):
            return
        check_names(stage, schema)
        if stage.input_schema is not None:
            check_subset(stage, stage.input_schema, schema)
        self._check_fields(stage, schema)

    def configure_connected(self, stage: StageConfigurer) -> None:
        """Compare the fields with the columns of the table, where there is one that stays."""
        config = self.config
        schema = self._written(stage.input_schema)
        deciding = ("dataset", "table", "schema", "truncateTable", "allowSchemaRelaxation")
        if schema is None or config.truncate or any(map(config.contains_macro, deciding)):
            return
        name = table_name(config.dataset, config.table)
        held = stage.find_table(name)
        if held is not None:
            check_table_key(stage, name, None)
            check_columns(stage, name, held.schema, schema, relaxes=config.relaxes)

    def _check_operation(self, stage: StageConfigurer) -> None:
        config = self.config
        if config.contains_macro("operation"):
            return
        matches_keys = config.operation.lower() != _INSERT
        has_keys = bool(config.table_key) or config.contains_macro("relationTableKey")
        if matches_keys and not has_keys:
            stage.failures.add(
                "Table key must be set if the operation is 'Update' or 'Upsert'.",
                "Name the fields that tell rows apart.",
            ).with_config_property("relationTableKey")
        if matches_keys and config.truncate:
            stage.failures.add(
                f"A table cannot be truncated by the operation '{config.operation}'.",
                "Set 'truncateTable' to false, or the operation to Insert.",
            ).with_config_property("truncateTable").with_config_property("operation")

    def _check_fields(self, stage: StageConfigurer, schema: Schema) -> None:
        for name in self.config.table_key:
            if schema.field(name) is None:
                stage.failures.add(
                    f"Table key field '{name}' does not exist in the schema.",
                    f"Use one of {', '.join(schema.field_names)}.",
                ).with_config_property("relationTableKey", element=name)
        for element in self.config.dedupe_by:
            name, order = _sorting(element)
            if schema.field(name) is None:
                stage.failures.add(
                    f"Field '{name}' of 'dedupeBy' does not exist in the schema.",
                    f"Use one of {', '.join(schema.field_names)}.",
                ).with_config_property("dedupeBy", element=element)
            if order not in _ORDERS:
                stage.failures.add(
                    f"'{element}' names no order.", "Write 'field asc' or 'field desc'."
                ).with_config_property("dedupeBy", element=element)

    def _written(self, given: Schema | None) -> Schema | None:
        return self.config.schema or given

    def write(self, df: DataFrame, context: SinkContext) -> None:
        config = self.config
        schema = self._written(context.input_schema)
        assert schema is not None
        columns = [
            required(context, column(f.name), f.name, f.schema).alias(f.name) for f in schema
        ]
        operation: Any = config.operation.lower()  # its choices are those of TableWrite
        how = TableWrite(
            operation=operation,
            keys=tuple(config.table_key) if operation != _INSERT else (),
            dedupe_by=tuple(
                Order(name, order == "desc") for name, order in map(_sorting, config.dedupe_by)
            ),
            truncate=config.truncate,
            relaxes=config.relaxes,
        )
        name = table_name(config.dataset, config.table)
        context.load_table(name, df.select(columns), schema, how)


def _sorting(element: str) -> tuple[str, str]:
    """Field and order of an element such as ``updated_at desc`` or ``updated_at:DESC``."""
    name, _, order = element.strip().replace(":", " ").partition(" ")
    return name, order.strip().lower() or "asc"
