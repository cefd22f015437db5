"""The properties of the BigQueryTable source."""

from __future__ import annotations

from localcdap.api import Schema, field

from ..account import WITHOUT_EFFECT, BigQueryConfig


class BigQuerySourceConfig(BigQueryConfig, macros=True, rename="camel"):
    dataset: str = field(
        "Dataset of the table or view. The table 'dataset.table' of this namespace stands for it; "
        "'localcdap tables' lists all tables."
    )
    table: str = field("Table or view to read.")
    schema: Schema | None = field(
        "Schema of the records: columns of the table, by default all of them. Other columns are not read.",
        default=None,
    )
    filter: str | None = field(
        "Condition on the rows in BigQuery's SQL: price > 10 AND country = 'DE'.",
        default=None,
        syntax="sql",
    )
    partition_from: str | None = field(
        "First date to read, as yyyy-MM-dd, from a table partitioned by a date or timestamp column; "
        "ignored for other tables.",
        default=None,
        group="partitions",
    )
    partition_to: str | None = field(
        "Date after the last date to read, as yyyy-MM-dd.", default=None, group="partitions"
    )
    bucket: str | None = field("Bucket for temporary files.", default=None, group=WITHOUT_EFFECT)
    enable_querying_views: bool = field(
        "Whether the source may read a view, whose query is then executed.", default=False
    )
    view_materialization_project: str | None = field(
        "Project of the temporary table with the rows of a view.",
        default=None,
        group=WITHOUT_EFFECT,
    )
    view_materialization_dataset: str | None = field(
        "Dataset of the temporary table with the rows of a view.",
        default=None,
        group=WITHOUT_EFFECT,
    )
    cmek_key: str | None = field(
        "Key that encrypts temporary files.", default=None, group=WITHOUT_EFFECT
    )
