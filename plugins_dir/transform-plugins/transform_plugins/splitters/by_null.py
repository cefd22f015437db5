"""The NullFieldSplitter: routes records by whether a field is null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from localcdap.api import (
    EdgeKind,
    Field,
    LineageRecorder,
    PluginConfig,
    Schema,
    SparkContext,
    SplitterTransform,
    StageConfigurer,
    Type,
    field,
    plugin,
)
from localcdap.plugin_lib.spark.columns import get_column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NULL_PORT: Final = "null"
NON_NULL_PORT: Final = "nonnull"


@plugin(
    name="NullFieldSplitter",
    description="Splits records by whether a field is null: port 'null' gets records where it is null, port "
    "'nonnull' gets the others.",
)
class NullFieldSplitter(SplitterTransform):
    class Config(PluginConfig):
        checked: str = field(
            name="field",
            description="Field that is checked for null.",
            macro=True,
            form="{input-field}",
        )
        modify_schema: bool = field(
            "Whether the field is non-nullable in the schema of the port 'nonnull'.",
            default=True,
            name="modifySchema",
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        schema, name = stage.input_schema, self.config.checked
        if schema is None or not name:
            return
        checked = schema.field(name)
        if checked is None:
            stage.failures.add(
                f"Field '{name}' must exist in the input schema."
            ).with_config_property("field")
            return
        stage.port_schemas[NULL_PORT] = schema
        stage.port_schemas[NON_NULL_PORT] = schema
        if not self.config.modify_schema:
            return
        if checked.schema.non_nullable.type is Type.NULL:
            stage.failures.add(
                f"Field '{name}' does not contain a non-null type in its union schema."
            ).with_input_field(name)
            return
        stage.port_schemas[NON_NULL_PORT] = _drop_null(schema, name)

    def record_lineage(self, lineage: LineageRecorder) -> None:
        lineage.influence(EdgeKind.FILTER, [self.config.checked])

    def apply(self, df: DataFrame, context: SparkContext) -> Mapping[str, DataFrame]:
        checked = get_column(self.config.checked)
        return {
            NULL_PORT: df.filter(checked.isNull()),
            NON_NULL_PORT: df.filter(checked.isNotNull()),
        }


def _drop_null(schema: Schema, name: str) -> Schema:
    fields = [Field(f.name, f.schema.non_nullable) if f.name == name else f for f in schema]
    return Schema.record(f"{schema.name}.{NON_NULL_PORT}", fields)
