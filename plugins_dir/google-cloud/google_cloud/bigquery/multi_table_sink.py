"""The BigQueryMultiTable sink."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localcdap.api import (
    BatchSink,
    Capabilities,
    Schema,
    SinkContext,
    StageConfigurer,
    capability,
    field,
    plugin,
)
from localcdap.api.rules import check_reference_name
from localcdap.api.tables import TableLoading, TableWrite
from localcdap.plugin_lib.spark.columns import get_column, write_record

from ..account import WITHOUT_EFFECT, BigQueryConfig
from ..multi_sinks import SPLIT, check_split_field, find_destinations, flexible_field
from .sink_rules import check_upload
from .tables import check_table, get_table_name, get_written_schema
from .values import check_arrays, check_value

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


class BigQueryMultiConfig(BigQueryConfig, macros=True, rename="camel"):
    """The properties of the BigQueryMultiTable sink."""

    dataset: str = field("Dataset of the tables.")
    split_field: str = field(
        "Field that names the table of a record. The run argument 'multisink.NAME' is the schema of a "
        "table; records of other tables are dropped.",
        default="tablename",
        name=SPLIT,
        form="{input-field}",
    )
    truncate: bool = field(
        "Whether the tables are emptied and their columns replaced first.",
        default=False,
        name="truncateTable",
    )
    relaxes: bool = field(
        "Whether columns may be added to the tables and made nullable.",
        default=False,
        name="allowSchemaRelaxation",
    )
    flexible: str = flexible_field()
    location: str | None = field("Region of the dataset.", default=None, group=WITHOUT_EFFECT)
    bucket: str | None = field("Bucket for temporary files.", default=None, group=WITHOUT_EFFECT)
    chunk_size: str | None = field(
        "Size of uploads.", default=None, name="gcsChunkSize", group=WITHOUT_EFFECT
    )
    cmek_key: str | None = field(
        "Key that encrypts the tables.", default=None, group=WITHOUT_EFFECT
    )
    json_fields: str | None = field(
        "Fields that contain JSON; they stay strings here.",
        default=None,
        name="jsonStringFields",
        form="{input-field}",
        group=WITHOUT_EFFECT,
    )
    job_labels: str | None = field("Labels of the job.", default=None, group=WITHOUT_EFFECT)


@plugin(
    name="BigQueryMultiTable",
    description="Local: writes records into several local tables with the names of BigQuery's, by a field.",
)
@capability(Capabilities.Mode.NATIVE)
class BigQueryMultiTable(BatchSink):
    Config = BigQueryMultiConfig
    config: BigQueryMultiConfig

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        check_reference_name(stage, config.reference_name)
        check_table(stage, config, config.dataset, None)
        check_upload(stage, config.bucket, config.chunk_size, config.job_labels)
        check_split_field(stage, config, config.split_field)
        if not config.contains_macro("dataset"):
            stage.columns[get_table_name(config.dataset, "*")] = {}

    def write(self, df: DataFrame, context: SinkContext) -> None:
        config = self.config
        kept = df.persist()  # the names of the tables may have to be found first
        try:
            tables = find_destinations(kept, context, "table", config.split_field, config.flexible)
            self._write_tables(kept, context, tables)
        finally:
            kept.unpersist()

    def _write_tables(self, df: DataFrame, context: SinkContext, tables: dict[str, Schema]) -> None:
        from pyspark.sql import functions as f

        config = self.config
        how = TableWrite(truncate=config.truncate, relaxes=config.relaxes)
        loads = [
            self._create_load(
                context, get_table_name(config.dataset, _strip_database(name)), schema, how
            )
            for name, schema in tables.items()
        ]
        split = get_column(config.split_field)
        which = f.lit(None).cast("int")
        for number, name in enumerate(tables):
            which = f.when(split.isin(name, _strip_database(name)), f.lit(number)).otherwise(which)
        df = check_arrays(context, df, context.input_schema)
        used = [field.name for field in context.input_schema]
        columns = [
            _check_nulls(
                context,
                name,
                which,
                _check_values(context, name, which, loads),
                list(tables.values()),
            )
            for name in used
        ]
        context.load_tables(df.select(*columns, which.alias("")), loads)

    def _create_load(
        self, context: SinkContext, name: str, schema: Schema, how: TableWrite
    ) -> TableLoading:
        held = context.find_table(name)
        if held is not None and held.is_view:
            raise context.fail(
                f"'{name}' is not allowed for this operation because it is currently a VIEW.",
                f"Write into another table, or drop the view: localcdap tables '{name}' --drop",
            )
        if held is None or how.truncate:
            return TableLoading(name, get_written_schema(schema, None), how)
        return TableLoading(name, get_written_schema(schema, held.schema), how)

    def preview(self, df: DataFrame, context: SinkContext) -> None:
        self.write(df, context)


def _strip_database(name: str) -> str:
    """Remove the database before a table's name, because names in BigQuery have no dots."""
    return name.rpartition(".")[2]


def _check_values(
    context: SinkContext, name: str, which: Column, loads: list[TableLoading]
) -> Column:
    """Return a field that fails the run if it does not fit into the column of its table."""
    from pyspark.sql import functions as f

    value, given = get_column(name), context.input_schema.field(name)
    assert given is not None
    for number, load in enumerate(loads):
        column = load.schema.field(name)
        checked = column and check_value(context, name, given.schema, column.schema)
        if checked is not None:
            value = f.when(which == number, checked).otherwise(value)
    return value


def _check_nulls(
    context: SinkContext, name: str, which: Column, value: Column, tables: list[Schema]
) -> Column:
    """Return a field that fails the run if it is null in a table where it must not be null."""
    from pyspark.sql import functions as f

    fields = ((number, schema.field(name)) for number, schema in enumerate(tables))
    strict = [number for number, each in fields if each and not each.schema.is_nullable]
    if not strict or not context.input_schema.field(name).schema.is_nullable:  # type: ignore[union-attr]
        return value.alias(name)
    message = f.lit(f"Field '{name}' is null, which its table does not allow.")
    failed = context.raising(message, write_record())
    return f.when(value.isNull() & which.isin(strict), failed).otherwise(value).alias(name)
