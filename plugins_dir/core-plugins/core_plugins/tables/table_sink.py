"""The Table sink."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localcdap.api import (
    BatchSink,
    LineageRecorder,
    PluginConfig,
    Schema,
    SinkContext,
    SinkSampleContext,
    StageConfigurer,
    field,
    plugin,
)
from localcdap.api.rules import (
    check_names,
    check_not_view,
    check_simple_fields,
    check_subset,
    check_table_key,
    check_table_name,
)
from localcdap.plugin_lib.sink_samples import are_certain
from localcdap.plugin_lib.spark.checks import require_value
from localcdap.plugin_lib.spark.columns import get_column

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_KEY = "schema.row.field"


@plugin(
    name="Table",
    description="Writes each record as a row of a table; a row with the same key is replaced.",
)
class TableSink(BatchSink):
    class Config(PluginConfig, macros=True):
        name: str = field(
            "Name of the table in this namespace; it is created if it does not exist."
        )
        schema: Schema | None = field(
            "Columns of the table: fields of the input, of simple types. By default, all fields of the "
            "input.",
            default=None,
        )
        row_field: str = field(
            "Field that is the key of a row. Of several records with the same key, the last is kept.",
            name=_KEY,
            form="{input-field}",
        )
        is_case_sensitive: bool = field(
            "Whether the key is written as the field; otherwise the field may have another case (CDAP 3).",
            default=True,
            name="case.sensitive.row.field",
        )

        def find_key(self, schema: Schema) -> str:
            """Return the name of the key field; as it is written, if no field has it."""
            if self.is_case_sensitive:
                return self.row_field
            wanted = self.row_field.lower()
            return next((n for n in schema.field_names if n.lower() == wanted), self.row_field)

    config: Config

    def record_lineage(self, lineage: LineageRecorder) -> None:
        if not self.config.contains_macro("name"):
            lineage.datasets.append(self.config.name)

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        check_table_name(stage, config)
        if config.contains_macro("schema"):
            return
        schema = config.schema or stage.input_schema
        if schema is None:
            return
        check_simple_fields(stage, schema, is_input=stage.input_schema is not None)
        check_names(stage, schema)
        if stage.input_schema is not None:
            check_subset(stage, stage.input_schema, schema)
        if config.row_field is not None and not config.contains_macro(_KEY):
            self._check_key(stage, schema, config.find_key(schema))
            if not stage.failures and not config.contains_macro("name"):
                self._declare_table(stage, schema, config.find_key(schema))

    def _declare_table(self, stage: StageConfigurer, schema: Schema, key: str) -> None:
        properties = {"schema": str(_require_key(schema, key)), _KEY: key}
        stage.create_dataset(self.config.name, "table", properties, config_property="name")

    def configure_connected(self, stage: StageConfigurer) -> None:
        config = self.config
        if not config.contains_macro("name"):
            check_not_view(stage, config.name, "name")
        if not config.contains_macro("name") and not config.contains_macro(_KEY):
            schema = config.schema or stage.input_schema
            key = config.row_field if schema is None else config.find_key(schema)
            check_table_key(stage, config.name, key)

    def _check_key(self, stage: StageConfigurer, schema: Schema, key: str) -> None:
        """Apply the rules of CDAP 6 ``TableSink``."""
        if schema.field(key) is None:
            stage.failures.add(
                "Output schema should contain the rowkey column.",
                f"'{key}' is not a field; use one of {', '.join(schema.field_names)}.",
            ).with_config_property(_KEY)
        elif len(schema.field_names) == 1:
            stage.failures.add(
                "Output schema should have columns other than rowkey.",
                f"Add a field other than '{key}'.",
            ).with_config_property(_KEY)

    def write(self, df: DataFrame, context: SinkContext) -> None:
        schema = self.config.schema or context.input_schema
        key = self.config.find_key(schema)
        columns = [
            require_value(context, get_column(each.name), each.name, each.schema).alias(each.name)
            for each in _require_key(schema, key)
        ]
        context.write_table(self.config.name, df.select(columns), schema, key)

    def preview(self, df: DataFrame, context: SinkContext) -> None:
        self.write(df, context)

    def accepts(self, batch: pa.RecordBatch, context: SinkSampleContext) -> bool:
        schema = self.config.schema or context.input_schema
        key = self.config.find_key(schema)
        if schema.field(key) is None:
            return False
        return are_certain(batch, context.input_schema, _require_key(schema, key))


def _require_key(schema: Schema, key: str) -> Schema:
    """Return the columns of the table: the key of a row must not be null, even if the schema is nullable."""
    return Schema.record(
        schema.name or "row",
        [(f.name, f.schema.non_nullable if f.name == key else f.schema) for f in schema],
    )
