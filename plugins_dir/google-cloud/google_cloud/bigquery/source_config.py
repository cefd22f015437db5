"""The properties of the BigQueryTable source."""

from __future__ import annotations

from localcdap.api import Schema, field

from ..account import WITHOUT_EFFECT, BigQueryConfig


class BigQuerySourceConfig(BigQueryConfig):
    dataset: str = field(
        "Dataset of the table. The table 'dataset.table' of this namespace stands for it; "
        "'localcdap tables' lists all tables.",
        macro=True,
    )
    table: str = field("Table to read.", macro=True)
    schema: Schema | None = field(
        "Schema of the records: columns of the table, by default all of them. Other columns are not read.",
        default=None,
        macro=True,
    )
    filter: str | None = field(
        "Condition on the rows in BigQuery's SQL: price > 10 AND country = 'DE'.",
        default=None,
        macro=True,
        syntax="sql",
    )
    partition_from: str | None = field(
        "First date to read, as yyyy-MM-dd, from a table partitioned by a date or timestamp column; "
        "ignored for other tables.",
        default=None,
        macro=True,
        name="partitionFrom",
        group="partitions",
    )
    partition_to: str | None = field(
        "Date after the last date to read, as yyyy-MM-dd.",
        default=None,
        macro=True,
        name="partitionTo",
        group="partitions",
    )
    bucket: str | None = field(
        "Bucket for temporary files.", default=None, macro=True, group=WITHOUT_EFFECT
    )
    enable_querying_views: bool = field(
        "Without effect: there are no views here.",
        default=False,
        macro=True,
        name="enableQueryingViews",
        group=WITHOUT_EFFECT,
    )
    view_materialization_project: str | None = field(
        "Project for temporary tables.",
        default=None,
        macro=True,
        name="viewMaterializationProject",
        group=WITHOUT_EFFECT,
    )
    view_materialization_dataset: str | None = field(
        "Dataset for temporary tables.",
        default=None,
        macro=True,
        name="viewMaterializationDataset",
        group=WITHOUT_EFFECT,
    )
    cmek_key: str | None = field(
        "Key that encrypts temporary files.",
        default=None,
        macro=True,
        name="cmekKey",
        group=WITHOUT_EFFECT,
    )
