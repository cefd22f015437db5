"""The Distinct aggregator: removes duplicate records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localcdap.api import (
    BatchAggregator,
    EdgeKind,
    Field,
    LineageRecorder,
    PluginConfig,
    Schema,
    SparkContext,
    StageConfigurer,
    field,
    plugin,
)
from localcdap.plugin_lib.spark.columns import get_column

from .keys import check_comparable, num_partitions_field

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@plugin(
    name="Distinct",
    description="Removes duplicate records. With a list of fields, the output has only these fields.",
)
class Distinct(BatchAggregator):
    class Config(PluginConfig):
        fields: list[str] = field(
            "Fields to compare, comma-separated; others are dropped. If empty, whole records are "
            "compared.",
            default=[],
            macro=True,
            form="{input-field}",
        )
        num_partitions: int | None = num_partitions_field()

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        schema = stage.input_schema
        if schema is None or self.config.contains_macro("fields"):
            return
        fields: list[Field] = []
        for name in self.config.fields or schema.field_names:
            compared = schema.field(name)
            if compared is None:
                stage.failures.add(
                    f"Field {name} does not exist in input schema.", "Remove this field."
                ).with_config_property("fields", element=name)
            elif check_comparable(stage, name, compared.schema, "fields"):
                fields.append(compared)
        has_list = bool(self.config.fields)
        stage.output_schema = (
            Schema.record(f"{schema.name}.distinct", fields) if has_list else schema
        )

    def input_fields(self, stage: StageConfigurer) -> list[str] | None:
        return self.config.fields or None

    def record_lineage(self, lineage: LineageRecorder) -> None:
        lineage.influence(EdgeKind.GROUP_BY, self.config.fields or lineage.input_fields)

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        columns = [get_column(name) for name in self.config.fields or df.columns]
        compared = df.select(*columns)
        if self.config.num_partitions:
            compared = compared.repartition(self.config.num_partitions, *columns)
        return compared.distinct()
