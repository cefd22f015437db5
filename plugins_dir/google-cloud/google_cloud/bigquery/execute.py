"""The BigQueryExecute action."""

from __future__ import annotations

from typing import Final

from localcdap.api import (
    Action,
    ActionContext,
    Capabilities,
    StageConfigurer,
    StageError,
    capability,
    field,
    plugin,
)

from ..account import WITHOUT_EFFECT, GoogleProjectConfig
from .failures import explain_failure
from .row_arguments import set_row_arguments
from .sql import SqlError, list_starts
from .statements import TranslatedStatement, build_store_statements, translate_statements
from .tables import check_table, get_table_name

_RETRIES: Final = "retries, without effect here"


class BigQueryExecuteConfig(GoogleProjectConfig, macros=True, rename="camel"):
    """The properties of the BigQueryExecute action."""

    sql: str = field(
        "Queries and statements in BigQuery's SQL, separated by semicolons. All take effect, or none.",
        syntax="sql",
    )
    dialect: str = field(
        "SQL dialect; it must be standard, because the legacy dialect is not translated.",
        default="standard",
        choices=["standard", "legacy"],
    )
    store_results: bool = field(
        "Whether the rows of a query are stored in the table below, if one is set.",
        default=True,
    )
    dataset: str | None = field("Dataset of the table to store rows in.", default=None)
    table: str | None = field(
        "Table to store rows in; it must not exist, or must be empty.", default=None
    )
    row_as_arguments: bool = field(
        "Whether the columns of the first row become arguments of the run, for macros of later stages.",
        default=False,
    )
    mode: str = field(
        "Priority of the job.",
        default="batch",
        choices=["batch", "interactive"],
        group=WITHOUT_EFFECT,
    )
    use_cache: bool = field(
        "Whether cached results may be used.", default=False, group=WITHOUT_EFFECT
    )
    location: str | None = field("Region of the job.", default=None, group=WITHOUT_EFFECT)
    dataset_project: str | None = field(
        "Project of the dataset; projects are ignored here.", default=None, group=WITHOUT_EFFECT
    )
    cmek_key: str | None = field("Key that encrypts the table.", default=None, group=WITHOUT_EFFECT)
    job_labels: str | None = field("Labels of the job.", default=None, group=WITHOUT_EFFECT)
    retries: bool = field(
        "Whether the job is retried if BigQuery fails.",
        default=True,
        name="retryOnBackendError",
        group=_RETRIES,
    )
    first_pause: str | None = field(
        "Seconds before the first retry.", default=None, name="initialRetryDuration", group=_RETRIES
    )
    longest_pause: str | None = field(
        "Longest time between two retries, in seconds.",
        default=None,
        name="maxRetryDuration",
        group=_RETRIES,
    )
    most_retries: str | None = field(
        "Largest number of retries.", default=None, name="maxRetryCount", group=_RETRIES
    )
    multiplier: str | None = field(
        "Factor by which each pause is longer than the one before.",
        default=None,
        name="retryMultiplier",
        group=_RETRIES,
    )
    read_timeout: str | None = field(
        "Seconds to wait for a response.", default=None, group=_RETRIES
    )


@plugin(
    name="BigQueryExecute",
    description="Local: executes SQL of BigQuery on the local tables with the names of BigQuery's.",
)
@capability(Capabilities.Mode.NATIVE)
class BigQueryExecute(Action):
    Config = BigQueryExecuteConfig
    config: BigQueryExecuteConfig

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        check_table(stage, config, config.dataset, config.table)
        place = [name for name in ("dataset", "table") if not config.contains_macro(name)]
        if len(place) == 2 and bool(config.dataset) != bool(config.table):
            stage.failures.add(
                "Dataset and table must be specified together.", "Set both or neither."
            ).with_config_property("dataset").with_config_property("table")
        if config.dialect == "legacy" and not config.contains_macro("dialect"):
            stage.failures.add(
                "SQL in BigQuery's legacy dialect cannot be executed here.",
                "Write it in standard SQL, and set 'dialect' to standard.",
            ).with_config_property("dialect")
        elif not config.contains_macro("sql"):
            try:
                translate_statements(config.sql)
            except SqlError as error:
                stage.failures.add(error.message, error.action).with_config_property("sql")

    def run(self, context: ActionContext) -> None:
        statements = translate_statements(self.config.sql)
        for statement in statements:
            context.logger.info("Executed as: %s", statement.sql)
        try:
            sql, changes = self._work(statements)
            makes = [statement.makes for statement in statements if statement.makes is not None]
            result = context.run_sql(sql, changes, makes)
        except StageError as error:
            raise self._explain_error(context, error) from None
        context.logger.info("%d rows", result.rows)
        context.metrics.count("records.processed", result.rows)
        if self.config.row_as_arguments:
            if result.first is None:
                context.logger.warning("No row was found, so no arguments are set.")
            else:
                set_row_arguments(context, result.first)

    def _work(self, statements: list[TranslatedStatement]) -> tuple[list[str], list[str]]:
        """Return the statements to run, and the names of the tables and views that they change."""
        sql = [statement.sql for statement in statements]
        changes = [each.changes for each in statements if each.changes is not None]
        dataset, table = self.config.dataset, self.config.table
        if dataset and table and self.config.store_results and statements[-1].is_query:
            sql[-1:] = build_store_statements(statements[-1], dataset, table)
            changes.append(get_table_name(dataset, table))
        return sql, list(dict.fromkeys(changes))

    def _explain_error(self, context: ActionContext, error: StageError) -> Exception:
        """Return the error in the words of BigQuery, with the place in the property."""
        starts = list_starts(self.config.sql)
        found = explain_failure(error.message, error.corrective_action, self.config.sql, starts)
        return context.fail(found.message, found.action)
