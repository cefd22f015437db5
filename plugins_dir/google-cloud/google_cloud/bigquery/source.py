"""The BigQueryTable source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localcdap.api import (
    BatchSource,
    Capabilities,
    LineageRecorder,
    SourceContext,
    StageConfigurer,
    TableShape,
    capability,
    plugin,
)
from localcdap.api.rules import check_reference_name
from localcdap.plugin_lib.spark.conversion import conform_columns

from .conditions import to_spark_condition
from .partitions import check_dates, check_ingestion_time, select_partitions
from .source_config import BigQuerySourceConfig
from .sql import SqlError
from .tables import check_fields, check_table, get_table_name
from .values import convert_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@plugin(
    name="BigQueryTable",
    description="Local: reads the local table or view with the name of BigQuery's.",
)
@capability(Capabilities.Mode.NATIVE)
class BigQuerySource(BatchSource):
    Config = BigQuerySourceConfig
    config: BigQuerySourceConfig

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        check_reference_name(stage, config.reference_name)
        check_table(stage, config, config.dataset, config.table)
        check_dates(stage, config)
        if config.filter and not config.contains_macro("filter"):
            try:
                to_spark_condition(config.filter)
            except SqlError as error:
                stage.failures.add(error.message, error.action).with_config_property("filter")
        stage.output_schema = config.schema

    def configure_connected(self, stage: StageConfigurer) -> None:
        """Compare the schema with the table; use that of the table if the properties do not define one."""
        config = self.config
        if config.contains_macro("dataset") or config.contains_macro("table"):
            return
        name = get_table_name(config.dataset, config.table)
        found = stage.find_table(name)
        check_ingestion_time(stage, config, name, found)
        if found is not None and not self._check_view(stage, found):
            return
        if config.contains_macro("schema"):
            return
        if found is None:
            if config.schema is None or not stage.in_run:
                _add_missing_table(stage, name, is_typed=config.schema is not None)
        elif config.schema is not None:
            check_fields(stage, name, found.schema, config.schema)
        else:
            stage.output_schema = found.schema

    def _check_view(self, stage: StageConfigurer, found: TableShape) -> bool:
        """Check that a view may be read (CDAP ``BigQuerySourceConfig.validateTable``), and that it can be.

        :returns: whether the columns of the table or view are known.
        """
        config = self.config
        is_allowed = config.contains_macro("enableQueryingViews") or config.enable_querying_views
        if found.is_view and not is_allowed:
            stage.failures.add(
                f"'{config.table}' is a 'View' :",
                "In order to enable query views, please enable 'Enable Querying Views'",
            ).with_config_property("enableQueryingViews").with_config_property("table")
        if found.problem is not None:
            stage.failures.add(
                found.problem, "Correct the view, or the tables that it reads."
            ).with_config_property("table")
        return found.problem is None

    def record_lineage(self, lineage: LineageRecorder) -> None:
        config = self.config
        if not any(map(config.contains_macro, ("dataset", "table"))):
            lineage.datasets.append(get_table_name(config.dataset, config.table))

    def read(self, context: SourceContext) -> DataFrame:
        schema = context.output_schema
        assert schema is not None
        config = self.config
        name = get_table_name(config.dataset, config.table)
        rows = select_partitions(context, config, name, context.read_table(name))
        held = context.find_table(name)
        if config.filter:
            types = dict(rows.dtypes)
            fractions = [name for name in rows.columns if types[name] in ("double", "float")]
            texts = [name for name in rows.columns if types[name] == "string"]
            condition = to_spark_condition(
                config.filter, config.table.strip(), rows.columns, fractions, texts
            )
            rows = rows.where(condition)
        if held is not None:
            rows = convert_rows(context, rows, held.schema, schema, rounds=False)
        return rows.select(conform_columns(context, rows, schema))


def _add_missing_table(stage: StageConfigurer, table: str, *, is_typed: bool) -> None:
    """Add the failure of a table that does not exist.

    :param is_typed: whether the properties define the schema.
    """
    more = "or write the table first; 'localcdap tables' lists all tables."
    if is_typed:
        message, action = f"BigQuery table '{table}' does not exist.", f"Correct its name, {more}"
    else:
        message = f"The schema is not known, because table '{table}' does not exist."
        action = f"Set 'schema', {more}"
    stage.failures.add(message, action).with_config_property("table")
