"""The properties of the BigQueryTable source."""

from __future__ import annotations

from localcdap.api import Schema, field

from ..account import WITHOUT_EFFECT, BigQueryConfig


class BigQuerySourceConfig(BigQueryConfig):
    dataset: str = field(
        "Dataset of the table. The table of this namespace called 'dataset.table' stands for it; "
        "'localcdap tables' lists all.",
        macro=True,
    )
    table: str = field("Table to read.", macro=True)
    schema: Schema | None = field(
        "Schema of the records: columns of the table. Columns that are left out are not read; a field that "
        "the table lacks is null. All columns of the table by default.",
        default=None,
        macro=True,
    )
    filter: str | None = field(
        "Condition on the rows, in the SQL of BigQuery: price > 10 AND country = 'DE'.",
        default=None,
        macro=True,
        syntax="sql",
    )
    partition_from: str | None = field(
        "First date to read, as yyyy-MM-dd, of a table that is partitioned by a column with dates or "
        "timestamps; ignored for others.",
        default=None,
        macro=True,
        name="partitionFrom",
        group="partitions",
    )
    partition_to: str | None = field(
        "Date before which to read, likewise.",
        default=None,
        macro=True,
        name="partitionTo",
        group="partitions",
    )
    bucket: str | None = field(
        "Bucket for temporary files.", default=None, macro=True, group=WITHOUT_EFFECT
    )
    enable_querying_views: bool = field(
        "Of no effect: there are no views here.",
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
