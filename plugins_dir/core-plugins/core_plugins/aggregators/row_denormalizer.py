"""The RowDenormalizer aggregator: records with one named value each become one wide record per key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from localcdap.api import (
    AlteredRows,
    BatchAggregator,
    EdgeKind,
    FailureCollector,
    LineageRecorder,
    PluginConfig,
    Schema,
    SparkContext,
    StageConfigurer,
    Type,
    field,
    plugin,
)
from localcdap.plugin_lib.spark.columns import get_column

from .aggregates import num_partitions_field

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ORDER: Final = "__localcdap_order"
_NO_KEY: Final = "a record without a key was left out, as in CDAP"
_PROPERTIES: Final = ("keyField", "nameField", "valueField")


@plugin(
    name="RowDenormalizer",
    description="Combines the records of a key into one record: their names become fields, their values "
    "become the values of these fields. Records without a key are dropped.",
)
class RowDenormalizer(BatchAggregator):
    """If a key has several values for a name, the last one is used."""

    class Config(PluginConfig, macros=True, rename="camel"):
        key_field: str = field("String field whose value groups the records.", form="{input-field}")
        name_field: str = field(
            "String field with the names of output fields.", form="{input-field}"
        )
        value_field: str = field(
            "String field with the values of output fields.", form="{input-field}"
        )
        output_fields: list[str] = field(
            "Names that become output fields, comma-separated. Other names are dropped; a name that a "
            "key lacks is null."
        )
        field_aliases: str = field(
            "Aliases of output fields, a comma-separated list of 'name:output field', such as "
            "'ADDRESS:addr'.",
            default="",
            form="{name}:{output field},",
        )
        num_partitions: int | None = num_partitions_field()

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        names = self._find_outputs(stage.failures)
        schema = stage.input_schema
        if schema is None:
            return
        config = self.config
        for property, name in zip(
            _PROPERTIES, (config.key_field, config.name_field, config.value_field), strict=True
        ):
            if name:
                _check_field(stage, schema, property, name)
        if config.key_field in names:
            stage.failures.add(
                f"Output field '{config.key_field}' has the name of the key field.",
                "Give it an alias.",
            ).with_config_property("outputFields", element=config.key_field)
        if not config.macros - {"numPartitions"} and not len(stage.failures):
            fields = [(config.key_field, Schema.STRING)]
            fields += [(name, Schema.STRING.as_nullable) for name in names]
            stage.output_schema = Schema.record("output.schema", fields)

    def _parse_aliases(self, failures: FailureCollector) -> dict[str, str]:
        aliases = {}
        for entry in (part.strip() for part in self.config.field_aliases.split(",")):
            name, _, alias = (part.strip() for part in entry.partition(":"))
            if name and alias and ":" not in alias:
                aliases[name] = alias
            elif entry:
                failures.add(
                    "Either key or value is missing for 'Output fields to rename'. Please make sure "
                    "that both key and value are present."
                ).with_config_property("fieldAliases", element=entry)
        return aliases

    def _find_outputs(self, failures: FailureCollector) -> dict[str, list[str]]:
        """Return the names in the data of each output field."""
        aliases = self._parse_aliases(failures)
        names = {aliases.get(name, name): list[str]() for name in self.config.output_fields or ()}
        for output, sources in names.items():
            sources += [name for name, alias in aliases.items() if alias == output]
            if output not in aliases:
                sources.append(output)
        return names

    def input_fields(self, stage: StageConfigurer) -> list[str] | None:
        config = self.config
        return [config.key_field, config.name_field, config.value_field]

    def record_lineage(self, lineage: LineageRecorder) -> None:
        config = self.config
        lineage.influence(EdgeKind.GROUP_BY, [config.key_field])
        for output in self._find_outputs(FailureCollector()):
            lineage.derive(output, [config.value_field], kind=EdgeKind.AGGREGATION)
            lineage.influence(EdgeKind.CONDITIONAL, [config.name_field], output)

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812

        key = get_column(self.config.key_field)
        if self.config.num_partitions:
            df = df.repartition(self.config.num_partitions, key)
        lacks_key = F.when(key.isNull(), F.lit("null"))
        df = context.observe_altered(df, AlteredRows(_NO_KEY, lacks_key)).filter(key.isNotNull())
        df = df.withColumn(_ORDER, F.monotonically_increasing_id())
        names = self._find_outputs(FailureCollector())
        values = [self._build_value(sources).alias(output) for output, sources in names.items()]
        return df.groupBy(key).agg(*values)

    def _build_value(self, sources: list[str]) -> Column:
        from pyspark.sql import functions as F  # noqa: N812

        boxed = F.struct(get_column(self.config.value_field).alias("v"))
        wanted = get_column(self.config.name_field).isin(sources)
        return F.max_by(boxed, F.when(wanted, F.col(_ORDER))).getField("v")


def _check_field(stage: StageConfigurer, schema: Schema, property: str, name: str) -> None:
    kind = property.removesuffix("Field").capitalize()
    found = schema.field(name)
    if found is None:
        stage.failures.add(
            f"{kind} field '{name}' does not exist in input schema"
        ).with_config_property(property)
    elif (
        found.schema.non_nullable.type is not Type.STRING or found.schema.non_nullable.logical_type
    ):
        stage.failures.add(
            f"{kind} field '{name}' in the input record must be a String"
        ).with_config_property(property).with_input_field(name)
