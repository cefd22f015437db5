"""The Table source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localcdap.api import (
    BatchSource,
    LineageRecorder,
    PluginConfig,
    Schema,
    SourceContext,
    StageConfigurer,
    field,
    plugin,
)
from localcdap.api.rules import check_simple_fields, check_table_name
from localcdap.plugin_lib.spark.conversion import conform_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SOURCES = ("schema", "name")
"""The properties that decide on the schema."""


@plugin(
    name="Table",
    description="Reads all rows of a table of this namespace, as they are when the run starts.",
)
class TableSource(BatchSource):
    class Config(PluginConfig, macros=True):
        name: str = field("Name of the table. It must exist; 'localcdap tables' lists all tables.")
        schema: Schema | None = field(
            "Schema of the records: columns of the table, of simple types. Other columns are not read; "
            "a field that the table lacks is null. Without a schema, all columns of simple types are read.",
            default=None,
        )
        row_field: str | None = field(
            "Field with the key of the row. It must be in the schema and must not be nullable.",
            default=None,
            name="schema.row.field",
            form="{output-field}",
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        check_table_name(stage, config)
        schema = stage.output_schema = config.schema
        if schema is not None:
            check_simple_fields(stage, schema)
            self._check_key(stage, schema)

    def configure_connected(self, stage: StageConfigurer) -> None:
        if stage.output_schema is not None or any(map(self.config.contains_macro, _SOURCES)):
            return
        table = stage.find_table(self.config.name)
        if table is None:
            stage.failures.add(
                f"Schema must be specified, because there is no table '{self.config.name}'.",
                "Set it to the columns to read, or create the table.",
            ).with_config_property("schema")
            return
        fields = [each for each in table.schema if each.schema.is_simple]
        stage.output_schema = Schema.record(table.schema.name or self.config.name, fields)
        self._check_key(stage, stage.output_schema)

    def _check_key(self, stage: StageConfigurer, schema: Schema) -> None:
        key = self.config.row_field
        if key is not None:
            found = schema.field(key)
            if found is None:
                stage.failures.add(
                    f"Row field '{key}' must exist in the schema.",
                    f"Use one of {', '.join(schema.field_names)}.",
                ).with_config_property("schema.row.field")
            elif found.schema.is_nullable:
                stage.failures.add(
                    f"Row field '{key}' must not allow null.", "Change its type in the schema."
                ).with_config_property("schema.row.field").with_output_field(key)

    def record_lineage(self, lineage: LineageRecorder) -> None:
        if not self.config.contains_macro("name"):
            lineage.datasets.append(self.config.name)

    def read(self, context: SourceContext) -> DataFrame:
        schema = context.output_schema
        assert schema is not None
        rows = context.read_table(self.config.name)
        return rows.select(conform_columns(context, rows, schema))
