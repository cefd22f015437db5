"""The BigQueryTable sink."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from localcdap.api import (
    BatchSink,
    Capabilities,
    LineageRecorder,
    Schema,
    SinkContext,
    StageConfigurer,
    capability,
    plugin,
)
from localcdap.api.rules import (
    check_not_view,
    check_reference_name,
    check_table_key,
)
from localcdap.api.tables import SortField, TableWrite
from localcdap.plugin_lib.spark.conversion import conform_columns

from .conditions import list_columns, to_duckdb_condition
from .partitions import check_held_partitioning, check_partitioning, get_partitioning
from .sink_config import BigQuerySinkConfig
from .sink_rules import check_json_fields, check_output, check_upload
from .sql import SqlError
from .tables import (
    check_columns,
    check_input_fields,
    check_table,
    get_table_name,
    get_written_schema,
)
from .types import name_column_type
from .values import check_arrays, convert_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_INSERT: Final = "insert"
_TABLE: Final = ("dataset", "table", "truncateTable")
_ORDERS: Final = ("asc", "desc")


@plugin(
    name="BigQueryTable",
    description="Local: writes into the local table with the name of a BigQuery table.",
)
@capability(Capabilities.Mode.NATIVE)
class BigQuerySink(BatchSink):
    Config = BigQuerySinkConfig
    config: BigQuerySinkConfig

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        check_reference_name(stage, config.reference_name)
        check_table(stage, config, config.dataset, config.table)
        check_upload(stage, config.bucket, config.chunk_size, config.job_labels)
        self._check_operation(stage)
        if self._filter and not config.contains_macro("operation"):
            try:
                to_duckdb_condition(self._filter)
            except SqlError as error:
                stage.failures.add(error.message, error.action).with_config_property(
                    "partitionFilter"
                )
        schema = self._get_written_schema(stage.input_schema)
        if schema is None or config.contains_macro("schema"):
            return
        check_output(stage, schema)
        check_json_fields(stage, schema, config.json_fields)
        if stage.input_schema is not None:
            check_input_fields(stage, stage.input_schema, schema)
        if config.operation.lower() != _INSERT and not config.contains_macro("operation"):
            self._check_fields(stage, schema)
        check_partitioning(stage, config, schema)
        if not any(map(config.contains_macro, _TABLE)):
            fields = () if config.truncate else schema
            types = {each.name: name_column_type(each.schema) for each in fields}
            stage.columns[get_table_name(config.dataset, config.table)] = {
                name: type for name, type in types.items() if type is not None
            }

    def configure_connected(self, stage: StageConfigurer) -> None:
        """Compare the fields with the columns of the existing table."""
        config = self.config
        if not config.contains_macro("dataset") and not config.contains_macro("table"):
            check_not_view(stage, get_table_name(config.dataset, config.table), "table")
        schema = self._get_written_schema(stage.input_schema)
        deciding = ("dataset", "table", "schema", "truncateTable", "allowSchemaRelaxation")
        if schema is None or any(map(config.contains_macro, deciding)):
            return
        name = get_table_name(config.dataset, config.table)
        held = stage.find_table(name)
        if held is not None and held.is_view:
            return
        if held is not None:
            check_held_partitioning(stage, config, name, held)
        if held is not None and not config.truncate:
            check_table_key(stage, name, None)
            check_columns(stage, name, held.schema, schema, relaxes=config.relaxes)
        self._check_filter(stage, name, schema if held is None else held.schema)

    @property
    def _filter(self) -> str | None:
        """The condition on the rows that an update or upsert may change; None for an insert."""
        config = self.config
        return config.partition_filter if config.operation.lower() != _INSERT else None

    def _check_filter(self, stage: StageConfigurer, table: str, held: Schema) -> None:
        if not self._filter or self.config.contains_macro("operation"):
            return
        known = [name.lower() for name in held.field_names]
        for name in list_columns(self._filter):
            if name.lower() not in known:
                stage.failures.add(
                    f"Column '{name}' of 'partitionFilter' does not exist in table '{table}'.",
                    f"Use one of {', '.join(held.field_names)}.",
                ).with_config_property("partitionFilter")

    def _check_operation(self, stage: StageConfigurer) -> None:
        config = self.config
        if config.contains_macro("operation"):
            return
        matches_keys = config.operation.lower() != _INSERT
        has_keys = bool(config.table_key) or config.contains_macro("relationTableKey")
        if matches_keys and not has_keys:
            stage.failures.add(
                "Table key must be set if the operation is 'Update' or 'Upsert'.",
                "Set it to the fields that identify a row.",
            ).with_config_property("relationTableKey")
        if matches_keys and config.truncate:
            stage.failures.add(
                "Truncate must only be used with operation 'Insert'.",
                "Set Truncate to false, or change the Operation to 'Insert'.",
            ).with_config_property("truncateTable").with_config_property("operation")

    def _check_fields(self, stage: StageConfigurer, schema: Schema) -> None:
        for name in self.config.table_key:
            if schema.field(name) is None:
                stage.failures.add(
                    f"Table key field '{name}' does not exist in the schema.",
                    f"Use one of {', '.join(schema.field_names)}.",
                ).with_config_property("relationTableKey", element=name)
        self._check_repeated(stage, "relationTableKey", "Table key", self.config.table_key)
        by = [_parse_order(element)[0] for element in self.config.dedupe_by]
        self._check_repeated(stage, "dedupeBy", "Dedupe by", by)
        for element in self.config.dedupe_by:
            name, order = _parse_order(element)
            if schema.field(name) is None:
                stage.failures.add(
                    f"Dedupe by field '{name}' does not exist in the schema.",
                    f"Use one of {', '.join(schema.field_names)}.",
                ).with_config_property("dedupeBy", element=element)
            if order not in _ORDERS:
                stage.failures.add(
                    f"'{element}' has no valid order.", "Write 'field asc' or 'field desc'."
                ).with_config_property("dedupeBy", element=element)

    def _check_repeated(
        self, stage: StageConfigurer, name: str, label: str, fields: Sequence[str]
    ) -> None:
        for field in sorted({field for field in fields if fields.count(field) > 1}):
            stage.failures.add(
                f"{label} field '{field}' is duplicated.",
                f"Remove duplicates of {label} field '{field}'.",
            ).with_config_property(name)

    def _get_written_schema(self, given: Schema | None) -> Schema | None:
        return self.config.schema or given

    def record_lineage(self, lineage: LineageRecorder) -> None:
        config = self.config
        if not any(map(config.contains_macro, ("dataset", "table"))):
            lineage.datasets.append(get_table_name(config.dataset, config.table))

    def write(self, df: DataFrame, context: SinkContext) -> None:
        config = self.config
        schema = self._get_written_schema(context.input_schema)
        assert schema is not None
        operation: Any = config.operation.lower()  # the property has the choices of TableWrite
        how = TableWrite(
            operation=operation,
            keys=tuple(config.table_key) if operation != _INSERT else (),
            dedupe_by=tuple(
                SortField(name, order == "desc")
                for name, order in map(_parse_order, config.dedupe_by)
            ),
            truncate=config.truncate,
            relaxes=config.relaxes,
            among=to_duckdb_condition(self._filter) if self._filter else None,
            partitioning=get_partitioning(config),
        )
        name = get_table_name(config.dataset, config.table)
        held = None if config.truncate else context.find_table(name)
        written = get_written_schema(schema, None if held is None else held.schema)
        rows = convert_rows(context, df, context.input_schema, written, rounds=True)
        rows = check_arrays(context, rows, context.input_schema)
        context.load_table(name, rows.select(conform_columns(context, rows, written)), written, how)

    def preview(self, df: DataFrame, context: SinkContext) -> None:
        self.write(df, context)


def _parse_order(element: str) -> tuple[str, str]:
    """Parse an element such as ``updated_at desc`` or ``updated_at:DESC`` into field and order."""
    name, _, order = element.strip().replace(":", " ").partition(" ")
    return name, order.strip().lower() or "asc"
