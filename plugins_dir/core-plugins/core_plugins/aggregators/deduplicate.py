"""The aggregators Deduplicate and Distinct, which remove records with equal fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

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

from .aggregates import check_comparable, is_number_or_decimal, num_partitions_field

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


_FUNCTIONS: Final = ("FIRST", "LAST", "MIN", "MAX", "ANY")
_ORDER: Final = "__localcdap_order"
_RECORD: Final = "__localcdap_record"


class DeduplicateRule(NamedTuple):
    """The rule that selects the record to keep."""

    field: str
    function: str
    """One of FIRST, LAST, MIN, MAX, ANY."""


@plugin(
    name="Deduplicate",
    description="Keeps one of the records that have the same values in some fields, selected by the value of "
    "another field.",
)
class Deduplicate(BatchAggregator):
    """Of records that rank equally, ``min`` and ``max`` keep the last, ``any`` keeps the first."""

    class Config(PluginConfig, macros=True, rename="camel"):
        unique_fields: list[str] = field(
            "Fields that make a record unique, comma-separated. If empty, whole records are compared.",
            default=[],
            form="{input-field}",
        )
        filter_operation: str | None = field(
            "Which record to keep, as 'field:function'. The function is max or min (of a numeric "
            "field) or any (the first with a value). If empty, the first record is kept. "
            "Example: 'cost:max'.",
            default=None,
            form="{input-field}:{function:max|min|any}",
        )
        num_partitions: int | None = num_partitions_field()

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        choice = self._parse_choice(stage)
        schema = stage.input_schema
        if schema is None or self.config.macros & {"uniqueFields", "filterOperation"}:
            return
        for name in self.config.unique_fields:
            if schema.field(name) is None:
                stage.failures.add(
                    f"Field '{name}' does not exist in the input schema", "Remove this field."
                ).with_config_property("uniqueFields", element=name)
        for name in self.config.unique_fields or schema.field_names:
            unique = schema.field(name)
            if unique is not None:
                check_comparable(stage, name, unique.schema, "uniqueFields")
        if choice is not None:
            _check_choice(stage, schema, choice)
        stage.output_schema = schema.renamed(f"{schema.name}.dedup")

    def _parse_choice(self, stage: StageConfigurer) -> DeduplicateRule | None:
        text = self.config.filter_operation
        if not text:
            return None
        parts = [part.strip() for part in text.split(":")]
        if len(parts) != 2 or not all(parts):
            stage.failures.add(
                "Invalid filter operation. It should be of format 'fieldName:functionName'. "
                f"But got : {text}"
            ).with_config_property("filterOperation")
            return None
        function = parts[1].split(" ")[0]
        if function.upper() not in _FUNCTIONS:
            stage.failures.add(
                f"Invalid function '{function}'. Must be one of {','.join(_FUNCTIONS)}."
            ).with_config_property("filterOperation")
            return None
        return DeduplicateRule(parts[0], function.upper())

    def record_lineage(self, lineage: LineageRecorder) -> None:
        choice = self._parse_choice(StageConfigurer(lineage.stage.name, {}))
        unique = self.config.unique_fields or lineage.input_fields
        lineage.influence(EdgeKind.GROUP_BY, unique)
        if choice is not None:
            lineage.influence(EdgeKind.SORT, [choice.field])

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812

        names = df.columns
        unique = [get_column(name) for name in self.config.unique_fields or names]
        if self.config.num_partitions:
            df = df.repartition(self.config.num_partitions, *unique)
        if not self.config.unique_fields:
            return df.distinct()
        choice = self._parse_choice(StageConfigurer(context.stage_name, {}))
        record = F.struct(*[get_column(name) for name in names])
        chosen = _build_choice(record, choice, F.col(_ORDER)).alias(_RECORD)
        groups = df.withColumn(_ORDER, F.monotonically_increasing_id()).groupBy(*unique)
        kept = groups.agg(chosen).select(_RECORD)
        return kept.select(*[F.col(_RECORD).getField(name).alias(name) for name in names])


def _check_choice(stage: StageConfigurer, schema: Schema, choice: DeduplicateRule) -> None:
    chosen = schema.field(choice.field)
    if chosen is None:
        stage.failures.add(
            f"Invalid filter {choice.function}({choice.field}): Field '{choice.field}' does not "
            "exist in input schema"
        ).with_config_property("filterOperation")
    elif choice.function in ("MIN", "MAX") and not is_number_or_decimal(chosen.schema.non_nullable):
        stage.failures.add(
            f"Field '{choice.field}' is of unsupported non-numeric type "
            f"'{chosen.schema.display_name}'.",
            "Choose a numeric field, or the function any.",
        ).with_config_property("filterOperation").with_input_field(choice.field)


def _build_choice(record: Column, choice: DeduplicateRule | None, order: Column) -> Column:
    """Build the aggregate that selects the record to keep.

    :param order: the position of the record in the input.
    """
    from pyspark.sql import functions as F  # noqa: N812

    if choice is None or choice.function == "FIRST":
        return F.min_by(record, order)
    if choice.function == "LAST":
        return F.max_by(record, order)
    value = get_column(choice.field)
    is_null = value.isNull()
    if choice.function == "ANY":
        return F.min_by(record, F.struct(is_null, order))
    # Of records with equal values the last is kept, of records with null the first.
    if choice.function == "MIN":
        tie = F.when(is_null, order).otherwise(-order)
        return F.min_by(record, F.struct(is_null, value, tie))
    tie = F.when(is_null, -order).otherwise(order)
    return F.max_by(record, F.struct(~is_null, value, tie))


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
